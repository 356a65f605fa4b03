"""Each rule on its own: what it accuses, what it names, and what it leaves alone."""

import pytest
from rules_takes import against, make

from evalrunner.model.rules.examine import RULES, examine

SOUND = [
    make("Fernhill Pumps builds water pumps for farms."),
    make("Fernhill opened a second plant in May 2023."),
    make("Sales at Fernhill fell from 900 to 700 pumps in 2023.", holder="companies/rook-research"),
    make(
        "Electric pumps are better than diesel ones.",
        kind="take",
        holder="roles/fernhill-founder",
        weight=0.6,
    ),
    make("Fernhill will build 1,200 pumps a year by 2027.", kind="bet", holder="roles/founder", weight=0.6),
    make("The seals wear out in sandy wells.", kind="hunch", holder="roles/head-of-service", weight=0.4),
]


@pytest.mark.parametrize("take", SOUND, ids=lambda take: take.claim)
def test_sound_takes_are_left_alone(take) -> None:  # type: ignore[no-untyped-def]
    assert {name: found for name, found in examine(take, RULES).items() if found} == {}


@pytest.mark.parametrize(
    ("weight", "shown"),
    [
        (0.93, "weight 0.93 is off the 0.05 grid; 0.90 or 0.95 would fit"),
        (0.975, "weight 0.975 is off the 0.05 grid; 0.95 or 1.00 would fit"),
        (0.15000000000000002, "weight 0.15000000000000002 is off the 0.05 grid; 0.15 or 0.20 would fit"),
        (
            "0.5000000000000000000000001",
            "weight 0.50000000000000000… is off the 0.05 grid; 0.50 or 0.55 would fit",
        ),
        (1.05, "weight 1.05 lies outside 0 to 1"),
        (-0.05, "weight -0.05 lies outside 0 to 1"),
        (1.0, "weight 1.0 is too sure for a fact; 0.5 to 0.9 would fit"),
        (0.3, "weight 0.3 is too unsure for a fact; 0.5 to 0.9 would fit"),
    ],
)
def test_weights_are_held_against_grid_and_band(weight: object, shown: str) -> None:
    assert (
        against("weight_calibration", "Fernhill Pumps builds water pumps for farms.", weight=weight) == shown
    )


@pytest.mark.parametrize(
    "weight", [0, 0.05, 0.1, 0.15, 0.3, 0.35, 0.55, 0.6, 0.7, 0.95, 1, "0.80", None, True, "n/a"]
)
def test_the_grid_is_exact_on_the_decimal_written(weight: object) -> None:
    assert "grid" not in against("weight_calibration", "Fernhill builds pumps.", weight=weight)


@pytest.mark.parametrize(
    ("kind", "holder", "weight", "sound"),
    [
        ("fact", "world", 1.0, True),
        ("fact", "world", 0.7, True),
        ("fact", "world", 0.65, False),
        ("fact", "companies/fernhill-pumps", 0.9, True),
        ("fact", "companies/fernhill-pumps", 0.95, False),
        ("take", "roles/critic", 0.85, True),
        ("take", "roles/critic", 0.9, False),
        ("bet", "roles/critic", 0.9, False),
        ("hunch", "roles/critic", 0.65, True),
        ("hunch", "roles/critic", 0.7, False),
    ],
)
def test_bands_by_kind_and_holder(kind: str, holder: str, weight: float, sound: bool) -> None:
    told = against(
        "weight_calibration", "Gears matter", kind=kind, holder=holder, weight=weight, page_text=None
    )
    assert (told == "") is sound, told


def test_a_wrong_kind_or_holder_does_not_count_again_as_a_wrong_weight() -> None:
    settled = {"page_slug": "topics/suez-canal", "page_text": "The Suez Canal opened in 1869.", "weight": 1.0}
    misfiled = examine(make("The Suez Canal opened in 1869.", kind="bet", holder="world", **settled), RULES)
    assert [name for name, found in misfiled.items() if found] == ["kind_classification"]
    misheld = examine(make("The Suez Canal opened in 1869.", holder="topics/suez-canal", **settled), RULES)
    assert [name for name, found in misheld.items() if found] == ["attribution"]


