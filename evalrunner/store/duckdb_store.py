"""The store in a DuckDB file. docs/store.md is for those who query it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, PrivateAttr, field_validator

from evalrunner.component import Component, FilePath
from evalrunner.errors import Problem, StoreError
from evalrunner.store import database, pending, tables
from evalrunner.store.attempt import Attempt
from evalrunner.store.base import Note, Put
from evalrunner.store.intake import Intake, counted
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
    _staged: dict[str, tuple[Attempt, tables.Row]] = PrivateAttr(default_factory=dict)
    """What `stage` wrote down and `put` did not see yet, by run id, with its columns."""

    @field_validator("path")
    @classmethod
    def _names_a_file(cls, value: Path) -> Path:
        if not value.name:
            raise ValueError("is a folder, and the store is a file in one")
        return value

    def stage(self, attempt: Attempt) -> None:
        """Writes an attempt to `<path>.pending/`, from where the next command takes it in.

        Raises:
            InputError: its receipt is none; nothing was kept.
            ReceiptNotKeptError: it could not be written.
        """
        row = tables.columns(attempt)
        pending.write(self.path, attempt)
        self._staged[attempt.run_id] = attempt, row

    def put(self, attempt: Attempt) -> Put:
        """Keeps an attempt, once, and takes in whatever else was waiting.

        It is written to `<path>.pending/` first, unless it was staged, then put into the database, then
        removed from there.

        Raises:
            InputError: its receipt is none; nothing was kept.
            ReceiptNotKeptError: it could not be written to `<path>.pending/`.
            StoreError: the database cannot take it in; it waits in `<path>.pending/` until that is mended.
        """
        staged, row = self._staged.pop(attempt.run_id, (None, {}))
        if staged is not attempt:
            row = tables.columns(attempt)
        file = pending.file_of(self.path, attempt)
        if staged is not attempt or not file.exists():
            pending.write(self.path, attempt)
        warnings: list[str] = []
        new: bool | None = None
        try:
            with self.writing(warnings.append) as intake:
                intake.waiting(but=file)
                new = intake.from_pending(file, attempt, row)
        except database.BusyError as busy:
            self._waits(file, attempt)
            return Put(
                "pending",
                (*warnings, f"{busy}; the attempt waits in {file}, and the next command takes it in"),
            )
        except StoreError as error:
            if new is not None:  # it is in, and the database then could not be closed
                raise
            self._waits(file, attempt)
            waits = Problem(str(file), "the attempt waits here, and is taken in once the store is mended")
            raise StoreError([*error.problems, waits]) from error
        if new is None:
            refused = Problem(str(self.path), f"did not take in run {attempt.run_id}")
            raise StoreError([refused, *(Problem("", line) for line in warnings)])
        return Put("stored", tuple(warnings))

    def _waits(self, file: Path, attempt: Attempt) -> None:
        """Makes sure that the attempt waits: another process may have moved its file."""
        if not file.exists():
            pending.write(self.path, attempt)

    @contextmanager
    def writing(self, note: Note) -> Iterator[Intake]:
        """Opens the database to write, under the lock; it is made where there is none.

        Args:
            note: is told what is lost, taken in, or set aside.

        Raises:
            BusyError: others use it for longer than `lock_timeout_s`.
            StoreError: it cannot be written.
        """
        deadline = time.monotonic() + self.lock_timeout_s
        with database.told(self.path), database.locked(self.path, self.lock_timeout_s):
            if not self.path.exists():
                self._tell_lost(note)
            with database.writing(self.path, max(0.0, deadline - time.monotonic())) as connection:
                yield self.intake(connection, note)

    def intake(self, connection: "DuckDBPyConnection", note: Note) -> Intake:
        """What takes attempts into this database, open for writing under the lock."""
        return Intake(self.path, self.receipts_dir, connection, note)

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

    def _tell_lost(self, note: Note) -> None:
        copied = len(list(self.receipts_dir.glob("*.json")))
        if copied:
            note(
                f"{self.path} is not there, and a new store is begun; "
                f"the receipts of earlier runs ({copied}) lie in {self.receipts_dir}, where replay reads them"
            )

    def _settle(self, note: Note) -> None:
        """Takes in what waits, without waiting for anybody; says so where that fails."""
        if not pending.waiting(self.path):
            return
        try:
            with database.told(self.path), database.writing(self.path, 0) as connection:
                self.intake(connection, note).waiting()
        except (database.BusyError, StoreError) as reason:
            left = counted(len(pending.waiting(self.path)))
            why = str(reason).replace("\n", "; ")
            note(f"{left} in {pending.folder(self.path)} could not be taken in, and are not shown: {why}")
