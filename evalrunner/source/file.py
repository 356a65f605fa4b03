"""The source `file`: rows of a JSONL, CSV or Parquet file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from evalrunner.component import Component, FilePath
from evalrunner.errors import InputError, Problem, SourceFailedError, nearest, show
from evalrunner.paths import demo
from evalrunner.records import Item, Selection
from evalrunner.source.carry_out import take
from evalrunner.source.columns import Parquet, cannot_read
from evalrunner.source.csvfile import CsvFile
from evalrunner.source.engine import engine
from evalrunner.source.jsonlines import JsonLines
from evalrunner.source.kinds import ROW_KINDS, known_kind
from evalrunner.source.rows import RowKind
from evalrunner.source.table import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DEMO = "demo:"
EXTENSIONS = (".jsonl", ".ndjson", ".csv", ".parquet")


class FileSource(Component):
    """Items from the rows of one file, whose extension says its format.

    Attributes:
        path: the file; `demo:NAME` is the demo file NAME that ships with the package.
        rows: the kind of its rows.
        slug_prefix: only rows whose slug starts with exactly these characters; None takes all.
    """

    origin: ClassVar[Literal["fs", "db"]] = "fs"

    path: FilePath
    rows: Annotated[str, AfterValidator(known_kind)] = "takes"
    slug_prefix: str | None = Field(default=None, min_length=1)

    def take(self, selection: Selection) -> Sequence[Item]:
        """See `Source.take`. An empty file, or none behind the prefix, gives no items.

        Raises:
            InputError: no such file, another format, or rows that cannot be used; all problems at once.
            SourceFailedError: the file cannot be read, or was changed meanwhile.
        """
        kind = ROW_KINDS[self.rows]
        check_prefix(kind, self.slug_prefix)
        try:
            path = self._file()
            before = path.stat()
            path.open("rb").close()
            if not before.st_size and path.suffix.lower() != ".parquet":
                return []
            with engine() as con:
                items = take(self._table(con, kind, path), selection, self.slug_prefix)
            after = path.stat()
        except OSError as error:
            raise SourceFailedError(
                Problem(str(self.path), f"cannot be read: {error.strerror or error}")
            ) from None
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise SourceFailedError(Problem(str(self.path), "was changed while it was read"))
        return items

    def location(self) -> str | None:
        """The path as it was given."""
        return str(self.path)

    def prefix(self) -> str | None:
        """The slug prefix."""
        return self.slug_prefix

    def _file(self) -> Path:
        given = str(self.path)
        path = demo(given.removeprefix(DEMO)) if given.startswith(DEMO) else self.path
        problem = missing(path, given)
        if problem is None and path.suffix.lower() not in EXTENSIONS:
            what = "is of no known format"
            near = nearest(path.suffix, EXTENSIONS) if path.suffix else None
            problem = Problem("source.path", what, show(given, 400), ", ".join(EXTENSIONS), near)
        if problem is not None:
            raise InputError(problem)
        return path

    def _table(self, con: "DuckDBPyConnection", kind: RowKind, path: Path) -> Table:
        import duckdb

        where = str(self.path)
        suffix = path.suffix.lower()
        try:
            if suffix == ".csv":
                return CsvFile(con, kind, path, where)
            if suffix == ".parquet":
                return Parquet(con, kind, path, where)
        except duckdb.Error as error:
            raise cannot_read(where, error) from None
        return JsonLines(con, kind, path, where)


def missing(path: Path, given: str) -> Problem | None:
    """What is wrong with a path that is to be a file, or None."""
    if path.is_file():
        return None
    if path.exists():
        return Problem("source.path", "is not a file", show(given, 400), "a file")
    folder = path.parent
    names = [each.name for each in folder.iterdir() if each.is_file()] if folder.is_dir() else []
    return Problem("source.path", "there is no such file", show(given, 400), None, nearest(path.name, names))


def check_prefix(kind: RowKind, prefix: str | None) -> None:
    """Refuses a prefix for rows that have no slug.

    Raises:
        InputError: with the key.
    """
    if prefix is not None and kind.slug is None:
        raise InputError(
            Problem("source.slug_prefix", f"rows of kind {kind.name} have no slug", show(prefix), "null")
        )
