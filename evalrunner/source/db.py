"""The source `db`: rows that a query gives, from a DuckDB file or from PostgreSQL."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from evalrunner.component import Component, FilePath
from evalrunner.errors import EvalrunnerError, InputError, Problem, SourceFailedError, show
from evalrunner.records import Item, Selection
from evalrunner.source.carry_out import take
from evalrunner.source.columns import Query, cannot_read
from evalrunner.source.engine import engine, first_line, literal
from evalrunner.source.file import check_prefix, missing
from evalrunner.source.jsonlines import JsonLines
from evalrunner.source.kinds import ROW_KINDS, known_kind
from evalrunner.source.postgres import address, spooled
from evalrunner.source.rows import RowKind

if TYPE_CHECKING:
    import duckdb
    from duckdb import DuckDBPyConnection

URL = "DATABASE_URL"


class DbSource(Component):
    """Items from the rows of a query.

    Attributes:
        path: a DuckDB file, opened for reading only; None reads PostgreSQL at the URL in DATABASE_URL.
        query: one SELECT statement, in the database's own SQL.
        rows: the kind of the rows.
        slug_prefix: only rows whose slug starts with exactly these characters; None takes all.
    """

    origin: ClassVar[Literal["fs", "db"]] = "db"

    path: FilePath | None = None
    query: str = Field(default="select * from takes", min_length=1)
    rows: Annotated[str, AfterValidator(known_kind)] = "takes"
    slug_prefix: str | None = Field(default=None, min_length=1)

    def take(self, selection: Selection) -> Sequence[Item]:
        """See `Source.take`. A query that gives nothing, or nothing behind the prefix, gives no items.

        Raises:
            InputError: no database is named, it is none, the query is wrong, or rows cannot be used.
            MissingExtraError: PostgreSQL needs `evalrunner[postgres]`.
            SourceFailedError: the database cannot be reached or read.
        """
        kind = ROW_KINDS[self.rows]
        check_prefix(kind, self.slug_prefix)
        with engine() as con:
            if self.path is not None:
                return take(self._duckdb(con, self.path, kind), selection, self.slug_prefix)
            url = os.environ.get(URL)
            if not url:
                allowed = f"a DuckDB file, or {URL} in the environment for PostgreSQL"
                raise InputError(Problem("source.path", "no database is named", None, allowed))
            with spooled(url, self.query) as file:
                table = JsonLines(con, kind, file, address(url), lines=False)
                return take(table, selection, self.slug_prefix)

    def location(self) -> str | None:
        """The DuckDB file's path as given, or host and database of PostgreSQL; None where none is named."""
        if self.path is not None:
            return str(self.path)
        url = os.environ.get(URL)
        return address(url) if url else None

    def prefix(self) -> str | None:
        """The slug prefix."""
        return self.slug_prefix

    def _duckdb(self, con: "DuckDBPyConnection", path: Path, kind: RowKind) -> Query:
        import duckdb

        where = str(path)
        problem = missing(path, where)
        if problem is not None:
            raise InputError(problem)
        try:
            con.execute(f"ATTACH {literal(where)} AS source_file (TYPE duckdb, READ_ONLY)")
            con.execute("USE source_file")
        except duckdb.Error as error:
            raise _not_attached(path, error) from None
        try:
            statements = con.extract_statements(self.query)
            if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
                allowed = "one SELECT statement"
                raise InputError(Problem("source.query", "is another statement", show(self.query), allowed))
            query = statements[0].query.strip().removesuffix(";")
            return Query(con, kind, query, where)
        except duckdb.ProgrammingError as error:
            raise InputError(Problem("source.query", first_line(error), show(self.query))) from None
        except duckdb.Error as error:
            raise cannot_read(where, error) from None


def _not_attached(path: Path, error: "duckdb.Error") -> EvalrunnerError:
    try:
        with path.open("rb") as file:
            magic = file.read(12)[8:]
    except OSError:
        magic = b""
    else:
        if magic != b"DUCK":
            return InputError(
                Problem("source.path", "is not a DuckDB file", show(str(path), 400), "a DuckDB file")
            )
    return SourceFailedError(Problem(str(path), f"cannot be opened: {first_line(error)}"))
