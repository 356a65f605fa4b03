"""Scores in a receipt: written from exact fractions, read back as exact fractions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from evalrunner.receipt.schema import DimensionScores, Receipt
from evalrunner.receipt.values import as_decimal

TOLERANCE = Fraction(1, 10**9)
"""A written mean this close to the exact one follows from the scores: other programs add in binary floats."""


@dataclass(frozen=True)
class ScoreBlock:
    """What a receipt says of a panel's scores.

    Attributes:
        scores: figures a dimension; empty when there are none.
        overall: the mean of the dimensions' means; None when there are none.
        exact: the scores as fractions, for dimensions where a score has no finite decimal; None where all
        have.
    """

    scores: dict[str, DimensionScores]
    overall: Decimal | None
    exact: dict[str, list[str]] | None


def score_block(dimensions: Sequence[str], seats: Sequence[tuple[str, Mapping[str, Fraction]]]) -> ScoreBlock:
    """The blocks `scores`, `overall_score` and `scores_exact`, from the contributing seats in panel order.

    Args:
        dimensions: the rubric's, in order.
        seats: model id and exact score by dimension.
    """
    if not seats or not dimensions:
        return ScoreBlock({}, None, None)
    columns = {name: [values[name] for _, values in seats] for name in dimensions}
    models = [model for model, _ in seats]
    scores = {
        name: DimensionScores(
            mean=as_decimal(_mean(column)),
            min=as_decimal(min(column)),
            max=as_decimal(max(column)),
            scores=[as_decimal(each) for each in column],
            per_model={model: as_decimal(each) for model, each in zip(models, column, strict=True)},
        )
        for name, column in columns.items()
    }
    exact = {
        name: [str(each) for each in column]
        for name, column in columns.items()
        if any(Fraction(as_decimal(each)) != each for each in column)
    }
    return ScoreBlock(
        scores, as_decimal(_mean([_mean(column) for column in columns.values()])), exact or None
    )


def exact_scores(receipt: Receipt, dimension: str) -> list[Fraction]:
    """The seats' scores of a dimension, each as the decimal written, or as the fraction behind it.

    A fraction in `scores_exact` counts only where it agrees with the decimal to all its digits.
    """
    written = [Fraction(each) for each in receipt.scores[dimension].scores]
    exact = [Fraction(each) for each in (receipt.scores_exact or {}).get(dimension, [])]
    close = len(exact) == len(written) and all(
        abs(one - other) <= abs(other) / 10**15 for one, other in zip(exact, written, strict=True)
    )
    return exact if close else written


def mean_follows(receipt: Receipt, dimension: str) -> bool:
    """Whether the written mean of a dimension is the mean of its scores."""
    scores = exact_scores(receipt, dimension)
    return bool(scores) and abs(_mean(scores) - Fraction(receipt.scores[dimension].mean)) <= TOLERANCE


def mean(receipt: Receipt, dimension: str) -> Fraction:
    """A dimension's mean: exact, from its scores; as written where it does not follow from them."""
    if mean_follows(receipt, dimension):
        return _mean(exact_scores(receipt, dimension))
    return Fraction(receipt.scores[dimension].mean)


def minimum(receipt: Receipt, dimension: str) -> Fraction:
    """A dimension's lowest score: from its scores where the mean follows from them, else as written."""
    if mean_follows(receipt, dimension):
        return min(exact_scores(receipt, dimension))
    return Fraction(receipt.scores[dimension].min)


def overall_follows(receipt: Receipt) -> bool:
    """Whether the written overall score is the mean of the dimensions' means."""
    if receipt.overall_score is None or not receipt.scores:
        return receipt.overall_score is None and not receipt.scores
    return abs(_overall(receipt) - Fraction(receipt.overall_score)) <= TOLERANCE


def overall(receipt: Receipt) -> Fraction | None:
    """The overall score: exact where it is the mean of the dimensions' means, else as written."""
    if receipt.overall_score is None:
        return None
    follows = receipt.scores and overall_follows(receipt)
    return _overall(receipt) if follows else Fraction(receipt.overall_score)


def _overall(receipt: Receipt) -> Fraction:
    return _mean([mean(receipt, name) for name in receipt.scores])


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
