"""One cap for all jobs of a sweep: what each has spent and set aside, in a file that the processes share.

The file is an SQLite database in the sweep's folder, since its locks and its rollback hold whatever process
is killed. A row a job: what it spent, and what it has set aside. What a killed job had set aside stays there,
and so counts as spent.
"""

import os
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from evalrunner.budget.pricing import ZERO
from evalrunner.errors import EvalrunnerError, InputError, Problem

FILE = "budget.sqlite"
_PATIENCE_S = 60.0
_SILENT_S = 900.0
"""A job of another machine that has not touched its row for so long is taken for dead."""


class _Row(NamedTuple):
    job: str
    host: str
    process: int
    at: float
    spent: Decimal
    reserved: Decimal


def begin(folder: Path) -> None:
    """Makes the empty file in a sweep's folder, before any job runs.

    Raises:
        EvalrunnerError: it cannot be written.
    """
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(
                "create table if not exists jobs"
                " (job text primary key, host text, process integer, at real, spent text, reserved text)"
            )
    except (OSError, sqlite3.Error) as error:
        raise EvalrunnerError(Problem(str(path), f"cannot be written: {error}")) from None


class SweepLedger:
    """One job's view of the file. Its calls take a fraction of a millisecond, and wait while others write.

    Args:
        folder: the sweep's.
        job: the job's run id.

    Raises:
        InputError: the file that the sweep began with is not there.
    """

    def __init__(self, folder: Path, job: str) -> None:
        self.path = folder / FILE
        self.job = job
        if not self.path.is_file():
            what = "the sweep's ledger is not here: the launcher's jobs do not share a file system"
            allowed = "budget.scope=attempt, or a launcher such as basic or joblib"
            raise InputError(Problem("budget.scope", what, str(self.path), allowed))
        with self._rows() as (connection, _):
            connection.execute(
                "insert or replace into jobs values (?, ?, ?, ?, '0', '0')",
                (job, socket.gethostname(), os.getpid(), time.time()),
            )

    def carry(self, spent: Decimal) -> None:
        """Counts what an earlier part of the job has spent."""
        with self._rows() as (connection, rows):
            self._write(connection, rows, ZERO, spent)

    def take(self, amount: Decimal, cap: Decimal) -> bool:
        """Sets an amount aside, if all that the jobs have spent and set aside leaves room for it."""
        with self._rows() as (connection, rows):
            fits = sum((row.spent + row.reserved for row in rows), ZERO) + amount <= cap
            if fits:
                self._write(connection, rows, amount, ZERO)
            return fits

    def settle(self, amount: Decimal, spent: Decimal) -> None:
        """Gives back an amount that was set aside, of which this was spent."""
        with self._rows() as (connection, rows):
            self._write(connection, rows, -amount, spent)

    def could_fit(self, amount: Decimal, cap: Decimal) -> bool:
        """Whether it would fit if whatever jobs that are alive have set aside turned out to cost nothing."""
        with self._rows() as (_, rows):
            gone = sum((row.reserved for row in rows if not _is_alive(row)), ZERO)
            return sum((row.spent for row in rows), ZERO) + gone + amount <= cap

    def committed(self) -> Decimal:
        """What all jobs have spent or set aside, in US dollars."""
        with self._rows() as (_, rows):
            return sum((row.spent + row.reserved for row in rows), ZERO)

    @contextmanager
    def _rows(self) -> Iterator[tuple[sqlite3.Connection, list[_Row]]]:
        """All rows, and the connection to write with, while nobody else reads or writes."""
        try:
            connection = sqlite3.connect(self.path, timeout=_PATIENCE_S, isolation_level=None)
            with closing(connection):
                connection.execute("pragma synchronous = off")  # a killed process loses nothing
                connection.execute("begin immediate")
                found = connection.execute("select job, host, process, at, spent, reserved from jobs")
                rows = [
                    _Row(job, host, process, at, Decimal(spent), Decimal(reserved))
                    for job, host, process, at, spent, reserved in found.fetchall()
                ]
                yield connection, rows
                connection.execute("commit")
        except sqlite3.Error as error:
            raise EvalrunnerError(
                Problem(str(self.path), f"the sweep's ledger cannot be used: {error}")
            ) from None

    def _write(
        self, connection: sqlite3.Connection, rows: list[_Row], reserved: Decimal, spent: Decimal
    ) -> None:
        own = next(row for row in rows if row.job == self.job)
        connection.execute(
            "update jobs set at = ?, spent = ?, reserved = ? where job = ?",
            (time.time(), str(own.spent + spent), str(own.reserved + reserved), self.job),
        )


def _is_alive(row: _Row) -> bool:
    if row.host != socket.gethostname():
        return time.time() - row.at < _SILENT_S
    try:
        os.kill(row.process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
