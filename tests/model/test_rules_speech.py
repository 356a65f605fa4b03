import pytest
from rules_takes import make

from evalrunner.model.rules.page import backing, read_page
from evalrunner.model.rules.speech import speaker_kind, speech


@pytest.mark.parametrize(
    ("sentence", "attitude", "speaker"),
    [
        ("The founder thinks electric pumps are better.", "opinion", "The founder"),
        ("She bets that half of the teams will leave.", "bet", "She"),
        ("The head of service suspects that the seals wear out.", "hunch", "The head of service"),
        ("The adviser admits she has a gut feeling that it fails.", "hunch", "The adviser"),
        ("Analysts at Rook Research say that sales fell.", "report", "Analysts at Rook Research"),
        ("Water losses reached 21 percent, the regulator said.", "report", "the regulator"),
        ("The board, which met in May, doubts the date.", "opinion", "The board, which met in May"),
        ("In her view the price is too high, the buyer said.", "opinion", "the buyer"),
        ("The maintainers aim to ship in 2026.", "plan", "The maintainers"),
    ],
)
def test_speech_is_found_with_its_speaker(sentence: str, attitude: str, speaker: str) -> None:
    found = speech(sentence)
    assert found is not None
    assert (found.attitude, found.speaker) == (attitude, speaker)


@pytest.mark.parametrize(
    "sentence",
    [
        "Fernhill Pumps builds water pumps for farms.",
        "Euro notes and coins came into use in 2002.",
        "A third of bug reports concern time zones.",
        "The canal opened in 1869.",
        "It was the tallest structure until 1930.",
    ],
)
def test_plain_statements_have_no_speaker(sentence: str) -> None:
    assert speech(sentence) is None


@pytest.mark.parametrize(
    ("speaker", "kind"),
    [
        ("Analysts at Rook Research", "named"),
        ("She", "pronoun"),
        ("The company", "subject"),
        ("The memo", "document"),
        ("The regulator", "organisation"),
        ("The head of service", "organisation"),
        ("A 2023 survey", "crowd"),
        ("China and Nepal", "unclear"),
        ("", "unclear"),
    ],
)
def test_speakers_are_told_apart(speaker: str, kind: str) -> None:
    assert speaker_kind(speaker) == kind


@pytest.mark.parametrize(
    ("claim", "sentence", "label"),
    [
        ("Electric pumps are better than diesel ones.", "The founder thinks", "The founder"),
        ("Fernhill will make 1,200 pumps a year by 2027.", "She expects", "The founder"),
        ("Sales fell to 700 pumps in 2023.", "Analysts at", "Rook Research"),
        ("Fernhill opened a second plant in 2023.", "The company opened", None),
    ],
)
def test_a_claim_is_led_back_to_its_sentence_and_speaker(
    claim: str, sentence: str, label: str | None
) -> None:
    take = make(claim)
    found = backing(take, read_page(take))
    assert found is not None
    assert found.firm
    assert found.sentence.text.startswith(sentence)
    assert (found.voice.label if found.voice is not None else None) == label


def test_a_claim_that_shares_nothing_with_its_page_has_no_backing() -> None:
    take = make("Quartz glows violet.")
    assert backing(take, read_page(take)) is None
