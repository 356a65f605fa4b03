"""Which seats will abstain whatever they are shown, so that it can be said before anything runs."""

from evalrunner.errors import nearest
from evalrunner.model.seat import Seat
from evalrunner.rubric import Rubric


def abstains(seat: Seat, rubric: Rubric) -> str | None:
    """Why the seat can score nothing on this rubric; None where it can, or where only a call would tell."""
    if seat.kind != "heuristic":
        return None
    from evalrunner.model.rules import RulesModel
    from evalrunner.model.rules.examine import RULES

    unknown = [name for name in rubric.names if name not in RULES]
    if not isinstance(seat, RulesModel) or not unknown:
        return None
    close = [f"{name} (did you mean {near}?)" if (near := nearest(name, RULES)) else name for name in unknown]
    return (
        f"no rule speaks to {', '.join(close)} of rubric {rubric.version}; rules exist for {', '.join(RULES)}"
    )
