"""One page, and takes from it, for the tests of the rules."""

from evalrunner.model.rules.examine import RULES, examine
from evalrunner.model.rules.take import Take, read_take

PAGE = (
    "Fernhill Pumps builds water pumps for farms. The company opened a second plant in May 2023. "
    "Analysts at Rook Research say that sales fell from 900 to 700 pumps in 2023. "
    "The founder thinks electric pumps are better than diesel ones. "
    "She expects 1,200 pumps a year by 2027. "
    "The head of service suspects that the seals wear out in sandy wells. "
    "The memo has a red cover."
)


def make(claim: str, **changes: object) -> Take:
    """A sound fact of the page's company, with changes."""
    row = {
        "page_slug": "companies/fernhill-pumps",
        "kind": "fact",
        "holder": "companies/fernhill-pumps",
        "weight": 0.8,
        "since_date": "2024-02-01",
        "source": "seed memo",
        "claim": claim,
        "page_text": PAGE,
        **changes,
    }
    take = read_take("t", row)
    assert take is not None
    return take


def against(dimension: str, claim: str, **changes: object) -> str:
    """The evidence on one dimension, joined; empty when there is none."""
    return "; ".join(each.what for each in examine(make(claim, **changes), RULES)[dimension])
