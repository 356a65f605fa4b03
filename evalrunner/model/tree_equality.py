"""The keyless seat for verdicts on changes: it sees when two changes come to the same, and nothing else."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from evalrunner.component import Component
from evalrunner.errors import Problem
from evalrunner.git.diff import DiffError
from evalrunner.model.comparison import CORRECT, Comparison
from evalrunner.model.heads import same_heads
from evalrunner.model.seat import Bench, SeatKind
from evalrunner.records import Judgement

EQUALITY_ID = "tree-equality-v1"
"""Stands in receipts. Goes up whenever what counts as equal changes."""


class TreeEquality(Component):
    """A heuristic, and no LLM: the same tree is correct, anything else is unknown. It never says defect.

    Attributes:
        id: the version of the rule; only the version that this release holds can be asked for.
    """

    id: str = Field(default=EQUALITY_ID)

    @field_validator("id")
    @classmethod
    def _known(cls, value: str) -> str:
        if value != EQUALITY_ID:
            raise ValueError(
                f"the rule is part of the program, and this one holds {EQUALITY_ID!r}; leave `id` out"
            )
        return value

    @property
    def kind(self) -> SeatKind:
        """Always `heuristic`."""
        return "heuristic"

    async def compare(
        self, comparison: Comparison, *, place: int, cycle: int, prompt: str, bench: Bench
    ) -> Judgement:
        """`correct` where the resulting trees are the same, blanks at ends aside; else abstains."""
        reason, why_not = _seen(comparison)
        said: dict[str, Any] = (
            {"status": "abstained", "error": f"{comparison.item}, run {comparison.run}: {why_not}"}
            if reason is None
            else {"label": CORRECT}
        )
        detail = {"run": comparison.run} | ({} if reason is None else {"class": None, "reason": reason})
        return Judgement(
            item_ids=(comparison.item,), seat=self.id, place=place, cycle=cycle, detail=detail, **said
        )

    def planned_comparison(
        self, comparison: Comparison, *, prompt: str, bench: Bench
    ) -> list[tuple[int, int, int]]:
        """No calls."""
        return []

    def described(self) -> Mapping[str, Any]:
        """The option that builds this seat again."""
        return {"_target_": f"{__name__}.{type(self).__name__}", "id": self.id}

    def asked(self) -> Mapping[str, Any]:
        """Nothing is asked; the rule's version is the seat's id."""
        return {}

    def check_ready(self, environ: Mapping[str, str]) -> list[Problem]:
        """Always ready: no key, no extra."""
        return []


def _seen(comparison: Comparison) -> tuple[str | None, str]:
    """Why the trees are the same, or None; and why that was not seen."""
    trees = comparison.candidate_tree, comparison.landed_tree
    if None not in trees and trees[0] == trees[1]:
        return "the resulting trees are the same", ""
    if comparison.exact is None:
        return None, "the trees differ, and a diff holds bytes that are no text"
    try:
        same = same_heads(*comparison.exact)
    except DiffError as error:
        return None, f"the trees cannot be compared: {error}"
    if same:
        return "the resulting trees are the same, blanks at the ends of lines and files aside", ""
    return None, "the trees differ, and equality cannot tell a defect from another good way"
