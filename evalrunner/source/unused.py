"""Stands in for a source that is not asked: the later stages get their items from records."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from evalrunner.errors import InputError
from evalrunner.records import Item, Selection


class UnusedSource:
    """A source that was not configured, where none is needed. No option of the group source."""

    origin: ClassVar[Literal["fs", "db"]] = "fs"

    def take(self, selection: Selection) -> Sequence[Item]:
        """Raises InputError: there is nothing to take from."""
        raise InputError("no source is configured; items come from records")

    def location(self) -> str | None:
        """None."""
        return None

    def prefix(self) -> str | None:
        """None."""
        return None
