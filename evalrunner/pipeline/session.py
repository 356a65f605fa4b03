"""One attempt: what its stages share, and everything that can be known to be wrong before the first call."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalrunner.budget.budget import Ledger
from evalrunner.calls.cache import Cache
from evalrunner.calls.desk import Desk, Progress
from evalrunner.calls.earlier import Earlier
from evalrunner.calls.halt import GRACE_S, Halt
from evalrunner.calls.journal import Journal
from evalrunner.config.tree import RunConfig
from evalrunner.errors import ConfigError, InputError, MissingKeyError, Problem, show
from evalrunner.model.abstaining import abstains
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench, Seat, Speaker
from evalrunner.paths import no_file
from evalrunner.pipeline.assembly import Identity, identity
from evalrunner.pipeline.unfinished import (
    CALLS,
    ITEMS,
    OUTCOMES,
    OutcomeLog,
    TakenUp,
    refuse_changes,
    under_way,
)
from evalrunner.pipeline.via import Piped, lines
from evalrunner.receipt.files import write_atomic
from evalrunner.records import Item
from evalrunner.reporter.base import FiledReporter
from evalrunner.rubric import Rubric
from evalrunner.source.base import Moving
from evalrunner.subject.base import Checked

if TYPE_CHECKING:
    from evalrunner.budget.sweep import SweepLedger


@dataclass
class Session:
    """What the stages of one attempt share.

    Attributes:
        config: the validated tree.
        folder: the run folder.
        run_id: unique; part of the folder's name.
        say: shows one line to the user on stderr; what was said is kept for the receipt.
        progress: told after every call.
        takes_up: the unfinished run that this one goes on with.
        sweep: where the jobs of a sweep note what they spend, where they have one cap.
    """

    config: RunConfig
    folder: Path
    run_id: str
    say: Callable[[str], None]
    progress: Callable[[Progress], None] | None = None
    takes_up: TakenUp | None = None
    sweep: "SweepLedger | None" = None
    start: datetime = field(default_factory=lambda: datetime.now(UTC))
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rubric: Rubric = self.config.rubric.load()
        self.prompts = Prompts()
        self.ledger = Ledger(self.config.budget, self.config.pricing, self.sweep)
        self.halt = Halt(self._stopping)
        self.earlier: Earlier | None = None
        self.cache = None if self.config.cache is None else Cache(self.config.cache_dir)
        self.outcomes = OutcomeLog(self.folder / OUTCOMES)
        self.resumed: dict[str, Any] | None = None

    def _stopping(self) -> None:
        why = "" if self.halt.because is None else f"{self.halt.because}; "
        self.say(f"stopping: {why}what is under way gets up to {GRACE_S:g} s to end; ^C again stops at once")

    @property
    def seats(self) -> Sequence[Seat]:
        """The judging panel, in order."""
        return self.config.panel.models

    @property
    def models(self) -> list[str]:
        """The ids of all models that this config asks, the subject's first, each once."""
        return list(dict.fromkeys(seat.id for seat in (*self.config.subject.models(), *self.seats)))

    def warn(self, line: str) -> None:
        """Says a line on stderr and keeps it for the receipt; the same line only once."""
        if line not in self.warnings:
            self.warnings.append(line)
            self.say(line)

    def desk(self) -> Desk:
        """A desk for one stage. Stages follow one another, and share the ledger and the journal's file."""
        return Desk(
            self.ledger,
            journal=Journal(self.folder / CALLS),
            earlier=self.earlier,
            cache=self.cache,
            halt=self.halt,
            note=self.warn,
            progress=self.progress,
        )

    def bench(self, desk: Desk) -> Bench:
        """What components work with."""
        return Bench(
            self.rubric, self.seats, self.prompts, desk, self.folder, self.warn, self.config.concurrency
        )


def preflight(session: Session) -> None:
    """Everything that can be known to be wrong before the first call.

    Raises:
        MissingKeyError: models without their key; all of them.
        ConfigError, InputError, PricingNotFoundError: as `check` does.
    """
    check(session)
    missing = missing_keys(session, os.environ)
    if missing:
        raise MissingKeyError(missing)


def announce(session: Session) -> None:
    """Says who is no LLM, and whose price is not known, once it is clear that there is something to judge."""
    heuristic = [speaker.id for speaker in asked(session) if speaker.kind == "heuristic"]
    if heuristic:
        session.warn(f"{', '.join(heuristic)} is a rule-based judge: no LLM speaks for it")
    unpriced = session.ledger.block()["unknown_models"]
    if unpriced:
        capped = session.config.budget.cap_usd is not None
        cap = "; the cap does not hold for them" if capped else ""
        session.warn(f"no price is known of {', '.join(unpriced)}: the cost stays unknown{cap}")