@pytest.mark.parametrize(
    ("claim", "kind", "fits"),
    [
        ("Fernhill will build 1,200 pumps a year by 2027.", "fact", "bet would fit"),
        ("Fernhill will build 1,200 pumps a year by 2027.", "hunch", "bet would fit"),
        ("Electric pumps are better than diesel ones.", "fact", "take would fit"),
        ("The seals wear out in sandy wells.", "fact", "hunch would fit"),
        ("The seals wear out in sandy wells.", "bet", "hunch would fit"),
        ("Fernhill opened a second plant in May 2023.", "bet", "fact would fit"),
        ("Fernhill opened a second plant in May 2023.", "take", "fact would fit"),
        ("Fernhill opened a second plant in May 2023.", "opinion", "none of fact, take, bet, hunch"),
    ],
)
def test_kinds_are_held_against_the_page(claim: str, kind: str, fits: str) -> None:
    assert fits in against("kind_classification", claim, kind=kind)


@pytest.mark.parametrize(
    ("claim", "kind", "fits"),
    [
        ("Rents in the valley will double by 2031.", "fact", "bet or hunch would fit"),
        ("The state should pay for wells.", "fact", "take or hunch would fit"),
        ("Something is off with the numbers.", "fact", "take or bet or hunch would fit"),
        ("The dam was built in 1931.", "bet", "fact or take would fit"),
    ],
)
def test_without_a_page_the_claims_own_words_count(claim: str, kind: str, fits: str) -> None:
    assert fits in against("kind_classification", claim, kind=kind, page_text=None)


@pytest.mark.parametrize(
    "claim", ["The founder thinks electric pumps are better.", "Rook Research says that sales fell."]
)
def test_a_claim_that_reports_a_view_may_be_a_fact(claim: str) -> None:
    assert against("kind_classification", claim) == ""
    assert against("attribution", claim) == ""


@pytest.mark.parametrize(
    ("claim", "holder", "fits"),
    [
        ("Sales fell from 900 to 700 pumps in 2023.", "companies/fernhill-pumps", "Rook Research would fit"),
        ("Sales fell from 900 to 700 pumps in 2023.", "world", "Rook Research would fit"),
        ("Electric pumps are better than diesel ones.", "companies/fernhill-pumps", "The founder would fit"),
        ("Electric pumps are better than diesel ones.", "roles/head-of-service", "The founder would fit"),
        ("Fernhill will build 1,200 pumps a year by 2027.", "world", "The founder would fit"),
        ("Fernhill opened a second plant in May 2023.", "world", "companies/fernhill-pumps would fit"),
        ("Fernhill opened a second plant in May 2023.", "topics/pumps", "a topic believes nothing"),
    ],
)
def test_holders_are_held_against_the_speaker(claim: str, holder: str, fits: str) -> None:
    assert fits in against("attribution", claim, holder=holder, kind="fact")


def test_a_settled_fact_belongs_to_the_world() -> None:
    page = {"page_slug": "topics/suez-canal", "page_text": "The Suez Canal opened in 1869. Ann Lee likes it."}
    assert against("attribution", "The Suez Canal opened in 1869.", holder="world", **page) == ""
    assert "world would fit" in against(
        "attribution", "The Suez Canal opened in 1869.", holder="people/ann-lee", **page
    )


def test_an_independent_source_may_make_a_companys_fact_settled() -> None:
    claim = "Fernhill opened a second plant in May 2023."
    assert against("attribution", claim, holder="world", source="encyclopedia entry") == ""


@pytest.mark.parametrize(
    ("claim", "named"),
    [
        ("Sales fell to 650 pumps in 2023.", "650 stands nowhere on the page"),
        ("Sales fell from 900 to 700 lamps in 2023.", "lamps"),
        ("Fernhill Pumps never builds water pumps for farms.", '"never" goes beyond the page'),
        ("Fernhill Pumps does not build water pumps.", "negation"),
        ("Sales rose from 700 to 900 pumps in 2023.", '"rose" where the page has "fell"'),
        ("Fernhill built 1,200 pumps a year.", "the page only expects it"),
        ("All sales fell from 900 to 700 pumps in 2023.", '"all" goes beyond the page'),
        ("Fernhill closed its second plant.", "closed"),
        ("Quartz glows violet.", "quartz, glows, violet"),
    ],
)
def test_what_the_page_does_not_hold_is_named(claim: str, named: str) -> None:
    assert named in against("accuracy", claim)


