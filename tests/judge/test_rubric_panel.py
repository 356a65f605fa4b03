"""The rubric panel cuts the sample, asks every seat, and adds up only complete answers."""

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from evalrunner.judge.rubric_panel import RubricPanel
from evalrunner.model.seat import Bench
from evalrunner.records import Item, Judgement
from evalrunner.rubric import Rubric

RUBRIC = Rubric.model_validate(
    {
        "version": "v1",
        "scale": {"min": 1, "max": 10},
        "dimensions": [{"id": "a", "question": "A?"}, {"id": "b", "question": "B?"}],
    }
)


class Scripted:
    """A seat that answers from a list: per call the values, or a status."""

    kind = "llm"
    at_once = 2

    def __init__(self, name: str, answers: Mapping[tuple[int, int], Any]) -> None:
        self.id = name
        self.answers = answers
        self.asked: list[tuple[tuple[str, ...], int, int]] = []

    async def score(
        self, items: Sequence[Item], *, place: int, cycle: int, chunk: int, prompt: str, bench: Bench
    ) -> Judgement:
        self.asked.append((tuple(item.id for item in items), cycle, chunk))
        answer = self.answers[cycle, chunk]
        common: dict[str, Any] = {
            "item_ids": tuple(item.id for item in items),
            "seat": self.id,
            "place": place,
            "cycle": cycle,
            "chunk": chunk,
        }
        if isinstance(answer, str):
            return Judgement(**common, status=answer, error=answer)
        return Judgement(**common, values={name: Decimal(value) for name, value in answer.items()})

    def planned(self, items: Sequence[Item], *, prompt: str, bench: Bench) -> list[tuple[int, int, int]]:
        return [(100 * len(items), 2, 50), (200 * len(items), 4, 50)]


class Uncounted:
    """A desk that nobody calls here; it is only told how many calls to expect."""

    def expect(self, calls: int) -> None:
        self.expected = calls


def items(count: int) -> list[Item]:
    return [Item(id=f"i{number}", content_sha="0" * 64, payload={}) for number in range(count)]


def bench(*seats: Any) -> Bench:
    return Bench(RUBRIC, seats, None, Uncounted(), Path(), print)  # type: ignore[arg-type]


def run(panel: RubricPanel, sample: list[Item], cycles: int, *seats: Any, pooled: bool = False) -> Any:
    judgements: list[Judgement] = []
    for number in range(1, cycles + 1):
        judgements += asyncio.run(panel.cycle(sample, (), number, bench(*seats)))
    return judgements, panel.figures(sample, (), judgements, bench(*seats), pooled=pooled)


def test_without_a_chunk_size_the_whole_sample_is_one_prompt() -> None:
    seat = Scripted("m:a", {(1, 1): {"a": "8", "b": "9"}})
    run(RubricPanel(), items(7), 1, seat)
    assert seat.asked == [(("i0", "i1", "i2", "i3", "i4", "i5", "i6"), 1, 1)]


def test_chunks_keep_the_sampled_order_and_the_last_one_is_what_is_left() -> None:
    seat = Scripted("m:a", {(1, n): {"a": "8", "b": "9"} for n in (1, 2, 3)})
    run(RubricPanel(chunk_size=3), items(7), 1, seat)
    assert [asked[0] for asked in seat.asked] == [("i0", "i1", "i2"), ("i3", "i4", "i5"), ("i6",)]


def test_chunks_are_weighted_by_their_items() -> None:
    seat = Scripted("m:a", {(1, 1): {"a": "10", "b": "5"}, (1, 2): {"a": "4", "b": "5"}})
    _, figures = run(RubricPanel(chunk_size=2), items(3), 1, seat)
    assert figures.scores[0].values == {"a": Fraction(2 * 10 + 4, 3), "b": Fraction(5)}


def test_a_seat_with_one_broken_chunk_contributes_nothing_and_the_denominator_says_so() -> None:
    whole = Scripted("m:a", {(1, 1): {"a": "8", "b": "8"}, (1, 2): {"a": "8", "b": "8"}})
    broken = Scripted("m:b", {(1, 1): {"a": "2", "b": "2"}, (1, 2): "rejected"})
    _, figures = run(RubricPanel(chunk_size=2), items(3), 1, whole, broken)
    assert [each.seat for each in figures.scores] == ["m:a"]
    assert (figures.planned, figures.scored, figures.unscored, figures.skipped) == (6, 5, {"rejected": 1}, 0)


def test_with_stop_on_verdict_the_last_cycle_counts_alone() -> None:
    seat = Scripted("m:a", {(1, 1): {"a": "2", "b": "2"}, (2, 1): {"a": "9", "b": "9"}})
    _, figures = run(RubricPanel(), items(2), 2, seat)
    assert figures.scores[0].values["a"] == 9
    assert figures.planned == 2


def test_pooled_a_seat_is_the_mean_of_the_cycles_in_which_it_contributed() -> None:
    seat = Scripted("m:a", {(1, 1): {"a": "2", "b": "2"}, (2, 1): "failed", (3, 1): {"a": "9", "b": "3"}})
    _, figures = run(RubricPanel(), items(2), 3, seat, pooled=True)
    assert figures.scores[0].values == {"a": Fraction(11, 2), "b": Fraction(5, 2)}
    assert figures.unscored == {"failed": 2}


def test_the_panel_order_is_kept_whoever_answers() -> None:
    seats = [Scripted(f"m:{name}", {(1, 1): {"a": "8", "b": "8"}}) for name in "cab"]
    judgements, figures = run(RubricPanel(), items(1), 1, *seats)
    assert [each.seat for each in judgements] == ["m:c", "m:a", "m:b"]
    assert figures.seats == ("m:c", "m:a", "m:b")


def test_skipped_for_the_budget_is_counted_apart() -> None:
    seat = Scripted("m:a", {(1, 1): "skipped"})
    _, figures = run(RubricPanel(), items(4), 1, seat)
    assert (figures.planned, figures.scored, figures.unscored, figures.skipped) == (4, 0, {}, 4)


def test_every_seat_and_chunk_is_planned_with_its_reasks() -> None:
    seats = [Scripted("m:a", {}), Scripted("m:b", {})]
    planned = RubricPanel(chunk_size=2).planned(items(3), bench(*seats))
    assert [(each.model, each.prompt_bytes, each.is_reask) for each in planned] == [
        ("m:a", 200, False),
        ("m:a", 400, True),
        ("m:a", 100, False),
        ("m:a", 200, True),
        ("m:b", 200, False),
        ("m:b", 400, True),
        ("m:b", 100, False),
        ("m:b", 200, True),
    ]


def test_an_empty_sample_plans_and_scores_nothing() -> None:
    seat = Scripted("m:a", {})
    _, figures = run(RubricPanel(), [], 1, seat)
    assert figures.planned == 0
    assert RubricPanel().planned([], bench(seat)) == []
