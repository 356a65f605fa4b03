from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalrunner.stats.near import MOST_COMPARED, merge_near_duplicates
from evalrunner.stats.rounding import shown


@pytest.mark.parametrize(
    ("value", "bar", "text"),
    [
        (Fraction(696, 100), 7, "6.96"),
        (Fraction(6996, 1000), 7, "6.99"),
        (Decimal("6.9999999999999999"), 7, "6.99"),
        (7, 7, "7.00"),
        (Fraction(7001, 1000), 7, "7.00"),
        (4.999, Decimal(5), "4.99"),
        (Decimal("6.996"), None, "7.00"),
        (Decimal("6.992"), Decimal("6.992"), "7.00"),
        (0.285, None, "0.28"),
        (Fraction(1, 200), None, "0.00"),
        (Fraction(-1, 3), None, "-0.33"),
        (Fraction(-1, 300), None, "0.00"),
        (123456.789, None, "123456.79"),
    ],
)
def test_shown(value, bar, text):
    assert shown(value, bar) == text


def test_shown_where_lower_is_better():
    assert shown(Fraction(1004, 10000), Decimal("0.1"), higher_is_better=False) == "0.11"
    assert shown(Fraction(996, 10000), Decimal("0.1"), higher_is_better=False) == "0.10"


def test_shown_with_other_places():
    assert shown(Fraction(696, 100), 7, places=1) == "6.9"
    assert shown(Fraction(73, 10), 7, places=0) == "7"
    assert shown(Fraction(-5, 10), places=3) == "-0.500"


@given(st.fractions(-20, 20), st.decimals(-20, 20, places=3), st.integers(0, 4), st.booleans())
def test_what_is_shown_is_on_the_right_side_and_near(value, bar, places, higher):
    read = Fraction(shown(value, bar, places=places, higher_is_better=higher))
    limit = Fraction(bar)
    assert (read >= limit) == (value >= limit) if higher else (read <= limit) == (value <= limit)
    assert abs(read - value) < Fraction(1, 10**places)


def test_near_duplicates_are_merged_and_the_most_said_come_first():
    texts = [
        "Cite the page for every number.",
        "Keep weights on the 0.05 grid.",
        "keep weights on the 0.05 grid",
        "  Keep all weights on the 0.05 grid! ",
        "",
        "Name who holds the belief.",
        "   ",
        "Name who holds the belief.",
    ]
    assert merge_near_duplicates(texts) == [
        "Keep weights on the 0.05 grid.",
        "Name who holds the belief.",
        "Cite the page for every number.",
    ]


def test_of_very_many_texts_those_said_most_often_are_compared():
    many = [f"Take t{number}: name the page." for number in range(MOST_COMPARED + 50)]
    assert merge_near_duplicates(many, limit=2) == many[:2]
    assert merge_near_duplicates([*many, many[-1], many[-2].upper(), many[-2].upper()], limit=2) == [
        many[-1],
        many[-2].upper(),
    ]


def test_texts_that_speak_of_different_things_stay_apart():
    texts = ["Take t12: the holder is wrong here.", "Take t13: the holder is wrong here."]
    assert merge_near_duplicates(texts) == texts
    assert merge_near_duplicates(["Weight 0.73 is off.", "Weight 0.74 is off."]) == [
        "Weight 0.73 is off.",
        "Weight 0.74 is off.",
    ]
    assert merge_near_duplicates(["Improve accuracy of claims", "Improve attribution of claims"]) != [
        "Improve accuracy of claims"
    ]


def test_unicode_forms_and_texts_without_words():
    assert merge_near_duplicates(["Ｆｕｌｌ width", "full WIDTH", "!", "?", "!"]) == [
        "Ｆｕｌｌ width",
        "!",
        "?",
    ]


def test_the_limit_is_kept():
    texts = [f"improvement number {index}" for index in range(40)]
    assert merge_near_duplicates(texts) == texts[:10]
    assert merge_near_duplicates(texts, limit=0) == []


@given(st.lists(st.text("abcd ", max_size=12), max_size=20))
def test_no_similar_pair_is_missed(texts):
    """Against the plain quadratic rule."""
    groups: list[set[str]] = []
    for text in texts:
        words = set(text.split())
        if words and not any(4 * len(words & each) >= 3 * len(words | each) for each in groups):
            groups.append(words)
    assert len(merge_near_duplicates(texts, limit=100)) == len(groups)


def test_thousands_of_texts_do_not_take_the_square_of_their_number():
    random = Random(1)
    words = [f"word{letter}{other}" for letter in "abcdefghijklmnopqrstuvwxyz" for other in "abcdefghij"]
    texts = [f"take x{index}: " + " ".join(random.sample(words, 12)) for index in range(20_000)]
    assert len(merge_near_duplicates(texts)) == 10
