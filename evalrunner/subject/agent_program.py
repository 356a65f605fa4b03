"""What agents that are programs have in common: argv, environment, isolation, and reading the transcript."""

import asyncio
import os
import shutil
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, AnyStr, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from evalrunner.component import FilePath, Many
from evalrunner.errors import Problem, nearest
from evalrunner.git.sealed import places
from evalrunner.records import Spend, Usage
from evalrunner.sandbox.bubblewrap import Isolation, probe
from evalrunner.sandbox.egress import Egress, place
from evalrunner.sandbox.process import ProcessResult
from evalrunner.subject.agent import Agent, Job, Work
from evalrunner.subject.agent_box import Box
from evalrunner.subject.agent_variables import HandedVariable, KeyVariable
from evalrunner.subject.transcript import Step, scan

TOKEN = "[token]"
"""Stands in transcripts for the agent's own token."""

UNKNOWN_COST = Spend(usage=Usage(), cost_usd=None)

Places = Many[Annotated[str, AfterValidator(place)]]
"""Hosts with ports; see `evalrunner.sandbox.egress.place`."""


@dataclass(frozen=True)
class Given:
    """What a program is given for one sample.

    Attributes:
        issue_file: a file with the issue's body.
        home: its HOME, empty at first and writable.
        model_args: the arguments that its model's alias stands for.
        isolated: whether it runs in a box.
    """

    issue_file: Path
    home: Path
    model_args: tuple[str, ...]
    isolated: bool


@dataclass(frozen=True)
class Read:
    """What a transcript tells.

    Attributes:
        error: that the agent itself says that it failed.
    """

    steps: Sequence[Step]
    spend: Spend = UNKNOWN_COST
    error: str | None = None


class ProgramAgent(Agent):
    """An agent that is a program, run in the sealed repository.

    Attributes:
        isolation: `required` refuses where programs cannot be isolated; `preferred` says so, and runs.
        aliases: implementation model -> the arguments that make the program use it.
        key_env: the variable with the agent's own token. It is the only credential that is handed on.
        env: more variables that are handed on where they are set. Of anything else the program sees nothing.
        egress: `host:port` (443 when left out) of what the agent's model needs; it reaches nothing else.
        read_only: more folders that it sees, such as the one that it is installed in.
    """

    isolation: Literal["required", "preferred"] = "preferred"
    aliases: dict[Annotated[str, Field(min_length=1)], Many[str]] = Field(default_factory=dict)
    key_env: KeyVariable = None
    env: Many[HandedVariable] = ()
    egress: Places = ()
    read_only: Many[FilePath] = ()

    @model_validator(mode="after")
    def _apart(self) -> "ProgramAgent":
        if self.key_env is not None and self.key_env == self.clone_token_env:
            raise ValueError(
                "key_env and clone_token_env must be two variables: no agent gets the token for cloning"
            )
        if self.clone_token_env in self.env:
            raise ValueError("env must not name clone_token_env: no agent gets the token for cloning")
        return self

    @property
    @abstractmethod
    def executable(self) -> str:
        """The program: a name on the PATH, or a path."""

    @abstractmethod
    def argv(self, job: Job, given: Given) -> list[str]:
        """The command line."""

    def stdin(self, job: Job) -> bytes:
        """What it reads from its standard input."""
        return b""

    def own_environment(self) -> Mapping[str, str]:
        """Variables that it is given besides."""
        return {}

    @abstractmethod
    def read(self, stdout: bytes, stderr: bytes, given: Given) -> Read:
        """What the transcript tells. It was written by programs and models: anything may stand in it."""

    def install_hint(self) -> str | None:
        """How to install the program."""
        return None

    def needs_alias(self) -> bool:
        """Whether a model without an alias cannot be used."""
        return True

    def missing(self, environ: Mapping[str, str]) -> list[Problem]:
        """A missing program, token, alias or isolation."""
        problems = []
        isolation = probe()
        if self.isolation == "required" and isolation.kind == "none":
            problems.append(
                Problem(
                    "subject.isolation",
                    f"is required, but {isolation.reason}",
                    allowed="isolation=preferred runs without",
                )
            )
        problems += [
            Problem("subject.read_only", "there is no such folder or file", str(each))
            for each in self.read_only
            if not each.exists()
        ]
        found = shutil.which(_absolute(self.executable), path=environ.get("PATH"))
        if found is None:
            problems.append(
                Problem(
                    "subject",
                    f"the program {self.executable!r} is not installed",
                    allowed=self.install_hint(),
                )
            )
        elif isolation.kind != "none" and not self._box(isolation).sees(Path(found)):
            problems.append(
                Problem(
                    "subject.read_only",
                    "does not hold the agent's program, which the agent must see",
                    found,
                    "the folder that it is installed in",
                )
            )
        if self.key_env is not None and not environ.get(self.key_env, "").strip():
            problems.append(
                Problem(
                    "subject.key_env",
                    "the agent's token is missing: it is read from the environment",
                    self.key_env,
                )
            )
        if self.needs_alias() and not self.aliases:
            problems.append(
                Problem("subject.aliases", "names no model", "{}", "such as {sonnet: [--model, NAME]}")
            )
        return problems

    async def work(self, job: Job) -> Work:
        """Runs the program until it ends, or its time is up; nothing of it is left behind."""
        alias = self.aliases.get(job.task.model)
        if alias is None and self.needs_alias():
            near = nearest(job.task.model, self.aliases)
            known = f"known: {', '.join(self.aliases)}" + (f"; did you mean {near!r}?" if near else "")
            said = f"subject.aliases has no entry for the model {job.task.model!r}; {known}"
            return Work(status="error", error=said)
        box = self._box(await asyncio.to_thread(probe))
        if (refused := self._refused(box, job)) is not None:
            return Work(status="error", error=refused, isolation=box.isolation.kind)
        given = _given(job, tuple(alias or ()), box)
        argv = self.argv(job, given)
        names = [*self.env, *([self.key_env] if self.key_env else [])]
        result, out = await box.run(
            [_absolute(argv[0]), *argv[1:]],
            cwd=job.path,
            home=given.home,
            shown=given.issue_file.parent,
            net=job.folder / "net",
            variables={
                **self.own_environment(),
                **{each: os.environ[each] for each in names if each in os.environ},
            },
            stdin=self.stdin(job),
            timeout_s=self.agent_timeout,
        )
        token = os.environ.get(self.key_env, "").strip() if self.key_env else ""
        stdout, stderr = (_hidden(each, token.encode()) for each in (result.stdout, result.stderr))
        result = replace(result, stdout=stdout, stderr=stderr)
        read = await asyncio.to_thread(self.read, result.stdout, result.stderr, given)
        status, error = _ended(result, read, self.agent_timeout)
        return Work(
            status=status,
            error=error,
            spend=read.spend,
            isolation=box.isolation.kind,
            about={
                "reason": box.isolation.reason,
                "egress": list(self.egress) if box.closed else None,
                "reached": list(out.used) if out else [],
                "refused": list(out.refused) if out else [],
                "exit": result.code,
            },
            flags=tuple(_hidden(each, token) for each in _flags(job, given, read, out)),
            transcript=_whole(result),
            elsewhere=(given.home,),
            token=token,
            loose=result.lost,
        )

    def _box(self, isolation: Isolation) -> Box:
        return Box(isolation, tuple(self.read_only), tuple(self.egress))

    def _refused(self, box: Box, job: Job) -> str | None:
        """Why the program must not run there; says it where it runs though it is not isolated."""
        if box.closed:
            origin = job.task.repository
            for place, told in (
                *((each, origin) for each in places(origin)),
                (job.bench.folder, "the run folder"),
                (job.folder, "the folder for temporary files"),
            ):
                if box.touches(place):
                    return f"the agent could see what landed: read_only overlaps with {told}"
            return None
        if self.isolation == "required":
            return f"isolation is required, but {box.isolation.reason}"
        job.bench.note(
            f"WEAK ISOLATION (none): {box.isolation.reason}; agents see this machine's files and network, "
            "and only the objects and the transcript speak for their blindness"
        )
        return None


