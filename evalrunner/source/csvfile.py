"""CSV: comma separated, quoted with double quotes, UTF-8, a header on the first line."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from glob import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from evalrunner.errors import EvalrunnerError, InputError, Problem, SourceFailedError, show
from evalrunner.source.columns import Columns, cannot_read, check_columns
from evalrunner.source.engine import MAX_ROW, literal, name
from evalrunner.source.jsontext import nested, read_trusted
from evalrunner.source.rows import FieldType, Refusals, RowKind, RowRefused
from evalrunner.source.table import Reread, Table

if TYPE_CHECKING:
    import duckdb

_TAIL, _TRIES = 1024 * 1024, 200
_NUMBER = r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,9})?"


class CsvFile(Columns):
    """A CSV file: all cells are text; an empty cell is null; numbers are read from known number fields only.

    A cell of an unknown column that holds a JSON list or object is read as such.
    """

    def __init__(self, con: "duckdb.DuckDBPyConnection", kind: RowKind, path: Path, where: str) -> None:
        Table.__init__(self, con, kind, where)
        self.path = path
        header, self.end = _header(path, where)
        check_columns(kind, header, where)
        self.types = dict.fromkeys(header, "VARCHAR")
        types = ", ".join(f"{literal(each)}: 'VARCHAR'" for each in header)
        self.relation = (
            f"read_csv({literal(escape(str(path)))}, columns = {{{types}}}, header = true,"
            " auto_detect = false, delim = ',', quote = '\"', escape = '\"', nullstr = '',"
            " strict_mode = true, null_padding = false, compression = 'none', hive_partitioning = false,"
            f" max_line_size = {MAX_ROW}, buffer_size = {2 * MAX_ROW})"
        )

    def _fits(self, field: str, kind: FieldType) -> bool:
        return True

    def _value(self, field: str, kind: FieldType) -> str:
        if kind != "number" or field not in self.types:
            return super()._value(field, kind)
        cell = name(field)
        return f"CASE WHEN regexp_full_match({cell}, {literal(_NUMBER)}) THEN TRY_CAST({cell} AS DOUBLE) END"

    def _decode(self, data: str) -> Mapping[str, Any]:
        return self._read_cells(read_trusted(data))

    def _read_cells(self, row: dict[str, Any]) -> dict[str, Any]:
        for column, cell in row.items():
            kind = self.kind.fields.get(column)
            if kind == "number" and cell is not None and re.fullmatch(_NUMBER, cell):
                row[column] = Decimal(cell)
            elif kind is None:
                row[column] = nested(cell)
        return row

    def reread(self, numbers: Sequence[int] | None = None) -> Reread:
        """See `Table.reread`. A place is the first line of the record."""
        records = _Records(self.path, strict=False)
        starts = enumerate(iter(records))
        at, line = -1, 0
        for number, _, row in super().reread(numbers):
            while at < number:
                at, (line, _) = next(starts)
            yield number, f"{self.where}:{line}", row

    def check_end(self, rows: int, last: str | None) -> None:
        """See `Table.check_end`. DuckDB leaves out a long or unclosed record at the end, without a word."""
        if rows and self._ends_with(last):
            return
        refusals, found = self._read_all()
        problem = Problem(self.where, f"has {found} records, of which {rows} were read")
        error = refusals.error() or (SourceFailedError(problem) if found != rows else None)
        if error is not None:
            raise error

    def _ends_with(self, last: str | None) -> bool:
        """Whether the text at the end of the file is the row with this id, quickly; a no may be wrong."""
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - _TAIL))
            tail = file.read().decode(errors="surrogateescape").rstrip("\r\n")
        start = len(tail)
        for _ in range(_TRIES):
            start = tail.rfind("\n", 0, start)
            if start < 0:
                break
            try:
                records = list(csv.reader(StringIO(tail[start + 1 :], newline=""), strict=True))
                if len(records) == 1 and self.kind.read(self._typed(records[0])).id == last:
                    return True
            except (csv.Error, RowRefused):
                continue
        return False

    def _typed(self, cells: Sequence[str]) -> dict[str, Any]:
        return self._read_cells({name: cell or None for name, cell in zip(self.types, cells, strict=False)})

    def failed(self, error: "duckdb.Error") -> EvalrunnerError:
        """See `Table.failed`."""
        refusals, _ = self._read_all()
        return refusals.error() or cannot_read(self.where, error)

    def _read_all(self) -> tuple[Refusals, int]:
        """What is malformed in the file, and the number of its records, read in Python."""
        refusals = Refusals(self.where)
        found = 0
        records = _Records(self.path, strict=True)
        try:
            for line, cells in records:
                found += 1
                problems = self._malformed(cells, records.end)
                if problems:
                    refusals.add(f"{self.where}:{line}", problems)
        except csv.Error as wrong:
            refusals.add(f"{self.where}:{records.start}", [Problem("", f"is not CSV: {wrong}")])
        except _TooLongError:
            what = f"is longer than {MAX_ROW // 1024 // 1024} MiB; is a quote left open?"
            refusals.add(f"{self.where}:{records.start}", [Problem("", what)])
        return refusals, found

    def _malformed(self, cells: Sequence[str], end: str) -> list[Problem]:
        wanted = len(self.types)
        problems = []
        if len(cells) != wanted and not (len(cells) == wanted + 1 and not cells[-1]):
            problems.append(
                Problem("", f"has {len(cells)} cells, but the header has {wanted}", show(cells[:5]))
            )
        bad = next((cell for cell in cells if any("\udc80" <= each <= "\udcff" for each in cell)), None)
        if bad is not None:
            problems.append(Problem("", "is not UTF-8", show(bad.encode(errors="surrogateescape"))))
        if end and end != self.end:
            problems.append(Problem("", "ends otherwise than the header", show(end), show(self.end)))
        return problems


class _TooLongError(Exception):
    """A line beyond all bounds."""


class _Records:
    """The records below the header, each with the line on which it begins, counted from 1.

    Attributes:
        start: first line of the record that is being read.
        end: how the record read last ends: `\\n`, `\\r\\n`, `\\r` or nothing.
    """

    def __init__(self, path: Path, *, strict: bool) -> None:
        self.path = path
        self.strict = strict
        self.start = 1
        self.end = ""
        self._read = 0

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(max(csv.field_size_limit(), MAX_ROW))
        with self.path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            header = True
            for cells in csv.reader(self._lines(file), strict=self.strict, skipinitialspace=True):
                if cells and not header:
                    yield self.start, cells
                header = False
                self.start = self._read + 1

    def _lines(self, file: TextIO) -> Iterator[str]:
        while line := file.readline(MAX_ROW + 2):
            if len(line) > MAX_ROW:
                raise _TooLongError
            self._read += line.endswith("\n")
            self.end = line[len(line.rstrip("\r\n")) :]
            yield line


def _header(path: Path, where: str) -> tuple[list[str], str]:
    """The names of the columns, and how the first line ends."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        line = file.readline(MAX_ROW)
    end = line[len(line.rstrip("\r\n")) :]
    place = f"{where}:1"
    if end == "\r":
        raise InputError(Problem(place, "ends in a lone carriage return", None, "line ends LF or CRLF"))
    try:
        names = next(csv.reader([line], strict=True), [])
    except csv.Error:
        raise InputError(
            Problem(place, "is no header", show(line), "names of columns, each on this line")
        ) from None
    problems = []
    if not names:
        problems.append(Problem(place, "is blank", None, "the header stands on the first line"))
    if any("\udc80" <= each <= "\udcff" for each in line):
        problems.append(Problem(place, "is not UTF-8", show(line), "UTF-8"))
    if len(names) == 1 and (";" in line or "\t" in line):
        problems.append(Problem(place, "is not separated by commas", show(line), "commas between columns"))
    if any(not each.strip() for each in names):
        problems.append(Problem(place, "has a column without a name", show(line)))
    lower = [each.lower() for each in names]
    problems += [
        Problem(place, f"names the column {each!r} twice")
        for at, each in enumerate(names)
        if each.lower() in lower[:at]
    ]
    if problems:
        raise InputError(problems)
    return names, end
