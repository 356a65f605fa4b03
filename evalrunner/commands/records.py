"""Records on stdin, on stdout, or in files, for the three stages."""

import sys
from collections.abc import Iterable
from pathlib import Path

from evalrunner.errors import InputError, Problem
from evalrunner.pipeline import via
from evalrunner.receipt.files import write_atomic


def read(path: Path | None) -> via.Piped:
    """The records of an earlier stage, from a file or stdin.

    Raises:
        InputError: the file cannot be read, or its lines are no records; or stdin is a terminal.
    """
    if path is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError(
                Problem(
                    "stdin", "is a terminal; records come through a pipe or from a file", None, "--input FILE"
                )
            )
        return via.read(sys.stdin, "stdin")
    try:
        with path.open(encoding="utf-8") as stream:
            return via.read(stream, str(path))
    except OSError as error:
        raise InputError(Problem("--input", f"cannot be read: {error.strerror}", str(path))) from None


def write(lines: Iterable[str], path: Path | None) -> None:
    """Writes records to stdout, or whole into a file."""
    if path is not None:
        write_atomic(path, "".join(lines))
        return
    for line in lines:
        sys.stdout.write(line)
