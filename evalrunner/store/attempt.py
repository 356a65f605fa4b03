"""One execution of evalrunner as the store takes it: the receipt, and the scores that it stands on."""

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

from pydantic import Field, ValidationError, field_validator

from evalrunner.errors import InputError, Problem
from evalrunner.records import Judgement, Record


class ScoreRow(NamedTuple):
    """One score.

    Attributes:
        item: the item's id; None where the score is one of a chunk or of the whole sample.
        chunk: from 1; None where nothing was cut into chunks.
        model: the model id as configured, or the name of a judge that is code.
        cycle: from 1.
        value: as written in the reply: 7.50 stays 7.50.
    """

    item: str | None
    chunk: int | None
    dimension: str
    model: str
    cycle: int
    value: Decimal


class Chunk(NamedTuple):
    """The items that were scored in one prompt, in sampled order. `number` counts from 1."""

    number: int
    items: tuple[str, ...]


class Attempt(Record):
    """One attempt, ready to be kept.

    Attributes:
        run_id: unique for ever; also a file name, so letters, digits, `.`, `_` and `-` only.
        identity: the item itself was judged: the subject is `identity`.
        receipt: the receipt as its JSON object.
        scores: every score given, also those of cycles that did not decide.
        chunks: which items each chunk of several items held.
    """

    run_id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")
    identity: bool
    receipt: dict[str, Any]
    scores: tuple[ScoreRow, ...] = ()
    chunks: tuple[Chunk, ...] = ()

    @field_validator("scores")
    @classmethod
    def _finite(cls, rows: tuple[ScoreRow, ...]) -> tuple[ScoreRow, ...]:
        for row in rows:
            if not math.isfinite(float(row.value)):
                raise ValueError(f"{row.value} of {row.model} for {row.dimension} is too large for a score")
        return rows


def score_rows(judgements: Iterable[Judgement]) -> tuple[tuple[ScoreRow, ...], tuple[Chunk, ...]]:
    """The scores of judgements, long form, and the chunks that they speak of.

    A judgement of one item gives scores of that item; one of several gives scores of its chunk. Only `scored`
    ones count.
    """
    rows: list[ScoreRow] = []
    chunks: dict[int, tuple[str, ...]] = {}
    for each in judgements:
        if each.status != "scored":
            continue
        item = each.item_ids[0] if len(each.item_ids) == 1 else None
        if item is None:
            chunks[each.chunk] = each.item_ids
        rows.extend(
            ScoreRow(item, each.chunk, dimension, each.seat, each.cycle, value)
            for dimension, value in each.values.items()
        )
    return tuple(rows), tuple(Chunk(number, items) for number, items in sorted(chunks.items()))


def attempt_of(receipt: dict[str, Any], place: str) -> Attempt:
    """The attempt that a receipt proves. Its scores are those of the receipt's `judgements`.

    Args:
        receipt: its JSON object, fractional numbers as written.
        place: its file, for messages.

    Raises:
        InputError: it is no receipt, has no run id, or scores that no attempt can have.
    """
    from evalrunner.receipt.files import TAKES_QUALITY
    from evalrunner.receipt.schema import parse

    parsed = parse(receipt, place)
    if parsed.run_id is None:
        what = "is missing: only a run that has one can be told from others"
        raise InputError(Problem(f"{place}: run_id", what))
    rows, chunks = score_rows(
        Judgement(
            item_ids=tuple(row.item_ids), seat=row.model, cycle=row.cycle, chunk=row.chunk, values=row.values
        )
        for row in parsed.judgements or ()
        if row.status == "scored"
    )
    if parsed.subject is None:
        identity = parsed.eval in {None, TAKES_QUALITY}
    else:
        identity = parsed.subject.get("subject") == "identity"
    try:
        return Attempt(run_id=parsed.run_id, identity=identity, receipt=receipt, scores=rows, chunks=chunks)
    except ValidationError as error:
        raise InputError(
            [
                Problem(
                    f"{place}: {'.'.join(map(str, each['loc']))}", each["msg"].removeprefix("Value error, ")
                )
                for each in error.errors()
            ]
        ) from None
