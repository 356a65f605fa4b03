"""Takes: rows of (page, kind, holder, weight, claim), read strictly and shown to judges as labelled lines."""

import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from evalrunner.errors import Problem, nearest
from evalrunner.receipt.fingerprint import canonical_json, content_sha
from evalrunner.receipt.said import shown
from evalrunner.records import Item
from evalrunner.source.rows import RowKind, RowRefused, is_blank
from evalrunner.source.takes_sql import ID_DIGITS, TAKE_FIELDS, sieve

Kind = Literal["fact", "take", "bet", "hunch"]
KINDS: tuple[str, ...] = get_args(Kind)

ALLOWED = {
    "id": "a text on one line, or nothing: an id is then derived from the content",
    "page_slug": "a text on one line",
    "kind": ", ".join(KINDS),
    "holder": "a text that is not blank",
    "weight": "a number from 0 to 1, such as 0.85",
    "since_date": "YYYY, YYYY-MM or YYYY-MM-DD, or nothing",
    "source": "a text or nothing",
    "claim": "a text that is not blank",
    "page_text": "a text or nothing",
}
"""What each field may hold, in the order in which problems are told."""

REQUIRED = frozenset({"page_slug", "kind", "holder", "weight", "claim"})

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")


def _wrong(message: str) -> PydanticCustomError:
    return PydanticCustomError("take", "{message}", {"message": message})


def _text(value: Any) -> Any:
    if value is None or is_blank(value):
        return None
    if not isinstance(value, str):
        raise _wrong("is not a text")
    if "\0" in value:
        raise _wrong("holds a NUL character")
    return value.replace("\r\n", "\n").replace("\r", "\n")


def _key(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value)


def _needed(value: Any) -> Any:
    text = _text(value)
    if text is None:
        raise _wrong("is missing" if value is None else "is blank")
    return text


def _line(value: Any) -> Any:
    if isinstance(value, str) and _CONTROL.search(value):
        raise _wrong("holds a line break or another control character")
    return value


def _kind(value: Any) -> Any:
    text = _needed(value)
    if text not in KINDS:
        raise _wrong("is no kind of take")
    return text


def _weight(value: Any) -> Any:
    if value is None:
        raise _wrong("is missing")
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _wrong("is not a number")
    try:
        number = float(value) + 0.0
    except OverflowError:
        number = math.inf
    if not 0 <= number <= 1:
        raise _wrong("is not a number from 0 to 1")
    return Decimal(repr(number))


def _since(value: Any) -> Any:
    text = _text(value)
    if text is None:
        return None
    if not _DATE.fullmatch(text):
        raise _wrong("is not an ISO date")
    try:
        date.fromisoformat(text + "-01-01"[len(text) - 4 :] if len(text) < 10 else text)
    except ValueError:
        raise _wrong("is no day of the calendar") from None
    return text


Needed = Annotated[str, BeforeValidator(_needed)]
NeededLine = Annotated[str, BeforeValidator(_line), BeforeValidator(_needed)]
MaybeText = Annotated[str | None, BeforeValidator(_text)]


class Take(BaseModel):
    """One take.

    A blank optional field is the same as none, and line ends inside texts are read as `\\n`, so that a take
    is the same in every format.

    Attributes:
        id: None where the row has none; see `take_item`.
        page_slug: the page that the take was drawn from.
        kind: fact, take, bet or hunch.
        holder: who holds the belief.
        weight: 0 to 1, the shortest decimal of the number as written (0.10 is 0.1); not bound to any grid.
        since_date: `YYYY`, `YYYY-MM` or `YYYY-MM-DD`.
        source: where the page came from.
        claim: what is held.
        page_text: the page's own words.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    id: Annotated[str | None, BeforeValidator(_line), BeforeValidator(_key)]
    page_slug: NeededLine
    kind: Annotated[Kind, BeforeValidator(_kind)]
    holder: Needed
    weight: Annotated[Decimal, BeforeValidator(_weight)]
    since_date: Annotated[str | None, BeforeValidator(_since)]
    source: MaybeText
    claim: Needed
    page_text: MaybeText


def take_text(take: Take) -> str:
    """The take exactly as a judge is shown it: one labelled line a field, absent fields left out.

    Further lines of a value are indented by two blanks, so that no value can pass for a label. The weight is
    written without exponent.
    """
    lines = {
        "id": take.id,
        "page": take.page_slug,
        "kind": take.kind,
        "holder": take.holder,
        "weight": f"{take.weight.normalize():f}",
        "since": take.since_date,
        "source": take.source,
        "claim": take.claim,
        "page text": take.page_text,
    }
    return "\n".join(
        f"{label}: {value}".replace("\n", "\n  ") for label, value in lines.items() if value is not None
    )


def take_item(row: Mapping[str, Any]) -> Item:
    """The item of a row: payload the known fields, truth all other columns that hold something.

    The id is the row's own, else `take-` and the first 16 hex digits of the sha256 of the canonical JSON of
    the other known fields (absent ones as null).

    Raises:
        RowRefused: a known field is missing or cannot be used; every problem, with the field as its place.
    """
    try:
        take = Take.model_validate({name: row.get(name) for name in TAKE_FIELDS})
    except ValidationError as error:
        raise RowRefused(_problems(error, row)) from None
    known = take.model_dump(exclude={"id"})
    known["weight"] = int(take.weight) if take.weight in {0, 1} else float(take.weight)
    if take.id is None:
        digest = sha256(canonical_json(known).encode()).hexdigest()
        take = take.model_copy(update={"id": f"take-{digest[:ID_DIGITS]}"})
    payload = {"id": take.id, **known}
    carried = {name: value for name, value in row.items() if name not in TAKE_FIELDS and not is_blank(value)}
    truth = _plain(carried, "")
    return Item(
        id=str(take.id),
        content_sha=content_sha(payload, truth),
        payload=payload,
        truth=truth,
        groups={"kind": take.kind},
        text=take_text(take),
    )


def _problems(error: ValidationError, row: Mapping[str, Any]) -> list[Problem]:
    found = {str(each["loc"][0]): each["msg"] for each in error.errors()}
    others = [name for name in row if name not in TAKE_FIELDS]
    problems = []
    for name, allowed in ALLOWED.items():
        if name not in found:
            continue
        value = row.get(name)
        near = nearest(name, others) if value is None else None
        if name == "kind" and isinstance(value, str):
            near = nearest(value, KINDS)
        problems.append(Problem(name, found[name], None if value is None else shown(value), allowed, near))
    return problems


def _plain(value: Any, place: str) -> Any:
    """A carried value as plain JSON data, without the members of objects that are null."""
    if isinstance(value, dict):
        return {
            key: _plain(each, f"{place}.{key}" if place else key)
            for key, each in value.items()
            if each is not None and not _is_nan(each)
        }
    if isinstance(value, list):
        return [_plain(each, f"{place}.{index}") for index, each in enumerate(value)]
    if _is_nan(value):
        return None
    if isinstance(value, Decimal):
        number = float(value)
        if math.isinf(number):
            raise RowRefused(Problem(place, "is a number that is too large", str(value)[:40]))
        return number
    return value


def _is_nan(value: Any) -> bool:
    return isinstance(value, Decimal) and value.is_nan()


TAKES = RowKind(
    name="takes", fields=TAKE_FIELDS, required=REQUIRED, read=take_item, slug="page_slug", sieve=sieve
)
"""The row kind of takes."""
