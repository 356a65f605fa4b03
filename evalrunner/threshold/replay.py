"""What our verdict rule says of a receipt that was written earlier, perhaps by another program."""

from pydantic import ValidationError

from evalrunner.receipt import scores
from evalrunner.receipt.schema import Receipt
from evalrunner.records import Decision
from evalrunner.threshold.panel import PanelThreshold


def rule_of(receipt: Receipt) -> PanelThreshold:
    """The panel rule that a receipt names in `threshold`; the default bars where it names none that holds."""
    rule = receipt.threshold
    bars = {} if rule is None else {name: getattr(rule, name) for name in PanelThreshold.model_fields}
    named = {name: bar for name, bar in bars.items() if bar is not None}
    try:
        return PanelThreshold.model_validate(named)
    except ValidationError:
        return PanelThreshold()


def recheck(receipt: Receipt) -> Decision | None:
    """The verdict that follows from a receipt's scores; None where it has none but metrics, or is
    inconclusive.

    A dimension's mean and minimum follow from its scores, or are taken as written where the mean does not.
    """
    if receipt.verdict is None or (
        not receipt.scores and (receipt.metrics or receipt.verdict == "inconclusive")
    ):
        return None
    contributed = max((len(each.scores) for each in receipt.scores.values()), default=0)
    return rule_of(receipt).decide_scores(
        {name: scores.mean(receipt, name) for name in receipt.scores},
        {name: scores.minimum(receipt, name) for name in receipt.scores},
        contributed=contributed or (receipt.successes_per_cycle or [0])[-1],
        seats=len(receipt.models),
    )


def second_opinion(receipt: Receipt) -> str | None:
    """One line where our rule gives another verdict than the receipt; None where both agree."""
    ours = recheck(receipt)
    if ours is None or ours.verdict == receipt.verdict:
        return None
    return f"the receipt's verdict is {receipt.verdict}; our rule says otherwise: {ours.message}"
