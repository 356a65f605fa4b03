"""What every source is."""

from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol, runtime_checkable

from evalrunner.records import Item, Selection


@runtime_checkable
class Moving(Protocol):
    """A source whose items are those of a window of time: asked later, it may give others.

    Attributes:
        window_days: how long the window is.
    """

    @property
    def window_days(self) -> float:
        """Days."""
        ...


@runtime_checkable
class Source(Protocol):
    """Gives the items that a selection names, in the selection's order.

    Attributes:
        origin: `fs` or `db`: what the receipt shows as `corpus.source`.
    """

    origin: ClassVar[Literal["fs", "db"]]

    def take(self, selection: Selection) -> Sequence[Item]:
        """The selected items. The whole source is checked, not only what is taken.

        Raises:
            InputError: rows that cannot be used, each with file, line, field and value.
            SourceFailedError: the source as a whole cannot be read.
        """
        ...

    def location(self) -> str | None:
        """Path or table that the items come from, never with credentials."""
        ...

    def prefix(self) -> str | None:
        """The slug prefix that filters the items, if any."""
        ...
