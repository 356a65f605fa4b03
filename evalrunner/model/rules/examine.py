"""All rules, by the dimension that they speak to."""

from collections.abc import Callable, Iterable, Mapping

from evalrunner.model.rules import (
    accuracy,
    attribution,
    kind_classification,
    signal_density,
    weight_calibration,
)
from evalrunner.model.rules.reading import Reading, read
from evalrunner.model.rules.take import Finding, Take

RULES: Mapping[str, Callable[[Reading], list[Finding]]] = {
    "accuracy": accuracy.examine,
    "attribution": attribution.examine,
    "weight_calibration": weight_calibration.examine,
    "kind_classification": kind_classification.examine,
    "signal_density": signal_density.examine,
}
"""Dimension id -> the rules for it. A rubric with any other dimension cannot be scored by rules."""


def examine(take: Take, dimensions: Iterable[str]) -> dict[str, list[Finding]]:
    """The evidence against a take on each of the dimensions; empty lists where there is none.

    Raises:
        KeyError: a dimension without rules.
    """
    reading = read(take)
    return {dimension: RULES[dimension](reading) for dimension in dimensions}
