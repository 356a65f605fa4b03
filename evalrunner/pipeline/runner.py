"""Runs a composed config from its source to its receipt: select, produce, judge."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalrunner.budget.budget import BudgetExhausted, Ledger
from evalrunner.calls.desk import Desk, Progress
from evalrunner.calls.journal import Journal
from evalrunner.calls.loop import first_of, run_async
from evalrunner.calls.side_by_side import side_by_side
from evalrunner.config.tree import RunConfig
from evalrunner.errors import ConfigError, InputError, MissingKeyError, Problem, show
from evalrunner.model.clients import ClientName, begin
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench, Seat, Speaker
from evalrunner.pipeline.assembly import (
    Attempt,
    CycleResult,
    Identity,
    identity,
    receipt,
    subject_sha8,
)
from evalrunner.pipeline.via import Piped, Via
from evalrunner.receipt.schema import Receipt
from evalrunner.records import Decision, Figures, Item, Judgement, Outcome, Spend
from evalrunner.rubric import Rubric
from evalrunner.subject.base import Checked
from evalrunner.subject.unknown import UnknownSubject


@dataclass
class Session:
    """What the stages of one attempt share.

    Attributes:
        config: the validated tree.
        folder: the run folder.
        run_id: unique; part of the folder's name.
        say: shows one line to the user on stderr; what was said is kept for the receipt.
        progress: told after every call.
    """

    config: RunConfig
    folder: Path
    run_id: str
    say: Callable[[str], None]
    progress: Callable[[Progress], None] | None = None
    start: datetime = field(default_factory=lambda: datetime.now(UTC))
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rubric: Rubric = self.config.rubric.load()
        self.prompts = Prompts()
        self.ledger = Ledger(self.config.budget, self.config.pricing)

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
        journal = Journal(self.folder / "calls.jsonl")
        return Desk(self.ledger, journal=journal, note=self.warn, progress=self.progress)

    def bench(self, desk: Desk) -> Bench:
        """What components work with."""
        return Bench(
            self.rubric, self.seats, self.prompts, desk, self.folder, self.warn, self.config.concurrency
        )


@dataclass(frozen=True)
class Finished:
    """One finished attempt.

    Attributes:
        run_id: unique.
        receipt: what proves it.
        judgements: everything that was said, chunk by chunk, for the store's long form.
        judged_itself: whether the subject is `identity`.
    """

    run_id: str
    receipt: Receipt
    judgements: Sequence[Judgement]
    judged_itself: bool


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
    heuristic = [speaker.id for speaker in _asked(session) if speaker.kind == "heuristic"]
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
        ConfigError: judge or threshold do not fit the rubric, or the threshold the eval's metrics.
        InputError: a prompt template is missing or broken.
        PricingNotFoundError: a cap is set and models have no known price; all of them.
    """
    config = session.config
    metrics = config.judge.metrics() or None
    problems = config.judge.check(session.rubric)
    problems += config.threshold.check(scale=session.rubric.scale, metrics=metrics)
    if problems:
        raise ConfigError(problems)
    session.prompts.sources([*config.subject.prompts(), *config.judge.prompts()])
    session.ledger.check([seat.id for seat in _asked(session) if seat.kind == "llm"])


def check_subject(session: Session) -> None:
    """Whether the subject can run here: what it needs besides keys.

    Raises:
        EvalrunnerError: something is missing.
    """
    if isinstance(session.config.subject, Checked):
        session.config.subject.check_installed()


def missing_keys(session: Session, environ: Mapping[str, str]) -> list[Problem]:
    """What the models of a run lack in the environment."""
    return [problem for seat in _asked(session) for problem in seat.check_ready(environ)]


def _asked(session: Session) -> Sequence[Speaker]:
    return (*session.config.subject.models(), *session.seats)


def templates(session: Session) -> list[tuple[str, str]]:
    """Name and text of every prompt template that an LLM is asked with; none when no LLM is asked."""
    config = session.config
    names = [*config.subject.prompts()]
    if any(seat.kind == "llm" for seat in session.seats):
        names += config.judge.prompts()
    return session.prompts.sources(names) if names else []


