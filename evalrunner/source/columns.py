"""Rows in typed columns: Parquet files and tables of DuckDB."""

from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalrunner.errors import EvalrunnerError, InputError, Problem, SourceFailedError, nearest
from evalrunner.source.engine import first_line, literal, name, run
from evalrunner.source.jsontext import read_trusted
from evalrunner.source.rows import FieldType, RowKind, RowRefused
from evalrunner.source.table import Reread, Table

if TYPE_CHECKING:
    import duckdb

_NUMBER = name("evalrunner row number")
_WHOLE = {
    f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
}


class Columns(Table):
    """A relation of DuckDB, with the types that it has.

    Attributes:
        relation: what stands after FROM.
        types: the SQL type of each column.
        number: the name under which DuckDB gives the number of a row, where it does, as a relation that does.
    """

    number: tuple[str, str] | None = None

    def __init__(self, con: "duckdb.DuckDBPyConnection", kind: RowKind, relation: str, where: str) -> None:
        super().__init__(con, kind, where)
        self.relation = relation
        self.types: dict[str, str] = {
            row[0]: row[1] for row in con.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        }
        check_columns(kind, list(self.types), where)

    @property
    def numbered(self) -> str:
        """A query for all rows with their numbers."""
        if self.number is None or self.number[0] in {column.lower() for column in self.types}:
            return f"SELECT row_number() OVER () - 1 AS {_NUMBER}, * FROM {self.relation}"
        return f"SELECT {self.number[0]} AS {_NUMBER}, * FROM {self.number[1]}"

    def fields_sql(self, carried: str | None = None) -> str:
        """See `Table.fields_sql`."""
        columns = []
        odd = ["false"]
        for field, kind in self.kind.fields.items():
            columns.append(f"{self._value(field, kind)} AS {name(field)}")
            if field in self.types:
                odd.append(self._is_odd(field, kind))
        other = f"{name(carried)}::VARCHAR" if carried in self.types else "NULL::VARCHAR"
        return (
            f"SELECT {', '.join(columns)}, {other} AS _carried, {' OR '.join(odd)} AS _odd"
            f" FROM {self.relation}"
        )

    def _fits(self, field: str, kind: FieldType) -> bool:
        sql = self.types[field]
        if kind == "number":
            return sql in _WHOLE | {"FLOAT", "DOUBLE"} or sql.startswith("DECIMAL")
        return (
            sql == "VARCHAR"
            or sql.startswith("ENUM")
            or (kind == "key" and sql in _WHOLE | {"UUID"})
            or (kind == "date" and sql == "DATE")
        )

    def _value(self, field: str, kind: FieldType) -> str:
        """The field as text or DOUBLE; null where the column is absent or has another type."""
        target = "DOUBLE" if kind == "number" else "VARCHAR"
        if field not in self.types or not self._fits(field, kind):
            return f"NULL::{target}"
        return f"{self._written(field)}::{target}"

    def _is_odd(self, field: str, kind: FieldType) -> str:
        if not self._fits(field, kind):
            return f"{name(field)} IS NOT NULL"
        return "false" if kind == "number" else f"coalesce(contains({name(field)}::VARCHAR, chr(0)), false)"

    def _written(self, column: str) -> str:
        """The column's value; a number of single precision as the decimal that it shows."""
        return f"{name(column)}::VARCHAR::DOUBLE" if self.types[column] == "FLOAT" else name(column)

    def _data(self) -> str:
        """The row as JSON. A known field of another type is told with the type, so that it is refused."""
        members = []
        for column, sql in self.types.items():
            value = self._written(column)
            if column in self.kind.fields and not self._fits(column, self.kind.fields[column]):
                value = f"CASE WHEN {name(column)} IS NOT NULL THEN struct_pack({name(sql)} := {value}) END"
            members.append(f"{name(column)} := {value}")
        return f"to_json(struct_pack({', '.join(members)}))::VARCHAR"

    def pick(self, numbers: Sequence[int]) -> Iterator[tuple[int, Mapping[str, Any] | RowRefused]]:
        """See `Table.pick`."""
        return self._rows(f"WHERE {_NUMBER} IN (SELECT unnest($1::BIGINT[]))", [numbers])

    def reread(self, numbers: Sequence[int] | None = None) -> Reread:
        """See `Table.reread`."""
        for number, row in self._rows() if numbers is None else self.pick(numbers):
            yield number, f"{self.where}: row {number + 1}", row

    def _rows(
        self, where: str = "", values: Sequence[Any] = ()
    ) -> Iterator[tuple[int, Mapping[str, Any] | RowRefused]]:
        run(self.con, f"SELECT {_NUMBER}, {self._data()} FROM ({self.numbered}) {where} ORDER BY 1", values)
        while batch := self.con.fetchmany(1000):
            for number, data in batch:
                yield number, self._decode(data)

    def _decode(self, data: str) -> Mapping[str, Any]:
        return read_trusted(data)

    def columns(self) -> Sequence[str]:
        """See `Table.columns`."""
        return list(self.types)

    def failed(self, error: "duckdb.Error") -> EvalrunnerError:
        """See `Table.failed`."""
        return cannot_read(self.where, error)


class Parquet(Columns):
    """A Parquet file; it knows the numbers of its rows, so a few are found without reading the others."""

    def __init__(self, con: "duckdb.DuckDBPyConnection", kind: RowKind, path: Path, where: str) -> None:
        file = f"{literal(escape(str(path)))}, hive_partitioning = false"
        self.number = ("file_row_number", f"read_parquet({file}, file_row_number = true)")
        super().__init__(con, kind, f"read_parquet({file})", where)


class Query(Columns):
    """What a query gives, kept for the time of reading: a second run could give other rows, or another order.

    DuckDB keeps it compressed on disk where it is larger than the memory it may take.
    """

    def __init__(self, con: "duckdb.DuckDBPyConnection", kind: RowKind, query: str, where: str) -> None:
        kept = "memory.main.source_rows"
        run(con, f"CREATE OR REPLACE TABLE {kept} AS SELECT * FROM (\n{query}\n)")
        self.number = ("rowid", kept)
        super().__init__(con, kind, kept, where)


def check_columns(kind: RowKind, columns: Sequence[str], where: str) -> None:
    """Refuses a table without the columns that every row needs.

    Raises:
        InputError: names each missing column, and the nearest one that is there.
    """
    others = [each for each in columns if each not in kind.fields]
    missing = [field for field in kind.fields if field in kind.required and field not in columns]
    if missing:
        raise InputError(
            [
                Problem(
                    where,
                    f"there is no column {each!r}",
                    ", ".join(columns)[:200],
                    None,
                    nearest(each, others),
                )
                for each in missing
            ]
        )


def cannot_read(where: str, error: "duckdb.Error") -> EvalrunnerError:
    """What a failure of DuckDB means: out of reach or memory is the source's failure, else input is bad."""
    import duckdb

    problem = Problem(where, f"cannot be read: {first_line(error)}")
    if isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException | duckdb.InternalException):
        return SourceFailedError(problem)
    return InputError(problem)
