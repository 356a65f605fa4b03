"""What is set up once for the process that a user started: its streams, its signals, its environment."""

import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from evalrunner.config.table import VARIABLES
from evalrunner.errors import Problem, UsageError, nearest, show


class _Pipe(io.FileIO):
    """A file that loses, without a word, what a closed pipe no longer takes: the reader has seen enough."""

    def write(self, data: Any) -> int:
        """The number of bytes written, or lost."""
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            return memoryview(data).nbytes


def set_up() -> None:
    """Readies streams and signals. SIGTERM interrupts as Ctrl-C does."""
    for number in (0, 1, 2):
        _occupy(number)
    ready_streams()
    signal.signal(signal.SIGTERM, _interrupt)


def ready_streams() -> None:
    """A closed pipe is no error, so that the exit code stays the verdict's. What is not a terminal is written
    in UTF-8, whatever the locale.
    """
    sys.stdout = _stream(sys.stdout, 1, "strict")
    sys.stderr = _stream(sys.stderr, 2, "backslashreplace")


def _occupy(number: int) -> None:
    """Opens the null device where the process started without this stream: no file may take its number."""
    try:
        os.fstat(number)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_RDWR), number)


def _stream(stream: Any, number: int, errors: str) -> Any:
    is_terminal = os.isatty(number)
    buffer = io.BufferedWriter(_Pipe(number, "wb", closefd=False))
    return io.TextIOWrapper(
        buffer,
        encoding=stream.encoding if is_terminal and stream is not None else "utf-8",
        errors="replace" if is_terminal else errors,
        line_buffering=is_terminal or number == 2,
        write_through=number == 2,
    )


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def check_environment(environ: Mapping[str, str], arguments: Sequence[str]) -> None:
    """Refuses EVALRUNNER_* variables that nobody reads, and arguments that are not text.

    Raises:
        UsageError: all that is wrong, with the nearest known name.
    """
    problems = [
        Problem(name, "no such environment variable", None, ", ".join(VARIABLES), nearest(name, VARIABLES))
        for name in sorted(environ)
        if name.startswith("EVALRUNNER_") and name not in VARIABLES
    ]
    conf = environ.get("EVALRUNNER_CONF", "")
    if conf.strip().lower() not in {"", "none"} and not Path(conf).is_dir():
        problems.append(Problem("EVALRUNNER_CONF", "is no folder", show(conf), "a folder, or none"))
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            problems.append(Problem("", "an argument is not UTF-8", show(argument)))
    if problems:
        raise UsageError(problems)