def select(session: Session) -> Piped:
    """The sampled items. An empty sample is no error here: what judges it says that there was nothing."""
    config = session.config
    selection = config.sampler.plan()
    items = config.source.take(selection)
    via = Via(
        eval=config.eval,
        source=config.source.origin,
        location=config.source.location(),
        slug_prefix=config.source.prefix(),
        selection=selection,
    )
    return Piped(items, [], via)


async def produce(session: Session, piped: Piped) -> Piped:
    """Runs the subject on every item, `runs` times; one run after another unless `concurrency` says more."""
    config = session.config
    desk = session.desk()
    bench = session.bench(desk)

    async def runs(item: Item) -> list[Outcome]:
        return [await _run(session, item, run, bench) for run in range(1, config.runs + 1)]

    try:
        outcomes = await side_by_side(map(runs, piped.items), config.concurrency)
    except BaseExceptionGroup as several:
        raise first_of(several) from several
    finally:
        await desk.close()
    described = dict(config.subject.described())
    via = piped.via.model_copy(
        update={"subject": described, "subject_sha8": subject_sha8(described), "runs": config.runs}
    )
    return Piped(piped.items, [outcome for each in outcomes for outcome in each], via)


async def _run(session: Session, item: Item, run: int, bench: Bench) -> Outcome:
    """One run of the subject; left out when the budget reserves whole runs and this one does not fit."""
    subject, ledger = session.config.subject, session.ledger
    whole = session.config.budget.unit == "run"
    if not whole:
        return await subject.produce(item, run, bench)
    try:
        async with ledger.run(ledger.project(subject.planned([item], bench))):
            return await subject.produce(item, run, bench)
    except BudgetExhausted as refused:
        told = f"the budget does not allow the run: {refused}"
        return Outcome(item_id=item.id, run=run, status="skipped", error=told)


async def judge(session: Session, piped: Piped) -> Finished:
    """Judges the outcomes, cycle by cycle, until the threshold's word or the last cycle ends it."""
    config = session.config
    desk = session.desk()
    bench = session.bench(desk)
    pooled = config.cycles.stop == "never"
    most = config.cycles.max or config.cycles.default_max
    judgements: list[Judgement] = []
    cycles: list[CycleResult] = []
    figures, decision = Figures(seats=tuple(seat.id for seat in session.seats)), _nothing(config)
    try:
        for number in range(1, most + 1) if piped.items else ():
            latest = await config.judge.cycle(piped.items, piped.outcomes, number, bench)
            judgements += latest
            figures = config.judge.figures(piped.items, piped.outcomes, latest, bench, pooled=False)
            decision = config.threshold.decide(figures)
            successes = len(figures.scores) if figures.dimensions else figures.scored
            cycles.append(CycleResult(successes, decision.verdict))
            if not pooled and decision.verdict != "fail":
                break
        if pooled and cycles:
            figures = config.judge.figures(piped.items, piped.outcomes, judgements, bench, pooled=True)
            decision = config.threshold.decide(figures)
    finally:
        await desk.close()
    return _finish(
        session, piped, judgements, cycles, figures=figures, decision=decision, judge_spend=desk.spend()
    )


def _nothing(config: RunConfig) -> Decision:
    """The word on an empty sample: inconclusive under any rule; without a rule there is no verdict."""
    message = "there was nothing to judge; the sample is empty."
    if config.threshold.decide(Figures()).verdict is None:
        return Decision(verdict=None, message=f"No verdict: {message}")
    return Decision(verdict="inconclusive", message=f"Inconclusive: {message}")


