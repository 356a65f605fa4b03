"""Writes the same takes as JSONL, CSV, Parquet and a DuckDB file, for the tests of this folder."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from evalrunner.records import Item, Selection
from evalrunner.source.carry_out import take
from evalrunner.source.columns import Parquet
from evalrunner.source.csvfile import CsvFile
from evalrunner.source.engine import engine, literal, name
from evalrunner.source.jsonlines import JsonLines
from evalrunner.source.takes import TAKES

ALL = Selection(order="source", sampler="all")
FORMATS = ("jsonl", "csv", "parquet", "duckdb")


def row(**changes: Any) -> dict[str, Any]:
    """A sound take, with changes; None removes a field."""
    sound = {
        "id": "t1",
        "page_slug": "people/ada",
        "kind": "take",
        "holder": "people/ada",
        "weight": 0.8,
        "claim": "Tests pay off.",
    }
    return {key: value for key, value in {**sound, **changes}.items() if value is not None}


def jsonl(path: Path, rows: Iterable[Mapping[str, Any] | str | bytes]) -> Path:
    """Rows as JSON lines; text and bytes stand as they are."""
    lines = []
    for each in rows:
        text = json.dumps(each, ensure_ascii=False) if isinstance(each, Mapping) else each
        lines.append(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def table_csv(
    path: Path, rows: Sequence[Mapping[str, Any]], *, end: str = "\n", columns: Sequence[str] = ()
) -> Path:
    """Rows as CSV; objects and lists as JSON."""
    names = list(columns) or list(dict.fromkeys(key for each in rows for key in each))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=end)
        writer.writerow(names)
        for each in rows:
            cells = [each.get(column) for column in names]
            writer.writerow([json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in cells])
    return path


def relation(con: duckdb.DuckDBPyConnection, rows: Sequence[Mapping[str, Any]], **types: str) -> None:
    """A table `takes` in `con`, in the order of the rows."""
    names = list(dict.fromkeys(key for each in rows for key in each))
    typed = {**dict.fromkeys(names, "VARCHAR"), "weight": "DOUBLE", **types}
    columns = ", ".join(f"{name(each)} {typed[each]}" for each in names)
    con.execute(f"CREATE TABLE takes ({columns})")
    values = [each.get(column) for each in rows for column in names]
    places = ", ".join([f"({', '.join('?' * len(names))})"] * len(rows))
    con.execute(f"INSERT INTO takes VALUES {places}", values)


def parquet(path: Path, rows: Sequence[Mapping[str, Any]], **types: str) -> Path:
    """Rows as Parquet."""
    with duckdb.connect() as con:
        relation(con, rows, **types)
        con.execute(f"COPY takes TO {literal(str(path))} (FORMAT parquet)")
    return path


def database(path: Path, rows: Sequence[Mapping[str, Any]], **types: str) -> Path:
    """Rows as table `takes` of a DuckDB file."""
    with duckdb.connect(str(path)) as con:
        relation(con, rows, **types)
    return path


def one_by_one(path: Path, selection: Selection = ALL, prefix: str | None = None) -> list[Item]:
    """What reading every row in Python gives: the reference for the sieve in SQL."""
    kind = replace(TAKES, sieve=None)
    table = {".jsonl": JsonLines, ".csv": CsvFile, ".parquet": Parquet}[path.suffix]
    with engine() as con:
        return take(table(con, kind, path, str(path)), selection, prefix)
