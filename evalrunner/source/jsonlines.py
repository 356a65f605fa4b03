"""JSONL: one object a line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evalrunner.errors import EvalrunnerError, Problem, SourceFailedError, show
from evalrunner.source.engine import MAX_ROW, first_line, literal, name
from evalrunner.source.jsontext import read_object
from evalrunner.source.rows import FieldType, Refusals, RowKind, RowRefused
from evalrunner.source.table import Reread, Table

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

# What DuckDB reads though it is no JSON, or reads as another number than is written: commas before a closing
# bracket, NaN and infinity in any spelling, numbers beyond a double. Each pattern starts with one fixed
# character, which makes the search about as fast as reading.
_NUMBER = (
    r"-?((?:[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)\s*[,}\]]"
    r"|[0-9.]{25}|[0-9.]+[eE]\+?[0-9]{3})"
)
_NO_JSON = (rf",\s*(?:[}}\]]|{_NUMBER})", rf":\s*{_NUMBER}", rf"\[\s*{_NUMBER}")

_TYPES: dict[FieldType, tuple[str, ...]] = {
    "key": ("VARCHAR", "BIGINT", "UBIGINT"),
    "text": ("VARCHAR",),
    "date": ("VARCHAR",),
    "number": ("DOUBLE", "BIGINT", "UBIGINT"),
}
"""What DuckDB calls the JSON values that fit a field."""


class JsonLines(Table):
    """A file of JSON objects, one a line; blank lines are skipped, and counted as lines.

    Attributes:
        path: the file.
        lines: whether places are lines of the file; else they are numbers of rows.
    """

    def __init__(
        self, con: "duckdb.DuckDBPyConnection", kind: RowKind, path: Path, where: str, *, lines: bool = True
    ) -> None:
        super().__init__(con, kind, where)
        self.path = path
        self.lines = lines

    @property
    def _relation(self) -> str:
        return (
            f"read_ndjson_objects({literal(escape(str(self.path)))}, ignore_errors = true,"
            f" compression = 'none', maximum_object_size = {MAX_ROW})"
        )

    def fields_sql(self, carried: str | None = None) -> str:
        """See `Table.fields_sql`."""
        pointers = ", ".join(literal(_pointer(field)) for field in self.kind.fields)
        columns = ["NULL::VARCHAR AS _carried"]
        if carried is not None:
            columns = [f"json_extract_string(json, {literal(_pointer(carried))}) AS _carried"]
        odd = [f"regexp_matches(json, {literal(each)})" for each in _NO_JSON]
        odd += ["json IS NULL", "contains(json, '\\u0000')", f"strlen(json) > {MAX_ROW}", self._twice()]
        for place, (field, kind) in enumerate(self.kind.fields.items(), start=1):
            fits = f"types[{place}] IN ({', '.join(map(literal, _TYPES[kind]))})"
            value = f"TRY_CAST(texts[{place}] AS DOUBLE)" if kind == "number" else f"texts[{place}]"
            columns.append(f"{value} AS {name(field)}")
            odd.append(f"NOT ({fits} OR types[{place}] = 'NULL')")
        return (
            f"SELECT {', '.join(columns)}, {' OR '.join(f'coalesce({each}, false)' for each in odd)} AS _odd"
            f" FROM (SELECT json, json_extract_string(json, [{pointers}]) AS texts,"
            f" json_type(json, [{pointers}]) AS types FROM {self._relation})"
        )

    def _twice(self) -> str:
        """SQL for "a key is written twice", quick where a row has the same keys as the first one."""
        first = self.con.execute(
            f"SELECT json_keys(json) FROM {self._relation} WHERE json IS NOT NULL LIMIT 1"
        ).fetchone()
        twice = "coalesce(len(json_keys(json)) <> list_unique(json_keys(json)), false)"
        if first is None or not first[0] or len(set(first[0])) < len(first[0]):
            return twice
        usual = f"[{', '.join(map(literal, first[0]))}]"
        return f"CASE WHEN json_keys(json) = {usual} THEN false ELSE {twice} END"

    def reread(self, numbers: Sequence[int] | None = None) -> Reread:
        """See `Table.reread`."""
        rows = enumerate(_lines(self.path))
        for number, (line, content) in rows if numbers is None else _only(rows, numbers):
            place = f"{self.where}:{line}" if self.lines else f"{self.where}: row {number + 1}"
            yield number, place, _read(content)

    def pick(self, numbers: Sequence[int]) -> Iterator[tuple[int, Mapping[str, Any] | RowRefused]]:
        """See `Table.pick`."""
        return ((number, row) for number, _, row in self.reread(numbers))

    def columns(self) -> Sequence[str]:
        """See `Table.columns`."""
        rows = self.con.execute(
            f"SELECT DISTINCT unnest(json_keys(json)) AS key FROM {self._relation} ORDER BY key"
        ).fetchall()
        return [key for (key,) in rows]

    def failed(self, error: "duckdb.Error") -> EvalrunnerError:
        """See `Table.failed`."""
        refusals = Refusals(self.where)
        for _, place, row in self.reread():
            if isinstance(row, RowRefused):
                refusals.add(place, row.problems)
        return refusals.error() or SourceFailedError(Problem(self.where, first_line(error)))


def _pointer(field: str) -> str:
    return "/" + field.replace("~", "~0").replace("/", "~1")


def _only(rows: Iterable[tuple[int, T]], numbers: Sequence[int]) -> Iterator[tuple[int, T]]:
    """The rows with these ascending numbers."""
    wanted = iter(numbers)
    next_one = next(wanted, None)
    for row in rows:
        if next_one is None:
            return
        if row[0] == next_one:
            yield row
            next_one = next(wanted, None)


def _lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """The lines that hold something, numbered from 1; None for one that is too long."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_ROW + 2):
            number += 1
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if len(line) > MAX_ROW and len(line.rstrip(b"\r\n")) > MAX_ROW:
                while line and not line.endswith(b"\n"):
                    line = file.readline(MAX_ROW)
                yield number, None
            elif line and not line.isspace():
                yield number, line


def _read(content: bytes | None) -> Mapping[str, Any] | RowRefused:
    if content is None:
        return RowRefused(Problem("", f"is longer than {MAX_ROW // 1024 // 1024} MiB"))
    try:
        return read_object(content.decode())
    except UnicodeDecodeError as error:
        bad = content[error.start : error.start + 1]
        return RowRefused(Problem("", f"is not UTF-8 at byte {error.start + 1}", show(bad), "UTF-8"))
    except RowRefused as refused:
        return refused
