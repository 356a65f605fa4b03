"""Opening an attempt's session, and keeping and showing what it finished with."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evalrunner.commands.output import near, on_stderr, say
from evalrunner.commands.reporting import show
from evalrunner.config.folders import run_id
from evalrunner.config.jobs import RECEIPT, sweep_folder
from evalrunner.config.tree import RunConfig
from evalrunner.errors import EvalrunnerError, Problem, ReceiptNotKeptError
from evalrunner.pipeline import unfinished
from evalrunner.pipeline.runner import Finished
from evalrunner.pipeline.session import Session
from evalrunner.pipeline.unfinished import TakenUp
from evalrunner.receipt.files import dumps, write_atomic
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.base import Against
from evalrunner.reporter.progress import progress_on
from evalrunner.store.attempt import Attempt, Scores, chunks_of
from evalrunner.store.base import Store

if TYPE_CHECKING:
    from evalrunner.budget.sweep import SweepLedger


def open_session(config: RunConfig, folder: Path, takes_up: TakenUp | None = None) -> Session:
    """A session that says its lines on stderr, and shows progress there when it is a terminal.

    Args:
        config: what to run.
        folder: the run folder.
        takes_up: the unfinished run to go on with.
    """
    progress = progress_on(sys.stderr) if on_stderr() else None
    own = run_id(folder)
    return Session(config, folder, own, say, progress, takes_up, _sweep(config, own))


def _sweep(config: RunConfig, job: str) -> "SweepLedger | None":
    """Where the jobs of the running sweep note what they spend, if the cap is for all of them."""
    if config.budget.scope != "sweep" or config.budget.cap_usd is None:
        return None
    from evalrunner.budget.sweep import SweepLedger

    folder = sweep_folder()
    return None if folder is None else SweepLedger(folder, job)


def keep(session: Session, finished: Finished) -> str:
    """Keeps a finished attempt and returns where its receipt lies.

    It is staged for the store, written to the run folder, then put into the store: killed at any point, it
    is lost nowhere, and the next command takes it in.

    Raises:
        ReceiptNotKeptError: a file or the store did not take it; says where the receipt is. When no file took
            it, it is on stdout, or told as a line where lines do not go to stderr.
    """
    path, text = session.folder / RECEIPT, dumps(finished.receipt, indent=True)
    attempt, store, out = _attempt(finished), session.config.store, session.config.out
    problems: list[Problem] = []
    written: list[Path] = []
    _tried(partial(store.stage, attempt), problems)
    for place in [path] if out is None else [path, out]:
        if _tried(partial(write_atomic, place, text), problems):
            written.append(place)
    if not problems or written:
        _tried(partial(_put, store, attempt), problems)
    if problems:
        if not written and on_stderr():
            sys.stdout.write(text)
        elif not written:
            say(text)
        unwritten = "on stdout, and in no file" if on_stderr() else "in the last note, and in no file"
        where = f"in {near(written[0])}" if written else unwritten
        raise ReceiptNotKeptError([*dict.fromkeys(problems), Problem("", f"the receipt stands {where}")])
    if finished.receipt.verdict != "inconclusive":
        unfinished.finished(session.folder)
    return near(path)


def _tried(step: Callable[[], object], problems: list[Problem]) -> bool:
    """Whether a step of keeping went well; what went wrong is added to `problems`."""
    try:
        step()
    except EvalrunnerError as error:
        problems += error.problems
        return False
    return True


def _put(store: Store, attempt: Attempt) -> None:
    for warning in store.put(attempt).warnings:
        say(f"warning: {warning}")


def _attempt(finished: Finished) -> Attempt:
    return Attempt(
        run_id=finished.run_id,
        identity=finished.judged_itself,
        receipt=finished.receipt.to_json(),
        scores=Scores(finished.judgements),
        chunks=chunks_of(finished.judgements),
    )


def report(session: Session, receipt: Receipt, kept: str, against: Against | None = None) -> None:
    """Shows a receipt, and what it was compared with, with the configured reporters; see `show`."""
    config, warnings = session.config, session.warnings
    show(receipt, config.reporter, as_json=config.json, kept=kept, warnings=warnings, against=against)
