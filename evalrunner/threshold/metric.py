"""The verdict over metrics: bars that named figures must reach, or must not exceed; or no bar at all."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from pydantic import Field, model_validator

from evalrunner.component import Component, ExactDecimal
from evalrunner.errors import Problem, nearest
from evalrunner.receipt.jsontext import number
from evalrunner.records import Decision, Figures, Metric
from evalrunner.rubric import Scale
from evalrunner.stats.rounding import shown
from evalrunner.threshold.panel import undone


class MetricThreshold(Component):
    """Passes when every named metric keeps its bar.

    Nothing scored at all, or runs left out for the budget, is inconclusive: recall would count them as
    missed. Else a metric that misses its bar fails, whatever the others are; and one that is undefined,
    stands on nothing or was not measured makes the verdict inconclusive.

    Attributes:
        at_least: metric -> the value that it must reach.
        at_most: metric -> the value that it must not exceed.
    """

    at_least: dict[str, ExactDecimal] = Field(default_factory=dict)
    at_most: dict[str, ExactDecimal] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _bars(self) -> "MetricThreshold":
        if not self.at_least and not self.at_most:
            raise ValueError("needs a bar, such as threshold.at_least.effective_recall=0.6")
        both = self.at_least.keys() & self.at_most.keys()
        never = sorted(name for name in both if self.at_least[name] > self.at_most[name])
        if never:
            raise ValueError(f"at_least lies above at_most, so nothing can pass: {', '.join(never)}")
        return self

    def check(self, *, scale: Scale | None, metrics: Sequence[str] | None) -> list[Problem]:
        """Bars for metrics that the eval does not have."""
        if not metrics:
            return [Problem("threshold", "is a rule for metrics, and this eval has none", None, "panel")]
        return [
            Problem(
                f"threshold.{group}.{name}",
                "this eval has no such metric",
                None,
                ", ".join(metrics),
                nearest(name, metrics),
            )
            for group, bars in (("at_least", self.at_least), ("at_most", self.at_most))
            for name in bars
            if name not in metrics
        ]

    def decide(self, figures: Figures) -> Decision:
        """The verdict over the figures' metrics."""
        if not figures.scored or figures.skipped:
            what = "the run is not complete" if figures.scored else "nothing was scored"
            return Decision(verdict="inconclusive", message=f"Inconclusive: {what}{undone(figures)}.")
        missed, unknown, kept = [], [], []
        for name, bar, higher in self._each():
            metric = figures.metrics.get(name)
            if metric is None:
                unknown.append(f"{name} was not measured")
            elif metric.value is None or not metric.n:
                unknown.append(f"{name} is undefined (nothing to count)")
            elif _keeps(metric.value, bar, higher=higher):
                kept.append(f"{name} {_shown(metric, bar, higher=higher)}")
            else:
                side = "below" if higher else "above"
                missed.append(f"{name} {_shown(metric, bar, higher=higher)} is {side} {number(bar)}")
        if missed:
            return Decision(verdict="fail", message=f"Fail: {'; '.join([*missed, *unknown])}.")
        if unknown:
            return Decision(verdict="inconclusive", message=f"Inconclusive: {'; '.join(unknown)}.")
        return Decision(verdict="pass", message=f"Pass: {', '.join(kept)}.")

    def _each(self) -> Iterator[tuple[str, Decimal, bool]]:
        for name, bar in self.at_least.items():
            yield name, bar, True
        for name, bar in self.at_most.items():
            yield name, bar, False

    def asked(self) -> dict[str, Any]:
        """Both sets of bars."""
        return {"at_least": dict(self.at_least), "at_most": dict(self.at_most)}

    def shown(self) -> dict[str, Any]:
        """The rule under its name."""
        return {"name": "metric", **self.asked()}


def _keeps(value: float, bar: Decimal, *, higher: bool) -> bool:
    """Compares the shortest decimal of the value: 3/5 reaches 0.6."""
    written = Decimal(repr(value))
    return written >= bar if higher else written <= bar


def _shown(metric: Metric, bar: Decimal, *, higher: bool) -> str:
    assert metric.value is not None
    interval = ""
    if metric.ci_low is not None and metric.ci_high is not None:
        interval = f", 95 % interval {shown(metric.ci_low)} to {shown(metric.ci_high)}"
    return f"{shown(metric.value, bar, higher_is_better=higher)} (n = {metric.n}{interval})"


class NoThreshold(Component):
    """No rule: the figures are reported, and the verdict is null."""

    def check(self, *, scale: Scale | None, metrics: Sequence[str] | None) -> list[Problem]:
        """A panel's scores alone need a rule: only evals with metrics may go without a verdict."""
        if metrics:
            return []
        return [Problem("threshold", "a rubric panel needs a verdict rule", "none", "panel")]

    def decide(self, figures: Figures) -> Decision:
        """No verdict; says whether anything was scored."""
        what = "no threshold is set" if figures.scored else f"nothing was scored{undone(figures)}"
        return Decision(verdict=None, message=f"No verdict: {what}.")

    def asked(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def shown(self) -> dict[str, Any]:
        """Its name."""
        return {"name": "none"}
