"""Puts a receipt together from what the stages left behind. Pure: it calls nothing and writes nothing."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from evalrunner import __version__
from evalrunner.calls.cache import Cache
from evalrunner.model.seat import Seat
from evalrunner.receipt import fingerprint
from evalrunner.receipt.schema import JudgementsFile, Receipt, assemble, timestamp
from evalrunner.receipt.scores import score_block
from evalrunner.records import Decision, Figures, Item, Judgement, Metric, Spend
from evalrunner.rubric import Rubric
from evalrunner.stats.near import merge_near_duplicates
from evalrunner.stats.panel import quorum_needed
from evalrunner.threshold.base import Threshold

MOST_IMPROVEMENTS = 10


@dataclass(frozen=True)
class Identity:
    """The fingerprints that say what was judged, by whom, under which rubric."""

    corpus: fingerprint.Fingerprint
    prompt: fingerprint.Fingerprint
    models: fingerprint.Fingerprint
    rubric: fingerprint.Fingerprint
    subject: fingerprint.Fingerprint


@dataclass(frozen=True)
class CycleResult:
    """One cycle: how many seats contributed, and its verdict taken by itself."""

    successes: int
    verdict: str | None


@dataclass(frozen=True)
class Attempt:
    """Everything about one attempt that its receipt tells."""

    run_id: str
    start: datetime
    eval: str
    items: Sequence[Item]
    origin: Mapping[str, Any]
    selection: Mapping[str, Any] | None
    subject: Mapping[str, Any]
    judge: Mapping[str, Any]
    panel: str | None
    seats: Sequence[Seat]
    models: Sequence[str]
    rubric: Rubric
    threshold: Mapping[str, Any]
    identity: Identity
    cycles: Sequence[CycleResult]
    most_cycles: int
    stop: str
    judgements: Sequence[Judgement]
    judgements_file: JudgementsFile | None
    figures: Figures
    decision: Decision
    subject_spend: Spend
    judge_spend: Spend
    budget: Mapping[str, Any]
    warnings: Sequence[str]
    shadowed: Sequence[str]
    interrupted: bool = False
    resumed: Mapping[str, Any] | None = None
    cache: Cache | None = None


def identity(
    *,
    items: Sequence[Item],
    models: Sequence[str],
    rubric: Rubric,
    threshold: Threshold,
    templates: Sequence[tuple[str, str]],
    asked: Mapping[str, Any],
    subject: Mapping[str, Any],
) -> Identity:
    """The fingerprints of an attempt (docs/receipt.md), from what will be judged and asked."""
    texts = (
        fingerprint.item_text(item.payload, item.truth) if item.text is None else item.text for item in items
    )
    return Identity(
        corpus=fingerprint.corpus_sha(texts),
        prompt=fingerprint.prompt_sha(templates, asked),
        models=fingerprint.models_sha(models),
        rubric=fingerprint.rubric_sha(rubric.content, threshold.asked()),
        subject=fingerprint.of_text(fingerprint.canonical_json(subject)),
    )


def subject_sha8(described: Mapping[str, Any]) -> str:
    """The subject's fingerprint, as receipts and pipes show it."""
    return fingerprint.of_text(fingerprint.canonical_json(described)).sha8