def check(session: Session) -> None:
    """What of the config does not fit together, keys aside.

    Raises:
        ConfigError: judge or threshold do not fit the rubric, the threshold not the metrics, or a report
            cannot be a file.
        InputError: a prompt template is missing or broken.
        PricingNotFoundError: a cap is set and models have no known price; all of them.
    """
    config = session.config
    metrics = config.judge.metrics() or None
    problems = config.judge.check(session.rubric)
    problems += config.threshold.check(scale=session.rubric.scale, metrics=metrics)
    problems += [
        Problem(f"reporter.{name}.path", why, show(str(each.path)))
        for name, each in config.reporter.items()
        if isinstance(each, FiledReporter) and each.path is not None and (why := no_file(each.path))
    ]
    if problems:
        raise ConfigError(problems)
    for seat in session.seats:
        if reason := abstains(seat, session.rubric):
            session.warn(f"warning: {seat.id} will abstain: {reason}")
    session.prompts.sources([*config.subject.prompts(), *config.judge.prompts()])
    session.ledger.check([seat.id for seat in asked(session) if seat.kind == "llm"])


def check_subject(session: Session) -> None:
    """Whether the subject can run here: what it needs besides keys.

    Raises:
        EvalrunnerError: something is missing.
    """
    if isinstance(session.config.subject, Checked):
        session.config.subject.check_installed()


def missing_keys(session: Session, environ: Mapping[str, str]) -> list[Problem]:
    """What the models of a run lack in the environment."""
    return [problem for seat in asked(session) for problem in seat.check_ready(environ)]


def asked(session: Session) -> Sequence[Speaker]:
    """All that speak under a name: the models of the subject, and the judging panel."""
    return (*session.config.subject.models(), *session.seats)


def templates(session: Session) -> list[tuple[str, str]]:
    """Name and text of every prompt template that an LLM is asked with; none when no LLM is asked."""
    config = session.config
    names = [*config.subject.prompts()]
    if any(seat.kind == "llm" for seat in session.seats):
        names += config.judge.prompts()
    return session.prompts.sources(names) if names else []


def marks(session: Session, items: Sequence[Item], described: Mapping[str, Any]) -> Identity:
    """The fingerprints that a run of this session carries."""
    config = session.config
    questions = {
        "judge": dict(config.judge.asked()),
        "stop": config.cycles.stop,
        "models": {seat.id: dict(seat.asked()) for seat in asked(session) if seat.kind == "llm"},
    }
    return identity(
        items=items,
        models=session.models,
        rubric=session.rubric,
        threshold=config.threshold,
        templates=templates(session),
        asked=questions,
        subject=described,
    )


@contextmanager
def begun(session: Session, piped: Piped) -> Iterator[None]:
    """Notes that the attempt begins, and takes over what the run that it goes on with has paid for.

    Raises:
        InputError: it is not what that run was begun with.
        ReceiptNotKeptError: the run folder cannot be written.
    """
    now = marks(session, piped.items, dict(session.config.subject.described()))
    full = {part: getattr(now, part).full for part in ("corpus", "prompt", "models", "rubric", "subject")}
    if session.takes_up is not None and not session.takes_up.is_named:
        _drop_misfit(session, session.takes_up, full)
    if isinstance(session.config.source, Moving) and session.takes_up is None:
        write_atomic(session.folder / ITEMS, lines(piped.items, None, piped.via))
    with under_way(session.folder, session.run_id, session.start, full, session.takes_up) as start:
        session.start = start
        if session.takes_up is not None:
            _take_over(session, session.takes_up)
        yield


def _drop_misfit(session: Session, found: TakenUp, now: Mapping[str, str]) -> None:
    """Begins a new run where the unfinished one that was found is one of other texts."""
    try:
        refuse_changes(found.begun, now)
    except InputError as error:
        found.close()
        session.takes_up = None
        parts = ", ".join(problem.where for problem in error.problems)
        session.say(f"run {found.begun.run_id} is unfinished, but its {parts} differs: begins a new one")


def _take_over(session: Session, taken: TakenUp) -> None:
    """Opens the journals that were copied from the unfinished run, and counts what it spent."""
    session.earlier = earlier = Earlier(session.folder / CALLS)
    session.outcomes.read()
    session.ledger.carry(earlier.spent_usd, estimated=earlier.estimated_usd, overrun=earlier.overrun_usd)
    outcomes = len(session.outcomes.kept)
    dropped = earlier.dropped + session.outcomes.dropped
    session.resumed = {
        "run": taken.begun.run_id,
        "replies": earlier.replies,
        "outcomes": outcomes,
        "dropped_lines": dropped,
    }
    found = [f"{earlier.replies} replies"] + ([f"{outcomes} outcomes"] if outcomes else [])
    session.say(
        f"goes on with run {taken.begun.run_id}: {' and '.join(found)} of it are there and not paid again"
    )
    if dropped:
        session.say(f"warning: {dropped} torn lines of its journal are dropped")
