"""What a receipt says that does not fit together. It is read all the same; whoever reads it should know."""

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from evalrunner.receipt.schema import Receipt
from evalrunner.receipt.scores import TOLERANCE, exact_scores, mean_follows, overall_follows

_VERDICT = re.compile(r"\W*(pass|fail|inconclusive)(?:ed)?\b", re.IGNORECASE)


def doubts(receipt: Receipt) -> list[str]:
    """One line for each thing in a receipt that contradicts another; none for a receipt of our own."""
    return [*_scores(receipt), *_verdict(receipt), *_counts(receipt)]


def _scores(receipt: Receipt) -> Iterator[str]:
    for name, figures in receipt.scores.items():
        if not mean_follows(receipt, name):
            yield f"scores.{name}.mean {figures.mean} does not follow from its scores; it is taken as written"
        scores = exact_scores(receipt, name)
        if scores and not (_same(min(scores), figures.min) and _same(max(scores), figures.max)):
            yield f"scores.{name}: min and max are not those of its scores"
        if sorted(figures.per_model.values()) != sorted(figures.scores):
            yield f"scores.{name}.per_model holds other scores than scores.{name}.scores"
        unknown = sorted(set(figures.per_model) - set(receipt.models))
        if unknown:
            yield f"scores.{name}.per_model names models that are not in models: {', '.join(unknown)}"
    if not overall_follows(receipt):
        written = "null" if receipt.overall_score is None else receipt.overall_score
        yield f"overall_score {written} is not the mean of the dimensions' means; it is taken as written"


def _same(exact: Fraction, written: Decimal) -> bool:
    return abs(exact - Fraction(written)) <= TOLERANCE


def _verdict(receipt: Receipt) -> Iterator[str]:
    if receipt.verdict == "inconclusive" and receipt.scores:
        yield "verdict is inconclusive although there are scores"
    if receipt.verdict in {"pass", "fail"} and not receipt.scores and not receipt.metrics:
        yield f"verdict is {receipt.verdict} although there are neither scores nor metrics"
    said = _VERDICT.match(receipt.verdictMessage)
    if said is not None and said[1].lower() != receipt.verdict:
        yield f"verdict is {receipt.verdict or 'null'}, but verdictMessage begins with {said[0].strip()!r}"
    if receipt.verdict is None and receipt.eval in {None, "takes_quality"}:
        yield "verdict is null, which takes_quality never has"


def _counts(receipt: Receipt) -> Iterator[str]:
    entries = len(receipt.successes_per_cycle)
    if entries != receipt.cycles_run:
        yield f"successes_per_cycle has {entries} entries, cycles_run is {receipt.cycles_run}"
    whole = receipt.denominator
    if whole and whole.planned != whole.scored + sum(whole.unscored.values()) + whole.skipped:
        yield "denominator.planned is not scored + unscored + skipped"
