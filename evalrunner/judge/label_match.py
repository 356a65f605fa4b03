"""Compares KEEP/REJECT verdicts with the labels that adjudication gave the findings. No LLM has a part in it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalrunner.component import Component
from evalrunner.model.seat import Bench, PlannedCall
from evalrunner.records import Figures, Item, Judgement, Metric, Outcome
from evalrunner.stats.agreement import balanced_accuracy, cohen_kappa
from evalrunner.stats.intervals import Estimate, proportion

NAME = "label_match"
METRICS = ("real_keep_rate", "fp_rejection_rate", "balanced_accuracy", "kappa", "failed_call_rate")
HEADLINE = "balanced_accuracy"

MEANS = {"KEEP": "real", "REJECT": "spurious"}
"""The label that a verdict amounts to."""

FAIL_OPEN = "KEEP"
"""What becomes of every finding of a call that failed."""


@dataclass(frozen=True)
class Ruling:
    """What became of one finding in one call.

    Attributes:
        label: `real` or `spurious`, as adjudicated.
        verdict: what the judge under test said; FAIL_OPEN where its call failed.
        reason: what it gave as reason; None where its call failed.
    """

    finding: str
    label: str
    verdict: str
    reason: str | None

    @property
    def right(self) -> bool:
        """Whether verdict and label agree."""
        return MEANS[self.verdict] == self.label


@dataclass(frozen=True)
class Call:
    """One call of the judge under test: one run on one batch.

    Attributes:
        why: why it did not answer: its status, or `incomplete` where its answer does not cover the batch.
        rulings: in the batch's order; empty where the call was not made.
    """

    item: Item
    run: int
    state: Literal["answered", "failed", "skipped"]
    why: str | None
    rulings: tuple[Ruling, ...]


class LabelMatch(Component):
    """Whether the verdicts keep the real findings and reject the spurious ones.

    A call without a complete and valid answer has failed. The judge under test then fails open, as a gate in
    front of people should: everything counts as kept, and `failed_call_rate` shows how often. The group
    `calls` has the same figures over the calls that were answered. Calls that the budget left out count
    nowhere.
    """

    async def cycle(
        self, items: Sequence[Item], outcomes: Sequence[Outcome], n: int, bench: Bench
    ) -> list[Judgement]:
        """One judgement a call: scored when it was answered; its evidence are the verdicts that are wrong."""
        made = calls(items, outcomes)
        failed = sum(each.state == "failed" for each in made)
        if failed:
            bench.note(
                f"{failed} of {sum(each.state != 'skipped' for each in made)} calls failed; all their findings "
                f"count as kept (fail open), and groups.calls.answered leaves them out"
            )
        by_call = {(outcome.item_id, outcome.run): outcome for outcome in outcomes}
        return [_judgement(each, by_call[each.item.id, each.run], n) for each in made]

    def figures(
        self,
        items: Sequence[Item],
        outcomes: Sequence[Outcome],
        judgements: Sequence[Judgement],
        bench: Bench,
        *,
        pooled: bool,
    ) -> Figures:
        """The figures over all calls, by the items' groups, and over the answered calls alone.

        They follow from the outcomes, so that every cycle gives the same. An item without any outcome counts as
        unscored. The denominator counts calls.
        """
        made = calls(items, outcomes)
        answered = [each for each in made if each.state == "answered"]
        failed = [each for each in made if each.state == "failed"]
        asked = [*answered, *failed]
        unscored: dict[str, int] = defaultdict(int)
        for each in failed:
            unscored[each.why or "failed"] += 1
        silent = len(items) - len({each.item.id for each in made})
        if silent:
            unscored["not_produced"] = silent
        return Figures(
            metrics=_metrics(asked),
            groups={**_by_groups(asked), "calls": {"answered": _rates(answered)}},
            planned=len(made) + silent,
            scored=len(answered),
            unscored=dict(unscored),
            skipped=len(made) - len(asked),
            headline=HEADLINE,
            report={"items": [_listed(item, made, outcomes) for item in items]},
        )

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """None: code compares."""
        return []

    def metrics(self) -> Sequence[str]:
        """The five figures."""
        return METRICS

    def described(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": NAME}

    def prompts(self) -> Sequence[str]:
        """None."""
        return ()

    def asked(self) -> Mapping[str, Any]:
        """Nothing."""
        return {}


def calls(items: Sequence[Item], outcomes: Sequence[Outcome]) -> list[Call]:
    """The calls on these items, in the items' order, then by run."""
    by_item: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_item[outcome.item_id].append(outcome)
    return [
        _call(item, outcome)
        for item in items
        for outcome in sorted(by_item[item.id], key=lambda each: each.run)
    ]


def _call(item: Item, outcome: Outcome) -> Call:
    if outcome.status == "skipped":
        return Call(item, outcome.run, "skipped", "skipped", ())
    labels: Mapping[str, str] = item.truth["labels"]
    said = _complete(outcome, labels) if outcome.status == "ok" else None
    if said is None:
        why = "incomplete" if outcome.status == "ok" else outcome.status
        kept = tuple(Ruling(name, label, FAIL_OPEN, None) for name, label in labels.items())
        return Call(item, outcome.run, "failed", why, kept)
    rulings = tuple(Ruling(name, label, *said[name]) for name, label in labels.items())
    return Call(item, outcome.run, "answered", None, rulings)


