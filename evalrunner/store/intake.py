"""Taking attempts into an open database, with the copies of their receipts; what is none is set aside."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evalrunner.errors import InputError, ReceiptNotKeptError
from evalrunner.store import copies, pending, tables
from evalrunner.store.attempt import Attempt
from evalrunner.store.base import Note

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class Intake:
    """Puts attempts into a database whose lock is held.

    Attributes:
        path: of the database.
        receipts_dir: where the copies lie.
        connection: open for writing.
        note: is told what was taken in, set aside or could not be done.
    """

    path: Path
    receipts_dir: Path
    connection: "DuckDBPyConnection"
    note: Note

    def waiting(self, but: Path | None = None) -> None:
        """Takes in every attempt that waits. One that is none never blocks the others.

        Args:
            but: this file is left alone.
        """
        pending.tidy(self.path)
        taken = sum(self._taken(file) for file in pending.waiting(self.path) if file != but)
        if taken:
            self.note(f"took in {counted(taken)} that waited in {pending.folder(self.path)}")

    def _taken(self, file: Path) -> bool:
        try:
            attempt = pending.read(file)
            row = tables.columns(attempt)
        except (pending.NoAttemptError, InputError) as reason:
            self._refuse(file, str(reason))
            return False
        except (pending.NewerError, OSError) as reason:
            self.note(f"{file} is left where it is: {reason}")
            return False
        return bool(self.from_pending(file, attempt, row))

    def from_pending(self, file: Path, attempt: Attempt, row: tables.Row) -> bool | None:
        """Takes in an attempt that waits in `file`, and removes that.

        Returns:
            Whether the attempt is new; None when the database refuses it, and the file was set aside.
        """
        import duckdb

        try:
            new = self.add(attempt, row)
        except (tables.TakenError, duckdb.DataError) as reason:
            self._refuse(file, str(reason))
            return None
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            self.note(f"{file} is in the store, but cannot be removed: {error.strerror}")
        return new

    def add(self, attempt: Attempt, row: tables.Row) -> bool:
        """Puts an attempt in and makes the copy of its receipt right. Returns whether it is new.

        Raises:
            TakenError: its run id is taken by another receipt.
            duckdb.Error: the database does not take it.
        """
        new = tables.insert(self.connection, attempt, row)
        try:
            copies.keep(self.receipts_dir, row, tables.row_of_key(self.connection, row))
        except (OSError, ReceiptNotKeptError, ValueError) as error:
            self.note(f"the store holds the receipt, but its copy was not written: {error}")
        return new

    def _refuse(self, file: Path, reason: str) -> None:
        said = f"{file} is no attempt that the store can take in ({reason})"
        try:
            self.note(f"{said}; moved to {pending.refuse(file)}")
        except OSError as error:
            self.note(f"{said}, and cannot be moved: {error}")


def counted(attempts: int) -> str:
    """How many attempts, in words."""
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
