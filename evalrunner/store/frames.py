"""The store's tables for notebooks: as plain rows, or as data frames of whatever library is installed.

Each question opens the store, reads, and closes it, so that no notebook keeps a writer waiting.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evalrunner.errors import MissingExtraError, Problem
from evalrunner.store.base import Note, Store
from evalrunner.store.migrations import migrate

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

T = TypeVar("T")

TABLES = {
    "attempts": "select * from attempts order by ts, id",
    "receipts": (
        "select r.id, a.* exclude (id) from receipts r join attempts a using (run_id) order by a.ts, r.id"
    ),
    "scores": "select * from scores order by run_id, cycle, chunk, item, model, dimension",
    "chunks": "select * from chunks order by run_id, chunk",
    "trend": "select * from trend order by ts desc, id desc",
}
"""What `store export` and data frames read, by the name of the table."""


@dataclass(frozen=True)
class Table:
    """One table; every call reads it anew.

    All of them raise StoreError where the store cannot be read, and those for data frames MissingExtraError
    where their library is not installed.
    """

    sql: str
    store: Store = field(repr=False)
    note: Note = field(repr=False)

    def rows(self) -> list[dict[str, Any]]:
        """A dictionary a row; no rows where there is no store yet."""
        return self.read(lambda rows: [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()])

    def df(self) -> Any:
        """A pandas DataFrame."""
        _needs("df", "pandas")
        return self.read(lambda rows: rows.df())

    def pl(self) -> Any:
        """A polars DataFrame."""
        _needs("pl", "polars", "pyarrow")
        return self.read(lambda rows: rows.pl())

    def arrow(self) -> Any:
        """A pyarrow Table."""
        _needs("arrow", "pyarrow")
        return self.read(lambda rows: rows.to_arrow_table())

    def read(self, read: "Callable[[DuckDBPyRelation], T]") -> T:
        """What `read` makes of the rows, while the store is open."""
        import duckdb

        with self.store.reading(self.note) as reader:
            answer = reader.ask(self.sql, read)
        if answer is not None:
            return answer
        with duckdb.connect() as empty:  # no store yet: its columns without a row
            migrate(empty, Path(":memory:"))
            return read(empty.sql(self.sql))


@dataclass(frozen=True)
class Tables:
    """What a store keeps. docs/store.md explains the columns."""

    store: Store
    note: Note = field(repr=False)

    def attempts(self) -> Table:
        """Every attempt, the oldest first, with its whole receipt in `receipt_json`."""
        return self.named("attempts")

    def receipts(self) -> Table:
        """The attempt that stands for each receipt, with the columns of attempts; `id` is the receipt's."""
        return self.named("receipts")

    def scores(self) -> Table:
        """Every score that a seat gave: one row an item or chunk, dimension, model and cycle."""
        return self.named("scores")

    def chunks(self) -> Table:
        """Which items each chunk of several items held."""
        return self.named("chunks")

    def trend(self) -> Table:
        """What `evalrunner trend` shows, the newest first."""
        return self.named("trend")

    def named(self, name: str) -> Table:
        """The table of this name, one of `TABLES`."""
        return Table(TABLES[name], self.store, self.note)


def _needs(method: str, *libraries: str) -> None:
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            Problem(
                f".{method}()",
                f"needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
                allowed=f"pip install {' '.join(missing)}, or .rows() without it",
            )
        )