@pytest.mark.parametrize(
    "claim",
    [
        "Fernhill had sales of seven hundred pumps in 2023.",
        "Fernhill opened plant two in May 2023.",
        "By February 2024 Fernhill had opened a second plant.",
        "Electric pumps, not the old diesel models, are better.",
    ],
)
def test_other_spellings_and_contrasts_are_supported(claim: str) -> None:
    assert against("accuracy", claim) == ""


def test_without_a_page_accuracy_says_nothing() -> None:
    assert against("accuracy", "Quartz glows violet.", page_text=None) == ""
    assert against("accuracy", "Quartz glows violet.", page_text="  ") == ""


@pytest.mark.parametrize(
    "claim",
    [
        "The memo has a red cover.",
        "The memo on pumps was printed on yellow paper.",
        "The research note is twelve pages long.",
        "The slides came as a PDF.",
        "The meeting took place in the small room.",
        "Fernhill held a quarterly call in May.",
        "The notes were taken by an intern.",
        "Lunch was served at noon.",
        "The founder wore a blue jacket.",
        "The founder likes cycling.",
        "Fernhill has a new logo.",
        "Fernhill has 900 followers.",
        "The heating of the hall was broken.",
    ],
)
def test_trivia_is_named(claim: str) -> None:
    assert against("signal_density", claim) != ""


@pytest.mark.parametrize(
    "claim",
    [
        "The report found that sales fell.",
        "The meeting led to a new contract.",
        "Coffee exports fell by 4 percent.",
        "The paper mill closed in 1990.",
        "The magazine has 40,000 readers.",
        "The bearing wears out in a year.",
        "The call centre is open at night.",
        "The file format has been stable since 2004.",
        "The security patch was late.",
    ],
)
def test_substance_is_not(claim: str) -> None:
    assert against("signal_density", claim, page_text=None) == ""


def test_media_are_trivia_only_when_they_are_the_source() -> None:
    claim = "The magazine costs 4 euros."
    assert against("signal_density", claim, source="club magazine") != ""
    assert against("signal_density", claim, source="market study") == ""


GERMAN = {
    "page_slug": "topics/gotthard",
    "page_text": "Der Tunnel ist 57 Kilometer lang und wurde im Juni 2016 eröffnet. Es gab Freifahrten.",
}


def test_other_languages_are_not_accused_by_wording() -> None:
    found = examine(
        make("Bis 2030 fährt die Hälfte der Lastwagen auf der Schiene.", **GERMAN, weight=0.5), RULES
    )
    assert [name for name, findings in found.items() if findings and name != "accuracy"] == []


def test_other_languages_are_held_to_their_numbers_grid_and_topics() -> None:
    claim = "Der Tunnel ist 157 Kilometer lang."
    assert against("accuracy", claim, **GERMAN) == "157 stands nowhere on the page"
    assert against("accuracy", "Der Tunnel ist 57 Kilometer lang.", **GERMAN) == ""
    assert "grid" in against("weight_calibration", claim, **GERMAN, weight=0.51)
    assert "too sure for a take" in against("weight_calibration", claim, **GERMAN, kind="take", weight=0.95)
    assert against("weight_calibration", claim, **GERMAN, kind="take", holder="world", weight=0.95) == ""
    assert "topic" in against("attribution", claim, **GERMAN, holder="topics/gotthard")


def test_numbers_inside_other_scripts_are_read() -> None:
    page = {
        "page_slug": "topics/shinkansen",
        "page_text": "最高速度は時速210キロだった。2030年までに始まる。",
    }
    assert against("accuracy", "最高速度は時速300キロだった。", **page) == "300 stands nowhere on the page"
    assert against("accuracy", "最高速度は時速210キロだった。2030年に始まる。", **page) == ""
