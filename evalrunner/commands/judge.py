"""`evalrunner judge`: judges what was selected or produced, and keeps the receipt."""

from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.attempt import keep, open_session, report
from evalrunner.commands.output import exit_code
from evalrunner.commands.records import read
from evalrunner.config.tree import StageConfig, load
from evalrunner.errors import EXIT_INTERRUPTED
from evalrunner.pipeline.runner import run_judge
from evalrunner.pipeline.session import Session
from evalrunner.pipeline.via import Piped
from evalrunner.receipt.schema import Receipt
from evalrunner.source.unused import UnusedSource
from evalrunner.subject.unknown import UnknownSubject


def main(config: DictConfig, *, folder: Path) -> int:
    """Reads records, judges them, and returns the verdict's exit code."""
    session, receipt, kept = judged(config, folder)
    report(session, receipt, kept)
    if session.halt.because is not None:
        raise session.halt.because
    return EXIT_INTERRUPTED if receipt.interrupted else exit_code(receipt)


def judged(config: DictConfig, folder: Path, given: Piped | None = None) -> tuple[Session, Receipt, str]:
    """Judges what is given, or else read, and keeps the receipt; returns with it where it lies."""
    asked = load(config, StageConfig, {"source": UnusedSource(), "subject": UnknownSubject()})
    session = open_session(asked, folder)
    finished = run_judge(session, read(asked.input) if given is None else given)
    return session, finished.receipt, keep(session, finished)
