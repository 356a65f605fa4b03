"""`evalrunner regress`: runs again as a receipt or a baseline did, and compares."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.against import bar
from evalrunner.commands.attempt import keep, open_session, report
from evalrunner.commands.output import say
from evalrunner.config.tree import RegressConfig, load
from evalrunner.errors import EXIT_INTERRUPTED, EXIT_OK
from evalrunner.pipeline.locked import refuse_drift
from evalrunner.pipeline.runner import run
from evalrunner.pipeline.session import Session
from evalrunner.receipt.compare import Comparison, compare
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.base import Against


@dataclass(frozen=True)
class Compared:
    """A run that was held to an earlier one.

    Attributes:
        session: of the new run.
        receipt: of the new run.
        baseline: the receipt that it was held to.
        comparison: what became of the figures.
        advisory: whether a regression is only told.
        kept: where the new receipt lies.
    """

    session: Session = field(repr=False)
    receipt: Receipt = field(repr=False)
    baseline: Receipt = field(repr=False)
    comparison: Comparison
    advisory: bool
    kept: str

    @property
    def only_told(self) -> bool:
        """Whether there is a regression that gates nothing."""
        return self.advisory and self.comparison.outcome == "regression"

    @property
    def exit_code(self) -> int:
        """0, 1 or 2; a regression that is only advisory is 0; 130 where the user interrupted the new run."""
        if self.receipt.interrupted:
            return EXIT_INTERRUPTED
        return EXIT_OK if self.only_told else self.comparison.exit_code


def main(config: DictConfig, *, folder: Path) -> int:
    """Re-runs with the settings of what is compared with, keeps the new receipt, and returns 0, 1 or 2.

    A regression that is only advisory returns 0.
    """
    done = held_to(config, folder)
    against = Against(done.baseline.to_json(), done.comparison, done.advisory)
    report(done.session, done.receipt, done.kept, against)
    say(f"the new receipt is {done.kept}")
    if done.receipt.interrupted:
        say("interrupted: the comparison says nothing; regress begins anew")
    if done.only_told:
        say(
            "the regression is advisory, and exits 0: a verdict rule such as threshold=strict makes it a gate"
        )
    return done.exit_code


def held_to(config: DictConfig, folder: Path) -> Compared:
    """Runs again, keeps the new receipt, and compares; warnings are said."""
    held = bar(config, load(config, RegressConfig))
    asked, baseline = held.config, held.receipt
    session = open_session(asked, folder)
    for line in held.untold:
        session.warn(f"warning: {line}")
    told = (*held.warnings, *held.named(session))
    finished = run(session, refuse_drift if asked.locked else None)
    kept = keep(session, finished)
    comparison = compare(baseline, finished.receipt, asked.regress.threshold)
    comparison = replace(comparison, warnings=(*told, *comparison.warnings))
    for line in comparison.warnings:
        say(f"warning: {line}")
    advisory = asked.regress.advisory and finished.receipt.verdict is None
    return Compared(session, finished.receipt, baseline, comparison, advisory, kept)