def _hidden(text: AnyStr, token: AnyStr) -> AnyStr:
    """A text without the agent's own token, which an agent may show like anything else."""
    shown = TOKEN if isinstance(text, str) else TOKEN.encode()
    return text.replace(token, shown) if token else text


def _given(job: Job, model_args: tuple[str, ...], box: Box) -> Given:
    home, folder = job.folder / "home", job.folder / "issue"
    home.mkdir()
    folder.mkdir()
    file = folder / "issue.md"
    file.write_text(job.task.issue_body, encoding="utf-8", errors="replace")
    return Given(file, home, model_args, box.closed)


def _absolute(program: str) -> str:
    """A program that is named by a path, which may be relative to where the user is."""
    return str(Path(program).expanduser().absolute()) if os.sep in program else program


def _flags(job: Job, given: Given, read: Read, out: Egress | None) -> list[str]:
    host = urlsplit(job.task.repository).hostname
    refused = [f"it tried to reach {each}, which is not allowed" for each in (out.refused if out else ())]
    return refused + scan(
        read.steps,
        inside=[str(job.path), str(given.home), str(given.issue_file.parent)],
        hidden=job.hidden,
        hosts=[host] if host else [],
    )


def _ended(
    result: ProcessResult, read: Read, limit_s: float
) -> tuple[Literal["ok", "timeout", "error"], str | None]:
    if result.status == "timeout":
        return "timeout", f"the agent was ended after {limit_s:g} s; what it had done by then counts"
    if result.status == "missing":
        return "error", f"the agent could not be started: {result.error}"
    if result.status == "flooded":
        return "error", f"the agent wrote too much ({result.stdout_size} bytes)"
    if result.lost:
        return "error", "the agent ended the process that watches over it"
    if result.status == "exit":
        last = result.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        said = read.error or " ".join(last)
        return "error", f"the agent ended with exit code {result.code}" + (f": {said[:300]}" if said else "")
    return ("error", f"the agent failed: {read.error[:300]}") if read.error else ("ok", None)


def _whole(result: ProcessResult) -> bytes:
    """Everything that was written, stdout first: steps are numbered by its lines."""
    if not result.stderr:
        return result.stdout
    return (
        result.stdout + (b"" if result.stdout.endswith(b"\n") or not result.stdout else b"\n") + result.stderr
    )


def cost(value: Any) -> Decimal | None:
    """A cost as an agent reports it; None when it reports none, or nothing that could be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    found = Decimal(repr(value))
    return found if found.is_finite() and found >= 0 else None


def count(value: Any) -> int:
    """A count as an agent reports it; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
