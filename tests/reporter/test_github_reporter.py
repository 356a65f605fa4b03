"""Annotations and the step summary: file and line where there are any, and no command of others."""

import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import ANY_MACHINE, report, review, takes

from evalrunner.reporter.base import Against, Report
from evalrunner.reporter.github import GithubReporter, annotations

COMMAND = re.compile(r"::(?P<name>[a-z]+) (?P<properties>[^:]*)::(?P<message>[^\r\n]*)\n")


def read(shown: Report) -> list[tuple[str, dict[str, str], str]]:
    """Level, properties and message of each annotation, as GitHub reads them."""
    found = []
    for line in annotations(shown):
        match = COMMAND.fullmatch(line)
        assert match is not None, line
        pairs = (pair.partition("=") for pair in match["properties"].split(","))
        properties = {name: unquote(value) for name, _, value in pairs}
        found.append((match["name"], properties, unquote(match["message"])))
    return found


def test_failing_dimensions_are_errors_and_a_pass_says_nothing() -> None:
    failing = takes({"accuracy": [6, 6], "density": [8, 9]}, verdict="fail")
    assert read(report(failing)) == [
        (
            "error",
            {"title": "takes_quality: accuracy"},
            "mean 6.00 (at least 7), minimum 6.00 (at least 5); seats: openai:a 6.00, anthropic:b 6.00",
        )
    ]
    assert read(report(takes({"accuracy": [9, 9]}))) == []


def test_an_inconclusive_run_is_an_error() -> None:
    shown = report(takes({}, verdictMessage="Inconclusive: 1 of 3 seats contributed, 2 needed."))
    assert read(shown) == [
        ("error", {"title": "takes_quality: verdict"}, "Inconclusive: 1 of 3 seats contributed, 2 needed.")
    ]


def test_findings_of_code_reviews_carry_file_and_line() -> None:
    assert [(level, told.get("file"), told.get("line")) for level, told, _ in read(report(review()))] == [
        ("error", None, None),
        ("warning", "src/a b,c.py", "7"),
        ("notice", "src/app.py", "3"),
    ]


def test_an_advisory_regression_is_a_warning() -> None:
    shown = report(takes({"accuracy": [5, 5]}), takes({"accuracy": [9, 9]}))
    assert shown.against is not None
    advisory = Report(
        shown.receipt, against=Against(shown.against.baseline, shown.against.comparison, advisory=True)
    )
    assert {level for level, _, _ in read(shown)} == {"error"}
    assert {level for level, _, _ in read(advisory)} == {"warning"}


def test_what_github_would_drop_is_counted() -> None:
    rows = [{"case": "c", "file": "a.py", "line": n, "title": f"t{n}"} for n in range(1, 26)]
    notices = [message for level, _, message in read(report(review(unmatched=rows))) if level == "notice"]
    assert len(notices) == 10
    assert notices[-1] == "16 more like these stand in the receipt"


@ANY_MACHINE
@given(st.text(alphabet=st.sampled_from("ab:,%=\n\r\x0b\x85\u2028#[]@ ")))
def test_no_text_starts_another_command(text: str) -> None:
    row: dict[str, Any] = {"case": text, "file": f"x{text}", "line": 1, "title": f"::error::{text}"}
    for line in annotations(report(review(unmatched=[row], defects=[row | {"mechanism": [text]}]))):
        assert len(line.splitlines()) == 1
        assert COMMAND.fullmatch(line)


def test_the_summary_is_appended_where_github_wants_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    receipt = takes({"accuracy": [9, 9]}, improvements=["Cite @octocat's page."])
    GithubReporter().report(report(receipt), io.StringIO())
    text = summary.read_text()
    assert text.startswith("# Before\n**PASS** takes_quality, rubric v1.0: all is well.\n")
    assert "#### Improvements\n\n- Cite @&#8203;octocat's page." in text


def test_without_a_summary_file_there_are_only_annotations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    stream = io.StringIO()
    GithubReporter().report(report(review()), stream)
    assert len(stream.getvalue().splitlines()) == 3
