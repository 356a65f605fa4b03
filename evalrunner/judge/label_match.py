"""Compares KEEP/REJECT verdicts with the labels that adjudication gave the findings; no LLM takes part."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalrunner.component import Component
from evalrunner.errors import Problem, show
from evalrunner.judge.rulings import MEANS, Batch, Call, Ruling, batches
from evalrunner.model.seat import Bench, PlannedCall, Seat
from evalrunner.records import Figures, Item, Judgement, Metric, Outcome
from evalrunner.rubric import Rubric
from evalrunner.stats.agreement import balanced_accuracy, cohen_kappa
from evalrunner.stats.intervals import Estimate, proportion

NAME = "label_match"
METRICS = ("real_keep_rate", "fp_rejection_rate", "balanced_accuracy", "kappa", "failed_call_rate")
HEADLINE = "balanced_accuracy"

Cells = dict[str, dict[str, Metric]]


class LabelMatch(Component):
    """Whether the verdicts keep the real findings and reject the spurious ones.

    A call without a complete and valid answer has failed. The rubric's `rules.on_failed_call` says what
    becomes of its findings: KEEP fails open, as a gate in front of people should. The figures count them so,
    and `failed_call_rate` shows how often; the group `calls` has the figures over the answered calls alone.
    Calls that the budget left out count nowhere.
    """

    def check(self, rubric: Rubric) -> list[Problem]:
        """Whether the rubric matches verdicts and labels as this judge does, and rules on failed calls."""
        where = f"{rubric.path or 'rubric'}: rules"
        verdicts, failed = rubric.rules.get("verdicts"), rubric.rules.get("on_failed_call")
        problems = []
        if verdicts != MEANS:
            problems.append(Problem(f"{where}.verdicts", "cannot be matched so", show(verdicts), str(MEANS)))
        if failed not in MEANS:
            what = "must say what becomes of the findings of a failed call"
            problems.append(Problem(f"{where}.on_failed_call", what, show(failed), ", ".join(MEANS)))
        return problems

    def check_panel(self, seats: Sequence[Seat]) -> list[Problem]:
        """Nothing: code judges, whoever sits there."""
        return []

    async def cycle(
        self, items: Sequence[Item], outcomes: Sequence[Outcome], n: int, bench: Bench
    ) -> list[Judgement]:
        """One judgement a call: scored when it was answered; its evidence is what it got wrong.

        Raises:
            InputError: items without labels.
        """
        every = batches(items, outcomes, _on_failure(bench))
        made = [call for batch in every for call in batch.made("answered", "failed")]
        failed = sum(call.state == "failed" for call in made)
        if failed:
            kept = "kept (fail open)" if _on_failure(bench) == "KEEP" else "rejected (fail closed)"
            bench.note(
                f"{failed} of {len(made)} calls failed; their findings count as {kept}, and "
                f"groups.calls.answered in the receipt leaves them out"
            )
        return [_judgement(batch.item, call, n) for batch in every for call in batch.calls]

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

        They follow from the outcomes, so every cycle gives the same. The denominator counts calls; an item on
        which none was made counts as one that was not.
        """
        every = batches(items, outcomes, _on_failure(bench))
        ends = Counter(call.state for batch in every for call in batch.calls)
        unscored = Counter(str(call.why) for batch in every for call in batch.made("failed"))
        unscored["not_produced"] = sum(not batch.calls for batch in every)
        return Figures(
            metrics=_metrics(every),
            groups={**_by_groups(every), "calls": {"answered": _rates(every, "answered")}},
            planned=ends.total() + unscored["not_produced"],
            scored=ends["answered"],
            unscored=dict(+unscored),
            skipped=ends["skipped"],
            headline=HEADLINE,
            report={"items": [_listed(batch) for batch in every]},
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


def _on_failure(bench: Bench) -> str:
    return str(bench.rubric.rules["on_failed_call"])


def _judgement(item: Item, call: Call, cycle: int) -> Judgement:
    said = call.outcome.payload
    titles = {finding["id"]: finding.get("title") for finding in item.payload["findings"]}
    wrong = [each for each in call.rulings if call.state == "answered" and not each.right]
    return Judgement(
        item_ids=(item.id,),
        seat=seat if isinstance(seat := said.get("seat"), str) else NAME,
        cycle=cycle,
        status="scored" if call.state == "answered" else call.state,
        evidence=tuple(
            f"{item.id}: {each.finding} is {each.label} and got {each.verdict}: {titles[each.finding]}"
            for each in wrong
        ),
        detail={"run": call.outcome.run},
        error=None if call.error is None else f"{item.id}, run {call.outcome.run}: {call.error}",
        answered_by=name if isinstance(name := said.get("answered_by"), str) else None,
    )


def _metrics(every: Sequence[Batch]) -> dict[str, Metric]:
    failed = proportion((len(batch.made("failed")), len(batch.made("answered", "failed"))) for batch in every)
    rates = _rates(every, "answered", "failed")
    return {**rates, "failed_call_rate": _metric(failed, higher_is_better=False)}


def _rates(every: Sequence[Batch], *states: str) -> dict[str, Metric]:
    """The rates over the calls that came to such an end; every interval treats batches as its sample."""
    ruled = [[ruling for call in batch.made(*states) for ruling in call.rulings] for batch in every]
    real, spurious = _right(ruled, "real"), _right(ruled, "spurious")
    kappa = cohen_kappa([(each.label, MEANS[each.verdict]) for each in batch] for batch in ruled)
    return {
        "real_keep_rate": _metric(real),
        "fp_rejection_rate": _metric(spurious),
        "balanced_accuracy": _metric(balanced_accuracy(real, spurious)),
        "kappa": _metric(kappa),
    }


def _right(ruled: Iterable[Sequence[Ruling]], label: str) -> Estimate:
    """The share of right verdicts among the findings with a label."""
    own = [[ruling.right for ruling in batch if ruling.label == label] for batch in ruled]
    return proportion((sum(each), len(each)) for each in own)


def _metric(estimate: Estimate, *, higher_is_better: bool = True) -> Metric:
    return Metric(
        value=None if estimate.value is None else float(estimate.value),
        n=estimate.n,
        ci_low=estimate.low,
        ci_high=estimate.high,
        higher_is_better=higher_is_better,
    )


def _by_groups(every: Sequence[Batch]) -> dict[str, Cells]:
    cells: dict[str, dict[str, list[Batch]]] = {}
    for batch in every:
        for group, cell in batch.item.groups.items():
            cells.setdefault(group, {}).setdefault(cell, []).append(batch)
    return {
        group: {cell: _metrics(own) for cell, own in sorted(by_cell.items())}
        for group, by_cell in sorted(cells.items())
    }


def _listed(batch: Batch) -> dict[str, Any]:
    """One batch for the receipt: its calls, and each finding with its label and every verdict on it."""
    findings = [
        {name: finding.get(name) for name in ("id", "file", "line", "title")}
        for finding in batch.item.payload["findings"]
    ]
    for place, finding in enumerate(findings):
        ruled = [(call, call.rulings[place]) for call in batch.made("answered", "failed")]
        finding["label"] = batch.item.truth["labels"][finding["id"]]
        finding["verdicts"] = [
            {
                "run": call.outcome.run,
                "verdict": each.verdict,
                "reason": each.reason,
                "right": each.right,
                "failed_call": call.state == "failed",
            }
            for call, each in ruled
        ]
    calls = [{"run": call.outcome.run, "state": call.state, "error": call.error} for call in batch.calls]
    return {"id": batch.item.id, "groups": dict(batch.item.groups), "calls": calls, "findings": findings}
