"""Where a reviewer that is a program works: the case's repository, and a home that is empty at first."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from evalrunner.git.case_repository import CaseRepository, build
from evalrunner.git.diff import payload_diff
from evalrunner.git.scratch import discard, scratch
from evalrunner.model.seat import Bench
from evalrunner.records import Item

KEPT = "repositories"
"""The folder inside the run folder in which repositories are kept."""


@dataclass(frozen=True)
class Workspace:
    """What one run has to itself.

    Attributes:
        folder: holds the home and the repository.
        home: HOME and TMPDIR of the program.
        repository: base and head.
        diff: the bytes that it was built from.
    """

    folder: Path
    home: Path
    repository: CaseRepository
    diff: bytes

    def strays(self) -> list[str]:
        """The names of what lies beside home and repository, where nothing should."""
        own = {self.home.name, self.repository.path.name}
        return sorted(each.name for each in self.folder.iterdir() if each.name not in own)


@contextmanager
def workspace(item: Item, run: int, bench: Bench, *, keep: bool) -> Iterator[Workspace]:
    """Builds the workspace of one run, and removes it whatever happens. No path in it tells the case's id.

    Args:
        keep: the repository is moved into the run folder at the end.

    Raises:
        DiffError: the item's diff cannot be used.
        GitError: git failed.
    """
    folder = scratch().folder("review")
    try:
        home = folder / "home"
        home.mkdir()
        diff = payload_diff(item.payload)
        with build(diff, folder / "repository") as repository:
            try:
                yield Workspace(folder, home, repository, diff)
            finally:
                if keep:
                    _keep(repository.path, f"{_file_name(item.id)}-{run}", bench)
    finally:
        discard(folder)


def _keep(repository: Path, name: str, bench: Bench) -> None:
    folder = bench.folder.resolve() / KEPT
    folder.mkdir(parents=True, exist_ok=True)
    shutil.move(repository, folder / name)
    bench.note(f"the repositories of the cases are kept in {folder}")


def _file_name(name: str) -> str:
    """A file name for an id, its own where that is one; different ids never share a name."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:60]
    return plain if plain == name else f"{plain}-{sha256(name.encode()).hexdigest()[:8]}"
