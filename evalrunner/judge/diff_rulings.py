"""What the seats' votes come to, sample by sample, and the figures over samples."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalrunner.judge.diff_samples import Sample
from evalrunner.model.comparison import CORRECT, DEFECT
from evalrunner.model.reply import harmless
from evalrunner.records import Judgement, Metric
from evalrunner.stats.intervals import proportion

Word = Literal["correct", "defect", "unknown", "contaminated", "skipped"]

MOST_REASON = 1000
"""Longer reasons are cut in the receipt."""


@dataclass(frozen=True)
class Ruling:
    """What became of a sample.

    Attributes:
        word: `unknown` and `contaminated` never move the defect rate; `skipped` was left out for the budget.
        kind: the class of the defect; None for any other word.
        reason: one line.
        votes: what each seat said, JSON-ready; empty where nobody was asked.
    """

    sample: Sample
    word: Word
    kind: str | None
    reason: str
    votes: tuple[Mapping[str, Any], ...] = ()


def ruled(sample: Sample, judgements: Sequence[Judgement], seats: int, classes: Sequence[str]) -> Ruling:
    """The ruling on one sample.

    Args:
        judgements: those on it, of the cycles that count; of code alone where nobody was asked.
        seats: how many answers there should be. A majority is one of these, not of those that came.
        classes: the checklist; of classes named equally often its first one stands.
    """
    why = harmless(sample.why or "")
    if sample.fate == "contaminated":
        return Ruling(sample, "contaminated", None, why)
    if sample.fate == "skipped":
        return Ruling(sample, "skipped", None, why)
    if sample.fate == "unusable":
        return Ruling(sample, "unknown", None, why)
    votes = tuple(_vote(each) for each in judgements)
    if sample.fate == "empty":
        return Ruling(sample, DEFECT, judgements[0].detail["class"], judgements[0].detail["reason"])
    said = Counter(each.label for each in judgements if each.status == "scored")
    for word in (CORRECT, DEFECT):
        if 2 * said[word] > seats:
            own = [each for each in judgements if each.status == "scored" and each.label == word]
            kind = _commonest([each.detail["class"] for each in own], classes) if word == DEFECT else None
            reason = next(each.detail["reason"] for each in own if each.detail["class"] == kind)
            return Ruling(sample, word, kind, _cut(reason), votes)
    skipped = any(each.status == "skipped" for each in judgements)
    return Ruling(
        sample, "skipped" if skipped else "unknown", None, _undecided(judgements, said, seats), votes
    )


def _vote(judgement: Judgement) -> dict[str, Any]:
    vote: dict[str, Any] = {
        "seat": judgement.seat,
        "verdict": judgement.label if judgement.status == "scored" else "unknown",
    }
    if judgement.status != "scored":
        return vote | {"error": judgement.error or judgement.status}
    return vote | {"class": judgement.detail["class"], "reason": _cut(judgement.detail["reason"])}


def _commonest(kinds: Sequence[str], classes: Sequence[str]) -> str:
    return max(classes, key=lambda name: (kinds.count(name), -classes.index(name)))


def _undecided(judgements: Sequence[Judgement], said: Mapping[str | None, int], seats: int) -> str:
    """Why there is no verdict."""
    why = "; ".join(dict.fromkeys(_silence(each) for each in judgements if each.status != "scored"))
    if seats == 1 and judgements:
        return _cut(why)
    silent = seats - said.get(CORRECT, 0) - said.get(DEFECT, 0)
    counts = (
        f"no majority of {seats} seats: {said.get(CORRECT, 0)} correct, {said.get(DEFECT, 0)} defect, "
        f"{silent} without a verdict"
    )
    return _cut(f"{counts} ({why})" if why else counts)


def _silence(judgement: Judgement) -> str:
    """Why a seat gave no verdict, without the sample's name."""
    told = judgement.error or judgement.status
    return harmless(told.removeprefix(f"{judgement.item_ids[0]}, run {_run(judgement)}: "))


def _run(judgement: Judgement) -> Any:
    return judgement.detail.get("run")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_REASON else f"{text[: MOST_REASON - 1]}…"


METRICS = ("defect_rate", "unknown_rate", "contaminated_rate")
HEADLINE = METRICS[0]


def metrics(rulings: Iterable[Ruling]) -> dict[str, Metric]:
    """Defects over scored samples; unknown and contaminated ones over all that were not left out.

    Several runs on one issue are one case for the intervals.
    """
    words: dict[str, list[Word]] = {}
    for each in rulings:
        if each.word != "skipped":
            words.setdefault(each.sample.item.id, []).append(each.word)
    scored = [[word for word in own if word in (CORRECT, DEFECT)] for own in words.values()]
    return {
        "defect_rate": _rate(scored, "defect"),
        "unknown_rate": _rate(words.values(), "unknown"),
        "contaminated_rate": _rate(words.values(), "contaminated"),
    }


def _rate(cases: Iterable[Sequence[Word]], word: Word) -> Metric:
    found = proportion((own.count(word), len(own)) for own in cases)
    value = None if found.value is None else float(found.value)
    return Metric(value=value, n=found.n, ci_low=found.low, ci_high=found.high, higher_is_better=False)


def by_groups(rulings: Sequence[Ruling]) -> dict[str, dict[str, dict[str, Metric]]]:
    """The same metrics by group and cell."""
    cells: dict[str, dict[str, list[Ruling]]] = {}
    for each in rulings:
        for group, cell in each.sample.groups.items():
            cells.setdefault(group, {}).setdefault(cell, []).append(each)
    return {
        group: {cell: metrics(own) for cell, own in sorted(by_cell.items())}
        for group, by_cell in sorted(cells.items())
    }


def blocks(rulings: Sequence[Ruling]) -> dict[str, list[dict[str, Any]]]:
    """The receipt's `items`: one row a sample."""
    return {"items": [_row(each) for each in rulings]}


def _row(ruling: Ruling) -> dict[str, Any]:
    outcome, told = ruling.sample.outcome, ruling.sample.told
    payload = ruling.sample.item.payload
    produced = (
        {}
        if outcome is None
        else {
            "status": outcome.status,
            "isolation": told.isolation,
            "duration_s": round(outcome.duration_s, 3),
            "cost_usd": outcome.spend.cost_usd,
        }
    )
    return {
        "id": ruling.sample.item.id,
        **{name: payload.get(name) for name in ("issue", "pr", "size", "model")},
        "run": ruling.sample.run,
        "verdict": ruling.word,
        "class": ruling.kind,
        "reason": ruling.reason,
        "votes": [dict(vote) for vote in ruling.votes],
        "flags": told.flags,
        **produced,
    }
