"""Rewriting the database without the space that nothing uses any more."""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evalrunner.errors import Problem, StoreError
from evalrunner.store import database
from evalrunner.store.base import Note
from evalrunner.store.duckdb_store import DuckdbStore

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DRAFT = ".vacuum"
"""The ending of the new database until it takes the old one's place."""

_FRESH = "evalrunner_fresh"
_TABLES = """
select schema_name, table_name from duckdb_tables() where database_name = ? and not internal order by all
"""


@dataclass(frozen=True)
class Sizes:
    """Bytes on disk, DuckDB's log included."""

    before: int
    after: int


def vacuum(store: DuckdbStore, note: Note) -> Sizes | None:
    """Rewrites the database, after taking in what waits; None where there is no store yet.

    The new file is written beside the old one, compared with it, forced to disk, and renamed: killed at any
    moment, one of them is there whole.

    Raises:
        StoreError: it is in use, cannot be read, or there is no room; the old one stays as it is.
    """
    if not store.path.exists():
        return None
    before = _size(store.path)
    place = store.path.resolve()  # a link stays one
    draft = database.beside(place, DRAFT)
    try:
        with database.told(store.path), database.locked(store.path, store.lock_timeout_s):
            try:
                with database.writing(store.path, store.lock_timeout_s) as connection:
                    store.intake(connection, note).waiting()
                    database.cleared(draft)
                    _copied(connection, draft, store.path)
                for log in (database.beside(each, ".wal") for each in (draft, place, store.path)):
                    if log.exists():
                        raise StoreError(Problem(str(log), "is still there, so the database stays as it is"))
                _placed(draft, place)
            finally:
                database.cleared(draft)
    except database.BusyError as busy:
        raise StoreError(
            Problem(str(store.path), f"cannot be rewritten now: {busy}", allowed="trying again later")
        ) from None
    return Sizes(before, _size(store.path))


def _copied(connection: "DuckDBPyConnection", draft: Path, path: Path) -> None:
    """Copies everything, a user's own tables too, and makes sure that it is all there."""
    found = connection.execute("select current_database()").fetchone()
    assert found is not None
    old = _quoted(found[0])
    file = str(draft.absolute()).replace("'", "''")
    connection.execute(f"attach '{file}' as {_FRESH} (block_size {database.BLOCK_BYTES})")
    try:
        connection.execute(f"copy from database {old} to {_FRESH}")
        names = connection.execute(_TABLES, [found[0]]).fetchall()
        if names != connection.execute(_TABLES, [_FRESH]).fetchall():
            raise StoreError(Problem(str(path), "was not copied whole, and stays as it is"))
        for schema, table in names:
            name = f"{_quoted(schema)}.{_quoted(table)}"
            sums = [
                connection.execute(f"select count(*), sum(hash(t)) from {base}.{name} t").fetchone()
                for base in (old, _FRESH)
            ]
            if sums[0] != sums[1]:
                raise StoreError(Problem(str(path), f"was not copied whole ({table}), and stays as it is"))
        connection.execute(f"checkpoint {_FRESH}")
    finally:
        connection.execute(f"detach {_FRESH}")


def _placed(draft: Path, path: Path) -> None:
    """Puts the new database in place of the old one, with its owner and mode; both are closed."""
    old = path.stat()
    draft.chmod(stat.S_IMODE(old.st_mode))
    with suppress(OSError, AttributeError):
        os.chown(draft, old.st_uid, old.st_gid)
    with draft.open("r+b") as file:
        os.fsync(file.fileno())
    draft.replace(path)
    with suppress(OSError):
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in (path, database.beside(path, ".wal")) if file.exists())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
