from decimal import Decimal

import pytest

from evalrunner.model.rules.page import amounts
from evalrunner.model.rules.text import clean, reads_english, sentences, stem, words


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("12,400 followers", {"12400"}),
        ("8,848.86 m", {"8848.86"}),
        ("about 21.5 kg", {"21.5"}),
        ("twenty-five of 200 sites", {"25", "200"}),
        ("two million and 3 thousand", {"2000000", "3000"}),
        ("its ninth shop, the 9th", {"9"}),
        ("the 1960s", {"1960"}),
        ("in Q1", set()),
        ("half of them", {"50", "2"}),
        ("no numbers here", set()),
    ],
)
def test_numbers_are_read_by_value(text: str, values: set[str]) -> None:
    assert amounts(words(text)) == {Decimal(value).normalize() for value in values}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("predicting", "predicted"),
        ("acceptance", "accepted"),
        ("widely", "wide"),
        ("survive", "surviving"),
        ("fell", "falls"),
        ("dropped", "fell"),
        ("carries", "carry"),
        ("company's", "companies"),
        ("stopped", "stop"),
        ("uses", "used"),
    ],
)
def test_inflections_and_synonyms_share_a_stem(first: str, second: str) -> None:
    assert stem(first) == stem(second)


@pytest.mark.parametrize(
    ("first", "second"), [("rise", "fall"), ("contract", "contrast"), ("price", "prize")]
)
def test_other_words_do_not(first: str, second: str) -> None:
    assert stem(first) != stem(second)


def test_sentences_end_at_stops_but_not_in_numbers_or_abbreviations() -> None:
    text = "It costs 4.50 euros. Dr. Lee paid. Is it so? Yes!  \n\nNew part"
    assert sentences(text) == ("It costs 4.50 euros.", "Dr. Lee paid.", "Is it so?", "Yes!", "New part")
    assert sentences("彼は来た。彼女は去った。") == ("彼は来た。", "彼女は去った。")
    assert sentences("  ") == ()


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("The tunnel is 57 km long and was opened in 2016.", True),
        ("Quayside Robotics sells mooring robots", True),
        ("", True),
        ("Der Tunnel ist 57 Kilometer lang und wurde 2016 eröffnet.", False),
        ("Le tunnel est long de 57 kilomètres et il est dans la montagne.", False),
        ("東海道新幹線は1964年10月1日に開業した。", False),
        ("Тоннель длиной 57 километров", False),
    ],
)
def test_english_is_told_from_other_languages(text: str, english: bool) -> None:
    assert reads_english(text) is english


def test_clean_cuts_and_drops_control_characters() -> None:
    assert clean("a\x1b[31m\n  b", 20) == "a [31m b"
    assert clean("x" * 50, 10) == "x" * 9 + "…"
