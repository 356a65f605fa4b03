"""The demo's takes: complete, labelled, and showing a newcomer a PASS and a FAIL."""

import asyncio
import json
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalrunner.model.rules import RulesModel
from evalrunner.model.rules.examine import RULES
from evalrunner.model.seat import Bench
from evalrunner.paths import demo
from evalrunner.records import Item, Judgement
from evalrunner.rubric import read_rubric

TOP = Path(__file__).resolve().parents[2]
RUBRIC = read_rubric(TOP / "rubrics" / "takes_quality.yaml")
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in demo("takes.jsonl").read_text(encoding="utf-8").splitlines()
]
HIDDEN = {"labels", "correct", "note"}
FIELDS = ["id", "page_slug", "kind", "holder", "weight", "since_date", "source", "claim", "page_text"]


def judge(rows: list[dict[str, Any]]) -> Judgement:
    items = [
        Item(
            id=row["id"],
            content_sha="0" * 64,
            payload={name: value for name, value in row.items() if name not in HIDDEN},
            truth={name: row[name] for name in HIDDEN},
        )
        for row in rows
    ]
    bench = Bench(RUBRIC, (), None, None, Path(), lambda line: None)  # type: ignore[arg-type]
    return asyncio.run(RulesModel().score(items, place=0, cycle=1, chunk=1, prompt="", bench=bench))


def drafts() -> list[dict[str, Any]]:
    return [row for row in ROWS if row["page_slug"].startswith("drafts/")]


def faults(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(name for row in rows for name, label in row["labels"].items() if label == "violated")


def test_rows_are_complete_and_labelled() -> None:
    assert len(ROWS) == 60
    assert len({row["id"] for row in ROWS}) == 60
    for row in ROWS:
        assert list(row) == [*FIELDS, "labels", "correct", "note"]
        assert list(row["labels"]) == list(RULES)
        assert set(row["labels"].values()) <= {"ok", "violated"}
        assert row["page_text"]
        assert bool(row["note"]) == ("violated" in row["labels"].values())
        assert not set(row["correct"]) - {"holder", "weight", "kind"}


def test_faults_are_few_and_spread_and_most_lie_in_the_drafts() -> None:
    assert len(drafts()) == 12
    assert sum("violated" in row["labels"].values() for row in ROWS) == 13
    assert faults(ROWS) == {
        "accuracy": 3,
        "attribution": 3,
        "weight_calibration": 3,
        "kind_classification": 2,
        "signal_density": 2,
    }
    assert sum(faults(drafts()).values()) == 10


def test_the_whole_demo_passes_with_visible_improvements() -> None:
    told = judge(ROWS)
    assert told.status == "scored"
    assert min(told.values.values()) >= Decimal(7)
    assert max(told.values.values()) < Decimal(10)
    assert len(told.evidence) >= 10
    assert {line.split(": ")[1] for line in told.evidence} == set(RULES)


def test_the_drafts_alone_fail() -> None:
    told = judge(drafts())
    assert told.status == "scored"
    assert min(told.values.values()) < Decimal(7)
    assert len(told.evidence) >= 8


def test_rows_without_a_fault_pass() -> None:
    told = judge([row for row in ROWS if "violated" not in row["labels"].values()])
    assert min(told.values.values()) >= Decimal(7)


def test_what_is_accused_is_at_fault() -> None:
    told = judge(ROWS)
    for name, accused in told.detail["violating"].items():
        guilty = {row["id"] for row in ROWS if row["labels"][name] == "violated"}
        assert set(accused) <= guilty


@pytest.mark.skipif(sys.platform == "win32", reason="line ends may be changed by git")
def test_the_file_is_plain_utf8_lines() -> None:
    data = demo("takes.jsonl").read_bytes()
    assert data.endswith(b"}\n")
    assert b"\r" not in data
