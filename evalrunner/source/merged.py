"""Which merged pull requests give an item for blind re-implementation: one rule, wherever they lie.

Both sources read a forge through `Reader` and say on stderr why anything is left out.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pathspec import PathSpec
from pydantic import AfterValidator, Field

from evalrunner.component import Component, Many
from evalrunner.errors import InputError, Problem, nearest, show
from evalrunner.receipt.fingerprint import content_sha
from evalrunner.records import Item, Selection, selection_key
from evalrunner.source.plan_section import NotEligible, closed_issues, read_plan
from evalrunner.source.strata import allocate

CODE_GLOBS = (
    "*.c", "*.cc", "*.cpp", "*.cs", "*.css", "*.go", "*.h", "*.hpp", "*.html", "*.java", "*.js", "*.jsx",
    "*.kt", "*.lua", "*.php", "*.pl", "*.py", "*.r", "*.rb", "*.rs", "*.scala", "*.sh", "*.sql", "*.swift",
    "*.ts", "*.tsx", "*.vue",
)  # fmt: skip
"""What counts as code unless the configuration says otherwise."""

STRATA = ("size", "model", "cell")


@dataclass(frozen=True)
class Merge:
    """A pull request that was merged into the trunk.

    Attributes:
        squash_sha: the commit that landed; None where it is not known.
        merged_at: when, with a time zone.
        body: its description.
    """

    pr: int
    squash_sha: str | None
    merged_at: datetime
    body: str


@dataclass(frozen=True)
class Commit:
    """A commit of the trunk.

    Attributes:
        parents: their shas, in order.
        paths: what it touched, both names of a renamed file.
        squashed: whether it is all of its pull request in one commit.
    """

    parents: Sequence[str]
    paths: Sequence[str]
    squashed: bool


@dataclass(frozen=True)
class Issue:
    """An issue, or a pull request that was asked for as one."""

    body: str
    is_pull: bool


class Reader(Protocol):
    """What a forge is asked. None stands for what is not there; anything worse raises SourceFailedError."""

    def merges(self, since: datetime, until: datetime) -> Iterable[Merge]:
        """The pull requests that were merged in between, newest first."""
        ...

    def commit(self, merge: Merge, sha: str) -> Commit | None:
        """The commit that landed."""
        ...

    def issue(self, number: int) -> Issue | None:
        """An issue."""
        ...

    def clone_from(self) -> str:
        """Path or URL to clone the repository from, without credentials."""
        ...


def _time(value: str) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("a date and time is needed, such as 2026-01-31T12:00:00Z") from None
    if moment.tzinfo is None:
        raise ValueError("a time zone is needed, such as 2026-01-31T12:00:00Z")
    return value


def _globs(value: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in value:
        try:
            PathSpec.from_lines("gitignore", [pattern])
        except ValueError as error:
            raise ValueError(f"{pattern!r} is no pattern: {error}") from None
    return value


class MergedIssues(Component, ABC):
    """Issues that a pull request closed lately, with code, squashed, and with a plan.

    Attributes:
        window_days: only what was merged in so many days before `until`.
        until: the end of the window, ISO 8601 with a time zone; None is now.
        code_globs: patterns as in a .gitignore file; at least one path of the squash commit matches.
        models: the names of implementation models that a plan may give.
    """

    origin: ClassVar[Literal["fs", "db"]]

    window_days: Annotated[float, Field(gt=0, le=3650)] = 7
    until: Annotated[str, AfterValidator(_time)] | None = None
    code_globs: Annotated[Many[str], Field(min_length=1), AfterValidator(_globs)] = CODE_GLOBS
    models: Annotated[Many[str], Field(min_length=1)] = ("haiku", "sonnet", "opus")

    @abstractmethod
    def _reader(self) -> AbstractContextManager[Reader]:
        """Opens what the issues are read from."""

    def take(self, selection: Selection) -> list[Item]:
        """The issues that qualify, as the selection says; see `choose` for its order.

        Raises:
            InputError: the configuration names something that is not there.
            SourceFailedError: the source as a whole cannot be read. It never looks like an empty one.
        """
        if selection.stratify not in {None, *STRATA}:
            given = str(selection.stratify)
            raise InputError(
                Problem(
                    "sampler.by",
                    "is no field of these items",
                    show(given),
                    ", ".join(STRATA),
                    nearest(given, STRATA),
                )
            )
        until = datetime.fromisoformat(self.until) if self.until else datetime.now(UTC)
        since = until - timedelta(days=self.window_days)
        with self._reader() as reader:
            merges = [each for each in reader.merges(since, until) if since < each.merged_at <= until]
            items = self._items(reader, merges)
        return choose(items, selection)

    def prefix(self) -> str | None:
        """None: these items have no slug."""
        return None

    def _items(self, reader: Reader, merges: Iterable[Merge]) -> list[Item]:
        """One item an issue; of several pull requests that closed it, the one that was merged last."""
        code = PathSpec.from_lines("gitignore", self.code_globs)
        taken: dict[int, Item] = {}
        newest_first = sorted(merges, key=lambda each: (each.merged_at, each.squash_sha or ""), reverse=True)
        for merge in newest_first:
            try:
                item = self._item(reader, merge, code)
            except NotEligible as why:
                say(f"#{merge.pr} is left out: {why}")
                continue
            number = item.payload["issue"]
            if number in taken:
                later = taken[number].payload["pr"]
                say(f"#{merge.pr} is left out: issue #{number} counts once, and #{later} closed it later")
                continue
            taken[number] = item
        return list(taken.values())

    def _item(self, reader: Reader, merge: Merge, code: PathSpec[Any]) -> Item:
        numbers = closed_issues(merge.body)
        if not numbers:
            raise NotEligible("its body closes no issue (closes, fixes or resolves #N)")
        if merge.squash_sha is None:
            raise NotEligible("it has no merge commit")
        commit = reader.commit(merge, merge.squash_sha)
        if commit is None:
            raise NotEligible(f"it, or its commit {merge.squash_sha}, is not there")
        if len(commit.parents) != 1:
            raise NotEligible(f"its commit has {len(commit.parents)} parents, so it was not squashed")
        if not commit.squashed:
            raise NotEligible("its commit is not all of it, so it was not squashed")
        if not any(map(code.match_file, commit.paths)):
            raise NotEligible("it touches no path that code_globs match")
        reasons = []
        for number in numbers:
            try:
                return _item_of(reader, merge, commit.parents[0], number, self.models)
            except NotEligible as why:
                reasons.append(f"issue #{number}: {why}")
        raise NotEligible("; ".join(reasons))


def _item_of(reader: Reader, merge: Merge, parent: str, number: int, models: Sequence[str]) -> Item:
    issue = reader.issue(number)
    if issue is None:
        raise NotEligible("it is not there")
    if issue.is_pull:
        raise NotEligible("it is a pull request")
    plan = read_plan(issue.body, models)
    payload = {
        "issue": number,
        "pr": merge.pr,
        "parent_sha": parent,
        "model": plan.model,
        "size": plan.size,
        "issue_body": issue.body,
        "repository": reader.clone_from(),
    }
    truth = {"squash_sha": merge.squash_sha}
    return Item(
        id=f"issue-{number}",
        content_sha=content_sha(payload, truth),
        payload=payload,
        truth=truth,
        groups={"size": plan.size, "model": plan.model, "cell": f"{plan.size} x {plan.model}"},
    )


def choose(items: Sequence[Item], selection: Selection) -> list[Item]:
    """The selected items.

    `source` keeps their order, the newest merge first. `sha256` without a seed is the order of the sha256 of
    the squash sha (its hex digits, ASCII), and with a seed that of `selection_key(seed, squash sha)`. Either
    way the same candidates give the same sample, whatever order they come in.
    """
    if selection.order == "sha256":
        items = sorted(items, key=lambda item: (_key(item, selection.seed), item.id))
    limit = len(items) if selection.limit is None else selection.limit
    if selection.stratify is None:
        return list(items[:limit])
    counts: dict[str | None, int] = {}
    for item in items:
        stratum = item.groups[selection.stratify]
        counts[stratum] = counts.get(stratum, 0) + 1
    room = allocate(counts, limit)
    chosen = []
    for item in items:
        stratum = item.groups[selection.stratify]
        if room[stratum]:
            room[stratum] -= 1
            chosen.append(item)
    return chosen


def _key(item: Item, seed: int | None) -> str:
    squash = str(item.truth["squash_sha"])
    return sha256(squash.encode("ascii")).hexdigest() if seed is None else selection_key(seed, squash)


def say(line: str) -> None:
    """One line to the user on stderr."""
    sys.stderr.write(f"evalrunner: {line}\n")
