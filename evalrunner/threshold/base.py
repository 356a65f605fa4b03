"""What every threshold is."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from evalrunner.errors import Problem
from evalrunner.records import Decision, Figures
from evalrunner.rubric import Scale


@runtime_checkable
class Threshold(Protocol):
    """The rule that turns figures into a verdict."""

    def decide(self, figures: Figures) -> Decision:
        """The verdict with its numbers; over nothing it is inconclusive, never a pass."""
        ...

    def check(self, *, scale: Scale | None, metrics: Sequence[str] | None) -> list[Problem]:
        """What of the rule does not fit the rubric's scale or the eval's metrics; said before anything runs.

        Args:
            scale: the rubric's scale; None where nothing is scored on one.
            metrics: the names of the eval's metrics; None where the eval has none.
        """
        ...

    def asked(self) -> Mapping[str, Any]:
        """The rule's content as it enters the rubric fingerprint, JSON-ready."""
        ...

    def shown(self) -> Mapping[str, Any]:
        """The rule for the receipt's `threshold` block: its name and its bars."""
        ...
