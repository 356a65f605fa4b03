"""What every judge is."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from evalrunner.errors import Problem
from evalrunner.model.seat import Bench, PlannedCall, Seat
from evalrunner.records import Figures, Item, Judgement, Outcome
from evalrunner.rubric import Rubric


@runtime_checkable
class Judge(Protocol):
    """Scores outcomes, cycle by cycle; it never sees the threshold."""

    def check(self, rubric: Rubric) -> list[Problem]:
        """What of the rubric this judge cannot go by; said before anything runs."""
        ...

    def check_panel(self, seats: Sequence[Seat]) -> list[Problem]:
        """The seats that this judge cannot ask, or that it has nobody to ask; said before anything runs."""
        ...

    async def cycle(
        self, items: Sequence[Item], outcomes: Sequence[Outcome], n: int, bench: Bench
    ) -> list[Judgement]:
        """The judgements of cycle `n` (from 1). What a model or provider does wrong is one of them."""
        ...

    def figures(
        self,
        items: Sequence[Item],
        outcomes: Sequence[Outcome],
        judgements: Sequence[Judgement],
        bench: Bench,
        *,
        pooled: bool,
    ) -> Figures:
        """What the judgements add up to: of the last cycle, or of all cycles when `pooled`."""
        ...

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """Every call that one cycle over the items may make, re-asks included."""
        ...

    def metrics(self) -> Sequence[str]:
        """The names of the metrics that its figures may hold; none for rubric panels."""
        ...

    def described(self) -> Mapping[str, Any]:
        """The judge for the receipt: its name and how items are put to it."""
        ...

    def prompts(self) -> Sequence[str]:
        """The prompt templates that are asked with; their text is part of the prompt fingerprint."""
        ...

    def asked(self) -> Mapping[str, Any]:
        """The settings of this judge that change what is asked; part of the prompt fingerprint."""
        ...


def unfit(judge: str, seats: Sequence[Seat], needed: type, fitting: str) -> list[Problem]:
    """What is wrong with a panel for a judge that asks its seats.

    Args:
        judge: the judge's name.
        needed: the protocol that every seat must follow.
        fitting: what does, as one would write it.
    """
    if not seats:
        return [Problem("panel", f"nobody sits in it, and judge {judge} asks a panel", None, "panel=OPTION")]
    return [
        Problem(f"panel.models.{place}", f"judge {judge} cannot ask it", seat.id, fitting)
        for place, seat in enumerate(seats)
        if not isinstance(seat, needed)
    ]
