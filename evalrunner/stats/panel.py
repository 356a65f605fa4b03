"""From what seats said of chunks to scores of seats, figures of dimensions and a verdict; all exact.

A seat contributes in a cycle only when it scored every chunk on every dimension. Its score of a dimension in
that cycle is the mean of its chunks, each weighted by its number of items. Under the stop rule the last cycle
counts; pooled, a seat's score is the mean of the cycles in which it contributed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

TWO_THIRDS = Fraction(2, 3)


@dataclass(frozen=True, slots=True)
class ChunkScore:
    """What one seat said of one chunk in one cycle.

    Attributes:
        place: the seat's position in the panel, from 0.
        cycle, chunk: from 1.
        items: how many items the chunk holds; its weight.
        values: score a dimension; None where the chunk was not scored.
    """

    place: int
    cycle: int
    chunk: int
    items: int
    values: Mapping[str, Decimal | Fraction] | None


def seat_scores(
    parts: Iterable[ChunkScore], dimensions: Sequence[str], *, chunks: int, pooled: bool
) -> dict[int, dict[str, Fraction]]:
    """The exact scores of the seats that contribute: place -> dimension -> score.

    Places come in panel order, dimensions in the order given; the order of `parts` never matters.

    Args:
        parts: every chunk that a seat was asked for, scored or not.
        dimensions: what a complete answer scores.
        chunks: how many chunks make up the sample, so that one that was never asked is missed as well.
        pooled: take the mean of all cycles in which a seat contributed, not the last cycle alone.

    Raises:
        ValueError: a seat answers for a chunk twice in one cycle, or a chunk has no items.
    """
    asked: dict[tuple[int, int], list[ChunkScore]] = defaultdict(list)
    for part in parts:
        if part.items < 1:
            raise ValueError(f"chunk {part.chunk} has no items")
        asked[part.place, part.cycle].append(part)
    last = max((cycle for _, cycle in asked), default=0)
    by_place: dict[int, list[dict[str, Fraction]]] = defaultdict(list)
    for (place, cycle), answers in sorted(asked.items(), key=lambda each: each[0]):
        if pooled or cycle == last:
            scores = _cycle(answers, dimensions, chunks)
            if scores is not None:
                by_place[place].append(scores)
    return {
        place: {name: mean([cycle[name] for cycle in cycles]) for name in dimensions}
        for place, cycles in by_place.items()
    }


def _cycle(
    answers: Sequence[ChunkScore], dimensions: Sequence[str], chunks: int
) -> dict[str, Fraction] | None:
    """One seat's scores in one cycle; None when a chunk or a dimension is missing."""
    for chunk, times in Counter(answer.chunk for answer in answers).items():
        if times > 1:
            raise ValueError(f"seat {answers[0].place} answers {times} times for chunk {chunk} of one cycle")
    complete = [
        (answer.items, answer.values)
        for answer in answers
        if answer.values is not None and all(name in answer.values for name in dimensions)
    ]
    if not chunks or len(complete) < chunks:
        return None
    weight = sum(items for items, _ in complete)
    return {
        name: sum((items * Fraction(values[name]) for items, values in complete), Fraction(0)) / weight
        for name in dimensions
    }


def mean(values: Sequence[Fraction]) -> Fraction:
    """The exact mean. There must be at least one value."""
    return sum(values, Fraction(0)) / len(values)


def quorum_needed(seats: int, quorum: Fraction = TWO_THIRDS) -> int:
    """How many of `seats` must contribute: ceil(quorum x seats), exactly."""
    return -(-seats * quorum.numerator // quorum.denominator)


@dataclass(frozen=True)
class Verdict:
    """What the rule of a rubric panel says.

    Attributes:
        word: the verdict.
        needed: how many seats had to contribute.
        low_means, low_minima: the dimensions that miss a bar, in order.
    """

    word: Literal["pass", "fail", "inconclusive"]
    needed: int
    low_means: tuple[str, ...] = ()
    low_minima: tuple[str, ...] = ()


def verdict(
    means: Mapping[str, Fraction],
    minima: Mapping[str, Fraction],
    *,
    contributed: int,
    seats: int,
    mean_min: Fraction,
    min_min: Fraction,
    quorum: Fraction = TWO_THIRDS,
) -> Verdict:
    """The verdict over a panel: every mean and every minimum reaches its bar, and the quorum is met.

    No seats, no dimensions, or a quorum missed is inconclusive, never a pass.
    """
    needed = quorum_needed(seats, quorum)
    if contributed < max(needed, 1) or not means:
        return Verdict("inconclusive", needed)
    low_means = tuple(name for name, value in means.items() if value < mean_min)
    low_minima = tuple(name for name, value in minima.items() if value < min_min)
    return Verdict("fail" if low_means or low_minima else "pass", needed, low_means, low_minima)
