"""What a table is: rows in a file or database that DuckDB can read and that people can find again."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalrunner.errors import EvalrunnerError
from evalrunner.source.rows import RowKind, RowRefused

if TYPE_CHECKING:
    import duckdb

Reread = Iterator[tuple[int, str, Mapping[str, Any] | RowRefused]]
"""Number of a row, its place for messages, and the row or why it is none."""


class Table(ABC):
    """Rows of one kind, numbered from 0 in their order.

    Attributes:
        con: the DuckDB that reads it.
        kind: the kind of its rows.
        where: how messages name it.
    """

    def __init__(self, con: "duckdb.DuckDBPyConnection", kind: RowKind, where: str) -> None:
        self.con = con
        self.kind = kind
        self.where = where

    @abstractmethod
    def fields_sql(self, carried: str | None = None) -> str:
        """A query for all rows, in their order.

        Args:
            carried: a column that is no known field, wanted as `_carried`.

        Returns:
            SQL that gives the kind's fields as VARCHAR (numbers as DOUBLE; null where absent), `_odd`
            (a field is of a wrong type, or the row is suspect for a reason of its format) and `_carried`
            (as VARCHAR).
        """

    @abstractmethod
    def pick(self, numbers: Sequence[int]) -> Iterator[tuple[int, Mapping[str, Any] | RowRefused]]:
        """The rows with these ascending numbers, each with its number."""

    @abstractmethod
    def reread(self, numbers: Sequence[int] | None = None) -> Reread:
        """The rows with these ascending numbers, or all, with the places that messages name."""

    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The names of all columns."""

    def check_end(self, rows: int, last: str | None) -> None:  # noqa: B027 - most tables need no check
        """Makes sure that the `rows` rows read, the last with the id `last`, are all.

        Raises:
            InputError: what follows is no row.
            SourceFailedError: rows are missing.
        """

    @abstractmethod
    def failed(self, error: "duckdb.Error") -> EvalrunnerError:
        """What to raise when DuckDB could not read the table."""
