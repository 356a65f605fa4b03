"""`evalrunner regress`: runs again as a receipt did, and compares."""

from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.attempt import keep, open_session, report
from evalrunner.commands.output import say
from evalrunner.commands.rerun import overrides_of, recomposed, refuse_overrides
from evalrunner.config.tree import RegressConfig, load
from evalrunner.errors import EXIT_OK
from evalrunner.pipeline.runner import run
from evalrunner.receipt.compare import compare
from evalrunner.receipt.files import read_receipt
from evalrunner.reporter.base import Against


def main(config: DictConfig, *, folder: Path) -> int:
    """Re-runs with the receipt's own settings, keeps the new receipt, and returns 0, 1 or 2.

    A regression that is only advisory returns 0.
    """
    given = load(config, RegressConfig)
    baseline, doubts = read_receipt(given.against)
    for line in doubts:
        say(f"warning: {line}")
    refuse_overrides(given.overrides, baseline)
    derived, warnings = overrides_of(baseline, given)
    asked = load(recomposed(config, derived), RegressConfig)
    session = open_session(asked, folder)
    for line in warnings:
        session.warn(f"warning: {line}")
    finished = run(session)
    kept = keep(session, finished)
    comparison = compare(baseline, finished.receipt, asked.regress.threshold)
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
