"""What every reporter is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TextIO, runtime_checkable


@dataclass(frozen=True)
class Report:
    """What there is to show of one attempt.

    Attributes:
        receipt: the receipt, as its JSON object.
        warnings: lines that were also said on stderr.
        kept: where the receipt lies, for the reader; None when nothing was kept.
    """

    receipt: Mapping[str, Any]
    warnings: Sequence[str] = field(default_factory=tuple)
    kept: str | None = None


@runtime_checkable
class Reporter(Protocol):
    """Shows a report on a text stream."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Writes the report. Untrusted text in it is stripped of control characters or escaped."""
        ...
