"""`evalrunner validate`: checks all that a run would need, calls nothing, and prices the worst case."""

import os
import sys
from dataclasses import asdict
from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.attempt import open_session
from evalrunner.commands.output import say
from evalrunner.config.tree import run_config
from evalrunner.pipeline.forecast import Forecast, forecast
from evalrunner.pipeline.locked import refuse_drift
from evalrunner.pipeline.runner import select
from evalrunner.pipeline.session import Session, check, check_subject, missing_keys
from evalrunner.receipt.jsontext import readable_json
from evalrunner.reporter.terminal import at_most, money


def main(config: DictConfig, *, folder: Path | None) -> int:
    """Reads rubric, prompts, prices and source, and says what would be called, how often, at what cost.

    A missing key is a warning here, so that a config can be checked where no keys are.
    """
    session, found = foreseen(config, folder or Path())
    if session.config.json:
        sys.stdout.write(readable_json({"schema_version": 1, **asdict(found)}) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(session, found)))
    return 0


def foreseen(config: DictConfig, folder: Path) -> tuple[Session, Forecast]:
    """The session that would run, and what it would call; what would be refused for want of a key is said."""
    session = open_session(run_config(config), folder)
    check(session)
    check_subject(session)
    for problem in missing_keys(session, os.environ):
        say(f"warning: run would refuse: {problem}")
    piped = select(session)
    if session.config.locked:
        refuse_drift(session, piped.items)
    if not piped.items:
        say("warning: the sample is empty; run would be inconclusive")
    return session, forecast(session, piped.items)


def _lines(session: Session, found: Forecast) -> list[str]:
    config = session.config
    rubric = session.rubric
    dimensions = f", {len(rubric.names)} dimensions" if rubric.names else ""
    lines = [
        "The configuration is valid.",
        f"eval     {config.eval}",
        f"items    {found.items} from {config.source.location() or config.source.origin}",
        f"rubric   {rubric.version}{dimensions} ({rubric.path})",
        f"panel    {', '.join(seat.id for seat in session.seats) or 'nobody'}",
        f"cycles   at most {found.cycles}, stop: {config.cycles.stop}",
    ]
    if found.runs:
        lines.append(f"runs     {found.runs} of the subject")
    if not found.models:
        of_program = "none of ours; a program under test may make its own"
        lines.append(f"calls    {of_program if found.runs else 'none: no LLM is asked, nothing is paid'}")
    for each in found.models:
        cost = "price unknown" if each.cost_usd is None else f"at most {at_most(each.cost_usd)}"
        lines.append(f"calls    {each.model}: at most {each.calls}, and {each.reasks} re-asks; {cost}")
    if found.models:
        total = "unknown" if found.cost_usd is None else at_most(found.cost_usd)
        cap = "no cap is set" if found.cap_usd is None else f"the cap is {money(float(found.cap_usd))}"
        lines.append(f"cost     at most {total}, retries aside; {cap}")
        if found.cap_usd is not None and found.cost_usd is not None and found.cost_usd > found.cap_usd:
            say("warning: the worst case is above the cap: what the cap leaves undone is inconclusive")
    return lines
