"""What the agents that are programs have in common: argv, environment, isolation, and reading the transcript."""

import asyncio
import os
import re
import shutil
import sys
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from evalrunner.component import FilePath, Many
from evalrunner.errors import Problem, nearest
from evalrunner.git.run import IDENTITY_EMAIL
from evalrunner.records import Spend, Usage
from evalrunner.sandbox import forward
from evalrunner.sandbox.bubblewrap import SYSTEM, Bind, Isolation, probe, wrap
from evalrunner.sandbox.egress import Egress, egress, place
from evalrunner.sandbox.process import ProcessResult, run_async
from evalrunner.subject.agent import Agent, Job, Variable, Work
from evalrunner.subject.transcript import Step, scan

PROXY_PORT = 3128
UNKNOWN_COST = Spend(usage=Usage(), cost_usd=None)

_FORGE = re.compile(
    r"(?:GH|GITHUB|GITLAB|GL|GITEA|FORGEJO|CODEBERG|BITBUCKET|HUB|SRHT|EVALRUNNER)_.*|CI_JOB_.*|GIT_.*|SSH_.*|.*_PAT",
    re.IGNORECASE,
)
_CLOUD = re.compile(
    r"(?:AWS|AZURE|ARM|GOOGLE|GCP|GCLOUD|CLOUDSDK|ALIBABA_CLOUD|OCI|DIGITALOCEAN|HCLOUD|VAULT|DOCKER)_.*"
    r"|KUBECONFIG|NETRC|(?:NPM|PYPI|TWINE|CARGO_REGISTRY)_.*(?:TOKEN|PASSWORD)",
    re.IGNORECASE,
)


def _harmless(name: str) -> str:
    if _FORGE.fullmatch(name) or _CLOUD.fullmatch(name):
        raise ValueError(f"{name} can hold credentials of a forge or a cloud, and no agent gets those")
    return name


def _no_forge(name: str) -> str:
    if _FORGE.fullmatch(name):
        raise ValueError(f"{name} can hold a token of a forge, and no agent gets those")
    return name


