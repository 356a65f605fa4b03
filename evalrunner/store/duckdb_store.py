"""The store in a DuckDB file. docs/store.md is for those who query it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from evalrunner.component import Component, FilePath
from evalrunner.errors import InputError, Problem, ReceiptNotKeptError, StoreError
from evalrunner.store import copies, database, pending, tables
from evalrunner.store.attempt import Attempt
from evalrunner.store.base import Note, Put
from evalrunner.store.migrations import is_current
from evalrunner.store.reader import Reader

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class DuckdbStore(Component):
    """Keeps attempts in a DuckDB file, one writer at a time, and loses none.

    Attributes:
        path: the database; made with its folder where it is missing.
        receipts_dir: where the copies of receipts are kept.
        lock_timeout_s: how long to wait while others use the database; then an attempt is left in
            `<path>.pending/` for the next command.
    """

    path: FilePath = Path("outputs/evalrunner.duckdb")
    receipts_dir: FilePath = Path("outputs/receipts")
    lock_timeout_s: float = Field(default=30.0, ge=0, le=86400)

    def stage(self, attempt: Attempt) -> None:
        """Writes an attempt to `<path>.pending/`, from where the next command takes it in.

        Raises:
            InputError: its receipt is none; nothing was kept.
            ReceiptNotKeptError: it could not be written.
        """
        tables.columns(attempt)
        pending.write(self.path, attempt)

    def put(self, attempt: Attempt) -> Put:
        """Keeps an attempt, once, and takes in whatever else was waiting.

        It is written to `<path>.pending/` first, then put into the database, then removed from there.

        Raises:
            InputError: its receipt is none; nothing was kept.
            ReceiptNotKeptError: it could not be written to `<path>.pending/`.
            StoreError: the database cannot take it in; it waits in `<path>.pending/` until that is mended.
        """
        row = tables.columns(attempt)
        file = pending.write(self.path, attempt)
        warnings: list[str] = []
        deadline = time.monotonic() + self.lock_timeout_s
        try:
            with database.told(self.path), database.locked(self.path, self.lock_timeout_s):
                if not self.path.exists():
                    warnings += self._lost()
                with database.writing(self.path, max(0.0, deadline - time.monotonic())) as connection:
                    self._take_in(connection, warnings.append, attempt.run_id)
                    kept = tables.holds(connection, row)
        except database.BusyError as busy:
            return Put(
                "pending",
                (*warnings, f"{busy}; the attempt waits in {file}, and the next command takes it in"),
            )
        except StoreError as error:
            waits = Problem(str(file), "the attempt waits here, and is taken in once the store is mended")
            raise StoreError([*error.problems, *([waits] if file.exists() else [])]) from error
        if not kept:
            refused = Problem(str(self.path), f"did not take in run {attempt.run_id}")
            raise StoreError([refused, *(Problem("", line) for line in warnings)])
        return Put("stored", tuple(warnings))

    @contextmanager
    def reading(self, note: Note) -> Iterator[Reader]:
        """Opens the store for questions, after taking in what waits.

        Where that cannot be done, the questions are answered all the same, and `note` is told how many wait.
        Where there is no store, every answer is empty, and nothing is made.

        Raises:
            StoreError: the database cannot be read, or was in use for longer than `lock_timeout_s`.
        """
        with ExitStack() as stack:
            try:
                with database.told(self.path):
                    connection = self._open(stack, note)
            except database.BusyError as busy:
                what = f"cannot be read now: {busy}"
                raise StoreError(
                    Problem(str(self.path), what, allowed="trying again later, or reading a copy")
                ) from None
            yield Reader(connection, self.path)

    def _open(self, stack: ExitStack, note: Note) -> "DuckDBPyConnection | None":
        if not self.path.exists() and not pending.waiting(self.path):
            return None
        deadline = time.monotonic() + self.lock_timeout_s
        stack.enter_context(database.locked(self.path, self.lock_timeout_s))
        self._settle(note)
        if not self.path.exists():
            return None
        left = max(0.0, deadline - time.monotonic())
        with ExitStack() as tried:
            connection = tried.enter_context(database.reading(self.path, left))
            if is_current(connection, self.path):
                stack.enter_context(tried.pop_all())
                return connection
        with database.writing(self.path, left):
            pass
        return stack.enter_context(database.reading(self.path, left))

    def _lost(self) -> list[str]:
        copied = len(list(self.receipts_dir.glob("*.json")))
        if not copied:
            return []
        return [
            f"{self.path} is not there, and a new store is begun; "
            f"the receipts of earlier runs ({copied}) lie in {self.receipts_dir}, where replay reads them"
        ]

    def _settle(self, note: Note) -> None:
        """Takes in what waits, without waiting for anybody; says so where that fails."""
        if not pending.waiting(self.path):
            return
        try:
            with database.told(self.path), database.writing(self.path, 0) as connection:
                self._take_in(connection, note)
        except (database.BusyError, StoreError) as reason:
            left = _counted(len(pending.waiting(self.path)))
            why = str(reason).replace("\n", "; ")
            note(f"{left} in {pending.folder(self.path)} could not be taken in, and are not shown: {why}")

    def _take_in(self, connection: "DuckDBPyConnection", note: Note, own: str | None = None) -> None:
        """Puts every attempt that waits into the database. One that is none never blocks the others."""
        import duckdb

        taken = 0
        for file in pending.waiting(self.path):
            try:
                attempt = pending.read(file)
                row = tables.insert(connection, attempt)
            except (pending.NoAttemptError, InputError, tables.TakenError, duckdb.DataError) as reason:
                self._refuse(file, str(reason), note)
                continue
            except (pending.NewerError, OSError) as reason:
                note(f"{file} is left where it is: {reason}")
                continue
            self._copy(connection, row, note)
            taken += attempt.run_id != own
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                note(f"{file} is in the store, but cannot be removed: {error.strerror}")
        if taken:
            note(f"took in {_counted(taken)} that waited in {pending.folder(self.path)}")

    def _refuse(self, file: Path, reason: str, note: Note) -> None:
        try:
            note(
                f"{file} is no attempt that the store can take in ({reason}); moved to {pending.refuse(file)}"
            )
        except OSError as error:
            note(f"{file} is no attempt that the store can take in ({reason}), and cannot be moved: {error}")

    def _copy(self, connection: "DuckDBPyConnection", row: tables.Row, note: Note) -> None:
        try:
            copies.keep(self.receipts_dir, row, tables.row_of_key(connection, row))
        except (OSError, ReceiptNotKeptError, ValueError) as error:
            note(f"the store holds the receipt, but its copy was not written: {error}")


def _counted(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
