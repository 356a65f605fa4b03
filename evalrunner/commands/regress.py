"""`evalrunner regress`: runs again as a receipt or a baseline did, and compares."""

from dataclasses import replace
from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.against import bar
from evalrunner.commands.attempt import keep, open_session, report
from evalrunner.commands.output import say
from evalrunner.config.tree import RegressConfig, load
from evalrunner.errors import EXIT_OK
from evalrunner.pipeline.locked import refuse_drift
from evalrunner.pipeline.runner import run
from evalrunner.receipt.compare import compare
from evalrunner.reporter.base import Against


def main(config: DictConfig, *, folder: Path) -> int:
    """Re-runs with the settings of what is compared with, keeps the new receipt, and returns 0, 1 or 2.

    A regression that is only advisory returns 0.
    """
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
    report(session, finished.receipt, kept, Against(baseline.to_json(), comparison, advisory))
    say(f"the new receipt is {kept}")
    if advisory and comparison.outcome == "regression":
        say(
            "the regression is advisory, and exits 0: a verdict rule such as threshold=strict makes it a gate"
        )
        return EXIT_OK
    return comparison.exit_code
