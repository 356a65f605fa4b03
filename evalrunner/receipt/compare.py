"""Two receipts side by side: what fell, what cannot be compared, and what that means for a gate.

The rules:

- A figure regressed when it got worse by more than the threshold; a drop of exactly the threshold did not.
  All arithmetic is exact, on the decimals as written.
- Either side inconclusive: the comparison is inconclusive, whatever its figures say. So is one over nothing,
  one of two different evals, and one in which a figure of the baseline is missing now: a figure that
  disappears must not look like one that held. A proven regression outranks a missing figure.
- A figure that only the new side has is named, and changes nothing.
- The overall score is compared only where both sides have the same dimensions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from evalrunner.errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_OK
from evalrunner.receipt.doubts import doubts
from evalrunner.receipt.jsontext import number
from evalrunner.receipt.schema import Receipt
from evalrunner.receipt.scores import mean, overall
from evalrunner.receipt.values import as_decimal

Outcome = Literal["ok", "regression", "inconclusive"]
EXIT_CODES: dict[Outcome, int] = {"ok": EXIT_OK, "regression": EXIT_FAIL, "inconclusive": EXIT_INCONCLUSIVE}
OVERALL = "overall"


@dataclass(frozen=True)
class Change:
    """One figure on both sides.

    Attributes:
        kind: a dimension's mean, the overall score, or a metric.
        baseline, now: exact; None where that side does not have it.
        higher_is_better: the direction, which the baseline sets.
        regressed: it got worse by more than the threshold.
    """

    name: str
    kind: Literal["dimension", "overall", "metric"]
    baseline: Fraction | None
    now: Fraction | None
    higher_is_better: bool = True
    regressed: bool = False

    @property
    def delta(self) -> Fraction | None:
        """now - baseline; None where a side is missing."""
        return None if self.baseline is None or self.now is None else self.now - self.baseline

    def worse_by(self) -> Fraction | None:
        """How much worse it is now: positive when worse, whatever the direction."""
        if self.delta is None:
            return None
        return -self.delta if self.higher_is_better else self.delta


@dataclass(frozen=True)
class Comparison:
    """What became of a baseline.

    Attributes:
        outcome: what a gate acts on.
        threshold: the drop that is still tolerated.
        changes: the baseline's figures in its order, then those that are new.
        regressed, missing, new: names of figures.
        reasons: why the outcome is not ok, one line each.
        warnings: what differs besides the figures, and what is doubtful about them.
    """

    outcome: Outcome
    threshold: Decimal
    changes: tuple[Change, ...]
    regressed: tuple[str, ...]
    missing: tuple[str, ...]
    new: tuple[str, ...]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 without a regression, 1 with one, 2 when it cannot be told."""
        return EXIT_CODES[self.outcome]


def compare(baseline: Receipt, now: Receipt, threshold: Decimal) -> Comparison:
    """Compares every dimension, the overall score and every metric; see the rules above.

    Args:
        baseline, now: the receipts.
        threshold: the tolerated drop, not negative, in the unit of the figures.

    Raises:
        ValueError: the threshold is negative or not finite.
    """
    if not threshold.is_finite() or threshold < 0:
        raise ValueError("the threshold must be a finite number, not below 0")
    changes = tuple(_judged(change, Fraction(threshold)) for change in _changes(baseline, now))
    regressed = tuple(change.name for change in changes if change.regressed)
    missing = tuple(change.name for change in changes if change.baseline is not None and change.now is None)
    new = tuple(change.name for change in changes if change.baseline is None and change.now is not None)
    undecidable = list(_undecidable(baseline, now, changes))
    reasons = undecidable + [
        f"{change.name} got worse by {_show(worse, threshold)}, more than {threshold}"
        for change in changes
        if change.regressed and (worse := change.worse_by()) is not None
    ]
    reasons += [f"{name} is missing now; the baseline has it" for name in missing]
    outcome: Outcome = "ok"
    if undecidable or (missing and not regressed):
        outcome = "inconclusive"
    elif regressed:
        outcome = "regression"
    return Comparison(
        outcome,
        threshold,
        changes,
        regressed,
        missing,
        new,
        tuple(reasons),
        (*_differences(baseline, now), *_doubts(baseline, "the baseline"), *_doubts(now, "the new receipt")),
    )


def _judged(change: Change, threshold: Fraction) -> Change:
    worse = change.worse_by()
    if worse is None or worse <= threshold:
        return change
    return Change(
        change.name, change.kind, change.baseline, change.now, change.higher_is_better, regressed=True
    )


def _changes(baseline: Receipt, now: Receipt) -> Iterator[Change]:
    for name in _union(baseline.scores, now.scores):
        yield Change(
            name,
            "dimension",
            mean(baseline, name) if name in baseline.scores else None,
            mean(now, name) if name in now.scores else None,
        )
    if baseline.scores and set(baseline.scores) == set(now.scores):
        yield Change(OVERALL, "overall", overall(baseline), overall(now))
    before, after = baseline.metrics or {}, now.metrics or {}
    for name in _union(before, after):
        old, new = before.get(name), after.get(name)
        yield Change(
            name,
            "metric",
            None if old is None or old.value is None else Fraction(old.value),
            None if new is None or new.value is None else Fraction(new.value),
            (old or after[name]).higher_is_better,
        )


def _union(first: Iterable[str], second: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _undecidable(baseline: Receipt, now: Receipt, changes: tuple[Change, ...]) -> Iterator[str]:
    for receipt, side in ((baseline, "the baseline"), (now, "the new receipt")):
        if receipt.verdict == "inconclusive":
            yield f"{side} is inconclusive: {receipt.verdictMessage}"
    if baseline.eval and now.eval and baseline.eval != now.eval:
        yield f"the baseline is of {baseline.eval}, the new receipt of {now.eval}"
    if not any(change.delta is not None for change in changes):
        yield "no figure stands on both sides: nothing was compared"


def _differences(baseline: Receipt, now: Receipt) -> Iterator[str]:
    for what, before, after in (
        ("the corpus", baseline.corpus.corpus_sha8, now.corpus.corpus_sha8),
        ("the prompt", baseline.prompt_sha8, now.prompt_sha8),
        ("the panel", baseline.models_sha8, now.models_sha8),
        ("the rubric or its threshold", baseline.rubric_sha8, now.rubric_sha8),
        ("the subject", baseline.subject_sha8, now.subject_sha8),
        ("the rubric's version", baseline.rubric_version, now.rubric_version),
    ):
        if before and after and before != after:
            yield f"{what} differs: {before} in the baseline, {after} now"
    for name in _union(baseline.metrics or {}, now.metrics or {}):
        old, new = (baseline.metrics or {}).get(name), (now.metrics or {}).get(name)
        if old and new and old.higher_is_better != new.higher_is_better:
            yield f"{name} has another direction now; the baseline's counts"
    if set(baseline.scores) != set(now.scores):
        yield "the dimensions differ; the overall score is not compared"


def _doubts(receipt: Receipt, side: str) -> Iterator[str]:
    return (f"{side}: {line}" for line in doubts(receipt))


def _show(value: Fraction, threshold: Decimal) -> str:
    """A few digits of a drop, or as many as it takes to show that it is beyond the threshold."""
    for text in (f"{float(value):.4g}", number(as_decimal(value))):
        if Decimal(text) > threshold:
            return text
    return f"a hair over {threshold}"
