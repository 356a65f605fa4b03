"""A panel of seats scores the items on the rubric's dimensions."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import Field

from evalrunner.calls.side_by_side import side_by_side
from evalrunner.component import Component
from evalrunner.errors import Problem
from evalrunner.judge.base import unfit
from evalrunner.model.seat import Bench, PlannedCall, RubricSeat, Seat
from evalrunner.records import Figures, Item, Judgement, Outcome, SeatScores
from evalrunner.rubric import Rubric
from evalrunner.stats.panel import ChunkScore, seat_scores


class RubricPanel(Component):
    """All seats score the whole sample in parallel, once a cycle.

    Attributes:
        prompt: the prompt template, in prompts/, that LLM seats are asked with.
        chunk_size: how many items are scored in one prompt; None puts the whole sample into one.
    """

    prompt: str = Field(default="takes_quality", pattern=r"^[a-z][a-z0-9_]*$")
    chunk_size: int | None = Field(default=None, ge=1)

    def chunks(self, items: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """The items in sampled order, cut into runs of at most `chunk_size`, each made in its turn."""
        size = self.chunk_size or max(1, len(items))
        return (items[start : start + size] for start in range(0, len(items), size))

    def _count(self, items: Sequence[Item]) -> int:
        return -(-len(items) // (self.chunk_size or max(1, len(items))))

    def check(self, rubric: Rubric) -> list[Problem]:
        """Whether the rubric has dimensions to score on."""
        if rubric.dimensions:
            return []
        where = str(rubric.path or "rubric")
        return [Problem(where, "has no dimensions, and a panel scores on them", None, "rubric=OPTION")]

    def check_panel(self, seats: Sequence[Seat]) -> list[Problem]:
        """Whether there are seats, and all of them score on rubrics."""
        return unfit(type(self).__name__, seats, RubricSeat, "LLMs, panel=rules")

    async def cycle(
        self, items: Sequence[Item], outcomes: Sequence[Outcome], n: int, bench: Bench
    ) -> list[Judgement]:
        """One panel call: every seat on every chunk, in panel order, then in chunk order."""
        bench.desk.expect(self._count(items) * sum(seat.kind == "llm" for seat in bench.seats))

        async def scored(place: int, seat: RubricSeat) -> list[Judgement]:
            one_by_one = (
                seat.score(chunk, place=place, cycle=n, chunk=number, prompt=self.prompt, bench=bench)
                for number, chunk in enumerate(self.chunks(items), start=1)
            )
            return await side_by_side(one_by_one, getattr(seat, "at_once", 1))

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(scored(place, seat)) for place, seat in enumerate(_seats(bench))]
        return [judgement for task in tasks for judgement in task.result()]

    def figures(
        self,
        items: Sequence[Item],
        outcomes: Sequence[Outcome],
        judgements: Sequence[Judgement],
        bench: Bench,
        *,
        pooled: bool,
    ) -> Figures:
        """The contributing seats' exact scores (docs/architecture.md, verdict of a rubric panel).

        The denominator counts item scores: items times seats, over the cycles that count.
        """
        last = max((judgement.cycle for judgement in judgements), default=0)
        counted = [judgement for judgement in judgements if pooled or judgement.cycle == last]
        by_place = seat_scores(
            (
                ChunkScore(each.place, each.cycle, each.chunk, len(each.item_ids), _complete(each))
                for each in counted
            ),
            bench.rubric.names,
            chunks=self._count(items),
            pooled=pooled,
        )
        unscored: dict[str, int] = {}
        for each in counted:
            if each.status not in {"scored", "skipped"}:
                unscored[each.status] = unscored.get(each.status, 0) + len(each.item_ids)
        return Figures(
            seats=tuple(seat.id for seat in bench.seats),
            dimensions=bench.rubric.names,
            scores=tuple(
                SeatScores(seat=bench.seats[place].id, place=place, values=values)
                for place, values in by_place.items()
            ),
            planned=sum(len(each.item_ids) for each in counted),
            scored=sum(len(each.item_ids) for each in counted if each.status == "scored"),
            unscored=unscored,
            skipped=sum(len(each.item_ids) for each in counted if each.status == "skipped"),
        )

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """Every seat on every chunk, each with its re-asks; seats that call no model plan nothing."""
        return [
            PlannedCall(seat.id, *bound, is_reask=ask > 0)
            for seat in _seats(bench)
            for chunk in self.chunks(items)
            for ask, bound in enumerate(seat.planned(chunk, prompt=self.prompt, bench=bench))
        ]

    def metrics(self) -> Sequence[str]:
        """None: the figures are scores."""
        return ()

    def described(self) -> Mapping[str, Any]:
        """Name, template and chunking."""
        return {"name": "rubric_panel", "prompt": self.prompt, "chunk_size": self.chunk_size}

    def prompts(self) -> Sequence[str]:
        """The one template."""
        return (self.prompt,)

    def asked(self) -> Mapping[str, Any]:
        """How the sample is cut."""
        return {"chunk_size": self.chunk_size}


def _complete(judgement: Judgement) -> Mapping[str, Any] | None:
    return judgement.values if judgement.status == "scored" else None


def _seats(bench: Bench) -> Sequence[RubricSeat]:
    """The panel; `check_panel` has seen that its seats score on rubrics."""
    return cast("Sequence[RubricSeat]", bench.seats)
