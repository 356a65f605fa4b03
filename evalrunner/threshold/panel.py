"""The verdict of a rubric panel: every dimension's mean and minimum against a bar, with a quorum of seats."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pydantic import Field, field_validator

from evalrunner.component import Component, ExactDecimal, ExactFraction
from evalrunner.errors import Problem
from evalrunner.receipt.jsontext import number
from evalrunner.records import Decision, Figures
from evalrunner.rubric import Scale
from evalrunner.stats.panel import TWO_THIRDS, mean, verdict
from evalrunner.stats.rounding import shown


class PanelThreshold(Component):
    """Passes when every mean and every minimum reaches its bar; all arithmetic is exact.

    Attributes:
        mean_min: what every dimension's mean over the seats must reach.
        min_min: what every seat's score must reach.
        quorum: the share of seats that must contribute, above 0 and at most 1; fewer is inconclusive.
    """

    mean_min: ExactDecimal = Field(default=Decimal(7))
    min_min: ExactDecimal = Field(default=Decimal(5))
    quorum: ExactFraction = Field(default=TWO_THIRDS)

    @field_validator("quorum")
    @classmethod
    def _share(cls, value: Fraction) -> Fraction:
        if not 0 < value <= 1:
            raise ValueError("the quorum must be above 0 and at most 1, such as 2/3")
        return value

    def check(self, *, scale: Scale | None, metrics: Sequence[str] | None) -> list[Problem]:
        """Bars that lie outside the scale, or a rubric without one."""
        if scale is None:
            return [
                Problem(
                    "threshold",
                    "is a rule for rubric scores, and this rubric has no scale",
                    None,
                    "metric, none",
                )
            ]
        allowed = f"{number(scale.min)} to {number(scale.max)}, the rubric's scale"
        return [
            Problem(f"threshold.{name}", "lies outside the rubric's scale", number(bar), allowed)
            for name, bar in (("mean_min", self.mean_min), ("min_min", self.min_min))
            if not scale.min <= bar <= scale.max
        ]

    def decide(self, figures: Figures) -> Decision:
        """The verdict on the contributing seats' scores; over nothing, or by nobody, it is inconclusive."""
        columns = {name: [seat.values[name] for seat in figures.scores] for name in figures.dimensions}
        scored = {name: column for name, column in columns.items() if column}
        return self.decide_scores(
            {name: mean(column) for name, column in scored.items()},
            {name: min(column) for name, column in scored.items()},
            contributed=len(figures.scores),
            seats=len(figures.seats),
            columns=scored,
            undone=undone(figures),
        )

    def decide_scores(
        self,
        means: Mapping[str, Fraction],
        minima: Mapping[str, Fraction],
        *,
        contributed: int,
        seats: int,
        columns: Mapping[str, Sequence[Fraction]] | None = None,
        undone: str = "",
    ) -> Decision:
        """As `decide`, from means and minima by dimension.

        Args:
            means, minima: exact, by dimension.
            contributed, seats: how many seats contributed, of how many.
            columns: the seats' scores by dimension, to be named beside a failing mean.
            undone: what was not scored, to be named when the verdict is inconclusive.
        """
        bars = Fraction(self.mean_min), Fraction(self.min_min)
        rule = verdict(
            means,
            minima,
            contributed=contributed,
            seats=seats,
            mean_min=bars[0],
            min_min=bars[1],
            quorum=self.quorum,
        )
        if rule.word == "inconclusive":
            message = f"{contributed} of {seats} seats contributed, {rule.needed} needed"
            if not seats:
                message = "the panel has no seats"
            elif contributed >= rule.needed:
                message = "no dimension was scored"
            return Decision(verdict="inconclusive", message=f"Inconclusive: {message}{undone}.")
        if rule.word == "pass":
            overall = mean(list(means.values()))
            return Decision(
                verdict="pass",
                message=f"Pass: every mean is at least {number(self.mean_min)} and every minimum at least "
                f"{number(self.min_min)}; overall {shown(overall)}, {contributed} of {seats} seats.",
            )
        failing = [
            self._failing(name, means[name], minima[name], (columns or {}).get(name, ()))
            for name in means
            if name in rule.low_means or name in rule.low_minima
        ]
        return Decision(verdict="fail", message=f"Fail: {'; '.join(failing)}.")

    def _failing(self, name: str, average: Fraction, lowest: Fraction, column: Sequence[Fraction]) -> str:
        parts = []
        if average < self.mean_min:
            parts.append(f"mean {shown(average, self.mean_min)} is below {number(self.mean_min)}")
        if lowest < self.min_min:
            parts.append(f"minimum {shown(lowest, self.min_min)} is below {number(self.min_min)}")
        seats = f" (seats: {', '.join(shown(each, self.min_min) for each in column)})" if column else ""
        return f"{name} {' and '.join(parts)}{seats}"

    def asked(self) -> dict[str, Any]:
        """Both bars and the quorum."""
        return {"mean_min": self.mean_min, "min_min": self.min_min, "quorum": str(self.quorum)}

    def shown(self) -> dict[str, Any]:
        """The rule under its name."""
        return {"name": "panel", **self.asked()}


def undone(figures: Figures) -> str:
    """What of the denominator was not scored, as the end of a sentence; empty where all was."""
    parts = [f"{count} {reason}" for reason, count in figures.unscored.items() if count]
    if figures.skipped:
        parts.append(f"{figures.skipped} skipped for the budget")
    return f"; of {figures.planned} planned, {', '.join(parts)}" if parts else ""
