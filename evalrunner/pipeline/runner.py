"""Runs a composed config from its source to its receipt: select, produce, judge."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalrunner.budget.budget import BudgetExhausted
from evalrunner.calls.halt import Halted
from evalrunner.calls.loop import first_of, run_async
from evalrunner.calls.side_by_side import side_by_side
from evalrunner.config.tree import RunConfig
from evalrunner.errors import EvalrunnerError, InputError, Problem, ReceiptNotKeptError, show
from evalrunner.model.clients import ClientName, begin
from evalrunner.model.seat import Bench
from evalrunner.pipeline.assembly import (
    Attempt,
    CycleResult,
    judgement_row,
    receipt,
    subject_sha8,
)
from evalrunner.pipeline.session import Session, announce, asked, begun, check_subject, marks, preflight
from evalrunner.pipeline.unfinished import ITEMS
from evalrunner.pipeline.via import Piped, Via, read
from evalrunner.receipt import rows
from evalrunner.receipt.schema import JudgementsFile, Receipt
from evalrunner.records import Decision, Figures, Item, Judgement, Outcome, Spend
from evalrunner.subject.unknown import UnknownSubject


@dataclass(frozen=True)
class Finished:
    """One finished attempt.

    Attributes:
        run_id: unique.
        receipt: what proves it.
        judgements: everything that was said, chunk by chunk, for the store's long form.
        judged_itself: whether the subject is `identity`.
        interrupted: it was stopped before it was done.
        failure: what made it stop; None where the user did.
    """

    run_id: str
    receipt: Receipt
    judgements: Sequence[Judgement]
    judged_itself: bool
    interrupted: bool = False
    failure: EvalrunnerError | None = None


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
    before = len(session.warnings)

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
        update={
            "subject": described,
            "subject_sha8": subject_sha8(described),
            "runs": config.runs,
            "warnings": session.warnings[before:] or None,
        }
    )
    return Piped(piped.items, [outcome for each in outcomes for outcome in each], via)


async def _run(session: Session, item: Item, run: int, bench: Bench) -> Outcome:
    """One run of the subject, unless an earlier part of this attempt has its outcome.

    It is left out when the user asked to stop, or when the budget reserves whole runs and it does not fit.
    What calls no model of ours is kept as soon as it is there; calls have their own journal.
    """
    subject, ledger = session.config.subject, session.ledger
    if (kept := session.outcomes.kept.get((item.id, run))) is not None:
        for line in kept.warnings:
            session.warn(line)
        for name in kept.unpriced:
            ledger.unseen(name)
        return kept.outcome
    try:
        with session.halt.work(grace=True):
            if session.config.budget.unit != "run":
                outcome = await subject.produce(item, run, bench)
            else:
                async with ledger.run(ledger.project(subject.planned([item], bench))):
                    outcome = await subject.produce(item, run, bench)
    except BudgetExhausted as refused:
        told = f"the budget does not allow the run: {refused}"
        return Outcome(item_id=item.id, run=run, status="skipped", error=told)
    except Halted:
        return Outcome(item_id=item.id, run=run, status="skipped", error="interrupted before it had ended")
    if outcome.status != "skipped" and _is_kept(session):
        session.outcomes.keep(outcome, session.warnings, session.ledger.block()["unknown_models"])
    return outcome


def _is_kept(session: Session) -> bool:
    """Whether outcomes are kept one by one: what asks models goes through the journal of calls instead."""
    subject = session.config.subject
    return not subject.judged_itself and all(speaker.kind != "llm" for speaker in subject.models())


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
            if session.halt.asked or (not pooled and decision.verdict != "fail"):
                break
        if pooled and cycles:
            figures = config.judge.figures(piped.items, piped.outcomes, judgements, bench, pooled=True)
            decision = config.threshold.decide(figures)
    finally:
        await desk.close()
    if session.halt.asked:
        why = session.halt.because or "interrupted by the user."
        decision = Decision(verdict="inconclusive", message=f"Inconclusive: {why}")
    spend = desk.spend()
    if session.earlier is not None:
        spend = spend + session.earlier.untaken()
        session.earlier.close()
    return _finish(session, piped, judgements, cycles, figures=figures, decision=decision, judge_spend=spend)


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
        judgements_file=_beside(session, judgements),
        figures=figures,
        decision=decision,
        subject_spend=subject_spend,
        judge_spend=judge_spend,
        budget=session.ledger.block(),
        warnings=session.warnings,
        shadowed=config.shadowed,
        interrupted=session.halt.asked,
        resumed=session.resumed,
        cache=session.cache,
    )
    return Finished(
        session.run_id,
        receipt(attempt),
        judgements,
        config.subject.judged_itself,
        session.halt.asked,
        session.halt.because,
    )


def _beside(session: Session, judgements: Sequence[Judgement]) -> JudgementsFile | None:
    """Writes judgements that are too many for the receipt to a file; None where they stand in it."""
    if len(judgements) <= rows.MOST_INSIDE:
        return None
    try:
        return rows.write(session.folder, map(judgement_row, judgements))
    except ReceiptNotKeptError as lost:
        session.warn(f"{lost}: the {len(judgements)} judgements stand in the receipt itself")
        return None


def _composed(config: RunConfig, via: Via) -> dict[str, Any]:
    """What it takes to compose the subject again, besides what it says of itself."""
    if config.subject.judged_itself or isinstance(config.subject, UnknownSubject):
        return {}
    models = [dict(speaker.described()) for speaker in config.subject.models() if speaker.kind == "llm"]
    runs = via.runs or config.runs
    return {"composed": {"option": config.choices.get("subject"), "runs": runs, "models": models}}


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
    piped = _as_then(session) or select(session)
    announce(session)
    if examine is not None:
        examine(session, piped.items)
    _open_clients(session)
    with begun(session, piped):
        return run_async(_produce_and_judge(session, piped), session.halt.ask)


def _as_then(session: Session) -> Piped | None:
    """The items of the run that this one goes on with, where the source may give others by now."""
    path = None if session.takes_up is None else session.takes_up.folder / ITEMS
    if path is None or not path.is_file():
        return None
    with path.open(encoding="utf-8") as stream:
        return read(stream, str(path))


async def _produce_and_judge(session: Session, piped: Piped) -> Finished:
    return await judge(session, await produce(session, piped))


def _open_clients(session: Session, only: ClientName | None = None) -> None:
    """Starts to import what will speak to the providers, beside what else there is to do."""
    named: set[ClientName | None] = {getattr(speaker, "speaks", None) for speaker in asked(session)}
    begin(name for name in named if name is not None and only in {None, name})


def run_produce(session: Session, piped: Piped) -> Piped:
    """The second stage by itself."""
    preflight(session)
    check_subject(session)
    announce(session)
    _open_clients(session)
    produced = run_async(produce(session, piped))
    if session.halt.because is not None:
        raise session.halt.because
    return produced


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
    announce(session)
    session.warnings += [line for line in via.warnings or () if line not in session.warnings]
    _open_clients(session)
    return run_async(judge(session, piped), session.halt.ask)
