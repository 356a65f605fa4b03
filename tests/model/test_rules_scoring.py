from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalrunner.model.rules.scoring import evidence, score
from evalrunner.model.rules.take import Finding
from evalrunner.rubric import Scale

TEN = Scale(min=1, max=10)


@pytest.mark.parametrize(
    ("violating", "takes", "value"),
    [
        (0, 1, "10"),
        (0, 60, "10"),
        (1, 60, "9.5"),
        (3, 60, "8.5"),
        (10, 100, "7"),
        (11, 100, "6.7"),
        (1, 7, "5.7"),
        (2, 12, "5"),
        (29, 100, "1.3"),
        (30, 100, "1"),
        (100, 100, "1"),
    ],
)
def test_ten_percent_leaves_seven(violating: int, takes: int, value: str) -> None:
    assert score(violating, takes, TEN) == Decimal(value)


@pytest.mark.parametrize(
    ("low", "high", "violating", "value"),
    [
        (0, 1, 0, "1"),
        (0, 1, 10, "0.66"),
        (1, 5, 10, "3.66"),
        (0, 100, 10, "66"),
        (-1, 1, 10, "0.33"),
        (0, 1, 50, "0"),
    ],
)
def test_other_scales_map_linearly(low: int, high: int, violating: int, value: str) -> None:
    assert score(violating, 100, Scale(min=low, max=high)) == Decimal(value)


@given(takes=st.integers(1, 400), data=st.data())
def test_more_evidence_never_raises_a_score(takes: int, data: st.DataObject) -> None:
    fewer = data.draw(st.integers(0, takes))
    more = data.draw(st.integers(fewer, takes))
    assert score(more, takes, TEN) <= score(fewer, takes, TEN)
    exact = max(Fraction(1), 10 - 30 * Fraction(fewer, takes))
    assert 0 <= exact - Fraction(score(fewer, takes, TEN)) < Fraction(1, 10)


def test_evidence_is_most_telling_first_and_takes_turns() -> None:
    found = {
        "accuracy": {"b": [Finding("weak", 1)], "a": [Finding("weak", 1), Finding("strong", 9)], "c": []},
        "kind": {"d": [Finding("only", 5)]},
        "empty": {"a": []},
    }
    assert evidence(found, 2) == (
        "take a: accuracy: strong",
        "take d: kind: only",
        "take b: accuracy: weak",
    )
    assert evidence(found, 1) == ("take a: accuracy: strong", "take d: kind: only")
    assert evidence({}, 3) == ()
