"""`evalrunner regress`: runs again as a receipt did, and compares."""

import sys
from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.attempt import keep, open_session
from evalrunner.commands.output import say
from evalrunner.commands.rerun import overrides_of, recomposed, refuse_overrides
from evalrunner.config import jobs
from evalrunner.config.tree import RegressConfig, load
from evalrunner.pipeline.runner import run
from evalrunner.receipt.compare import compare
from evalrunner.receipt.files import read_receipt
from evalrunner.receipt.jsontext import readable_json
from evalrunner.reporter.comparison import comparison_json, print_comparison


def main(config: DictConfig, *, folder: Path) -> int:
    """Re-runs with the receipt's own settings, keeps the new receipt, and returns 0, 1 or 2."""
    given = load(config, RegressConfig)
    baseline, doubts = read_receipt(given.against)
    for line in doubts:
        say(f"warning: {line}")
    refuse_overrides(given.overrides)
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
    if not jobs.in_sweep():
        if asked.json:
            whole = comparison_json(comparison, baseline.to_json(), finished.receipt.to_json())
            sys.stdout.write(readable_json(whole) + "\n")
        else:
            print_comparison(comparison, baseline.to_json(), sys.stdout)
    say(f"the new receipt is {kept}")
    return comparison.exit_code