def _complete(outcome: Outcome, labels: Mapping[str, str]) -> dict[str, tuple[str, str]] | None:
    """Verdict and reason of every finding; None unless the outcome holds exactly one for each."""
    given = outcome.payload.get("verdicts")
    if not isinstance(given, list):
        return None
    said: dict[str, tuple[str, str]] = {}
    for each in given:
        if not isinstance(each, Mapping) or each.get("id") not in labels or each["id"] in said:
            return None
        if each.get("verdict") not in MEANS or not isinstance(each.get("reason"), str):
            return None
        said[each["id"]] = (each["verdict"], each["reason"])
    return said if len(said) == len(labels) else None


def _judgement(call: Call, outcome: Outcome, cycle: int) -> Judgement:
    seat = outcome.payload.get("seat")
    answered_by = outcome.payload.get("answered_by")
    told = outcome.error or ("the answer does not cover the batch" if call.why == "incomplete" else call.why)
    titles = {finding["id"]: finding["title"] for finding in call.item.payload["findings"]}
    return Judgement(
        item_ids=(call.item.id,),
        seat=seat if isinstance(seat, str) else NAME,
        cycle=cycle,
        status="scored" if call.state == "answered" else call.state,
        evidence=tuple(
            f"{call.item.id}: {each.finding} is {each.label} and got {each.verdict}: {titles[each.finding]}"
            for each in call.rulings
            if call.state == "answered" and not each.right
        ),
        detail={"run": call.run},
        error=None if call.state == "answered" else f"{call.item.id}, run {call.run}: {told}",
        answered_by=answered_by if isinstance(answered_by, str) else None,
        spend=outcome.spend,
    )


def _metrics(asked: Sequence[Call]) -> dict[str, Metric]:
    failed = proportion((sum(call.state == "failed" for call in each), len(each)) for each in _by_item(asked))
    return {**_rates(asked), "failed_call_rate": _metric(failed, higher_is_better=False)}


def _rates(made: Sequence[Call]) -> dict[str, Metric]:
    """The rates over the rulings of some calls. Every interval treats the batch as what was sampled."""
    batches = [[ruling for call in each for ruling in call.rulings] for each in _by_item(made)]
    real = _right(batches, "real")
    spurious = _right(batches, "spurious")
    kappa = cohen_kappa([(each.label, MEANS[each.verdict]) for each in batch] for batch in batches)
    return {
        "real_keep_rate": _metric(real),
        "fp_rejection_rate": _metric(spurious),
        "balanced_accuracy": _metric(balanced_accuracy(real, spurious)),
        "kappa": _metric(kappa),
    }


def _by_item(made: Iterable[Call]) -> list[list[Call]]:
    batches: dict[str, list[Call]] = defaultdict(list)
    for call in made:
        batches[call.item.id].append(call)
    return list(batches.values())


def _right(batches: Iterable[Sequence[Ruling]], label: str) -> Estimate:
    """The share of right verdicts among the findings with a label."""
    own = [[ruling.right for ruling in batch if ruling.label == label] for batch in batches]
    return proportion((sum(each), len(each)) for each in own)


def _metric(estimate: Estimate, *, higher_is_better: bool = True) -> Metric:
    return Metric(
        value=None if estimate.value is None else float(estimate.value),
        n=estimate.n,
        ci_low=estimate.low,
        ci_high=estimate.high,
        higher_is_better=higher_is_better,
    )


def _by_groups(asked: Sequence[Call]) -> dict[str, dict[str, dict[str, Metric]]]:
    cells: dict[str, dict[str, list[Call]]] = {}
    for call in asked:
        for group, cell in call.item.groups.items():
            cells.setdefault(group, {}).setdefault(cell, []).append(call)
    return {
        group: {cell: _metrics(own) for cell, own in sorted(by_cell.items())}
        for group, by_cell in sorted(cells.items())
    }


def _listed(item: Item, made: Sequence[Call], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """One batch for the receipt: its calls, and each finding with its label and every verdict on it."""
    own = [call for call in made if call.item.id == item.id]
    errors = {outcome.run: outcome.error for outcome in outcomes if outcome.item_id == item.id}
    labels: Mapping[str, str] = item.truth["labels"]
    verdicts: dict[str, list[dict[str, Any]]] = {name: [] for name in labels}
    for call in own:
        for each in call.rulings:
            verdicts[each.finding].append(
                {
                    "run": call.run,
                    "verdict": each.verdict,
                    "reason": each.reason,
                    "right": each.right,
                    "fail_open": call.state == "failed",
                }
            )
    return {
        "id": item.id,
        "groups": dict(item.groups),
        "calls": [
            {"run": call.run, "state": call.state, "why": call.why, "error": errors.get(call.run)} for call in own
        ],
        "findings": [
            {name: finding.get(name) for name in ("id", "file", "line", "title")}
            | {"label": labels[finding["id"]], "verdicts": verdicts[finding["id"]]}
            for finding in item.payload["findings"]
        ],
    }
