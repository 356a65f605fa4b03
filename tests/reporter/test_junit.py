"""The JUnit file: strict XML whatever the text holds, and never greener than the exit code."""

import io
from typing import Any
from xml.dom import minidom
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import ANY_MACHINE, report, review, takes

from evalrunner.reporter.base import Report
from evalrunner.reporter.junit import JunitReporter


def suite(shown: Report) -> ElementTree.Element:
    stream = io.StringIO()
    JunitReporter().report(shown, stream)
    [found] = ElementTree.fromstring(stream.getvalue().encode())
    return found


def states(shown: Report) -> dict[str, str]:
    """Test case -> the tag that says what became of it."""
    cases = suite(shown).findall("testcase")
    return {str(case.get("name")): next(iter(case)).tag for case in cases}


def message(shown: Report, name: str) -> str:
    [case] = [each for each in suite(shown).findall("testcase") if each.get("name") == name]
    return str(next(iter(case)).get("message") or next(iter(case)).text)


def test_a_case_a_dimension_with_its_figures() -> None:
    shown = report(takes({"accuracy": [7, "6.99"], "attribution": [9, 4], "density": [8, 9]}, verdict="fail"))
    assert states(shown) == {
        "verdict": "failure",
        "accuracy": "failure",
        "attribution": "failure",
        "density": "system-out",
    }
    assert message(shown, "accuracy") == (
        "mean 6.99 (at least 7), minimum 6.99 (at least 5); seats: openai:a 7.00, anthropic:b 6.99"
    )
    found = suite(shown)
    assert (found.get("tests"), found.get("failures"), found.get("errors")) == ("4", "3", "0")
    assert found.get("timestamp") == "2026-03-01T09:30:00.250Z"


def test_a_case_a_metric_and_one_without_a_bar_is_skipped() -> None:
    shown = report(review())
    assert states(shown) == {
        "verdict": "failure",
        "effective_recall": "failure",
        "precision": "skipped",
        "determinism": "skipped",
    }
    assert message(shown, "effective_recall") == ("0.500 (n = 2, 95 % interval 0.100 to 0.900); at least 0.6")


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "error"),
        (
            {"verdict": None, "denominator": {"planned": 1, "scored": 0, "unscored": {}, "skipped": 1}},
            "error",
        ),
        ({"verdict": None}, "skipped"),
    ],
)
def test_what_is_not_told_is_never_a_pass(changes: dict[str, Any], state: str) -> None:
    assert states(report(takes({}, **changes))) == {"verdict": state}


def test_an_undefined_metric_with_a_bar_is_an_error() -> None:
    bars = {"name": "metric", "at_least": {"determinism": 1}, "at_most": {}}
    assert states(report(review(threshold=bars)))["determinism"] == "error"


def test_a_foreign_receipt_without_bars_has_no_green_dimensions() -> None:
    receipt = takes({"accuracy": [1, 1]}, verdict="fail")
    del receipt["threshold"]
    assert states(report(receipt)) == {"verdict": "failure", "accuracy": "skipped"}


def test_a_comparison_counts_what_regressed_and_what_is_missing() -> None:
    before = takes({"accuracy": [9, 9], "attribution": [9, 9], "gone": [9, 9]})
    now = takes({"accuracy": [5, 5], "attribution": ["8.5", "8.5"], "fresh": [1, 1]})
    shown = report(now, before)
    assert states(shown) == {
        "comparison": "failure",
        "accuracy": "failure",
        "attribution": "system-out",
        "gone": "error",
        "fresh": "skipped",
    }
    assert message(shown, "accuracy") == (
        "baseline 9.00, now 5.00, delta -4.00; a drop of more than 0.5 regresses"
    )
    assert message(shown, "comparison") == (
        "accuracy got worse by 4, more than 0.5; gone is missing now; the baseline has it"
    )


def test_a_drop_a_hair_beyond_what_is_tolerated_never_reads_as_tolerated() -> None:
    shown = report(takes({"accuracy": ["8.4999", "8.4999"]}), takes({"accuracy": [9, 9]}))
    assert "delta -0.51" in message(shown, "accuracy")


@ANY_MACHINE
@given(
    st.text(alphabet=st.characters(codec=None, categories=["Cc", "Cf", "Cs", "Cn", "Co", "Lu", "Po", "Sm"]))
)
def test_any_text_gives_strict_xml(text: str) -> None:
    shown = report(takes({f"d{text}": [1, 1]}, verdictMessage=text, run_id=text, verdict="fail"))
    stream = io.StringIO()
    JunitReporter().report(shown, stream)
    minidom.parseString(stream.getvalue().encode()).unlink()


def test_control_characters_and_marks_of_direction_are_removed() -> None:
    shown = report(takes({}, verdictMessage="a\x00b\x1b[31mc\ufffe\ud800]]><x>&\x0b"))
    assert message(shown, "verdict") == "a b [31mc ]]><x>&"
    stream = io.StringIO()
    harmful = "\x7f\x85\x9b\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2069\ufeff"
    receipt = takes({}, rubric_version=f"v1{harmful}.0", run_id=f"r{harmful}1", models=[f"m{harmful}1"])
    JunitReporter().report(report(receipt, kept=f"{harmful}receipt.json"), stream)
    assert not set(stream.getvalue()) & set(harmful)
    assert all(each in stream.getvalue() for each in ('"r 1"', '"v1 .0 (', '"m 1"', '"receipt.json"'))
