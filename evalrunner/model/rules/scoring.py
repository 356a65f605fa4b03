"""From evidence to scores: one monotone function of the share of takes with evidence against them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from evalrunner.model.rules.take import Finding
from evalrunner.rubric import Scale

FULL_LOSS = Fraction(3, 10)
"""The share of violating takes at which a dimension's score reaches the foot of the scale."""


def score(violating: int, takes: int, scale: Scale) -> Decimal:
    """The score of a dimension: top of the scale without evidence, its foot at `FULL_LOSS` and above.

    Linear between, then rounded down to the scale's step: on 1 to 10 it is 10 - 30 x share, so one take in
    ten leaves 7.0. Exact: no binary floats.

    Args:
        violating: takes with evidence against them, 0 to `takes`.
        takes: takes examined, 1 or more.
        scale: the rubric's.
    """
    span = Fraction(scale.max) - Fraction(scale.min)
    left = max(Fraction(0), 1 - Fraction(violating, takes) / FULL_LOSS)
    step = _step(span)
    return scale.min + Decimal(int(span * left / Fraction(step))) * step


def _step(span: Fraction) -> Decimal:
    """The largest power of ten that cuts the scale into 90 steps or more: 0.1 on 1 to 10, 0.01 on 0 to 1."""
    step = Decimal(1)
    while Fraction(step) * 90 > span:
        step /= 10
    while Fraction(step) * 900 <= span:
        step *= 10
    return step


def evidence(findings: Mapping[str, Mapping[str, Sequence[Finding]]], per_dimension: int) -> tuple[str, ...]:
    """The most telling finding of each take as a line, at most so many a dimension.

    The dimension with most violating takes speaks first, and the dimensions take turns. Neither the order of
    takes nor that of dimensions matters.

    Args:
        findings: dimension -> take id -> findings; takes without findings may be missing or empty.
        per_dimension: at most so many lines of each.
    """
    columns = []
    for dimension, by_take in findings.items():
        lines = sorted(
            (-max(each.strength for each in found), take_id, max(found, key=lambda each: each.strength).what)
            for take_id, found in by_take.items()
            if found
        )
        columns.append((-len(lines), dimension, lines[:per_dimension]))
    return tuple(
        f"take {lines[rank][1]}: {dimension}: {lines[rank][2]}"
        for rank in range(per_dimension)
        for _, dimension, lines in sorted(columns)
        if rank < len(lines)
    )
