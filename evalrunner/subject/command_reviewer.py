"""Any program that reviews a change: a team's reviewer as it is, a linter, a scanner."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from evalrunner.component import Component, Many
from evalrunner.errors import ConfigError, Problem, show
from evalrunner.git.diff import DiffError
from evalrunner.git.run import GitError
from evalrunner.model.reply import harmless
from evalrunner.model.seat import Bench, PlannedCall, Speaker
from evalrunner.records import Item, Outcome, Spend
from evalrunner.sandbox.bubblewrap import SYSTEM, Bind, probe, wrap
from evalrunner.sandbox.process import ProcessResult, environment, run_async
from evalrunner.subject.findings import BrokenReview, Review
from evalrunner.subject.program import MOST_OUTPUT, stderr_tail, valid_argv, valid_names, wrong_end
from evalrunner.subject.reading import Reading
from evalrunner.subject.workspace import Workspace, workspace

OUTPUT, HERE = "{output}", "{here}"
"""What stands in `argv` for the file that findings are read from, and for the folder of our own start."""

_NOT_BOUND = {"proc", "dev", *(name.split("/")[1] for name in SYSTEM)}


class CommandReviewer(Component):
    """Starts a program once a run, in a repository of two commits: HEAD~1 is the base, HEAD the head.

    The diff stands on its stdin as well. Findings are read from stdout, or from the file that `argv` calls
    `{output}`. What the program spends is not seen, so the cost is unknown.

    Attributes:
        argv: the program and its arguments; no shell reads them. `{here}` is the folder that evalrunner was
            started in, and a relative program such as ./review.sh is looked for there.
        timeout_s: seconds for one run; then it is ended, with all that it started.
        env: the names of variables that it gets besides PATH, LANG, LC_ALL, LC_CTYPE and TZ. HOME and TMPDIR
            are an empty folder unless they are named.
        reading: how its output becomes findings.
        ok_codes: exit codes of a review that is done; many linters say 1 when they found something.
        blocked_codes: exit codes that say that it could not review.
        isolate: it can write nowhere but in its repository and its HOME, where bubblewrap works.
        keep_repos: whether repositories are moved into the run folder rather than removed.
    """

    judged_itself: ClassVar[bool] = False

    argv: Many[str] = Field(min_length=1)
    timeout_s: float = Field(default=300.0, gt=0)
    env: Many[str] = ()
    reading: Reading = Field(default_factory=Reading)
    ok_codes: Many[int] = Field(default=(0,), min_length=1)
    blocked_codes: Many[int] = ()
    isolate: bool = True
    keep_repos: bool = False

    @field_validator("argv", mode="after")
    @classmethod
    def _program(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return valid_argv(value)

    @field_validator("env", mode="after")
    @classmethod
    def _names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return valid_names(value)

    def check_installed(self) -> None:
        """Looks for the program before anything runs.

        Raises:
            ConfigError: there is none of that name.
        """
        program = _program(self.argv[0])
        if shutil.which(program) is None:
            raise ConfigError(
                Problem(
                    "subject.argv.0",
                    "there is no such program",
                    show(program),
                    "a program on PATH, or the path of one that may be executed",
                )
            )

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """One review. What goes wrong in it is the outcome's status."""
        seat = f"program {self.argv[0]}"
        bench.desk.ledger.unseen(seat)
        bench.note(f"what {seat} spends is not seen: the cost stays unknown, and no cap holds for it")
        duration_s, told = 0.0, dict[str, Any]()
        try:
            with workspace(item, run, bench, keep=self.keep_repos) as place:
                done = await self._run(place, bench)
                review = self._read(done, place)
                duration_s, told = done.duration_s, {"exit": done.code}
        except (DiffError, GitError) as error:
            review = Review(status="error", error=harmless(str(error)))
        return Outcome(
            item_id=item.id,
            run=run,
            status=review.status,
            payload={**review.payload(), **told},
            spend=Spend(cost_usd=None),
            duration_s=duration_s,
            error=review.error,
        )

    async def _run(self, place: Workspace, bench: Bench) -> ProcessResult:
        root = place.repository.path.resolve()
        words = {OUTPUT: str(_output(place)), HERE: str(Path.cwd())}
        argv = [_program(self.argv[0]), *(_filled(each, words) for each in self.argv[1:])]
        if self.isolate:
            isolation = probe(net=True)
            if isolation.kind == "none":
                bench.note(f"{isolation.reason}: programs can write outside of their repository")
            else:
                argv = wrap(argv, _binds(root, place.home), cwd=root, net=True)
        return await run_async(
            argv,
            cwd=root,
            env=environment(place.home.resolve(), self.env),
            timeout_s=self.timeout_s,
            stdin=place.diff,
            output_limit=MOST_OUTPUT,
        )

    def _read(self, done: ProcessResult, place: Workspace) -> Review:
        """The review of a program that has ended."""
        if strays := place.strays():
            listed = ", ".join(f"../{name}" for name in strays)
            return Review(status="error", error=harmless(f"it wrote outside of its repository: {listed}"))
        if done.status == "exit" and done.code in self.blocked_codes:
            return Review(status="blocked", error=f"exit code {done.code}{stderr_tail(done)}")
        if wrong := wrong_end(done, self.ok_codes):
            return Review(status="timeout" if done.status == "timeout" else "error", error=wrong)
        try:
            return self.reading.read(self._findings(done, place), str(place.repository.path.resolve()))
        except BrokenReview as error:
            return Review(status="error", error=harmless(f"{error.reason}{stderr_tail(done)}"))

    def _findings(self, done: ProcessResult, place: Workspace) -> bytes:
        if not any(OUTPUT in each for each in self.argv):
            return done.stdout
        try:
            with open(_output(place), "rb", opener=_plainly) as stream:
                data = stream.read(MOST_OUTPUT + 1)
        except OSError as error:
            raise BrokenReview(f"the file of its findings cannot be read: {error.strerror}") from None
        if len(data) > MOST_OUTPUT:
            raise BrokenReview(f"the file of its findings is larger than {MOST_OUTPUT} bytes")
        return data

    def described(self) -> Mapping[str, Any]:
        """The command line, and how its output is read."""
        return {
            "subject": "command_reviewer",
            "argv": list(self.argv),
            "reading": self.reading.model_dump(mode="json"),
            "ok_codes": list(self.ok_codes),
            "blocked_codes": list(self.blocked_codes),
        }

    def prompts(self) -> Sequence[str]:
        """None: what the program asks is its own."""
        return ()

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """None that we would see."""
        return []

    def models(self) -> Sequence[Speaker]:
        """None that we would see."""
        return ()


def _program(name: str) -> str:
    """The program: a relative path is one from the folder that evalrunner was started in."""
    name = _filled(name, {HERE: str(Path.cwd())})
    return str(Path(name).absolute()) if "/" in name else name


def _filled(argument: str, words: Mapping[str, str]) -> str:
    for name, path in words.items():
        argument = argument.replace(name, path)
    return argument


def _plainly(path: str, flags: int) -> int:
    """Opens a file as it is: no link is followed, and a pipe that nobody fills is not waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _output(place: Workspace) -> Path:
    return place.home.resolve() / "findings"


def _binds(root: Path, home: Path) -> list[Bind]:
    """Everything as it is, read-only, but repository and home."""
    folders = [each for each in Path("/").iterdir() if each.name not in _NOT_BOUND]
    seen = [Bind(each) for each in folders if each.is_dir() and not each.is_symlink()]
    return [*seen, Bind(root, writable=True), Bind(home.resolve(), writable=True)]
