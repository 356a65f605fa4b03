"""Code reviews on a terminal: figures by group, what was found and missed, and one case in full."""

import asyncio
from io import StringIO
from pathlib import Path

import pytest

from evalrunner.judge.defect_match import DefectMatch
from evalrunner.model.seat import Bench
from evalrunner.paths import data_root
from evalrunner.receipt.files import loads
from evalrunner.records import Item, Outcome
from evalrunner.reporter.base import Report
from evalrunner.reporter.review import case_lines
from evalrunner.reporter.terminal import TerminalReporter
from evalrunner.reporter.trend import print_jobs
from evalrunner.rubric import read_rubric

BUG = {"file": "src/app.py", "line": 40, "mechanism": ["off-by-one"]}
RACE = {"file": "src/b.py", "line": 9, "mechanism": ["race", "lock"]}
HIT = {
    "id": "x",
    "file": "src/app.py",
    "line": 42,
    "title": "Off-by-one",
    "body": "Long story.",
    "severity": "high",
}
EVIL = {"id": "n", "file": "a.py", "line": None, "title": "\x1b[31mred\n\u202e", "body": "", "severity": None}


@pytest.fixture(scope="module")
def receipt():
    groups = {"kind": "positive", "language": "python"}
    item = Item(id="loop", content_sha="0" * 64, payload={}, truth={"expected": [BUG, RACE]}, groups=groups)
    outcomes = [
        Outcome(item_id="loop", run=1, payload={"findings": [HIT, EVIL]}, duration_s=0.5),
        Outcome(item_id="loop", run=2, payload={"findings": [HIT]}),
        Outcome(item_id="loop", run=3, status="timeout", error="stopped after 5 s"),
    ]
    rubric = read_rubric(data_root() / "rubrics" / "code_review.yaml")
    bench = Bench(rubric, (), None, None, Path(), lambda _: None)
    made = asyncio.run(DefectMatch().cycle([item], outcomes, 1, bench))
    figures = DefectMatch().figures([item], outcomes, made, bench, pooled=False)
    return {
        "eval": "code_review",
        "verdict": None,
        "verdictMessage": "No verdict: no threshold is set.",
        "rubric_version": "v1.0",
        "corpus": {"n_takes": 1, "corpus_sha8": "0" * 8},
        "cycles_run": 1,
        "cost_usd": None,
        "scores": {},
        "improvements": [],
        "errors": [{"modelId": "defect_match", "error": each.error} for each in made if each.error],
        "metrics": {name: metric.model_dump() for name, metric in figures.metrics.items()},
        "groups": {
            group: {
                cell: {name: metric.model_dump() for name, metric in metrics.items()}
                for cell, metrics in cells.items()
            }
            for group, cells in figures.groups.items()
        },
        **figures.report,
    }


def shown(receipt, **fields):
    stream = StringIO()
    TerminalReporter(**fields).report(Report(receipt), stream)
    return stream.getvalue()


def test_what_was_found_what_was_missed_and_what_matched_nothing(receipt):
    text = " ".join(shown(receipt).split())
    assert 'loop: src/app.py:40 found at line 42 by "Off-by-one", keyword "off-by-one" (runs 1, 2)' in text
    assert "loop: src/b.py:9 missed (keywords: race, lock)" in text
    assert 'loop: a.py "[31mred" (run 1)' in text
    assert "defect_match: loop, run 3: timeout: stopped after 5 s" in text
    assert "kind positive 0.50 (2) 0.67 (3) 0.50 (1) 0.67 (3)" in text
    assert "language python 0.50 (2)" in text


def test_nothing_untrusted_reaches_the_terminal_raw(receipt):
    assert not set(shown(receipt) + shown(receipt, explain="loop")) & {"\x1b", "\u202e"}


def test_lists_are_bounded_and_can_be_left_out(receipt):
    short = shown(receipt, defects=1, unmatched=0, errors=0)
    assert "and 1 more in the receipt" in short
    assert "match no defect" not in short
    assert "Errors" not in short


def test_one_case_in_full(receipt):
    text = shown(receipt, explain="loop")
    assert text.split("Case loop")[1].splitlines()[:14] == [
        " (kind positive, language python)",
        "1 of 2 defects covered, 2 of 3 runs usable, determinism 0.50",
        "defect 1: src/app.py:40, 5 lines around; keywords: off-by-one",
        '  found at line 42 by "Off-by-one", keyword "off-by-one" (runs 1, 2)',
        "defect 2: src/b.py:9, 5 lines around; keywords: race, lock",
        "  missed (keywords: race, lock)",
        "run 1: ok, 2 findings, 0.5 s",
        '  src/app.py:42 [high] "Off-by-one" (id x)',
        "    Long story.",
        '    matches defect 1 by "off-by-one"',
        '  a.py "[31mred" (id n)',
        "    matches no defect",
        "run 2: ok, 1 finding, 0.0 s",
        '  src/app.py:42 [high] "Off-by-one" (id x)',
    ]
    assert "run 3: timeout, stopped after 5 s, 0 findings, 0.0 s, not scored" in text
    assert "Findings that match no defect" not in text


def test_a_case_that_is_not_there(receipt):
    assert "there is no case 'lop' in it; did you mean 'loop'?" in shown(receipt, explain="lop")
    assert "it has no cases to explain" in shown({**receipt, "cases": []}, explain="loop")


def test_a_receipt_that_tells_less_is_shown_with_what_it_tells():
    """The example of docs/receipt.md, as another program might write it."""
    text = (Path(__file__).parents[2] / "docs" / "receipt.md").read_text(encoding="utf-8")
    example = text[text.index('"eval": "code_review"') :]
    start = text.rindex("```json", 0, text.index('"eval": "code_review"')) + len("```json")
    read, _ = loads(text[start : text.index("```", start)], "docs/receipt.md")
    assert example
    told = shown(read.to_json())
    assert 'loop: src/app.py:40 found by finding f1, keyword "off-by-one"' in " ".join(told.split())
    lines = [line for line, _ in case_lines(read.to_json(), "loop")]
    assert lines[:2] == ["Case loop", "? of ? defects covered, 2 of 0 runs usable"]


def test_a_sweep_shows_a_column_a_metric(receipt):
    stream = StringIO()
    job = {"number": 0, "overrides": "subject=a", "code": 0, "receipt": receipt, "place": None}
    print_jobs([job, {**job, "number": 1, "receipt": None, "code": 3}], stream)
    head, *_, first, second = stream.getvalue().splitlines()
    assert "recall" in stream.getvalue()
    assert head
    assert first.split() == ["0", "subject=a", "none", "0.50", "0.67", "0.50", "0.67", "unknown", "0"]
    assert second.split() == ["1", "subject=a", "no", "receipt", "-", "-", "-", "-", "-", "3"]


def test_a_sweep_of_panels_still_shows_overall_scores():
    stream = StringIO()
    receipt = {"verdict": "pass", "overall_score": 7.5, "cost_usd": 0}
    job = {"number": 0, "overrides": "panel=a", "code": 0, "receipt": receipt, "place": None}
    print_jobs([job], stream)
    assert stream.getvalue().splitlines()[-1].split() == ["0", "panel=a", "pass", "7.50", "$0", "0"]
