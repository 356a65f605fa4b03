"""Folders of git objects that an agent could write to, looked at without trusting anything around them."""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalrunner.git.run import GitError, git

TIMEOUT_S = 300.0
MOST_COMMIT = 1024 * 1024
"""Bytes of a commit; messages are shorter."""

_LOOSE = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_TWO_HEX = re.compile(r"[0-9a-f]{2}")


@dataclass(frozen=True)
class ObjectStore:
    """A folder of objects, seen through an empty repository of ours.

    Attributes:
        lens: where that repository is made.
        objects: the folder.
        digits: how many hex digits an object id has.
    """

    lens: Path
    objects: Path
    digits: int = 40

    def listed(self) -> bytes:
        """All objects, reachable or not: `ID TYPE` a line, sorted."""
        return self._git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")

    def parents(self, commits: Sequence[str]) -> dict[str, list[str]]:
        """The parents that each of these commits names, whether or not they are there.

        Raises:
            ValueError: a commit is too large to be one.
        """
        names = "".join(f"{sha}\n" for sha in commits).encode()
        sizes = self._git("cat-file", "--batch-check=%(objectsize)", stdin=names).split()
        if any(int(size) > MOST_COMMIT for size in sizes):
            raise ValueError(f"a commit is larger than {MOST_COMMIT} bytes")
        data = self._git("cat-file", "--batch", stdin=names)
        parents: dict[str, list[str]] = {}
        at = 0
        for sha in commits:
            end = data.index(b"\n", at)
            size = int(data[at:end].split()[2])
            header = data[end + 1 : end + 1 + size].partition(b"\n\n")[0]
            parents[sha] = [line[7:].decode() for line in header.split(b"\n") if line.startswith(b"parent ")]
            at = end + 1 + size + 1
        return parents

    def there(self, ids: Iterable[str]) -> list[str]:
        """Which of these objects are there: `git cat-file -e` on each."""
        return [oid for oid in ids if self._has(oid)]

    def _has(self, oid: str) -> bool:
        try:
            self._git("cat-file", "-e", oid)
        except GitError as error:
            if error.returncode != 1:
                raise
            return False
        return True

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        if not self.lens.exists():
            self.lens.mkdir(parents=True)
            length = "sha256" if self.digits == 64 else "sha1"
            git(self.lens, "init", "--quiet", "--bare", "--template=", f"--object-format={length}", ".")
        env = {
            "GIT_DIR": str(self.lens.resolve()),
            "GIT_OBJECT_DIRECTORY": str(self.objects.absolute()),
            "GIT_NO_LAZY_FETCH": "1",
        }
        return git(self.lens, *arguments, stdin=stdin, env=env, timeout_s=TIMEOUT_S)


def not_its_own(objects: Path) -> str | None:
    """Why what is in a folder of objects is not all that git sees there, as a clause; None where it is.

    Raises:
        OSError: it cannot be read.
    """
    for name in ("alternates", "http-alternates"):
        if os.path.lexists(objects / "info" / name):
            return f"borrows from another one ({name})"
    for folder, folders, files in os.walk(objects, onerror=raised):
        for name in (*folders, *files):
            path = os.path.join(folder, name)  # noqa: PTH118
            mode = os.lstat(path).st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                return f"holds what is no file: {name}"
            if not os.access(path, os.R_OK):
                return f"holds what cannot be read: {name}"
    return None


def find_stores(roots: Sequence[Path], known: Path) -> list[tuple[Path, Path]]:
    """Every folder that git could use as a store of objects, but the known one; each with its root.

    Raises:
        OSError: a folder cannot be read, or was replaced by a link.
    """
    found: set[tuple[Path, Path]] = set()
    for root in roots:
        if root.is_symlink():
            raise OSError(f"{root.name} was replaced by a link")
        for folder, folders, files in os.walk(root, onerror=raised):
            here = Path(folder)
            if here == known:
                folders.clear()
                continue
            if any(name.endswith(".pack") for name in files):
                found.add((root, here.parent if here.name == "pack" else here))
            if _TWO_HEX.fullmatch(here.name) and any(map(_LOOSE.fullmatch, files)):
                found.add((root, here.parent))
    return sorted(found)


def raised(error: OSError) -> None:
    """For `os.walk`, which passes over what it cannot read unless it is told otherwise."""
    raise error
