"""The records in which the rooms meet: Item -> Outcome -> Judgement -> Decision.

They are plain data: no I/O, no config. `truth` never reaches a subject or an LLM seat.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass as validated

Verdict = Literal["pass", "fail", "inconclusive"]
OutcomeStatus = Literal["ok", "marker", "blocked", "error", "timeout", "contaminated", "skipped"]
JudgementStatus = Literal["scored", "rejected", "failed", "abstained", "skipped"]

LARGEST_POWER: Final = 300
"""A score with a larger power of ten is none."""


class Record(BaseModel):
    """Base of the records: frozen, unknown keys ignored on reading so that shapes can grow."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)


class Item(Record):
    """One thing to evaluate.

    Attributes:
        id: stable and unique in its source: the row's own, else derived from its content.
        content_sha: sha256 (64 hex digits) of the canonical JSON of `payload` and `truth`.
        payload: what a subject or a judge may see.
        truth: what only code may see: labels, expected defects, landed shas, columns we do not know.
        groups: the cells of rollups that this item belongs to, such as {"language": "python"}.
        text: the item exactly as a judge is shown it; None where an item has no such text.
    """

    id: str
    content_sha: str
    payload: dict[str, Any]
    truth: dict[str, Any] = Field(default_factory=dict)
    groups: dict[str, str] = Field(default_factory=dict)
    text: str | None = None


class Usage(Record):
    """What model calls used. Counts are sums over calls, re-asks and retries that were answered.

    Attributes:
        estimated: some of the token counts are our bound, since a provider reported none.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            estimated=self.estimated or other.estimated,
        )


class Spend(Record):
    """Usage with its price.

    Attributes:
        cost_usd: the sum over all calls, or None when any of them had no known price.
    """

    usage: Usage = Usage()
    cost_usd: Decimal | None = Decimal(0)

    def __add__(self, other: "Spend") -> "Spend":
        known = self.cost_usd is not None and other.cost_usd is not None
        total = self.cost_usd + other.cost_usd if known else None  # type: ignore[operator]
        return Spend(usage=self.usage + other.usage, cost_usd=total)


@validated(frozen=True, slots=True, config=ConfigDict(extra="ignore", allow_inf_nan=False, defer_build=True))
class Outcome:
    """What a subject produced for one item in one run (`run` counts from 1). A run may hold very many."""

    item_id: str
    run: int = 1
    status: OutcomeStatus = "ok"
    payload: dict[str, Any] = Field(default_factory=dict)
    spend: Spend = Spend()
    duration_s: float = 0.0
    error: str | None = None


@cache
def outcome_adapter() -> TypeAdapter[Outcome]:
    """What reads an outcome from plain data, and writes it as such."""
    return TypeAdapter(Outcome)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one seat said of some items in one cycle. A run holds one a call, so they are kept small.

    Attributes:
        item_ids: the items judged, in sampled order; a chunk of a panel, or one item.
        seat: the model id as configured, or the name of a judge that is code.
        place: the seat's position in its panel, from 0.
        cycle, chunk: from 1.
        status: `scored` is the only one that contributes.
        values: score a dimension, exactly as written in the reply.
        label: a label instead of scores (KEEP, correct, ...).
        evidence: improvements or reasons, as the seat gave them.
        detail: what is wanted of how it came to this (asks, matches, checks).
        error: why the status is not `scored`.
        answered_by: the model name that the provider returned.

    Raises:
        ValueError: a value is no Decimal, or not finite, or far from any scale.
    """

    item_ids: tuple[str, ...]
    seat: str
    place: int = 0
    cycle: int = 1
    chunk: int = 1
    status: JudgementStatus = "scored"
    values: Mapping[str, Decimal] = field(default_factory=dict)
    label: str | None = None
    evidence: tuple[str, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    answered_by: str | None = None

    def __post_init__(self) -> None:
        for name, value in self.values.items():
            if not (
                isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= LARGEST_POWER
            ):
                raise ValueError(
                    f"{value!r} of {self.seat} for {name} is no score: a finite Decimal is needed"
                )


class Metric(Record):
    """A figure that is not a rubric score.

    Attributes:
        value: None when it is undefined (nothing to count).
        n: how many trials it stands on.
        ci_low, ci_high: 95 % interval, None when undefined.
    """

    value: float | None
    n: int
    ci_low: float | None = None
    ci_high: float | None = None
    higher_is_better: bool = True


class SeatScores(BaseModel):
    """One contributing seat's score a dimension, exact, in the rubric's order of dimensions."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, defer_build=True)

    seat: str
    place: int
    values: dict[str, Fraction]


class Figures(BaseModel):
    """What a judge's judgements add up to; what a threshold decides on.

    Attributes:
        seats: every seat's model id, in panel order, contributing or not.
        scores: the contributing seats, in panel order; empty for judges without a rubric panel.
        dimensions: the rubric's dimensions in order.
        metrics: name -> figure. groups: group -> cell -> name -> figure.
        scored, unscored, skipped: the closed denominator over planned items or runs;
            `unscored` counts by reason.
        headline: the metric that trend shows as "overall"; None for rubric panels.
        report: additive blocks for the receipt (`items`, `cases`, `defects`, ...), JSON-ready.
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, defer_build=True)

    seats: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    scores: tuple[SeatScores, ...] = ()
    metrics: dict[str, Metric] = Field(default_factory=dict)
    groups: dict[str, dict[str, dict[str, Metric]]] = Field(default_factory=dict)
    planned: int = 0
    scored: int = 0
    unscored: dict[str, int] = Field(default_factory=dict)
    skipped: int = 0
    headline: str | None = None
    report: dict[str, Any] = Field(default_factory=dict)


class Decision(Record):
    """A threshold's word on figures: verdict (None without a threshold) and a message with the numbers."""

    verdict: Verdict | None
    message: str


class Selection(Record):
    """Which items of a source are taken, in which order. Samplers make it, sources carry it out.

    Attributes:
        order: `source` keeps the source's order; `sha256` orders by `selection_key(seed, id)`, then id.
        seed: part of the key; None where the order has none.
        limit: at most so many items; None takes all.
        stratify: field (of the payload, or a column) whose values share the limit in proportion; the
            items come out in the order of their keys all the same.
    """

    order: Literal["source", "sha256"]
    sampler: str
    seed: int | None = None
    limit: int | None = Field(default=None, ge=0)
    stratify: str | None = None


def selection_key(seed: int | None, item_id: str) -> str:
    """sha256 hex of `<seed>\\x1f<id>` in UTF-8 (an empty seed when None): the order of a sample.

    It depends on nothing but seed and id, so neither row order nor file format nor threads matter, and any
    language can repeat it.
    """
    return sha256(f"{'' if seed is None else seed}\x1f{item_id}".encode()).hexdigest()


def total(spends: Sequence[Spend]) -> Spend:
    """The sum of spends; an empty one costs 0."""
    result = Spend()
    for spend in spends:
        result = result + spend
    return result


JsonObject = Mapping[str, Any]
