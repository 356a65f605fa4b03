"""What the rules read, and what they find."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

LONGEST_CLAIM = 2000
"""Characters of a claim that the rules read; a claim is a sentence or two."""

KINDS = ("fact", "take", "bet", "hunch")


@dataclass(frozen=True)
class Take:
    """One take as the rules read it. An empty text or None stands for what the row does not hold.

    Attributes:
        date: `since_date` as written.
    """

    id: str
    claim: str
    page_slug: str = ""
    kind: str = ""
    holder: str = ""
    weight: Decimal | None = None
    date: str = ""
    source: str = ""
    page_text: str = ""

    @property
    def year(self) -> int | None:
        """The year of the date; None when it has none."""
        year = self.date[:4]
        return int(year) if len(year) == 4 and year.isascii() and year.isdecimal() else None


@dataclass(frozen=True)
class Finding:
    """Named evidence against a take.

    Attributes:
        what: the value found and what would fit, as one clause.
        strength: how telling it is, 1 to 9; the strongest are shown first.
    """

    what: str
    strength: int


def read_take(item_id: str, payload: Mapping[str, Any]) -> Take | None:
    """The take of a payload, or None when it has no claim to judge."""
    claim = _text(payload.get("claim"))
    if not claim:
        return None
    return Take(
        id=item_id,
        claim=claim[:LONGEST_CLAIM],
        page_slug=_text(payload.get("page_slug")),
        kind=_text(payload.get("kind")).lower(),
        holder=_text(payload.get("holder")),
        weight=_number(payload.get("weight")),
        date=_text(payload.get("since_date")),
        source=_text(payload.get("source")),
        page_text=_text(payload.get("page_text")),
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _number(value: Any) -> Decimal | None:
    """The value as the decimal written; None when it is no finite number."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
