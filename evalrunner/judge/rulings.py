"""What became of each finding of a batch: the verdict of a KEEP/REJECT judge beside the adjudicated label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalrunner.errors import InputError, Problem, show
from evalrunner.records import Item, Outcome

MEANS = {"KEEP": "real", "REJECT": "spurious"}
"""The label that a verdict amounts to."""

INCOMPLETE = "incomplete"
"""Why a call failed whose answer does not cover its batch."""


@dataclass(frozen=True)
class Ruling:
    """What became of one finding in one call.

    Attributes:
        label: `real` or `spurious`, as adjudicated.
        verdict: what the judge under test said; what failing makes of it where its call failed.
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
        why: why it did not answer: the outcome's status, or INCOMPLETE; None when it did.
        rulings: in the batch's order; empty where the call was not made.
    """

    outcome: Outcome
    state: Literal["answered", "failed", "skipped"]
    why: str | None
    rulings: tuple[Ruling, ...]

    @property
    def error(self) -> str | None:
        """Why it did not answer, in words; None when it did."""
        if self.state == "answered":
            return None
        told = "the answer does not cover the batch" if self.why == INCOMPLETE else str(self.why)
        return self.outcome.error or told


@dataclass(frozen=True)
class Batch:
    """A batch with all calls on it, by run."""

    item: Item
    calls: tuple[Call, ...]

    def made(self, *states: str) -> list[Call]:
        """The calls that came to such an end."""
        return [call for call in self.calls if call.state in states]


def batches(items: Sequence[Item], outcomes: Sequence[Outcome], on_failure: str) -> list[Batch]:
    """The batches in the items' order.

    Args:
        on_failure: the verdict on every finding of a call that failed.

    Raises:
        InputError: items without labels for their findings; all of them.
    """
    problems = [problem for item in items for problem in _unlabelled(item)]
    if problems:
        raise InputError(problems)
    by_item: dict[str, list[Outcome]] = {item.id: [] for item in items}
    for outcome in sorted(outcomes, key=lambda each: each.run):
        by_item[outcome.item_id].append(outcome)
    return [Batch(item, tuple(_call(item, each, on_failure) for each in by_item[item.id])) for item in items]


def _unlabelled(item: Item) -> list[Problem]:
    labels = item.truth.get("labels")
    where = f"{item.id}: truth.labels"
    if not isinstance(labels, Mapping):
        return [Problem(where, "is no mapping from finding to label", show(labels))]
    ids = [finding["id"] for finding in item.payload["findings"]]
    problems = [
        Problem(where, "has no label for a finding", show(each)) for each in ids if each not in labels
    ]
    known = ", ".join(MEANS.values())
    return problems + [
        Problem(f"{where}.{name}", "is no label", show(label), known)
        for name, label in labels.items()
        if label not in MEANS.values()
    ]


def _call(item: Item, outcome: Outcome, on_failure: str) -> Call:
    if outcome.status == "skipped":
        return Call(outcome, "skipped", "skipped", ())
    labels = [
        (str(finding["id"]), item.truth["labels"][finding["id"]]) for finding in item.payload["findings"]
    ]
    said = _complete(outcome, dict(labels)) if outcome.status == "ok" else None
    if said is None:
        why = INCOMPLETE if outcome.status == "ok" else outcome.status
        return Call(outcome, "failed", why, tuple(Ruling(*each, on_failure, None) for each in labels))
    return Call(outcome, "answered", None, tuple(Ruling(name, label, *said[name]) for name, label in labels))


def _complete(outcome: Outcome, labels: Mapping[str, str]) -> dict[str, tuple[str, str]] | None:
    """Verdict and reason of every finding; None unless the outcome holds exactly one for each."""
    given: Any = outcome.payload.get("verdicts")
    if not isinstance(given, list):
        return None
    said: dict[str, tuple[str, str]] = {}
    for each in given:
        if not isinstance(each, Mapping) or not isinstance(name := each.get("id"), str):
            return None
        verdict, reason = each.get("verdict"), each.get("reason")
        if name not in labels or name in said or not isinstance(reason, str):
            return None
        if not isinstance(verdict, str) or verdict not in MEANS:
            return None
        said[name] = (verdict, reason)
    return said if len(said) == len(labels) else None
