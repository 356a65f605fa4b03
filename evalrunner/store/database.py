"""The database file: its lock, how it is opened, and how it comes to be.

Every connection is opened and closed under one file lock beside the database, readers too. Nothing in this
process may open the file by other means: closing any handle on it would drop DuckDB's own lock.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from evalrunner.errors import Problem, StoreError
from evalrunner.store.migrations import migrate

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_RETRY_S = 0.1
_STRANGER_S = 2.0
"""How long to wait at most for a program that does not know our lock: it is done at once, or stays."""
BLOCK_BYTES = 16384
"""DuckDB's smallest: a store is mostly small tables, and a young one takes 0.2 MB instead of 2.6."""


class BusyError(Exception):
    """The store is in use for longer than one may wait; says by whom."""


def holder(path: Path) -> str | None:
    """Which process holds the lock of a database, in words, where the system tells; None when nobody does."""
    lock = beside(path, ".lock")
    with suppress(OSError, ValueError, IndexError):
        inode = str(lock.stat().st_ino)
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            parts = line.split()
            if parts[5].rpartition(":")[2] == inode and parts[1] != "->":
                return f"process {parts[4]} holds it"
    return None


def beside(path: Path, ending: str) -> Path:
    """The file of this ending that belongs to a database: `evalrunner.duckdb` + `.lock`."""
    return path.with_name(path.name + ending)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turns what DuckDB and the system say about the database into a StoreError that names it."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise StoreError(Problem(str(path), _reason(error))) from error
    except OSError as error:
        where = str(error.filename or path)
        raise StoreError(Problem(where, f"the store cannot be used: {error.strerror or error}")) from error


def _reason(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    if "not a valid DuckDB database" in text:
        return "is no DuckDB database"
    return f"the database cannot be used: {text}"


@contextmanager
def locked(path: Path, wait_s: float) -> Iterator[None]:
    """Holds the lock of a database; its folder is made where it is missing.

    Raises:
        BusyError: it was not to be had in `wait_s` seconds.
        OSError: the lock file cannot be made.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    name = beside(path, ".lock")
    lock = FileLock(name, timeout=wait_s)
    try:
        lock.acquire()
    except Timeout:
        raise BusyError(f"another evalrunner has held {name} for more than {wait_s:g} s") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def writing(path: Path, wait_s: float) -> "Iterator[DuckDBPyConnection]":
    """A connection that may write, to a database that is up to date and is made where there is none.

    The lock must be held.

    Raises:
        BusyError: another program has the database open, and did not close it in time.
    """
    if not path.exists():
        _create(path)
    connection = _connect(path, read_only=False, wait_s=wait_s)
    try:
        migrate(connection, path)
        connection.execute("set write_buffer_row_group_count = 1")  # its memory is bounded, as ours is
        yield connection
    finally:
        connection.close()


@contextmanager
def reading(path: Path, wait_s: float) -> "Iterator[DuckDBPyConnection]":
    """A connection that only reads. The lock must be held.

    Raises:
        BusyError: another program has the database open to write, and did not close it in time.
    """
    connection = _connect(path, read_only=True, wait_s=wait_s)
    try:
        yield connection
    finally:
        connection.close()


def _quiet(connection: "DuckDBPyConnection") -> "DuckDBPyConnection":
    """The connection without DuckDB's progress bar, which it may draw on stdout."""
    connection.execute("set enable_progress_bar = false")
    return connection


def _connect(path: Path, *, read_only: bool, wait_s: float) -> "DuckDBPyConnection":
    import duckdb

    deadline = time.monotonic() + min(wait_s, _STRANGER_S)
    while True:
        try:  # absolute, since DuckDB gives names such as `:memory:` and `md:...` a meaning of their own
            return _quiet(duckdb.connect(str(path.absolute()), read_only=read_only))
        except duckdb.IOException as error:
            if "lock on file" not in str(error):
                raise
            who = re.search(r"held in (.*?) \(PID (\d+)\)", str(error))
            holder = f" ({Path(who[1]).name}, process {who[2]})" if who else ""
        except duckdb.ConnectionException as error:
            if "different configuration" not in str(error):
                raise
            holder = " (this one)"
        if time.monotonic() >= deadline:
            raise BusyError(f"a program{holder} has {path} open")
        time.sleep(_RETRY_S)


def _create(path: Path) -> None:
    """Makes an empty store beside its place and moves it there, so that no half-made one is ever seen."""
    import duckdb

    draft = beside(path, ".new")
    cleared(draft)
    try:
        connection = _quiet(duckdb.connect(str(draft.absolute()), config={"default_block_size": BLOCK_BYTES}))
        try:
            migrate(connection, path)
            connection.execute("checkpoint")
        finally:
            connection.close()
        with suppress(FileNotFoundError):  # the log of a database that was deleted would not fit this one
            beside(path, ".wal").rename(beside(path, ".wal.orphan"))
        draft.replace(path)
    finally:
        cleared(draft)


def cleared(draft: Path) -> None:
    """Removes a database that is not in its place yet, with its log."""
    for left in (draft, beside(draft, ".wal")):
        left.unlink(missing_ok=True)
