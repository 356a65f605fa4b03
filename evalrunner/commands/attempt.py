"""Opening an attempt's session, and keeping and showing what it finished with."""

import sys
from pathlib import Path

from evalrunner.commands.output import near, say, show
from evalrunner.config.jobs import RECEIPT, in_sweep
from evalrunner.config.tree import RunConfig
from evalrunner.errors import EvalrunnerError, Problem, ReceiptNotKeptError
from evalrunner.pipeline.runner import Finished, Session
from evalrunner.receipt.files import dumps, write_atomic
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.progress import progress_on
from evalrunner.store.attempt import Attempt, score_rows


def open_session(config: RunConfig, folder: Path) -> Session:
    """A session that says its lines on stderr, and shows progress there when it is a terminal."""
    return Session(config, folder, folder.name, say, progress_on(sys.stderr))


def keep(session: Session, finished: Finished) -> str:
    """Keeps a finished attempt: run folder first, then the store. Returns where the receipt lies.

    Raises:
        ReceiptNotKeptError: a file or the store did not take it. Nothing that was paid for is lost: it is
            on stdout where the run folder takes no file, else in the run folder.
    """
    path = session.folder / RECEIPT
    text = dumps(finished.receipt, indent=True)
    try:
        write_atomic(path, text)
    except ReceiptNotKeptError as error:
        sys.stdout.write(text)
        lost = Problem("", "the receipt stands on stdout; it is in no file and in no store")
        raise ReceiptNotKeptError([*error.problems, lost]) from error
    try:
        put = session.config.store.put(_attempt(finished))
        if session.config.out is not None:
            write_atomic(session.config.out, text)
    except EvalrunnerError as error:
        kept = Problem("", f"the receipt is kept in {path}")
        raise ReceiptNotKeptError([*error.problems, kept]) from error
    for warning in put.warnings:
        say(f"warning: {warning}")
    return near(path)


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
