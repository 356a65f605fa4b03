"""Lines on stderr, receipts on stdout, and the exit code of a receipt."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalrunner.errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_OK
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.base import Report, Reporter
from evalrunner.reporter.json import JsonReporter
from evalrunner.reporter.text import plain

EXIT_OF_VERDICT = {"pass": EXIT_OK, "fail": EXIT_FAIL, "inconclusive": EXIT_INCONCLUSIVE}


def say(line: str) -> None:
    """One line to the user on stderr."""
    sys.stderr.write(f"evalrunner: {plain(line)}\n")


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


def show(
    receipt: Receipt,
    reporters: Mapping[str, Reporter],
    *,
    as_json: bool,
    kept: str | None = None,
    warnings: Sequence[str] = (),
) -> None:
    """Hands a receipt to each reporter in turn; with `as_json` to the JSON one alone."""
    shown = Report(receipt.to_json(), tuple(warnings), kept)
    for name, reporter in ({"json": JsonReporter()} if as_json else reporters).items():
        try:
            reporter.report(shown, sys.stdout)
        except BrokenPipeError:
            raise
        except Exception as error:  # a reporter that fails never changes the verdict's exit code
            say(f"reporter {name} failed: {type(error).__name__}: {error}")
