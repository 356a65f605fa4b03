"""What every reporter is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TextIO, runtime_checkable

from evalrunner.component import Component, FilePath
from evalrunner.receipt.compare import Comparison


@dataclass(frozen=True)
class Against:
    """What the receipt was compared with, and what became of it.

    Attributes:
        baseline: the receipt that it was compared with, as its JSON object.
        comparison: figure by figure.
        advisory: a regression is said, and gates nothing.
    """

    baseline: Mapping[str, Any]
    comparison: Comparison
    advisory: bool = False


@dataclass(frozen=True)
class Report:
    """What there is to show of one attempt.

    Attributes:
        receipt: the receipt, as its JSON object.
        warnings: lines that were also said on stderr.
        kept: where the receipt lies, for the reader; None when nothing was kept.
        against: what it was compared with; None where nothing was, as in `run` and `replay`.
    """

    receipt: Mapping[str, Any]
    warnings: Sequence[str] = field(default_factory=tuple)
    kept: str | None = None
    against: Against | None = None


@runtime_checkable
class Reporter(Protocol):
    """Shows a report on a text stream."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Writes the report. Untrusted text in it is stripped of control characters or escaped."""
        ...


class FiledReporter(Component):
    """Base of the reporters that can write to a file.

    Attributes:
        path: the file, which is written whole; None is stdout.
        for_ci: what it writes are commands that a CI system reads from stderr as well, so it goes there when
            stdout is taken.
        lists_items: it shows what was said of single items, so it is given all judgements, also
            those that lie beside the receipt.
    """

    for_ci: ClassVar[bool] = False
    lists_items: ClassVar[bool] = False

    path: FilePath | None = None

    def fence(self) -> tuple[str, str]:
        """What stands before and after the text of others, where this reporter shares a stream with them.

        A reporter whose own text is commands makes sure so that nothing in theirs is taken for one.
        """
        return "", ""
