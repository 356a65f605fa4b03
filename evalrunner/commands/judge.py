"""`evalrunner judge`: judges what was selected or produced, and keeps the receipt."""

from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.attempt import keep, open_session, report
from evalrunner.commands.output import exit_code
from evalrunner.commands.records import read
from evalrunner.config.tree import StageConfig, load
from evalrunner.pipeline.runner import run_judge
from evalrunner.source.unused import UnusedSource
from evalrunner.subject.unknown import UnknownSubject


def main(config: DictConfig, *, folder: Path) -> int:
    """Reads records, judges them, and returns the verdict's exit code."""
    asked = load(config, StageConfig, {"source": UnusedSource(), "subject": UnknownSubject()})
    session = open_session(asked, folder)
    finished = run_judge(session, read(asked.input))
    report(session, finished.receipt, keep(session, finished))
    return exit_code(finished.receipt)
