"""What a person at a terminal sees: the verdict first, true figures, and nothing that moves the cursor."""

import io
from decimal import Decimal
from typing import Any

import pytest

from evalrunner.reporter.base import Report
from evalrunner.reporter.terminal import TerminalReporter, at_most, money

RECEIPT: dict[str, Any] = {
    "rubric_version": "v1.0",
    "corpus": {"n_takes": 3, "corpus_sha8": "01234567"},
    "verdict": "fail",
    "cycles_run": 1,
    "cost_usd": 0.0042,
    "scores": {
        "accuracy": {
            "mean": 6.996,
            "min": 6.992,
            "max": 7.0,
            "scores": [7.0, 6.992],
            "per_model": {"openai:a": 7.0, "openai:b": 6.992},
        }
    },
    "overall_score": 6.996,
    "threshold": {"name": "panel", "mean_min": 7, "min_min": 5},
    "improvements": [],
    "errors": [],
    "verdictMessage": "Fail: accuracy mean 6.99 is below 7.",
}


def shown(**changes: Any) -> str:
    stream = io.StringIO()
    TerminalReporter().report(Report(RECEIPT | changes, kept="outputs/receipt.json"), stream)
    return stream.getvalue()


def test_the_verdict_comes_first() -> None:
    assert "FAIL takes_quality, rubric v1.0" in shown().splitlines()[0]


def test_a_failing_mean_never_reads_as_the_bar() -> None:
    text = shown()
    assert "6.99" in text
    assert "7.00" not in text.split("accuracy  ")[1].split()[0]


def test_improvements_and_errors_cannot_move_the_cursor() -> None:
    text = shown(
        improvements=["\x1b[2J\x1b[Hall is well"],
        errors=[{"modelId": "openai:a", "error": "\x07bell\r\nPASS"}],
    )
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "bell PASS" in text


def test_markup_in_untrusted_text_is_text() -> None:
    assert "[bold red]not markup[/]" in shown(improvements=["[bold red]not markup[/]"])


def test_more_than_is_listed_is_counted() -> None:
    assert "and 4 more in the receipt" in shown(improvements=[f"number {n}" for n in range(9)])


def test_an_unknown_cost_is_not_shown_as_nothing() -> None:
    assert "cost unknown" in shown(cost_usd=None)
    assert "cost $0 " in shown(cost_usd=0)


def test_a_heuristic_says_that_no_llm_was_asked() -> None:
    assert "A rule-based judge spoke; no LLM was asked." in shown(judge_kind="heuristic")


@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_lines_keep_to_the_width_they_are_given(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert max(len(line) for line in shown().splitlines()) <= int(columns)


def test_what_is_no_terminal_gets_no_colour() -> None:
    assert "\x1b" not in shown()


@pytest.mark.parametrize(
    ("usd", "text"), [(0, "$0"), (0.00421, "$0.0042"), (0.5, "$0.5000"), (1.5, "$1.50"), (12.345, "$12.35")]
)
def test_money(usd: float, text: str) -> None:
    assert money(usd) == text


def test_a_bound_is_rounded_up() -> None:
    assert at_most(Decimal("1.50181")) == "$1.5019"
