"""Writing a table of the store to a file for other programs: Parquet or CSV."""

import json
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evalrunner.errors import InputError, Problem, StoreError
from evalrunner.store.frames import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

Format = Literal["parquet", "csv"]
FORMATS: tuple[Format, ...] = ("parquet", "csv")


def export(table: Table, file: Path, form: Format, *, force: bool = False) -> int:
    """Writes a table, whole or not at all, and returns its number of rows.

    Args:
        table: what to write; without a store yet, its columns alone.
        file: where to; its folder is made where it is missing.
        form: in CSV, lists are JSON texts, and null is an empty field.
        force: a file that is there is replaced.

    Raises:
        InputError: the file is there already, or is none.
        StoreError: the store cannot be read, or the file cannot be written.
    """
    try:
        if file.exists() and not file.is_file():
            raise InputError(Problem(str(file), "is no file that can be replaced"))
        if file.exists() and not force:
            raise InputError(Problem(str(file), "is there already", allowed="another name, or --force"))
        file = file.resolve() if file.is_symlink() else file
        draft = file.parent / f".{secrets.token_hex(8)}.tmp"
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            rows = table.read(lambda relation: _written(relation, draft, file, form))
            with draft.open("r+b") as written:
                os.fsync(written.fileno())
            draft.replace(file)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(Problem(str(file), f"cannot be written: {error.strerror or error}")) from error
    return rows


def _written(relation: "DuckDBPyRelation", draft: Path, file: Path, form: Format) -> int:
    import duckdb

    place = str(draft.absolute())
    try:
        if form == "csv":
            _flat(relation).write_csv(place, header=True)
        else:
            relation.write_parquet(place)
    except duckdb.IOException as error:
        reason = _reason(error).replace(place, str(file))
        raise StoreError(Problem(str(file), f"cannot be written: {reason}")) from error
    return relation.shape[0]


def _reason(error: Exception) -> str:
    """What went wrong; what a thread of DuckDB raised is wrapped in JSON."""
    inner = re.search(r'"exception_message":("(?:[^"\\]|\\.)*")', str(error))
    return str(json.loads(inner[1])) if inner else str(error).partition("\n")[0]


def _flat(relation: "DuckDBPyRelation") -> "DuckDBPyRelation":
    """The rows with their lists as JSON texts."""
    kinds = zip(relation.columns, relation.types, strict=True)
    lists = [f"to_json({name})::varchar as {name}" for name, kind in kinds if str(kind).endswith("[]")]
    flat = relation.query("rows", f"select * replace ({', '.join(lists)}) from rows") if lists else relation
    assert flat is not None
    return flat
