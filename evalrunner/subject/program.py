"""What is common to subjects that run a program: what may be configured, and how it ended in words."""

import re
import shutil
from collections.abc import Sequence

from evalrunner.errors import ConfigError, Problem, show
from evalrunner.model.reply import harmless
from evalrunner.sandbox.process import ProcessResult

MOST_OUTPUT = 8 * 1024 * 1024
"""The most bytes of findings that are read."""

_TAIL = 300


def valid_argv(value: tuple[str, ...]) -> tuple[str, ...]:
    """The program and its arguments.

    Raises:
        ValueError: the program has no name, or an argument cannot be passed on.
    """
    if not value[0].strip():
        raise ValueError("the program has no name")
    if any("\0" in each for each in value):
        raise ValueError("an argument holds a NUL character")
    return value


def valid_names(value: tuple[str, ...]) -> tuple[str, ...]:
    """Names of environment variables.

    Raises:
        ValueError: some are none; names them.
    """
    if wrong := [each for each in value if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", each)]:
        listed = ", ".join(map(repr, wrong))
        raise ValueError(f"names of variables are needed, without values, not {listed}")
    return value


def must_exist(program: str) -> None:
    """Looks for a program before anything runs.

    Raises:
        ConfigError: there is none of that name.
    """
    if shutil.which(program) is None:
        allowed = "a program on PATH, or the path of one that may be executed"
        raise ConfigError(Problem("subject.argv.0", "there is no such program", show(program), allowed))


def wrong_end(done: ProcessResult, codes: Sequence[int] = (0,)) -> str | None:
    """What was wrong with how a program ended; None where nothing was.

    Args:
        codes: the exit codes that are no error.
    """
    if done.status in {"ok", "exit"} and done.code in codes:
        return None
    ending = f"signal {-done.code}" if done.code is not None and done.code < 0 else f"exit code {done.code}"
    told = {
        "timeout": "it did not end within its time limit",
        "missing": harmless(f"it could not be started: {done.error}"),
        "flooded": f"it wrote {done.stdout_size} bytes to stdout and {done.stderr_size} to stderr, too many",
    }
    return told.get(done.status, f"it ended with {ending}") + stderr_tail(done)


def stderr_tail(done: ProcessResult) -> str:
    """The end of what a program wrote to stderr, to stand behind an error."""
    said = harmless(done.stderr.decode("utf-8", "replace"))
    return f"; stderr: {said[-_TAIL:]}" if said else ""
