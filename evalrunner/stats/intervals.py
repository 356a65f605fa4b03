"""Figures with 95 % intervals that stay inside [0, 1] and never shrink to a point.

All of them are Wilson's score interval (E. B. Wilson, 1927), in closed form: nothing is drawn at random, so
the same counts always give the same interval. Several trials on one case (three runs of one reviewer, the
defects of one diff) are not independent: an interval that counts each of them is far too narrow. The number
of trials is therefore replaced by the effective sample size, trials / design effect, with the variance
between cases taken from the linearised ratio, as for cluster samples in surveys.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A figure with what it stands on.

    Attributes:
        value: exact; None where there was nothing to count.
        n: how many trials it counts (not the effective number).
        low, high: the 95 % interval; None where `value` is.
    """

    value: Fraction | None
    n: int
    low: float | None = None
    high: float | None = None

    @property
    def bounds(self) -> tuple[float, float, float] | None:
        """Value, low and high as floats; None where the figure is undefined."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return float(self.value), self.low, self.high


UNDEFINED = Estimate(None, 0)


def wilson(share: float, n: float) -> tuple[float, float]:
    """The 95 % score interval of a share in [0, 1] over n > 0 trials; n need not be whole."""
    square = Z95 * Z95
    centre = share + square / (2 * n)
    half = Z95 * sqrt(share * (1 - share) / n + square / (4 * n * n))
    scale = 1 + square / n
    low = 0.0 if share == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if share == 1 else min(1.0, (centre + half) / scale)
    return min(low, share), max(high, share)  # rounding must not put the share outside


def proportion(cases: Iterable[tuple[int, int]]) -> Estimate:
    """Hits over trials, pooled over cases.

    With one trial a case it is Wilson's interval over the trials. Else the effective number of trials lies
    between one and all of them; where every trial came out alike nothing is known of the variance, and each
    case counts as one trial.

    Args:
        cases: hits and trials of each case; those without trials do not count.

    Raises:
        ValueError: more hits than trials, or a negative number.
    """
    counted = [(hits, trials) for hits, trials in cases if trials or hits]
    if any(not 0 <= hits <= trials for hits, trials in counted):
        raise ValueError("hits must lie between 0 and trials")
    n = sum(trials for _, trials in counted)
    if not n:
        return UNDEFINED
    value = Fraction(sum(hits for hits, _ in counted), n)
    if all(trials == 1 for _, trials in counted):
        size = float(n)
    else:
        size = min(float(n), _effective(value, [(Fraction(hits), trials) for hits, trials in counted]))
    return Estimate(value, n, *wilson(float(value), size))


def mean_of(values: Sequence[Fraction]) -> Estimate:
    """The mean of independent figures in [0, 1], such as one Jaccard index a case.

    The interval is Wilson's with the effective size mean x (1 - mean) / variance of the mean. It is at least
    the number of figures, since nothing in [0, 1] varies more than a coin does.

    Raises:
        ValueError: a value outside [0, 1].
    """
    if any(not 0 <= value <= 1 for value in values):
        raise ValueError("values must lie in [0, 1]")
    n = len(values)
    if not n:
        return UNDEFINED
    mean = sum(values, Fraction(0)) / n
    size = max(float(n), _effective(mean, [(value, 1) for value in values]))
    return Estimate(mean, n, *wilson(float(mean), size))


def _effective(value: Fraction, cases: Sequence[tuple[Fraction, int]]) -> float:
    """The number of independent trials that would vary as much as these cases do.

    It is the number of cases where the variance cannot be told: one case, all alike at 0 or 1, or no spread.
    """
    count = len(cases)
    trials = sum(size for _, size in cases)
    spread = sum((hits - value * size) ** 2 for hits, size in cases)
    if count == 1 or value in {0, 1} or not spread:
        return float(count)
    variance = Fraction(count, count - 1) * spread / trials**2
    return max(1.0, float(value * (1 - value) / variance))