def receipt(attempt: Attempt) -> Receipt:
    """The receipt of an attempt."""
    figures, decision, marks = attempt.figures, attempt.decision, attempt.identity
    conclusive = decision.verdict != "inconclusive"
    scores = score_block(figures.dimensions, [(each.seat, each.values) for each in figures.scores])
    spend = attempt.subject_spend + attempt.judge_spend
    values: dict[str, Any] = {
        "schema_version": 1,
        "ts": timestamp(attempt.start),
        "rubric_version": attempt.rubric.version,
        "rubric_sha8": marks.rubric.sha8,
        "corpus": {
            "source": attempt.origin.get("source"),
            "n_takes": len(attempt.items),
            "slug_prefix": attempt.origin.get("slug_prefix"),
            "corpus_sha8": marks.corpus.sha8,
            "location": attempt.origin.get("location"),
        },
        "prompt_sha8": marks.prompt.sha8,
        "models_sha8": marks.models.sha8,
        "models": list(attempt.models),
        "cycles_run": len(attempt.cycles),
        "successes_per_cycle": [each.successes for each in attempt.cycles],
        "verdict": decision.verdict,
        "scores": {name: each.model_dump() for name, each in scores.scores.items()} if conclusive else {},
        "overall_score": scores.overall if conclusive else None,
        "cost_usd": spend.cost_usd,
        "improvements": merge_near_duplicates(
            [text for each in attempt.judgements for text in each.evidence], MOST_IMPROVEMENTS
        ),
        "errors": errors(attempt.judgements),
        "verdictMessage": decision.message,
        "eval": attempt.eval,
        "run_id": attempt.run_id,
        "subject": dict(attempt.subject),
        "subject_sha8": marks.subject.sha8,
        "judge": dict(attempt.judge),
        "judge_kind": judge_kind(attempt.seats, attempt.subject),
        "fingerprints": {
            "corpus": marks.corpus.full,
            "prompt": marks.prompt.full,
            "models": marks.models.full,
            "rubric": marks.rubric.full,
            "subject": marks.subject.full,
        },
        "panel": {"name": attempt.panel, "seats": [dict(seat.described()) for seat in attempt.seats]},
        "cycles": {
            "max": attempt.most_cycles,
            "stop": attempt.stop,
            "verdicts": [each.verdict for each in attempt.cycles],
        },
        "threshold": dict(attempt.threshold),
        "denominator": {
            "planned": figures.planned,
            "scored": figures.scored,
            "unscored": dict(figures.unscored),
            "skipped": figures.skipped,
        },
        "budget": dict(attempt.budget),
        "usage": {"subject": usage(attempt.subject_spend), "judge": usage(attempt.judge_spend)},
        **_said(attempt),
        "warnings": list(attempt.warnings),
        "environment": {
            "evalrunner": __version__,
            "python": platform.python_version(),
            "shadowed": list(attempt.shadowed),
        },
    }
    if attempt.interrupted:
        values["interrupted"] = True
    if attempt.resumed is not None:
        values["resumed"] = dict(attempt.resumed)
    if attempt.cache is not None:
        values["cache"] = {"reused": attempt.cache.reused, "saved_usd": attempt.cache.saved_usd}
    if attempt.selection is not None:
        values["sampler"] = dict(attempt.selection)
    if figures.dimensions and "quorum" in attempt.threshold:
        values["quorum"] = {
            "seats": len(figures.seats),
            "needed": quorum_needed(len(figures.seats), Fraction(attempt.threshold["quorum"])),
            "contributed": len(figures.scores),
        }
    if scores.exact and conclusive:
        values["scores_exact"] = scores.exact
    if figures.metrics:
        values["metrics"] = {name: metric.model_dump() for name, metric in figures.metrics.items()}
        values["groups"] = _groups(figures.groups)
    if figures.headline is not None:
        values["headline"] = {
            "metric": figures.headline,
            "value": figures.metrics[figures.headline].value,
        }
    answered = answered_by(attempt.judgements)
    if answered:
        values["answered_by"] = answered
    return assemble(values | figures.report)


def _groups(groups: Mapping[str, Mapping[str, Mapping[str, Metric]]]) -> dict[str, Any]:
    return {
        group: {
            cell: {name: metric.model_dump() for name, metric in metrics.items()}
            for cell, metrics in cells.items()
        }
        for group, cells in groups.items()
    }


def _said(attempt: Attempt) -> dict[str, Any]:
    """Everything that was said, or where it lies."""
    if attempt.judgements_file is not None:
        return {"judgements_file": attempt.judgements_file.model_dump()}
    return {"judgements": [judgement_row(each) for each in attempt.judgements]}


def judgement_row(judgement: Judgement) -> dict[str, Any]:
    """A judgement as the receipt has it, JSON-ready."""
    row: dict[str, Any] = {
        "model": judgement.seat,
        "place": judgement.place,
        "cycle": judgement.cycle,
        "chunk": judgement.chunk,
        "item_ids": list(judgement.item_ids),
        "status": judgement.status,
        "values": dict(judgement.values),
    }
    return row | {
        name: value
        for name, value in (
            ("label", judgement.label),
            ("evidence", list(judgement.evidence) or None),
            ("error", judgement.error),
            ("answered_by", judgement.answered_by),
        )
        if value is not None
    }


def judge_kind(seats: Sequence[Seat], subject: Mapping[str, Any]) -> str:
    """What spoke: `llm`, `heuristic`, `program`, `mixed`, or `code` where nobody did.

    Without a panel it is what fills the seat of a subject that is a judge itself, as its `seat` says.
    """
    kinds = {seat.kind for seat in seats}
    if not kinds:
        return str(subject.get("seat", "code"))
    return kinds.pop() if len(kinds) == 1 else "mixed"


def errors(judgements: Sequence[Judgement]) -> list[dict[str, str]]:
    """Why seats did not contribute, in the order of judging; with cycle and chunk where there are several."""
    several = max((each.cycle for each in judgements), default=1) > 1
    chunked = max((each.chunk for each in judgements), default=1) > 1
    return [
        {
            "modelId": each.seat,
            "error": (f"cycle {each.cycle}: " if several else "")
            + (f"chunk {each.chunk}: " if chunked else "")
            + (each.error or each.status),
        }
        for each in judgements
        if each.status != "scored"
    ]


def answered_by(judgements: Sequence[Judgement]) -> dict[str, list[str]]:
    """The model names that providers returned, by model id as configured."""
    names: dict[str, list[str]] = {}
    for each in judgements:
        if each.answered_by and each.answered_by not in names.setdefault(each.seat, []):
            names[each.seat].append(each.answered_by)
    return names


def usage(spend: Spend) -> dict[str, Any]:
    """One side of the receipt's `usage`."""
    return spend.usage.model_dump() | {"cost_usd": spend.cost_usd}
