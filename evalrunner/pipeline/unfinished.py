"""A run that has begun: what it needs on disk so that it can be taken up again where it was broken off.

The run folder holds `begun.json` while the run is unfinished, beside `calls.jsonl` and, where the subject
asks no model of ours, `outcomes.jsonl`, and `items.jsonl` where the source may give others later
(docs/resume.md). A run is taken up in a folder of its own: it copies them, so that its folder is whole, and
the earlier one stays as evidence.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from evalrunner import __version__
from evalrunner.errors import InputError, Problem, ReceiptNotKeptError, show
from evalrunner.receipt.jsontext import fraction, readable_json
from evalrunner.records import Outcome, Record, outcome_adapter

BEGUN = "begun.json"
CALLS = "calls.jsonl"
OUTCOMES = "outcomes.jsonl"
ITEMS = "items.jsonl"
VERSION = 1
"""Of the shape of begun.json and of a line of outcomes.jsonl; a reader refuses a newer one."""


class Begun(Record):
    """What a run was begun as.

    Attributes:
        v: VERSION.
        run_id: of the run.
        start: when it began, its earlier parts included.
        program: the version of evalrunner.
        fingerprints: in full, by the receipt's names.
        resumed_by: the run that took it up.
    """

    v: int
    run_id: str
    start: datetime
    program: str
    fingerprints: dict[str, str]
    resumed_by: str | None = None


@dataclass(frozen=True)
class TakenUp:
    """An unfinished run that is about to be taken up; nobody else can as long as `lock` is open.

    Attributes:
        folder: the run's.
        begun: what it was begun as.
        lock: the descriptor that holds it.
        is_named: the user named it; else it was looked for, and a new run is begun where it does not fit.
    """

    folder: Path
    begun: Begun
    lock: int
    is_named: bool = True

    def close(self) -> None:
        """Lets go of it."""
        os.close(self.lock)


class RunningError(Exception):
    """The run still goes on, or is being taken up, in another process."""


def take_up(folder: Path, *, is_named: bool = True) -> TakenUp:
    """Takes an unfinished run; `is_named` as in `TakenUp`.

    Raises:
        FileNotFoundError: it has not begun, or it is finished.
        RunningError: it still goes on.
        InputError: a newer evalrunner wrote it, or nobody can read it.
    """
    path = folder / BEGUN
    lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        begun = Begun.model_validate_json(path.read_bytes())
        if begun.v > VERSION:
            what = "a newer evalrunner wrote it"
            raise InputError(Problem(str(path), what, show(begun.v), str(VERSION)))
    except BlockingIOError:
        os.close(lock)
        raise RunningError from None
    except ValidationError:
        os.close(lock)
        raise InputError(Problem(str(path), "is torn: the run ended before it called anything")) from None
    except BaseException:
        os.close(lock)
        raise
    return TakenUp(folder, begun, lock, is_named)


def finished(folder: Path) -> None:
    """Notes that a run needs no taking up any more."""
    with suppress(OSError):
        (folder / BEGUN).unlink(missing_ok=True)


@contextmanager
def under_way(
    folder: Path,
    run_id: str,
    start: datetime,
    fingerprints: Mapping[str, str],
    earlier: TakenUp | None = None,
) -> Iterator[datetime]:
    """Notes that a run begins, for as long as the context is open; yields when it began.

    Args:
        folder: of the run.
        run_id: of the run.
        start: when it began.
        fingerprints: of what it runs, in full.
        earlier: the run that it takes up; closed here.

    Raises:
        InputError: what is run is not what was run then; names every fingerprint that differs.
        ReceiptNotKeptError: the folder cannot be written.
    """
    if earlier is not None:
        refuse_changes(earlier.begun, fingerprints)
        start = earlier.begun.start
    begun = Begun(v=VERSION, run_id=run_id, start=start, program=__version__, fingerprints=dict(fingerprints))
    path = folder / BEGUN
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if earlier is not None:
            _copied(earlier.folder, folder)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(lock, begun.model_dump_json(exclude_none=True).encode() + b"\n")
        if earlier is not None:
            mark = earlier.begun.model_copy(update={"resumed_by": run_id})
            os.pwrite(earlier.lock, mark.model_dump_json(exclude_none=True).encode() + b"\n", 0)
            earlier.close()
    except OSError as error:
        where = str(error.filename or path)
        raise ReceiptNotKeptError(Problem(where, f"cannot be written: {error.strerror}")) from None
    try:
        yield start
    finally:
        os.close(lock)


def refuse_changes(begun: Begun, now: Mapping[str, str]) -> None:
    """Refuses to take a run up with anything else than what it was begun with.

    Raises:
        InputError: names every fingerprint that differs.
    """
    problems = [
        Problem(
            f"{part} fingerprint",
            f"differs from that of run {begun.run_id}, which would be resumed",
            now.get(part, "none")[:8],
            f"{then[:8]}, or a new run without --resume",
        )
        for part, then in begun.fingerprints.items()
        if now.get(part) != then
    ]
    if problems:
        raise InputError(problems)


def _copied(earlier: Path, folder: Path) -> None:
    for name in (CALLS, OUTCOMES, ITEMS):
        with suppress(FileNotFoundError):
            partial = folder / f".{name}.partial"
            shutil.copyfile(earlier / name, partial)
            partial.replace(folder / name)


@dataclass
class OutcomeLog:
    """The finished outcomes of a subject, one line each, handed to the operating system as soon as they are.

    Attributes:
        path: the file; it may hold the lines of an earlier part of the run.
        kept: the outcomes that it held when it was opened, by item and run.
        dropped: lines that could not be read.
    """

    path: Path
    kept: dict[tuple[str, int], "Kept"] = field(default_factory=dict)
    dropped: int = 0
    _told: set[str] = field(default_factory=set)

    def read(self) -> None:
        """Reads what an earlier part of the run left."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            for data in file:
                try:
                    line = json.loads(data, parse_float=fraction)
                    kept = Kept.model_validate(line)
                except (ValueError, TypeError):
                    self.dropped += bool(data.strip())
                    continue
                self.kept[kept.outcome.item_id, kept.outcome.run] = kept
                self._told.update(kept.warnings)

    def keep(self, outcome: Outcome, warnings: Sequence[str], unpriced: Sequence[str]) -> None:
        """Keeps an outcome, with the warnings so far and with what has run whose bill nobody sees.

        Raises:
            ReceiptNotKeptError: the file cannot be written.
        """
        new = [line for line in warnings if line not in self._told]
        line: dict[str, Any] = {
            "v": VERSION,
            "outcome": outcome_adapter().dump_python(outcome),
            "warnings": new,
            "unpriced": list(unpriced),
        }
        data = (readable_json(line) + "\n").encode()
        try:
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                size = os.lseek(file, 0, os.SEEK_END)
                if size and os.pread(file, 1, size - 1) != b"\n":
                    data = b"\n" + data
                while data:
                    data = data[os.write(file, data) :]
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            what = f"the outcomes of a run cannot be kept: {error.strerror}"
            raise ReceiptNotKeptError(Problem(str(self.path), what)) from None
        self._told.update(new)


class Kept(Record):
    """A line of outcomes.jsonl."""

    outcome: Outcome
    warnings: list[str] = Field(default_factory=list)
    unpriced: list[str] = Field(default_factory=list)