def _finish(
    session: Session,
    piped: Piped,
    judgements: Sequence[Judgement],
    cycles: Sequence[CycleResult],
    *,
    figures: Figures,
    decision: Decision,
    judge_spend: Spend,
) -> Finished:
    config, via = session.config, piped.via
    described = via.subject if via.subject is not None else dict(config.subject.described())
    subject_spend = Spend()
    for outcome in piped.outcomes:
        subject_spend = subject_spend + outcome.spend
    attempt = Attempt(
        run_id=session.run_id,
        start=session.start,
        eval=via.eval or config.eval,
        items=piped.items,
        origin={"source": via.source, "location": via.location, "slug_prefix": via.slug_prefix},
        selection=_selection(via),
        subject={**described, **_composed(config, via)},
        judge=config.judge.described(),
        panel=config.choices.get("panel"),
        seats=session.seats,
        models=session.models,
        rubric=session.rubric,
        threshold=config.threshold.shown(),
        identity=marks(session, piped.items, described),
        cycles=cycles,
        most_cycles=config.cycles.max or config.cycles.default_max,
        stop=config.cycles.stop,
        judgements=judgements,
        figures=figures,
        decision=decision,
        subject_spend=subject_spend,
        judge_spend=judge_spend,
        budget=session.ledger.block(),
        warnings=session.warnings,
        shadowed=config.shadowed,
    )
    return Finished(session.run_id, receipt(attempt), judgements, config.subject.judged_itself)


def _composed(config: RunConfig, via: Via) -> dict[str, Any]:
    """What it takes to compose the subject again, besides what it says of itself."""
    if config.subject.judged_itself or isinstance(config.subject, UnknownSubject):
        return {}
    models = [dict(speaker.described()) for speaker in config.subject.models() if speaker.kind == "llm"]
    runs = via.runs or config.runs
    return {"composed": {"option": config.choices.get("subject"), "runs": runs, "models": models}}


def marks(session: Session, items: Sequence[Item], described: Mapping[str, Any]) -> Identity:
    """The fingerprints that a run of this session carries."""
    config = session.config
    asked = {
        "judge": dict(config.judge.asked()),
        "stop": config.cycles.stop,
        "models": {seat.id: dict(seat.asked()) for seat in _asked(session) if seat.kind == "llm"},
    }
    return identity(
        items=items,
        models=session.models,
        rubric=session.rubric,
        threshold=config.threshold,
        templates=templates(session),
        asked=asked,
        subject=described,
    )


def _selection(via: Via) -> dict[str, Any] | None:
    if via.selection is None:
        return None
    chosen = via.selection
    return {
        "name": chosen.sampler,
        "seed": chosen.seed,
        "limit": chosen.limit,
        "stratify": chosen.stratify,
    }


def run(session: Session, examine: Callable[[Session, Sequence[Item]], None] | None = None) -> Finished:
    """The three stages in one process.

    Args:
        session: the attempt.
        examine: is shown the items before anything is called, and may raise.
    """
    _open_clients(session, only="openai_compatible")
    preflight(session)
    check_subject(session)
    piped = select(session)
    if examine is not None:
        examine(session, piped.items)
    _open_clients(session)
    return run_async(_produce_and_judge(session, piped))


async def _produce_and_judge(session: Session, piped: Piped) -> Finished:
    return await judge(session, await produce(session, piped))


def _open_clients(session: Session, only: ClientName | None = None) -> None:
    """Starts to import what will speak to the providers, beside what else there is to do."""
    named: set[ClientName | None] = {getattr(speaker, "speaks", None) for speaker in _asked(session)}
    begin(name for name in named if name is not None and only in {None, name})


def run_produce(session: Session, piped: Piped) -> Piped:
    """The second stage by itself."""
    preflight(session)
    check_subject(session)
    _open_clients(session)
    return run_async(produce(session, piped))


def run_judge(session: Session, piped: Piped) -> Finished:
    """The third stage by itself. Outcomes that nobody claims are those of an unknown subject.

    Raises:
        InputError: the records were produced by another subject than the configured one, which the receipt
            would show.
    """
    via = piped.via
    if piped.outcomes and via.subject is None and not session.config.subject.judged_itself:
        session.config = replace(session.config, subject=UnknownSubject())
    preflight(session)
    configured = dict(session.config.subject.described())
    if via.subject_sha8 not in {None, subject_sha8(configured)}:
        raise InputError(
            Problem(
                "subject",
                "the records were produced by another subject than the configured one",
                f"{show(via.subject)} in the records, {show(configured)} configured",
                "the subject=... that produce was given",
            )
        )
    _open_clients(session)
    return run_async(judge(session, piped))
