"""What commands share: lines on stderr, results on stdout, and the keeping of a finished attempt."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalrunner.config.jobs import RECEIPT, in_sweep
from evalrunner.config.tree import RunConfig
from evalrunner.errors import (
    EXIT_FAIL,
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    EvalrunnerError,
    Problem,
    ReceiptNotKeptError,
)
from evalrunner.pipeline.runner import Finished, Session
from evalrunner.receipt.files import dumps, write_atomic
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.base import Report, Reporter
from evalrunner.reporter.json import JsonReporter
from evalrunner.reporter.text import plain
from evalrunner.store.attempt import Attempt, score_rows

EXIT_OF_VERDICT = {"pass": EXIT_OK, "fail": EXIT_FAIL, "inconclusive": EXIT_INCONCLUSIVE}


def say(line: str) -> None:
    """One line to the user on stderr."""
    sys.stderr.write(f"evalrunner: {plain(line)}\n")


def exit_code(receipt: Receipt) -> int:
    """The exit code of a receipt's verdict; without a verdict 0, or 2 when nothing could be scored."""
    if receipt.verdict is not None:
        return EXIT_OF_VERDICT[receipt.verdict]
    nothing = receipt.denominator is not None and not receipt.denominator.scored
    return EXIT_INCONCLUSIVE if nothing else EXIT_OK


def open_session(config: RunConfig, folder: Path) -> Session:
    """A session that says its lines on stderr, and shows progress there when it is a terminal."""
    from evalrunner.reporter.progress import progress_on

    return Session(config, folder, folder.name, say, progress_on(sys.stderr))


def keep(session: Session, finished: Finished) -> str:
    """Keeps a finished attempt: run folder first, then the store. Returns where the receipt lies.

    Raises:
        ReceiptNotKeptError: the run folder takes no file. The receipt is on stdout then, so that nothing
            that was paid for is lost.
    """
    path = session.folder / RECEIPT
    try:
        write_atomic(path, dumps(finished.receipt, indent=True))
        if session.config.out is not None:
            write_atomic(session.config.out, dumps(finished.receipt, indent=True))
    except ReceiptNotKeptError as error:
        sys.stdout.write(dumps(finished.receipt))
        raise ReceiptNotKeptError(
            [*error.problems, Problem("", "the receipt stands on stdout; it is in no store")]
        ) from error
    try:
        put = session.config.store.put(_attempt(finished))
    except EvalrunnerError as error:
        raise ReceiptNotKeptError(
            [*error.problems, Problem("", f"the receipt is kept in {path}, but in no store")]
        ) from error
    for warning in put.warnings:
        say(warning)
    return str(path)


def _attempt(finished: Finished) -> Attempt:
    scores, chunks = score_rows(finished.judgements)
    return Attempt(
        run_id=finished.run_id,
        identity=finished.judged_itself,
        receipt=finished.receipt.to_json(),
        scores=scores,
        chunks=chunks,
    )


def report(session: Session, receipt: Receipt, kept: str) -> None:
    """Shows a receipt with the configured reporters, or as JSON alone. In a sweep the parent does that."""
    if not in_sweep():
        config = session.config
        show(receipt, config.reporter, as_json=config.json, kept=kept, warnings=session.warnings)


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
