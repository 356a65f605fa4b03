"""The git repository around a project's folder, read only: files as they were, and who commits here."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalrunner.errors import Problem, UsageError, show
from evalrunner.git.run import GitError, git

DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""Where the default branch is looked for; the first that is there counts."""

_SETTINGS = {"safe.directory": "*", "log.showSignature": "false"}
_MOST_VERSIONS = 500


@dataclass(frozen=True)
class Point:
    """A commit, and what it is called here."""

    name: str
    sha: str

    def __str__(self) -> str:
        return f"{self.name} ({self.sha[:8]})"


@dataclass(frozen=True)
class Repository:
    """A working tree.

    Attributes:
        top: its topmost folder.
    """

    top: Path

    @classmethod
    def around(cls, folder: Path) -> "Repository | None":
        """The repository that a folder lies in, whether the folder is there or not."""
        path = folder.absolute()
        found = next((each for each in (path, *path.parents) if (each / ".git").exists()), None)
        return None if found is None else cls(found)

    def point(self, ref: str) -> Point:
        """The commit of a ref.

        Raises:
            UsageError: git knows none.
        """
        sha = self._commit(ref)
        if sha is None:
            raise UsageError(
                Problem("--against-ref", "git knows no such commit", show(ref), "a branch, a tag or a commit")
            )
        return Point(ref, sha)

    def base(self) -> Point | None:
        """Where HEAD left the default branch; None where git cannot tell."""
        for branch in DEFAULT_BRANCHES:
            sha = self._commit(branch)
            if sha is not None:
                found = self._git("merge-base", "HEAD", sha, allowed=(0, 1, 128)).decode().strip()
                return Point(f"the merge base with {branch}", found) if found else None
        return None

    def texts(self, point: Point | str, paths: Sequence[Path]) -> list[str | None]:
        """The files as they were in a commit; None where there was none, or none of the repository."""
        sha = point if isinstance(point, str) else point.sha
        return self._blobs([self._name(sha, path) for path in paths])

    def versions(self, path: Path) -> list[str]:
        """Every text that a file had in any commit, the newest first."""
        named = self._name("HEAD", path)
        if named is None:
            return []
        words = (
            "rev-list",
            "--all",
            "--topo-order",
            f"--max-count={_MOST_VERSIONS}",
            "--",
            f":(top,literal){named[5:]}",
        )
        commits = self._git(*words).decode().split()
        found = self._blobs([self._name(sha, path) for sha in commits])
        return [text for text in dict.fromkeys(found) if text is not None]

    def _commit(self, ref: str) -> str | None:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        told = self._git(*words, allowed=(0, 1, 128)).decode().strip()
        return told if re.fullmatch(r"[0-9a-f]{40,64}", told) else None

    def _name(self, sha: str, path: Path) -> str | None:
        try:
            return f"{sha}:{path.absolute().relative_to(self.top).as_posix()}"
        except ValueError:
            return None

    def _blobs(self, names: Sequence[str | None]) -> list[str | None]:
        asked = [name for name in names if name is not None and "\n" not in name]
        answer = self._git("cat-file", "--batch", stdin="".join(f"{name}\n" for name in asked).encode())
        told = dict(zip(asked, _records(answer, len(asked)), strict=True))
        return [None if name is None else told.get(name) for name in names]

    def _git(self, *words: str, stdin: bytes = b"", allowed: tuple[int, ...] = (0,)) -> bytes:
        return git(self.top, *words, stdin=stdin, settings=_SETTINGS, allowed=allowed)


def _records(answer: bytes, count: int) -> list[str | None]:
    """What `cat-file --batch` wrote: a head and a content for each blob that is there."""
    found: list[str | None] = []
    place = 0
    for _ in range(count):
        end = answer.index(b"\n", place)
        head, place = answer[place:end].split(b" "), end + 1
        if head[-1] == b"missing" or not head[-1].isdigit():
            found.append(None)
            continue
        size = int(head[-1])
        content, place = answer[place : place + size], place + size + 1
        found.append(_text(content) if head[-2] == b"blob" else None)
    return found


def _text(content: bytes) -> str:
    """A file's text with LF as line end, as the readers of files see it."""
    return content.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def author(folder: Path) -> str | None:
    """The name that git would commit with here; None where none is configured, or git is not there."""
    home = os.environ.get("HOME") or str(Path.home())
    xdg = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    own = os.environ.get("GIT_CONFIG_GLOBAL")
    repository = Repository.around(folder)
    for config in [own] if own is not None else [f"{home}/.gitconfig", f"{xdg}/git/config"]:
        env = {"HOME": home, "GIT_CONFIG_GLOBAL": config, "GIT_CONFIG_NOSYSTEM": "0"}
        try:
            where = folder if repository is None else repository.top
            name = git(where, "config", "--get", "user.name", env=env, settings=_SETTINGS, allowed=(0, 1))
        except GitError:
            return None
        if name.strip():
            return name.decode("utf-8", "replace").strip()
    return None
