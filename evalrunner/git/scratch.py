"""Temporary folders that do not outlive us: not after an exception or Ctrl-C, nor, for long, after a kill.

All folders of a process lie in one private folder of its own, beside a file on which it holds a lock. What a
killed process left is known by its lock being free, and the next process removes it.
"""

import atexit
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path

from evalrunner.errors import EvalrunnerError, Problem

_TRIES = 3
"""How often a folder is removed in which something may still be writing."""


def shelf() -> Path:
    """The folder that holds the scratch folders of this user's processes."""
    return Path(tempfile.gettempdir()) / f"evalrunner-{os.getuid()}"


class Scratch:
    """The private folder of this process.

    Attributes:
        path: where it is.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        _sweep(shelf())
        self._lock, self.path = _claim(shelf())
        atexit.register(self.remove)

    @property
    def usable(self) -> bool:
        """Whether it is there, and this process's own: a forked child has to make another."""
        return self._lock >= 0 and self._process == os.getpid()

    def folder(self, name: str) -> Path:
        """A new empty folder. The name is for people who look at it."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.path))

    def remove(self) -> None:
        """Removes it with all that it holds. Happens by itself when the process ends."""
        if not self.usable:
            return
        atexit.unregister(self.remove)
        _give_up(self.path, self._lock)
        self._lock = -1


_guard = threading.Lock()
_own: list[Scratch] = []


def scratch() -> Scratch:
    """The scratch folder of this process, made when it is first asked for.

    Raises:
        EvalrunnerError: the temporary folder cannot be used, or is somebody else's.
    """
    with _guard:
        if not _own or not _own[-1].usable:
            try:
                _own[:] = [Scratch()]
            except OSError as error:
                raise EvalrunnerError(
                    Problem(str(shelf()), f"cannot be used for temporary files: {error.strerror}")
                ) from error
        return _own[-1]


def discard(path: Path) -> None:
    """Removes a folder with all that it holds, however deep it is and whatever rights were taken away.

    It follows no links. What still cannot be removed stays.
    """
    for _ in range(_TRIES):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            if not path.exists():
                return
        except (OSError, RecursionError):
            with suppress(OSError):
                _flatten(path)
        else:
            return
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)


def _flatten(top: Path) -> None:
    """Empties a folder without ever naming anything more than two folders below it.

    Every folder's folders are moved up until all is gone: neither the length of a path nor a limit on open
    files or on recursion stands in the way, and a program that we ran may have made all three matter.
    """
    os.chmod(top, stat.S_IRWXU)  # noqa: PTH101 - as in all of this, bytes and many files
    here = os.path.join(os.fsencode(top), secrets.token_bytes(8).hex().encode())  # noqa: PTH118
    numbers = count()
    while folders := _emptied(os.fsencode(top)):
        for folder in folders:
            for inner in _emptied(folder):
                os.rename(inner, b"%b-%d" % (here, next(numbers)))  # noqa: PTH104
            os.rmdir(folder)  # noqa: PTH106


def _emptied(folder: bytes) -> list[bytes]:
    """Removes the files of a folder; returns its folders, with every right on them."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, stat.S_IRWXU)  # noqa: PTH101
                folders.append(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108
    return folders


def _claim(parent: Path) -> tuple[int, Path]:
    """A new folder with the descriptor of its lock."""
    while True:
        _make_private(parent)
        path = parent / f"run-{secrets.token_hex(6)}"
        try:
            lock = os.open(_lock_of(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except (FileNotFoundError, FileExistsError):
            continue  # the parent was empty, and another process removed it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            path.mkdir(mode=0o700)
            return lock, path
        os.close(lock)  # another process swept it before we had locked it


def _make_private(parent: Path) -> None:
    parent.mkdir(mode=0o700, exist_ok=True)
    found = parent.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(0, "it belongs to another user; set TMPDIR to a folder of your own")
    if found.st_mode & 0o077:
        parent.chmod(0o700)


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _sweep(parent: Path) -> None:
    """Removes what processes left that are no more."""
    for file in parent.glob("run-*.lock"):
        try:
            lock = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            _give_up(file.with_name(file.name.removesuffix(".lock")), lock)


def _give_up(path: Path, lock: int) -> None:
    """Removes a folder and its lock, which we hold, and the shelf when nothing else is on it."""
    discard(path)
    _lock_of(path).unlink(missing_ok=True)
    os.close(lock)
    try:
        path.parent.rmdir()
    except OSError:
        return
