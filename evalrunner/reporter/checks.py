"""What a report was held against, check by check: the verdict, and each figure with the bar that it had."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from evalrunner.receipt.compare import Change, Comparison
from evalrunner.receipt.jsontext import number
from evalrunner.receipt.schema import MetricFigure, Receipt, parse
from evalrunner.receipt.scores import exact_scores, mean, minimum
from evalrunner.reporter.base import Report
from evalrunner.reporter.text import plain
from evalrunner.stats.rounding import shown

Kind = Literal["verdict", "dimension", "overall", "metric"]
State = Literal["pass", "fail", "error", "none"]

OF_VERDICT: Mapping[str | None, State] = {"pass": "pass", "fail": "fail", "inconclusive": "error"}
OF_OUTCOME: Mapping[str, State] = {"ok": "pass", "regression": "fail", "inconclusive": "error"}


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: of the dimension or metric; `verdict`, or `comparison` where a baseline was compared with.
        state: `error` where it could not be told, `none` where nothing is asked of it.
        message: one line with the figures, free of control characters.
    """

    name: str
    kind: Kind
    state: State
    message: str


def checks(report: Report) -> list[Check]:
    """Everything that was checked, the verdict first.

    Where a baseline was compared with, its figures are what counts: the states then agree with the exit code
    of `regress`. Else they agree with the receipt's verdict.

    Raises:
        InputError: the receipt is none.
    """
    receipt = parse(report.receipt)
    if report.against is not None:
        return [_outcome(report.against.comparison), *_changes(report.against.comparison)]
    return [_verdict(receipt), *_dimensions(receipt), *_metrics(receipt)]


def failing(report: Report) -> list[Check]:
    """The figures that failed or could not be told; the verdict where it is not good and no figure is to
    blame.
    """
    verdict, *figures = checks(report)
    bad = [each for each in figures if each.state in {"fail", "error"}]
    return bad or [each for each in [verdict] if each.state in {"fail", "error"}]


def _verdict(receipt: Receipt) -> Check:
    nothing = receipt.denominator is not None and not receipt.denominator.scored
    state = OF_VERDICT.get(receipt.verdict, "error" if nothing else "none")
    return Check("verdict", "verdict", state, plain(receipt.verdictMessage))


def _dimensions(receipt: Receipt) -> Iterator[Check]:
    rule = receipt.threshold
    mean_min, min_min = (None, None) if rule is None else (rule.mean_min, rule.min_min)
    for name in receipt.scores:
        average, lowest = mean(receipt, name), minimum(receipt, name)
        low = _below(average, mean_min) or _below(lowest, min_min)
        told = f"mean {shown(average, mean_min)}{_needs(mean_min)}"
        told += f", minimum {shown(lowest, min_min)}{_needs(min_min)}"
        state: State = "fail" if low else "none" if mean_min is None and min_min is None else "pass"
        yield Check(plain(name), "dimension", state, f"{told}; seats: {_seats(receipt, name)}")


def _below(value: Fraction, bar: Decimal | None) -> bool:
    return bar is not None and value < Fraction(bar)


def _needs(bar: Decimal | None) -> str:
    return "" if bar is None else f" (at least {number(bar)})"


def _seats(receipt: Receipt, name: str) -> str:
    scores = exact_scores(receipt, name)
    models = list(receipt.scores[name].per_model)
    if len(models) != len(scores):
        return ", ".join(shown(each) for each in scores)
    return ", ".join(f"{plain(model)} {shown(each)}" for model, each in zip(models, scores, strict=True))


def _metrics(receipt: Receipt) -> Iterator[Check]:
    for name, metric in (receipt.metrics or {}).items():
        low, high = bars(receipt, name)
        asked = [f"at least {number(low)}"] if low is not None else []
        asked += [f"at most {number(high)}"] if high is not None else []
        needs = f"; {' and '.join(asked)}" if asked else ""
        value = metric.value
        if value is None or (asked and not metric.n):
            state: State = "error" if asked else "none"
            yield Check(plain(name), "metric", state, f"undefined, there was nothing to count{needs}")
            continue
        missed = (low is not None and value < low) or (high is not None and value > high)
        state = "fail" if missed else "pass" if asked else "none"
        yield Check(
            plain(name), "metric", state, f"{metric_value(metric, low, high)}{interval(metric)}{needs}"
        )


def bars(receipt: Receipt, metric: str) -> tuple[Decimal | None, Decimal | None]:
    """What a metric must reach, and what it must not exceed."""
    rule = receipt.threshold
    if rule is None:
        return None, None
    return (rule.at_least or {}).get(metric), (rule.at_most or {}).get(metric)


def metric_value(metric: MetricFigure, low: Decimal | None = None, high: Decimal | None = None) -> str:
    """A metric's value, on its own side of its bar."""
    if metric.value is None:
        return "undefined"
    if low is None and high is not None:
        return shown(metric.value, high, places=3, higher_is_better=False)
    return shown(metric.value, low, places=3)


def interval(metric: MetricFigure) -> str:
    """How many trials a metric stands on, and its interval where it has one."""
    if metric.ci_low is None or metric.ci_high is None:
        return f" (n = {metric.n})"
    low, high = shown(metric.ci_low, places=3), shown(metric.ci_high, places=3)
    return f" (n = {metric.n}, 95 % interval {low} to {high})"


def _outcome(comparison: Comparison) -> Check:
    reasons = "; ".join(plain(each) for each in comparison.reasons)
    held = f"no figure got worse by more than {number(comparison.threshold)}"
    return Check("comparison", "verdict", OF_OUTCOME[comparison.outcome], reasons or held)


def _changes(comparison: Comparison) -> Iterator[Check]:
    for change in comparison.changes:
        if change.baseline is None and change.now is None:
            continue
        state: State = "fail" if change.regressed else "pass"
        before, now = side(change, change.baseline), side(change, change.now)
        message = f"baseline {before}, now {now}"
        if change.delta is not None:
            tolerated = number(comparison.threshold)
            message += f", delta {delta(change, comparison)}; a drop of more than {tolerated} regresses"
        elif change.now is None:
            state = "error"
            message = f"missing now; the baseline has {before}"
        else:
            state = "none"
            message = f"new; now {now}"
        yield Check(plain(change.name), change.kind, state, message)


def side(change: Change, value: Fraction | None) -> str:
    """A figure of one side, for people."""
    return "-" if value is None else shown(value, places=3 if change.kind == "metric" else 2)


def delta(change: Change, comparison: Comparison) -> str:
    """A change with its sign, on its own side of what is tolerated; `-` where a side is missing."""
    if change.delta is None:
        return "-"
    tolerated = Fraction(comparison.threshold)
    bar = -tolerated if change.higher_is_better else tolerated
    places = 3 if change.kind == "metric" else 2
    text = shown(change.delta, bar, places=places, higher_is_better=change.higher_is_better)
    return f"+{text}" if change.delta > 0 else text


def of_eval(receipt: Mapping[str, Any]) -> str:
    """The eval that a receipt is of, for people."""
    return plain(str(receipt.get("eval") or "takes_quality"))
