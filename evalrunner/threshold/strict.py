"""Bars for metrics, over a run in which nothing fell by the wayside."""

from typing import Any

from evalrunner.records import Decision, Figures
from evalrunner.threshold.metric import MetricThreshold
from evalrunner.threshold.panel import undone


class StrictThreshold(MetricThreshold):
    """Passes when every bar is kept and everything planned was scored.

    A missed bar fails all the same. Bars that are kept while something was not scored are inconclusive: what
    is unknown, contaminated or left out may be what would have missed them.
    """

    def decide(self, figures: Figures) -> Decision:
        """As `MetricThreshold.decide`, and no pass over a part."""
        decision = super().decide(figures)
        if decision.verdict != "pass" or not undone(figures):
            return decision
        kept = decision.message.removeprefix("Pass: ").removesuffix(".")
        return Decision(verdict="inconclusive", message=f"Inconclusive: {kept}{undone(figures)}.")

    def shown(self) -> dict[str, Any]:
        """The rule under its name."""
        return {**super().shown(), "name": "strict"}
