"""Taking in runs from elsewhere: run folders, and attempts that wait for the store of another machine."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalrunner.errors import InputError, Problem, StoreError
from evalrunner.store import database, pending, tables
from evalrunner.store.attempt import Attempt, attempt_of
from evalrunner.store.base import Note
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.intake import Intake, counted

RECEIPT = "receipt.json"
"""What makes a folder a run folder."""

_CONFIG = ".hydra"
"""What a run folder has from its start, before there is a receipt."""

_PENDING = ".pending"


@dataclass(frozen=True)
class Imported:
    """What became of the runs that were named.

    Attributes:
        taken: the run ids that are new to the store.
        known: those that were in it already.
    """

    taken: tuple[str, ...]
    known: tuple[str, ...]


def bring_in(store: DuckdbStore, paths: Sequence[Path], note: Note) -> Imported:
    """Takes in every run of these paths, once each, however often it is asked.

    Args:
        store: where to.
        paths: run folders, folders that hold some at any depth, receipts, and attempts that wait in a
            `<store>.pending/` or that folder.
        note: is told what is no run, and why; it never keeps the others out.

    Raises:
        InputError: paths that do not exist or hold no run; the runs of the others are in.
        StoreError: the store cannot take them.
    """
    own = pending.folder(store.path).resolve()
    found = {path: list(_files(path, own, note)) for path in paths if is_there(path)}
    empty = [Problem(str(path), "no such file or folder") for path in paths if path not in found]
    taken: list[str] = []
    known: list[str] = []
    if any(found.values()):
        try:
            with store.writing(note) as intake:
                intake.waiting()
                for path, files in found.items():
                    runs = sum([_take(intake, file, taken, known) for file in files])
                    if files and not runs:
                        empty.append(Problem(str(path), "holds no run that the store can take in"))
        except database.BusyError as busy:
            what = f"cannot take the runs in now: {busy}"
            raise StoreError(Problem(str(store.path), what, allowed="trying again later")) from None
        except StoreError as error:
            said = f"{counted(len(taken))} taken in before; the others are when it is asked again"
            raise StoreError([*error.problems, *([Problem("", said)] if taken else [])]) from error
    allowed = f"a run folder with its {RECEIPT}, a folder above some, a receipt, a `<store>{_PENDING}` folder"
    empty += [Problem(str(path), "holds no run", None, allowed) for path, files in found.items() if not files]
    if empty:
        raise NothingThereError(empty, Imported(tuple(taken), tuple(known)))
    return Imported(tuple(taken), tuple(known))


class NothingThereError(InputError):
    """Paths that do not exist or hold no run; `done` is what became of the others."""

    def __init__(self, problems: Sequence[Problem], done: Imported) -> None:
        super().__init__(problems)
        self.done = done


def is_there(path: Path) -> bool:
    """Whether something has this name; what can be no name is that of nothing."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _files(path: Path, own: Path, note: Note) -> Iterator[Path]:
    """The files below a path that should each hold a run: those that waited first, since they tell more."""
    if not path.is_dir():
        yield path
        return
    waiting: list[Path] = []
    runs: list[Path] = []
    begun: list[Path] = []
    for name, folders, names in os.walk(
        path, onerror=lambda error: note(f"{error.filename} cannot be searched: {error.strerror}")
    ):
        folder = Path(name)
        if folder.name.endswith(_PENDING):
            folders.clear()
            if folder.resolve() != own:
                waiting += [folder / each for each in names if each.endswith(".json")]
            continue
        if (folder / RECEIPT).is_file():
            runs.append(folder / RECEIPT)
        elif _CONFIG in folders:
            begun.append(folder)
        folders[:] = [each for each in folders if each != _CONFIG]
    for folder in sorted(begun):
        if not any(run.is_relative_to(folder) for run in runs):
            note(f"{folder} has no {RECEIPT}: the run did not finish, or its command writes none")
    yield from sorted(waiting)
    yield from sorted(runs)


def _take(intake: Intake, file: Path, taken: list[str], known: list[str]) -> bool:
    """Takes in the run of a file, and notes it where it belongs; False when it is none."""
    import duckdb

    try:
        attempt = _read(file)
        new = intake.add(attempt, tables.columns(attempt))
    except (pending.NoAttemptError, pending.NewerError, tables.TakenError, InputError) as reason:
        intake.note(f"{file} is not taken in: {str(reason).removeprefix(f'{file}: ')}")
    except duckdb.DataError as reason:
        first = str(reason).partition("\n")[0]
        intake.note(f"{file} is not taken in: {first}")
    else:
        if attempt.run_id not in {*taken, *known}:
            (taken if new else known).append(attempt.run_id)
        return True
    return False


def _read(file: Path) -> Attempt:
    """The attempt in a file: a receipt, or an attempt that waited."""
    from evalrunner.receipt.files import bytes_of, json_of

    content = json_of(bytes_of(file), str(file))
    if isinstance(content, dict) and "format" in content:
        return pending.attempt_in(content)
    return attempt_of(content, file)
