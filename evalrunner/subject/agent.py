"""What every coding agent is: it re-implements a merged issue without having seen what landed.

The way of a sample: a vault with what landed, a sealed repository for the agent, checks on its objects, the
agent, the harvest, the checks again, and a look through the transcript. Whatever goes wrong is the outcome's
status; a sample that could have been seen is `contaminated`, whatever else happened to it.
"""

import asyncio
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalrunner.component import Component
from evalrunner.errors import ConfigError, Problem
from evalrunner.git import contamination
from evalrunner.git.contamination import Checks
from evalrunner.git.diff import diff_payload
from evalrunner.git.harvest import Harvest, harvest, place_of
from evalrunner.git.run import GitError
from evalrunner.git.scratch import discard, scratch
from evalrunner.git.sealed import Origin, Vault, clean_origin, fill_vault, objects_of, seal
from evalrunner.model.seat import Bench, PlannedCall, Speaker
from evalrunner.records import Item, Outcome, OutcomeStatus, Spend
from evalrunner.subject.agent_kept import MOST_TOLD, copied, keep

Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""The name of an environment variable."""

Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]

NOTHING_RUNS = "not needed"
"""What `isolation` says where no program is run."""


class Task(BaseModel):
    """What an item asks for, checked: items may come from a file.

    Attributes:
        repository: path or URL that the repository is cloned from.
        squash_sha: the landed commit; no agent is told.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    issue: int
    parent_sha: Sha
    model: str = Field(min_length=1)
    size: Literal["s", "m", "l"]
    issue_body: str
    repository: str
    squash_sha: Sha


FREE = Spend()


@dataclass(frozen=True)
class Job:
    """One sample as an agent gets it.

    Attributes:
        path: the sealed repository, with the parent checked out.
        folder: a temporary folder beside it, for whatever else is needed.
        hidden: what no step of a transcript should name.
    """

    item: Item
    task: Task
    path: Path
    folder: Path
    bench: Bench
    hidden: tuple[str, ...]


@dataclass(frozen=True)
class Work:
    """How an agent's run ended.

    Attributes:
        isolation: the level that it ran under.
        about: what else of the isolation is kept for those who check.
        flags: what a person should look at.
        transcript: everything that it wrote.
        elsewhere: folders besides the repository that it could write to.
        token: the agent's own, which is not kept with what it made; empty where it has none.
        loose: whether something of it may still be running, so that nothing that is looked at need stay so.
    """

    status: Literal["ok", "timeout", "error"] = "ok"
    error: str | None = None
    spend: Spend = FREE
    isolation: str = NOTHING_RUNS
    about: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    transcript: bytes = b""
    elsewhere: tuple[Path, ...] = ()
    token: str = ""
    loose: bool = False


@dataclass(frozen=True)
class _Ready:
    vault: Vault
    path: Path
    place: tuple[int, int]
    before: Checks


