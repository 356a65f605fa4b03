"""Runs any program with a time limit, bounded output and an environment of named variables only.

The program runs under `keeper.py`, which ends all that it started: after a timeout, when the program is done
but a child lives on, and when evalrunner itself is gone. Output goes to files without names, so that a child
which holds a pipe cannot block us, and nothing is left on disk.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import IO, Literal

ProcessStatus = Literal["ok", "exit", "timeout", "flooded", "missing"]

OUTPUT_LIMIT = 16 * 1024 * 1024
"""Bytes of stdout that are kept."""

FLOOD_FACTOR = 4
"""A program that writes so many times the limit is ended."""

STDERR_KEPT = 64 * 1024
"""Bytes of stderr that are kept, from its end."""

GRACE_S = 1.0
"""So long after a timeout a program may clean up before it is killed."""

PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""The variables that every program gets, where they are set."""

_KEEPER = Path(__file__).with_name("keeper.py")
_FIRST_TICK_S, _LAST_TICK_S = 0.002, 0.02
_STUCK_S = 10.0


@dataclass(frozen=True)
class ProcessResult:
    """How a program ended.

    Attributes:
        status: `ok` is exit code 0; `exit` any other code, or a signal; `timeout` and `flooded` (more than
            the limit on stdout, or far more on stderr) are ours; `missing` could not be started.
        code: the exit code, negative for a signal; None when it could not be started, or is `lost`.
        stdout: its first bytes, up to the limit. stdout_size: how many it wrote.
        stderr: its last bytes. stderr_size: how many it wrote.
        duration_s: from start to end, starting included.
        error: why it could not be started.
    """

    status: ProcessStatus
    code: int | None
    stdout: bytes
    stdout_size: int
    stderr: bytes
    stderr_size: int
    duration_s: float
    error: str | None = None

    @property
    def lost(self) -> bool:
        """Whether its keeper could not say how it ended, so that something of it may still be running."""
        return self.code is None and self.status != "missing"


def environment(
    home: Path, passed: Iterable[str] = (), environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The environment of a program: `PASSED`, the variables that are named, and nothing else.

    Args:
        home: a folder that stands as HOME and TMPDIR, unless these are named.
        passed: the names of further variables, which are passed on where they are set.
        environ: where they are taken from.
    """
    names = dict.fromkeys([*PASSED, *passed])
    own = {"HOME": str(home), "TMPDIR": str(home)}
    return own | {name: environ[name] for name in names if name in environ}


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    stdin: bytes = b"",
    output_limit: int = OUTPUT_LIMIT,
) -> ProcessResult:
    """Runs a program and waits for it.

    Args:
        argv: the program, looked up on the PATH of `env`, and its arguments.
        cwd: an existing folder.
        env: all of its environment; see `environment`.
        timeout_s: seconds after which it is ended, with all that it started.
        stdin: its input.
        output_limit: bytes of stdout that are kept.
    """
    with _Running(argv, cwd, env, stdin, output_limit) as running:
        for pause in running.watch(timeout_s):
            time.sleep(pause)
        return running.result()


async def run_async(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    stdin: bytes = b"",
    output_limit: int = OUTPUT_LIMIT,
) -> ProcessResult:
    """As `run`, without blocking the event loop. A cancelled task kills the program before it goes on."""
    with _Running(argv, cwd, env, stdin, output_limit) as running:
        for pause in running.watch(timeout_s):
            await asyncio.sleep(pause)
        return running.result()


class _Running:
    """A program under its keeper. Leaving the context ends whatever is left of it."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes, limit: int
    ) -> None:
        self._limit = limit
        self._ended_for: ProcessStatus | None = None
        self._patient_until = 0.0
        self._start = time.monotonic()
        with ExitStack() as stack:
            self._stdout = stack.enter_context(tempfile.TemporaryFile())
            self._stderr = stack.enter_context(tempfile.TemporaryFile())
            source = stack.enter_context(tempfile.TemporaryFile())
            source.write(stdin)
            source.seek(0)
            control, self._control = _pipe(stack)
            self._report, report = _pipe(stack)
            dropped = "" if "LC_CTYPE" in env else "LC_CTYPE"
            keeper = [sys.executable, "-I", "-S", str(_KEEPER)]
            self._keeper = Popen(
                [*keeper, str(control.fileno()), str(report.fileno()), str(GRACE_S), dropped, *argv],
                cwd=cwd,
                env=dict(env),
                stdin=source,
                stdout=self._stdout,
                stderr=self._stderr,
                pass_fds=(control.fileno(), report.fileno()),
                start_new_session=True,
            )
            for each in (control, report, source):
                each.close()
            self._stack = stack.pop_all()

    def __enter__(self) -> "_Running":
        return self

    def __exit__(self, *_: object) -> None:
        """Kills what still runs; returns when it is gone."""
        with self._stack:
            self._control.close()
            try:
                self._keeper.wait(_STUCK_S)
            finally:
                self._keeper.kill()
                self._keeper.wait()

    def watch(self, timeout_s: float) -> Generator[float, None, None]:
        """Gives pauses to make until the program has ended; ends it when it must."""
        deadline = self._start + timeout_s
        pause = _FIRST_TICK_S
        while self._keeper.poll() is None:
            yield pause
            pause = min(pause * 1.2, _LAST_TICK_S)
            if self._ended_for is None:
                if max(map(_size, (self._stdout, self._stderr))) > FLOOD_FACTOR * self._limit:
                    self._end("flooded", b"K")
                elif time.monotonic() > deadline:
                    self._end("timeout", b"T")
            elif time.monotonic() > self._patient_until:
                return

    def _end(self, status: ProcessStatus, word: bytes) -> None:
        self._ended_for = status
        self._patient_until = time.monotonic() + GRACE_S + _STUCK_S
        try:
            self._control.write(word)
        except BrokenPipeError:
            return

    def result(self) -> ProcessResult:
        """How it ended, once `watch` is done."""
        duration = time.monotonic() - self._start
        told = b""
        if self._keeper.poll() is not None:
            told = self._report.read() or b""
        first, _, rest = told.decode("utf-8", "replace").partition("\n")[0].partition(" ")
        status: ProcessStatus = "exit"
        code = error = None
        if first == "missing":
            status, error = "missing", rest
        else:
            code = int(rest) if first == "exit" else None
            status = "ok" if code == 0 else "exit"
            if self._ended_for is not None:
                status = self._ended_for
            elif _size(self._stdout) > self._limit:
                status = "flooded"
        size = _size(self._stderr)
        return ProcessResult(
            status=status,
            code=code,
            stdout=os.pread(self._stdout.fileno(), self._limit, 0),
            stdout_size=_size(self._stdout),
            stderr=os.pread(self._stderr.fileno(), STDERR_KEPT, max(size - STDERR_KEPT, 0)),
            stderr_size=size,
            duration_s=duration,
            error=error,
        )


def _pipe(stack: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return (
        stack.enter_context(os.fdopen(reading, "rb", buffering=0)),
        stack.enter_context(os.fdopen(writing, "wb", buffering=0)),
    )


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size