KeyVariable = Annotated[Variable, AfterValidator(_no_forge)] | None
"""The variable with an agent's own token, or none."""

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
        isolation: `required` refuses to run where programs cannot be isolated; `preferred` says so and goes on.
        aliases: implementation model -> the arguments that make the program use it.
        key_env: the variable with the agent's own token. It is the only credential that is handed on.
        env: more variables that are handed on where they are set. Of anything else the program sees nothing.
        egress: `host:port` (443 when left out) of what the agent's model needs; it reaches nothing else.
        read_only: more folders that it sees, such as the one that it is installed in.
    """

    isolation: Literal["required", "preferred"] = "preferred"
    aliases: dict[Annotated[str, Field(min_length=1)], Many[str]] = Field(default_factory=dict)
    key_env: KeyVariable = None
    env: Many[Annotated[Variable, AfterValidator(_harmless)]] = ()
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

    def check_ready(self, environ: Mapping[str, str]) -> list[Problem]:
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
        found = shutil.which(self.executable, path=environ.get("PATH"))
        if found is None:
            problems.append(
                Problem(
                    "subject",
                    f"the program {self.executable!r} is not installed",
                    allowed=self.install_hint(),
                )
            )
        elif isolation.kind != "none" and not self._sees(Path(found)):
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
            return Work(
                status="error",
                error=f"subject.aliases has no entry for the model {job.task.model!r}; {known}",
            )
        isolation = await asyncio.to_thread(probe)
        if isolation.kind == "none":
            if self.isolation == "required":
                return Work(
                    status="error", error=f"isolation is required, but {isolation.reason}", isolation="none"
                )
            job.bench.note(
                f"WEAK ISOLATION (none): {isolation.reason}; agents see this machine's files and network, "
                "and only the objects and the transcript speak for their blindness"
            )
        given = _given(job, tuple(alias or ()), isolation)
        async with self._way_out(job, isolation) as out:
            result = await self._run(job, given, isolation, out is not None)
        read = await asyncio.to_thread(self.read, result.stdout, result.stderr, given)
        flags = [f"it tried to reach {each}, which is not allowed" for each in (out.refused if out else ())]
        host = urlsplit(job.task.repository).hostname
        flags += scan(
            read.steps,
            inside=[str(job.path), str(given.home), str(given.issue_file.parent)],
            hidden=job.hidden,
            hosts=[host] if host else [],
        )
        status, error = _ended(result, read, self.agent_timeout)
        about = {
            "reason": isolation.reason,
            "egress": list(self.egress) if isolation.kind != "none" else None,
            "reached": list(out.used) if out else [],
            "refused": list(out.refused) if out else [],
            "exit": result.code,
        }
        return Work(
            status=status,
            error=error,
            spend=read.spend,
            isolation=isolation.kind,
            about=about,
            flags=tuple(flags),
            transcript=_whole(result),
            elsewhere=(given.home,),
        )

    @asynccontextmanager
    async def _way_out(self, job: Job, isolation: Isolation) -> AsyncIterator[Egress | None]:
        if isolation.kind == "none" or not self.egress:
            yield None
            return
        folder = job.folder / "net"
        folder.mkdir()
        async with egress(folder / "out", self.egress) as state:
            yield state

    async def _run(self, job: Job, given: Given, isolation: Isolation, has_way_out: bool) -> ProcessResult:
        argv = self.argv(job, given)
        env = self._environment(given, has_way_out)
        if isolation.kind != "none":
            binds = [
                Bind(job.path, writable=True),
                Bind(given.home, writable=True),
                Bind(given.issue_file.parent),
                *(Bind(each) for each in self._visible()),
            ]
            if has_way_out:
                script, python = Path(forward.__file__).resolve(), _python()
                binds += [Bind(script), Bind(job.folder / "net"), *(Bind(each) for each in _home_of(python))]
                argv = [
                    str(python),
                    "-I",
                    "-S",
                    str(script),
                    str(PROXY_PORT),
                    str(job.folder / "net" / "out"),
                    *argv,
                ]
            argv = wrap(argv, binds, cwd=job.path, net=False)
        return await run_async(
            argv, cwd=job.path, env=env, timeout_s=self.agent_timeout, stdin=self.stdin(job)
        )

    def _environment(self, given: Given, has_way_out: bool) -> dict[str, str]:
        """All that the program finds in its environment."""
        names = [*self.env, *([self.key_env] if self.key_env else [])]
        env = {
            "PATH": self._path(given.isolated),
            "HOME": str(given.home),
            "TMPDIR": "/tmp" if given.isolated else str(given.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": "agent",
            "GIT_AUTHOR_EMAIL": IDENTITY_EMAIL,
            "GIT_COMMITTER_NAME": "agent",
            "GIT_COMMITTER_EMAIL": IDENTITY_EMAIL,
            **self.own_environment(),
            **{name: os.environ[name] for name in names if name in os.environ},
        }
        if has_way_out:
            url = f"http://127.0.0.1:{PROXY_PORT}"
            env |= {name: url for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")}
            if not any(each.startswith(("127.0.0.1:", "localhost:", "[::1]:")) for each in self.egress):
                env |= {name: "localhost,127.0.0.1,::1" for name in ("NO_PROXY", "no_proxy")}
        return env

    def _path(self, isolated: bool) -> str:
        """The user's PATH, without the folders that the program does not see."""
        folders = [each for each in os.environ.get("PATH", "").split(os.pathsep) if each]
        if isolated:
            folders = [each for each in folders if self._sees(Path(each))]
        return os.pathsep.join([*folders, *(each for each in ("/usr/bin", "/bin") if each not in folders)])

    def _visible(self) -> list[Path]:
        hosts = Path("/etc/hosts")
        return [
            *dict.fromkeys(each.resolve() for each in self.read_only),
            *([hosts] if hosts.is_file() else []),
        ]

    def _sees(self, path: Path) -> bool:
        """Whether a program in a box sees a path, itself and where it leads to."""
        roots = [Path(each) for each in SYSTEM] + self._visible()
        return all(
            any(each.is_relative_to(root) for root in roots) for each in (path.absolute(), path.resolve())
        )


def _given(job: Job, model_args: tuple[str, ...], isolation: Isolation) -> Given:
    home, folder = job.folder / "home", job.folder / "issue"
    home.mkdir()
    folder.mkdir()
    file = folder / "issue.md"
    file.write_text(job.task.issue_body, encoding="utf-8", errors="replace")
    return Given(file, home, model_args, isolation.kind != "none")


def _python() -> Path:
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def _home_of(python: Path) -> Iterator[Path]:
    """What a box needs so that Python runs in it, where that is no part of the system."""
    if not any(python.is_relative_to(root) for root in SYSTEM):
        yield Path(sys.base_prefix).resolve()


def _ended(
    result: ProcessResult, read: Read, limit_s: float
) -> tuple[Literal["ok", "timeout", "error"], str | None]:
    if result.status == "timeout":
        return "timeout", f"the agent was ended after {limit_s:g} s; what it had done by then counts"
    if result.status == "missing":
        return "error", f"the agent could not be started: {result.error}"
    if result.status == "flooded":
        return "error", f"the agent wrote too much ({result.stdout_size} bytes)"
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
