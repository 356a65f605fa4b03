"""Any program that answers KEEP or REJECT: a team's production judge, as it is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from evalrunner.component import Component, Many
from evalrunner.git.scratch import discard, scratch
from evalrunner.model.reply import ReplyRejected, harmless
from evalrunner.model.seat import Bench, PlannedCall, Speaker
from evalrunner.receipt.jsontext import readable_json
from evalrunner.records import Item, Outcome, OutcomeStatus, Spend
from evalrunner.sandbox.process import ProcessResult, environment, run_async
from evalrunner.subject.keep_reject import Verdicts, described, ids_of, outcome, question, read_verdicts
from evalrunner.subject.program import must_exist, stderr_tail, valid_argv, valid_names, wrong_end

BATCH, ANSWER = "{batch}", "{answer}"
"""What stands in `argv` for the file that holds the batch, and for the file that the answer is read from."""

ANSWER_LIMIT = 4_000_000
"""The most bytes of an answer."""


class KeepRejectCommand(Component):
    """A program under test. It is started once a batch, in the folder that evalrunner was started in.

    It gets the batch as one JSON object, `{"diff", "findings": [{id, file, line, title, body}]}`, on stdin,
    or in a file where `argv` says `{batch}`. It answers with one JSON object,
    `{"verdicts": [{id, verdict, reason}]}`, on stdout, or in the file that `argv` calls `{answer}`, and ends
    with exit code 0. What it spends is not seen, so the cost is unknown.

    Attributes:
        argv: the program and its arguments; no shell reads them.
        timeout_s: seconds for one batch; then it is ended, with all that it started.
        env: the names of variables that it gets besides PATH, LANG, LC_ALL, LC_CTYPE and TZ. HOME and TMPDIR
            are an empty folder unless they are named.
    """

    judged_itself: ClassVar[bool] = False

    argv: Many[str] = Field(min_length=1)
    timeout_s: float = Field(default=120.0, gt=0)
    env: Many[str] = ()

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
        must_exist(self.argv[0])

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """The verdicts of one start of the program. What goes wrong with it is the outcome's status."""
        seat = f"program {self.argv[0]}"
        bench.desk.ledger.unseen(seat)
        bench.note(f"what {seat} spends is not seen: the cost stays unknown, and no cap holds for it")
        home = scratch().folder("keep-reject")
        try:
            done = await self._run(item.payload, home)
            status, verdicts, error = _read(done, _answer(done, home, self.argv), ids_of(item.payload))
        finally:
            discard(home)
        return outcome(
            item,
            run,
            seat=seat,
            status=status,
            verdicts=verdicts,
            error=error,
            detail={"exit": done.code},
            spend=Spend(cost_usd=None),
            duration_s=done.duration_s,
        )

    async def _run(self, payload: Mapping[str, Any], home: Path) -> ProcessResult:
        text = (readable_json(question(payload)) + "\n").encode()
        files = {BATCH: str(home / "batch.json"), ANSWER: str(home / "answer.json")}
        in_file = any(BATCH in each for each in self.argv)
        if in_file:
            Path(files[BATCH]).write_bytes(text)
        return await run_async(
            [_filled(each, files) for each in self.argv],
            cwd=Path.cwd(),
            env=environment(home, self.env),
            timeout_s=self.timeout_s,
            stdin=b"" if in_file else text,
            output_limit=ANSWER_LIMIT,
        )

    def described(self) -> Mapping[str, Any]:
        """The command line."""
        return described("keep_reject_command", "program", argv=list(self.argv))

    def prompts(self) -> Sequence[str]:
        """None: what the program asks is its own."""
        return ()

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """None that we would see."""
        return []

    def models(self) -> Sequence[Speaker]:
        """None that we would see."""
        return ()


def _filled(argument: str, files: Mapping[str, str]) -> str:
    for name, path in files.items():
        argument = argument.replace(name, path)
    return argument


def _answer(done: ProcessResult, home: Path, argv: Sequence[str]) -> bytes | None:
    """The bytes of the answer; None where the file that it was to be in is none, or too large."""
    if not any(ANSWER in each for each in argv):
        return done.stdout
    path = home / "answer.json"
    if path.is_symlink() or not path.is_file() or path.stat().st_size > ANSWER_LIMIT:
        return None
    return path.read_bytes()


def _read(
    done: ProcessResult, answer: bytes | None, ids: Sequence[str]
) -> tuple[OutcomeStatus, Verdicts | None, str | None]:
    """Status, verdicts and error of a program that has ended."""
    wrong = wrong_end(done)
    if wrong is None and answer is None:
        wrong = f"there is no file with its answer, or one of more than {ANSWER_LIMIT} bytes"
    if wrong is not None or answer is None:
        return "timeout" if done.status == "timeout" else "error", None, wrong
    try:
        return "ok", read_verdicts(answer.decode(), None, ids), None
    except UnicodeDecodeError:
        return "error", None, "its answer is not UTF-8"
    except ReplyRejected as rejected:
        return "error", None, f"no usable answer: {harmless(rejected.reason)}{stderr_tail(done)}"
