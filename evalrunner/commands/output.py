"""Lines to the user, paths as one would type them, and the exit code of a receipt."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from evalrunner.errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_OK
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.text import plain

EXIT_OF_VERDICT = {"pass": EXIT_OK, "fail": EXIT_FAIL, "inconclusive": EXIT_INCONCLUSIVE}


_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def say(line: str) -> None:
    """One line to the user: on stderr, or to whom `said_to` names."""
    listener = _LISTENER.get()
    if listener is None:
        sys.stderr.write(f"evalrunner: {plain(line)}\n")
    else:
        listener(plain(line))


def on_stderr() -> bool:
    """Whether lines go to stderr, where a person may be looking."""
    return _LISTENER.get() is None


@contextmanager
def said_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Inside, every line goes to the listener."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def near(path: Path) -> str:
    """The path as one would type it here: relative where it lies below the working directory."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def exit_code(receipt: Receipt) -> int:
    """The exit code of a receipt's verdict; without a verdict 0, or 2 when nothing could be scored."""
    if receipt.verdict is not None:
        return EXIT_OF_VERDICT[receipt.verdict]
    nothing = receipt.denominator is not None and not receipt.denominator.scored
    return EXIT_INCONCLUSIVE if nothing else EXIT_OK
