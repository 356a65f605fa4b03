"""One execution of evalrunner as the store takes it: the receipt, and the scores that it stands on."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import Field, field_validator

from evalrunner.errors import InputError, Problem, show
from evalrunner.records import Judgement, Record

if TYPE_CHECKING:
    from evalrunner.receipt.schema import JudgementRow


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


T = TypeVar("T")

AT_ONCE = 8192
"""So many rows are written at a time, so that their number never matters to memory."""

_RUN_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$"


@dataclass(frozen=True)
class Attempt:
    """One attempt, ready to be kept.

    Attributes:
        run_id: unique for ever; also a file name, so letters, digits, `.`, `_` and `-` only.
        identity: the item itself was judged: the subject is `identity`.
        receipt: the receipt as its JSON object.
        scores: every score given, also those of cycles that did not decide; gone through more than once.
        chunks: which items each chunk of several items held.

    Raises:
        ValueError: the run id might name a file elsewhere.
    """

    run_id: str
    identity: bool
    receipt: Mapping[str, Any]
    scores: Iterable[ScoreRow] = ()
    chunks: Sequence[Chunk] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(_RUN_ID, self.run_id):
            raise ValueError(f"{show(self.run_id)} is no run id")


class _Written(Record):
    """An attempt as a file says it."""

    run_id: str = Field(pattern=_RUN_ID)
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


def attempt_from(content: Mapping[str, Any]) -> Attempt:
    """The attempt that the keys of an object tell.

    Raises:
        ValidationError: they tell none.
    """
    written = _Written.model_validate(content)
    return Attempt(written.run_id, written.identity, written.receipt, written.scores, written.chunks)


def in_batches(rows: Iterable[T]) -> Iterator[list[T]]:
    """The rows, some thousands at a time; each list is full but the last, and none is empty."""
    left = iter(rows)
    while some := list(islice(left, AT_ONCE)):
        yield some


class Scores:
    """The scores of judgements, long form, made each time that they are gone through.

    A judgement of one item gives scores of that item; one of several gives scores of its chunk. Only `scored`
    ones count.
    """

    def __init__(self, judgements: Iterable[Judgement]) -> None:
        """Takes what can be gone through more than once."""
        self._judgements = judgements

    def __iter__(self) -> Iterator[ScoreRow]:
        for each in self._judgements:
            if each.status == "scored":
                item = each.item_ids[0] if len(each.item_ids) == 1 else None
                for dimension, value in each.values.items():
                    yield ScoreRow(item, each.chunk, dimension, each.seat, each.cycle, value)


def chunks_of(judgements: Iterable[Judgement]) -> tuple[Chunk, ...]:
    """The chunks of several items that scored judgements speak of."""
    found = {
        each.chunk: each.item_ids
        for each in judgements
        if each.status == "scored" and len(each.item_ids) != 1
    }
    return tuple(Chunk(number, items) for number, items in sorted(found.items()))


def attempt_of(receipt: dict[str, Any], place: Path) -> Attempt:
    """The attempt that a receipt proves. Its scores are those of the receipt's `judgements`.

    Args:
        receipt: its JSON object, fractional numbers as written.
        place: its file; judgements that do not stand in it lie beside.

    Raises:
        InputError: it is no receipt, has no run id, or scores that no attempt can have, or its judgements are
            not beside it.
    """
    from evalrunner.receipt import rows
    from evalrunner.receipt.files import TAKES_QUALITY
    from evalrunner.receipt.schema import parse

    parsed = parse(receipt, str(place))
    if parsed.run_id is None:
        what = "is missing: only a run that has one can be told from others"
        raise InputError(Problem(f"{place}: run_id", what))
    told: Iterable[JudgementRow] = parsed.judgements or ()
    if parsed.judgements is None and parsed.judgements_file is not None:
        told = rows.read(place.parent, parsed.judgements_file)
    judgements = [_judgement(row) for row in told if row.status == "scored"]
    if parsed.subject is None:
        identity = parsed.eval in {None, TAKES_QUALITY}
    else:
        identity = parsed.subject.get("subject") == "identity"
    if not re.fullmatch(_RUN_ID, parsed.run_id):
        allowed = "up to 200 letters, digits, `.`, `_` and `-`, a letter or digit first"
        raise InputError(Problem(f"{place}: run_id", "is no run id", show(parsed.run_id), allowed))
    return Attempt(parsed.run_id, identity, receipt, Scores(judgements), chunks_of(judgements))


def _judgement(row: "JudgementRow") -> Judgement:
    return Judgement(
        item_ids=tuple(row.item_ids), seat=row.model, cycle=row.cycle, chunk=row.chunk, values=row.values
    )
