"""`evalrunner run`: select, produce and judge in one go."""

import sys
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.attempt import keep, open_session, report
from evalrunner.commands.output import exit_code, near, say
from evalrunner.commands.resume import taken_up
from evalrunner.config import jobs as sweep
from evalrunner.config.tree import run_config
from evalrunner.errors import EXIT_INTERRUPTED
from evalrunner.pipeline.locked import refuse_drift
from evalrunner.pipeline.runner import run
from evalrunner.pipeline.session import Session
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.trend import print_jobs


def main(config: DictConfig, *, folder: Path) -> int:
    """Runs the eval, keeps its receipt, shows it, and returns the verdict's exit code."""
    session, receipt, kept = evaluate(config, folder)
    report(session, receipt, kept)
    return interrupted(session, receipt) or exit_code(receipt)


def evaluate(config: DictConfig, folder: Path) -> tuple[Session, Receipt, str]:
    """Runs the eval and keeps its receipt; returns the session, the receipt, and where it lies."""
    config, unfinished = taken_up(config, folder)
    session = open_session(run_config(config), folder, unfinished)
    finished = run(session, refuse_drift if session.config.locked else None)
    return session, finished.receipt, keep(session, finished)


def interrupted(session: Session, receipt: Receipt) -> int:
    """The exit code of a run that the user interrupted, who is told how to go on; 0 for any other.

    Raises:
        EvalrunnerError: something else made it stop.
    """
    if not receipt.interrupted:
        return 0
    name = session.run_id if session.folder.name == session.run_id else near(session.folder)
    if session.halt.because is not None:
        say(f"what was paid for until then is kept: evalrunner run --resume {name}")
        raise session.halt.because
    say(f"interrupted; what was paid for is kept: evalrunner run --resume {name}")
    return EXIT_INTERRUPTED


def summarise(jobs: Sequence[sweep.Job], *, as_json: bool) -> None:
    """A sweep on stdout: a table with a line a job, or with `as_json` a receipt a line, in job order.

    Of the overrides the table shows those in which the jobs differ.
    """
    if as_json:
        sweep.summarise(jobs, as_json=True)
        return
    shared = set.intersection(*(set(job.overrides) for job in jobs)) if len(jobs) > 1 else set()
    rows = [
        {
            "number": job.number,
            "code": job.code,
            "overrides": " ".join(each for each in job.overrides if each not in shared),
            "receipt": job.written(),
            "place": None if job.receipt is None else near(Path(job.receipt)),
        }
        for job in jobs
    ]
    print_jobs(rows, sys.stdout)