class Agent(Component, ABC):
    """A coding agent. It never gets to see the squash commit, the pull request or anything that came later.

    Attributes:
        agent_timeout: seconds for a sample; what is there by then is harvested all the same.
        clone_token_env: the variable with the token for cloning; it is sent to the repository's URL alone.
        keep_repos: leaves each sealed repository in the run folder.
    """

    judged_itself: ClassVar[bool] = False

    agent_timeout: Annotated[float, Field(gt=0, le=86400)] = 1800
    clone_token_env: Variable | None = "EVALRUNNER_CLONING_TOKEN"
    keep_repos: bool = False

    @abstractmethod
    async def work(self, job: Job) -> Work:
        """Lets the agent loose on a sealed repository. Nothing of it is running any more at the end."""

    @abstractmethod
    def described(self) -> Mapping[str, Any]:
        """What tells this agent from another; see `Subject.described`."""

    def prompts(self) -> Sequence[str]:
        """None, unless an agent is asked with one."""
        return ()

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """None: an agent's calls do not go through us."""
        return []

    def models(self) -> Sequence[Speaker]:
        """None: an agent is no model of ours."""
        return ()

    def missing(self, environ: Mapping[str, str]) -> list[Problem]:
        """What it lacks before the first sample can be produced."""
        return []

    def check_installed(self) -> None:
        """See `Checked.check_installed`.

        Raises:
            ConfigError: with everything that is missing.
        """
        if problems := self.missing(os.environ):
            raise ConfigError(problems)

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """One sample. What goes wrong in it is the outcome's status."""
        start = monotonic()
        try:
            task = Task.model_validate({**item.payload, **item.truth})
            clean_origin(task.repository)
        except ValueError as error:
            return Outcome(item_id=item.id, run=run, status="error", error=_unusable(error))
        folder = scratch().folder("blind")
        try:
            outcome = await self._sample(item, task, run, folder, bench)
        except (GitError, OSError) as error:
            outcome = Outcome(
                item_id=item.id,
                run=run,
                status="error",
                payload=_facts(task),
                error=" ".join(str(error).split()),
            )
        finally:
            await asyncio.to_thread(discard, folder)
        return replace(outcome, duration_s=monotonic() - start)

    async def _sample(self, item: Item, task: Task, run: int, folder: Path, bench: Bench) -> Outcome:
        ready = await asyncio.to_thread(self._prepared, task, folder)
        work = Work()
        if not ready.before.hits:
            job = Job(item, task, ready.path, folder, bench, (*_names(task.repository), task.squash_sha))
            work = await self.work(job)
        return await asyncio.to_thread(self._outcome, item, task, run, folder, bench, ready, work)

    def _prepared(self, task: Task, folder: Path) -> _Ready:
        token = os.environ.get(self.clone_token_env, "").strip() if self.clone_token_env else ""
        origin = Origin(task.repository, token or None)
        vault = fill_vault(folder / "vault", origin, task.parent_sha, task.squash_sha)
        path = folder / "repository"
        seal(vault, path)
        before = contamination.before(vault, path, folder / "lens-before")
        return _Ready(vault, path, place_of(path), before)

    def _outcome(  # noqa: PLR0917 - one call
        self, item: Item, task: Task, run: int, folder: Path, bench: Bench, ready: _Ready, work: Work
    ) -> Outcome:
        got: Harvest | None = None
        after: Checks | None = None
        hits = list(ready.before.hits)
        flags = [*ready.before.flags, *work.flags]
        status: OutcomeStatus = work.status
        errors = [work.error] if work.error else []
        if work.loose:
            hits.append("something that the agent started may still be running, so nothing can be checked")
        if not hits:
            aside = folder / "aside"
            try:
                got = harvest(ready.vault, ready.path, ready.place, aside)
                flags += got.flags
            except (GitError, OSError, RecursionError) as error:
                status = "error"
                errors.append(f"nothing could be harvested: {' '.join(str(error).split())[:MOST_TOLD]}")
            known = objects_of(ready.vault.path, got.tree) if got is not None else set[str]()
            elsewhere = [each for each in (aside, *work.elsewhere) if each.exists()]
            after = contamination.after(
                ready.vault, ready.path, folder / "lens-after", ready.before, known, elsewhere
            )
            hits += after.hits
            flags += after.flags
        leaked = got is not None and bool(work.token) and work.token.encode() in got.diff
        if got is not None and leaked:
            status, got = "error", replace(got, diff=b"")
            errors.append("the candidate holds the agent's own token, and is not kept")
        if hits:
            status = "contaminated"
            errors = hits
            bench.note(f"{item.id} is CONTAMINATED, and is not judged: {'; '.join(hits)}")
        checks = {
            "before": {"hits": ready.before.hits, **ready.before.record},
            "after": None if after is None else {"hits": after.hits, **after.record},
            "isolation": {"level": work.isolation, **work.about},
        }
        payload: dict[str, Any] = {
            **_facts(task),
            **_named("candidate_diff", got.diff if got is not None else b""),
            **_named("landed_diff", ready.vault.landed_diff),
            "contaminated": bool(hits),
            "flags": flags,
            "checks": checks,
            "isolation": work.isolation,
            "candidate_tree": got.tree if got is not None else None,
            "landed_tree": ready.vault.landed_tree,
        }
        kept = keep(bench.folder, item.id, run, {
            "transcript.txt": work.transcript,
            "candidate.diff": got.diff if got is not None else None,
            "landed.diff": ready.vault.landed_diff,
            "objects-before.txt": ready.before.objects,
            "objects-after.txt": after.objects if after is not None else None,
            "checks.json": json.dumps({**checks, "flags": flags}, indent=2).encode(),
        })  # fmt: skip
        payload["transcript_path"] = str((kept / "transcript.txt").relative_to(bench.folder))
        if self.keep_repos and not leaked:
            bench.note(copied(ready.path, kept / "repository", item.id))
        return Outcome(
            item_id=item.id,
            run=run,
            status=status,
            payload=payload,
            spend=work.spend,
            error="; ".join(errors) or None,
        )


def _facts(task: Task) -> dict[str, Any]:
    return {"issue": task.issue, "model": task.model, "size": task.size}


def _named(name: str, diff: bytes) -> dict[str, str]:
    """A diff as text, and as base64 as well where the text is not all of it."""
    return {key.replace("diff", name, 1): value for key, value in diff_payload(diff).items()}


def _names(repository: str) -> tuple[str, ...]:
    """The spellings of the place that a repository was cloned from."""
    if "://" in repository:
        return (repository, repository.partition("://")[2])
    path = Path(repository).expanduser()
    return tuple(dict.fromkeys([str(path.resolve()), str(path.absolute())]))


def _unusable(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    return f"repository: {error}"
