"""The keyless seat: equal trees are correct, and anything else is unknown."""

import ast
import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from blind_records import BLANKS, LANDED, OTHER_WAY, WRONG
from pydantic import ValidationError
from test_rules_version import plain

import evalrunner.model.heads
import evalrunner.model.tree_equality
from evalrunner.model.comparison import Comparison, Point
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.rules import RulesModel
from evalrunner.model.seat import RubricSeat, Seat, VerdictSeat
from evalrunner.model.tree_equality import EQUALITY_ID, TreeEquality
from evalrunner.records import Judgement

RECORD = Path(__file__).with_name("tree_equality_digests.json")


def judged(
    candidate: str, trees: tuple[str | None, str | None] = (None, None), landed: str = LANDED
) -> Judgement:
    exact = (candidate.encode(), landed.encode())
    comparison = Comparison("issue-1", 2, "", candidate, landed, exact, *trees, (Point("incomplete", "?"),))
    bench: Any = None
    return asyncio.run(TreeEquality().compare(comparison, place=1, cycle=1, prompt="unused", bench=bench))


@pytest.mark.parametrize(
    ("candidate", "trees", "reason"),
    [
        (WRONG, ("a" * 40, "a" * 40), "the resulting trees are the same"),
        (LANDED, (None, None), "the resulting trees are the same, blanks"),
        (BLANKS, ("a" * 40, "b" * 40), "the resulting trees are the same, blanks"),
    ],
)
def test_equal_trees_are_correct(candidate: str, trees: tuple[str | None, str | None], reason: str) -> None:
    said = judged(candidate, trees)
    assert (said.status, said.label, said.detail["class"]) == ("scored", "correct", None)
    assert said.detail["reason"].startswith(reason)
    assert (said.item_ids, said.detail["run"], said.place) == (("issue-1",), 2, 1)


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        (OTHER_WAY, "equality cannot tell a defect from another good way"),
        (WRONG, "equality cannot tell a defect from another good way"),
        ("no diff", "cannot be compared"),
        (LANDED.replace("def pages", "def other"), "not of one base"),
    ],
)
def test_anything_else_is_unknown_and_never_a_defect(candidate: str, why: str) -> None:
    said = judged(candidate, ("a" * 40, "b" * 40))
    assert (said.status, said.label) == ("abstained", None)
    assert said.error is not None
    assert said.error.startswith("issue-1, run 2: ")
    assert why in said.error


def test_unknown_trees_are_not_equal_trees() -> None:
    assert judged(WRONG, (None, None)).label is None


def test_it_is_a_heuristic_that_gives_verdicts_and_cannot_score() -> None:
    seat = TreeEquality()
    assert isinstance(seat, Seat)
    assert isinstance(seat, VerdictSeat)
    assert not isinstance(seat, RubricSeat)
    assert (seat.id, seat.kind) == (EQUALITY_ID, "heuristic")
    llm, rules = LitellmModel(id="openai:gpt-4o"), RulesModel()
    assert isinstance(llm, RubricSeat)
    assert isinstance(llm, VerdictSeat)
    assert isinstance(rules, RubricSeat)
    assert not isinstance(rules, VerdictSeat)
    with pytest.raises(ValidationError, match="the rule is part of the program"):
        TreeEquality(id="tree-equality-v0")


def test_a_changed_rule_needs_a_new_id() -> None:
    record: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))
    trees = []
    for module in (evalrunner.model.heads, evalrunner.model.tree_equality):
        assert module.__file__ is not None
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        tree.body = [each for each in tree.body if "EQUALITY_ID" not in ast.unparse(each).split("=", 1)[0]]
        trees.append(plain(tree))
    now = hashlib.sha256(json.dumps(trees).encode()).hexdigest()
    assert list(record) == [f"tree-equality-v{number}" for number in range(1, len(record) + 1)]
    assert list(record)[-1] == EQUALITY_ID
    assert record[EQUALITY_ID] == now, (
        f"{EQUALITY_ID!r} names in receipts what counts as equal. If that changed, count EQUALITY_ID up and "
        f"add its digest {now!r} to {RECORD.name}; if not, or while it is unreleased, replace its digest."
    )
