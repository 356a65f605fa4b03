"""Records on a pipe: what `select` and `produce` write and what the next stage reads.

A line is one JSON object: the item's fields, after `produce` also `outcomes`, and `via`, which tells the next
stage where the items came from. Records of another program may lack `via`; what it would say is then null.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

from pydantic import ValidationError

from evalrunner.errors import InputError, Problem, show
from evalrunner.receipt.fingerprint import content_sha
from evalrunner.receipt.jsontext import fraction, no_twice, readable_json, whole_number
from evalrunner.records import Item, Outcome, Record, Selection, outcome_adapter
from evalrunner.source.shelf import Shelf


class Via(Record):
    """What a receipt needs to know of earlier stages.

    Attributes:
        eval: the eval that the first stage ran.
        source, location, slug_prefix: where the items came from.
        selection: how they were taken.
        subject: what produced the outcomes, and its fingerprint; None before `produce`.
        warnings: what was said aloud while they were produced, which belongs into the receipt.
    """

    eval: str | None = None
    source: str | None = None
    location: str | None = None
    slug_prefix: str | None = None
    selection: Selection | None = None
    subject: dict[str, Any] | None = None
    subject_sha8: str | None = None
    runs: int | None = None
    warnings: list[str] | None = None


@dataclass(frozen=True)
class Piped:
    """What a stage read: items in order, their outcomes, and the one `via` of all lines."""

    items: Sequence[Item]
    outcomes: Sequence[Outcome]
    via: Via


def lines(items: Iterable[Item], outcomes: Iterable[Outcome] | None, via: Via) -> Iterator[str]:
    """One JSON line an item, with its outcomes when there are any."""
    by_item: dict[str, list[dict[str, Any]]] = {}
    for outcome in outcomes or ():
        by_item.setdefault(outcome.item_id, []).append(outcome_adapter().dump_python(outcome))
    origin = via.model_dump(exclude_none=True)
    for item in items:
        record: dict[str, Any] = item.model_dump(exclude_none=True)
        if outcomes is not None:
            record["outcomes"] = by_item.get(item.id, [])
        record["via"] = origin
        yield readable_json(record) + "\n"


def read(stream: TextIO, name: str) -> Piped:
    """Reads the records of an earlier stage; blank lines are passed over.

    Raises:
        InputError: lines that are no records, items twice, lines whose `via` disagree; all, by line.
    """
    shelf = Shelf()
    outcomes: list[Outcome] = []
    problems: list[Problem] = []
    first: tuple[int, Any] | None = None
    seen: dict[str, int] = {}
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        place = f"{name}:{number}"
        try:
            record = _parsed(line)
        except (ValueError, RecursionError) as error:
            problems.append(Problem(place, f"is no strict JSON: {error}"))
            continue
        if not isinstance(record, dict):
            problems.append(Problem(place, "a record is a JSON object", show(record)))
            continue
        via = record.get("via")
        if first is None:
            first = number, via
        elif via != first[1]:
            problems.append(Problem(f"{place}: via", f"differs from that of line {first[0]}", show(via)))
        try:
            item, produced = _record(record)
        except ValidationError as error:
            problems += [
                Problem(f"{place}: {'.'.join(map(str, each['loc']))}", each["msg"], show(each["input"]))
                for each in error.errors()
            ]
            continue
        if item.id in seen:
            problems.append(Problem(f"{place}: id", f"stands in line {seen[item.id]} already", show(item.id)))
        seen.setdefault(item.id, number)
        shelf.put(item)
        outcomes += produced
    if problems:
        raise InputError(problems)
    try:
        return Piped(shelf.ordered(), outcomes, Via.model_validate((first and first[1]) or {}))
    except ValidationError as error:
        raise InputError(
            [
                Problem(f"{name}: via.{'.'.join(map(str, each['loc']))}", each["msg"])
                for each in error.errors()
            ]
        ) from None


def _parsed(line: str) -> Any:
    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number")

    return json.loads(
        line,
        parse_float=fraction,
        parse_int=whole_number,
        parse_constant=constant,
        object_pairs_hook=no_twice,
    )


def _record(record: dict[str, Any]) -> tuple[Item, list[Outcome]]:
    payload, truth = record.get("payload"), record.get("truth", {})
    if isinstance(payload, dict) and isinstance(truth, dict):
        record = {"content_sha": content_sha(payload, truth), **record}
    item = Item.model_validate(record)
    return item, [outcome_adapter().validate_python(each) for each in record.get("outcomes", ())]
