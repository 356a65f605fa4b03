"""The source `git_history`: squash commits of a local repository, issue bodies from a JSON file. Offline."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalrunner.component import FilePath
from evalrunner.errors import InputError, Problem, SourceFailedError, show
from evalrunner.git.run import GitError, git
from evalrunner.receipt.jsontext import no_twice
from evalrunner.source.merged import Commit, Issue, Merge, MergedIssues, Reader, say

_NAMES_PULL = re.compile(r"\(#([1-9][0-9]{0,9})\)\s*\Z")
_SAFE = {"safe.directory": "*", "log.showSignature": "false"}
"""The repository is the one that the user names: whom it belongs to does not matter."""


class GitHistory(MergedIssues):
    """Merged pull requests as the trunk of a local repository shows them.

    A commit of the trunk whose subject ends in `(#N)` is the squashed pull request N, merged at its commit
    date. The pull request's body is the one that the issues file has for N, else the rest of the commit's
    message.

    Attributes:
        repository: the repository's folder.
        issues: the JSON file: a list of objects as the REST API gives them (`number`, `body`, and
            `pull_request` where it is one), or one object from number to body or to such an object.
        trunk: the branch, tag or commit whose first parents are looked at.
    """

    origin: ClassVar[Literal["fs", "db"]] = "fs"

    repository: FilePath
    issues: FilePath
    trunk: Annotated[str, Field(min_length=1)] = "HEAD"

    def location(self) -> str | None:
        """The repository's folder as it was given."""
        return str(self.repository)

    @contextmanager
    def _reader(self) -> Iterator[Reader]:
        yield _History(self.repository, self.trunk, read_issues(self.issues))


@dataclass(frozen=True)
class _History:
    repository: Path
    trunk: str
    issues: Mapping[int, Issue]

    def merges(self, since: datetime, until: datetime) -> Iterable[Merge]:
        if not self.repository.is_dir():
            raise InputError(
                Problem("source.repository", "there is no such folder", show(str(self.repository)))
            )
        found = self._git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{self.trunk}^{{commit}}", allowed=(0, 1)
        )
        if not found.strip():
            raise InputError(
                Problem("source.trunk", "there is no such commit", show(self.trunk), "a branch, tag or sha")
            )
        shallow = self._git("rev-parse", "--is-shallow-repository").strip() == b"true"
        log = self._git(
            "log", "-z", "--first-parent", "--no-show-signature", "--format=%H%x1f%P%x1f%ct%x1f%B",
            f"--since-as-filter={(since - timedelta(days=1)).isoformat()}", found.decode().strip(), "--",
        )  # fmt: skip
        for record in filter(None, log.decode("utf-8", "replace").split("\0")):
            sha, parents, seconds, message = record.split("\x1f", 3)
            moment = datetime.fromtimestamp(int(seconds), UTC)
            if not since < moment <= until:
                continue
            if shallow and not parents:
                raise SourceFailedError(
                    Problem(
                        str(self.repository), "is a shallow clone whose history ends inside the window", sha
                    )
                )
            subject, _, rest = message.strip().partition("\n")
            named = _NAMES_PULL.search(subject)
            if named is None:
                say(f"{sha[:12]} is left out: its subject names no pull request (#N)")
                continue
            pr = int(named[1])
            told = self.issues.get(pr)
            yield Merge(pr, sha, moment, told.body if told is not None and told.is_pull else rest)

    def commit(self, merge: Merge, sha: str) -> Commit | None:
        parents = self._git("rev-list", "--parents", "--max-count=1", sha, "--").decode().split()[1:]
        if len(parents) != 1:
            return Commit(parents, (), True)
        names = self._git("diff-tree", "-r", "-z", "--no-renames", "--name-only", parents[0], sha, "--")
        paths = [name.decode("utf-8", "replace") for name in names.split(b"\0") if name]
        return Commit(parents, paths, True)

    def issue(self, number: int) -> Issue | None:
        return self.issues.get(number)

    def clone_from(self) -> str:
        return str(self.repository)

    def _git(self, *arguments: str, allowed: tuple[int, ...] = (0,)) -> bytes:
        try:
            return git(self.repository, *arguments, settings=_SAFE, allowed=allowed)
        except GitError as error:
            raise SourceFailedError([Problem(str(self.repository), str(error))]) from error


def read_issues(path: Path) -> dict[int, Issue]:
    """The issues and pull requests of a JSON file, by number; see `GitHistory.issues`.

    Raises:
        InputError: there is no such file, or it is of another form; every entry that is wrong.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=no_twice)
    except OSError as error:
        raise InputError(
            Problem("source.issues", f"cannot be read: {error.strerror}", show(str(path)))
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(Problem(str(path), f"is no JSON: {error}")) from None
    if isinstance(content, dict):
        rows = [(key, _row(key, value)) for key, value in content.items()]
    elif isinstance(content, list):
        rows = [(str(place), value) for place, value in enumerate(content)]
    else:
        raise InputError(Problem(str(path), "holds neither a list nor an object", show(content)))
    issues: dict[int, Issue] = {}
    problems: list[Problem] = []
    for place, row in rows:
        where = f"{path}: {place}"
        if not isinstance(row, dict):
            problems.append(Problem(where, "is no object", show(row)))
            continue
        number, body = row.get("number"), row.get("body")
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            problems.append(Problem(f"{where}.number", "is no number of an issue", show(number)))
        elif number in issues:
            problems.append(Problem(f"{where}.number", "stands in the file already", show(number)))
        elif body is not None and not isinstance(body, str):
            problems.append(Problem(f"{where}.body", "is no text", show(body)))
        else:
            issues[number] = Issue(body or "", row.get("pull_request") is not None)
    if problems:
        raise InputError(problems)
    return issues


def _row(key: str, value: Any) -> Any:
    number = int(key) if key.isascii() and key.isdecimal() else key
    if isinstance(value, dict):
        return {"number": number, **value}
    return {"number": number, "body": value}
