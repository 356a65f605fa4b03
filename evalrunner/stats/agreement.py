"""How far two sets, two judges, or a judge and the truth agree."""

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from fractions import Fraction
from itertools import combinations
from math import hypot

from evalrunner.stats.intervals import UNDEFINED, Estimate, proportion


def jaccard(first: Set[str], second: Set[str]) -> Fraction:
    """|A and B| / |A or B|; two empty sets are alike: 1."""
    union = len(first | second)
    return Fraction(len(first & second), union) if union else Fraction(1)


def pairwise_jaccard(sets: Sequence[Set[str]]) -> list[Fraction]:
    """The index of every pair; empty with fewer than two sets."""
    return [jaccard(first, second) for first, second in combinations(sets, 2)]


def balanced_accuracy(positives: Estimate, negatives: Estimate) -> Estimate:
    """The mean of the shares that came out right among the positives and among the negatives.

    The interval joins those of the two shares by the square-and-add rule (Newcombe, 1998), as for the
    difference of two independent shares. Undefined when either share is.
    """
    n = positives.n + negatives.n
    first, second = positives.bounds, negatives.bounds
    if positives.value is None or negatives.value is None or first is None or second is None:
        return Estimate(None, n)
    value = (positives.value + negatives.value) / 2
    below = hypot(first[0] - first[1], second[0] - second[1]) / 2
    above = hypot(first[2] - first[0], second[2] - second[0]) / 2
    return Estimate(value, n, max(0.0, float(value) - below), min(1.0, float(value) + above))


def cohen_kappa(batches: Iterable[Sequence[tuple[str, str]]]) -> Estimate:
    """Cohen's kappa: agreement of two raters beyond chance, from -1 to 1.

    The interval is that of the observed agreement, with batches as its cases, carried over with the chance
    agreement held fixed (as in Cohen's own standard error, 1960).

    Args:
        batches: the two labels of each thing rated; what was rated together stands in one batch.

    Returns:
        Undefined without ratings, and where chance alone would agree always: both raters gave everything one
        and the same label, so that nothing tells them from two raters who do not look.
    """
    rated = [list(batch) for batch in batches]
    pairs = [pair for batch in rated for pair in batch]
    if not pairs:
        return UNDEFINED
    n = len(pairs)
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = Fraction(sum(first[label] * second[label] for label in first), n * n)
    agreed = [(sum(one == other for one, other in batch), len(batch)) for batch in rated]
    bounds = proportion(agreed).bounds
    if chance == 1 or bounds is None:
        return Estimate(None, n)
    share = Fraction(sum(hits for hits, _ in agreed), n)
    low, high = ((bound - float(chance)) / (1 - float(chance)) for bound in bounds[1:])
    return Estimate((share - chance) / (1 - chance), n, max(-1.0, low), min(1.0, high))
