"""The receipt, `schema_version` 1: a read contract for other programs. docs/receipt.md explains every key.

The models below are the list of keys: required ones first, in the order in which they are written, then the
optional ones. Readers ignore keys that they do not know; `assemble` refuses them, so that we never write one.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalrunner.errors import InputError, Problem, nearest
from evalrunner.receipt.said import shown, told
from evalrunner.receipt.values import (
    Count,
    EvalName,
    ExactFraction,
    Number,
    Sha8,
    Sha256,
    Timestamp,
    Whole,
    as_decimal,
    timestamp,
)

__all__ = [
    "KEYS",
    "OPTIONAL",
    "REQUIRED",
    "SCHEMA_VERSION",
    "DimensionScores",
    "Receipt",
    "as_decimal",
    "assemble",
    "parse",
    "timestamp",
    "unknown",
]

SCHEMA_VERSION: Final = 1
Verdict = Literal["pass", "fail", "inconclusive"]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)


class _Described(_Part):
    """A block that a component writes of itself: the keys below have fixed types, others may stand beside."""

    model_config = ConfigDict(extra="allow")


class Corpus(_Part):
    """What was judged. `source` and `slug_prefix` are null where a pipe's first stage did not tell them.

    Attributes:
        n_takes: number of items, in every eval.
        location: path or table, never credentials.
    """

    source: Literal["fs", "db"] | None
    n_takes: Count
    slug_prefix: str | None
    corpus_sha8: Sha8
    location: str | None = None


class DimensionScores(_Part):
    """One dimension: the contributing seats' scores in panel order, and what follows from them."""

    mean: Number
    min: Number
    max: Number
    scores: list[Number]
    per_model: dict[str, Number]


class SeatError(_Part):
    """Why a seat did not contribute."""

    modelId: str  # noqa: N815 - the contract's spelling
    error: str


class Fingerprints(_Part):
    """The full sha256 values behind the `*_sha8` keys."""

    corpus: Sha256
    prompt: Sha256
    models: Sha256
    rubric: Sha256
    subject: Sha256 | None = None


class Sampler(_Described):
    """How the items were taken."""

    name: str
    seed: Whole | None = None
    limit: Count | None = None
    stratify: str | None = None


class Judge(_Described):
    """How outcomes were judged, and put to a panel where there is one."""

    name: str
    prompt: str | None = None
    chunk_size: Whole | None = None


class Threshold(_Described):
    """The verdict rule: the bars of a panel, or those of metrics."""

    name: str | None = None
    mean_min: Number | None = None
    min_min: Number | None = None
    quorum: str | None = None
    at_least: dict[str, Number] | None = None
    at_most: dict[str, Number] | None = None


class Panel(_Part):
    """The seats in full, in panel order, as composed; never with keys."""

    name: str | None = None
    seats: list[dict[str, Any]]


class Cycles(_Part):
    """The rule of cycles that ran, and the verdict after each."""

    max: Count
    stop: str
    verdicts: list[Verdict | None]


class Quorum(_Part):
    """How many seats there were, how many had to contribute, and how many did."""

    seats: Count
    needed: Count
    contributed: Count


class MetricFigure(_Part):
    """A figure that is not a rubric score; `value` is null where there was nothing to count."""

    value: Number | None
    n: Count
    ci_low: Number | None = None
    ci_high: Number | None = None
    higher_is_better: bool = True


class Headline(_Part):
    """The metric that trend shows as overall."""

    metric: str
    value: Number | None


class Denominator(_Part):
    """planned = scored + the sum of `unscored` + skipped."""

    planned: Count
    scored: Count
    unscored: dict[str, Count]
    skipped: Count


class Budget(_Described):
    """What the cap was and what became of it. Amounts are US dollars; null where no price is known."""

    cap_usd: Number | None = None
    spent_usd: Number | None = None
    reserved_usd: Number | None = None
    overrun: Number | None = None
    enforced: bool
    unit: str | None = None
    unpriced: str | None = None
    refused_calls: Count = 0
    scope: str | None = None
    sweep_usd: Number | None = None
    unknown_models: list[str] = Field(default_factory=list)


class UsagePart(_Part):
    """Calls, tokens and cost of one side; `estimated` where some counts are our own bound."""

    calls: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_tokens: Count = 0
    reasoning_tokens: Count = 0
    estimated: bool = False
    cost_usd: Number | None = None


class Usage(_Part):
    """What the system under test used, and what judging it used."""

    subject: UsagePart
    judge: UsagePart


class JudgementRow(_Part):
    """What one seat said of one chunk in one cycle; `values` is empty unless `status` is `scored`."""

    model: str
    place: Count
    cycle: Whole
    chunk: Whole
    item_ids: list[str]
    status: str
    values: dict[str, Number] = Field(default_factory=dict)
    label: str | None = None
    evidence: list[str] | None = None
    error: str | None = None
    answered_by: str | None = None


class JudgementsFile(_Part):
    """Where the rows of `judgements` lie when they are too many to stand in the receipt.

    Attributes:
        file: in the run folder, one row a line, in the order of judging.
        sha256: of its bytes.
    """

    file: str
    rows: Count
    sha256: Sha256


class Cache(_Part):
    """Replies of earlier runs that were used again: they cost nothing, and no count of calls has them.

    Attributes:
        reused: how many. saved_usd: what they cost when they were paid for; null where some price is unknown.
    """

    reused: Count
    saved_usd: Number | None = None


class Resumed(_Part):
    """That the attempt goes on with an unfinished run; cost, tokens, calls and `ts` cover all parts.

    Attributes:
        replies, outcomes: how many that run had left, and which were therefore not paid for again.
        dropped_lines: lines of its journals that could not be read.
    """

    run: str
    replies: Count
    outcomes: Count
    dropped_lines: Count


class Receipt(_Part):
    """One attempt. The first 17 keys are required; the others stand only where there is something to say."""

    schema_version: Literal[1]
    ts: Timestamp
    rubric_version: str
    rubric_sha8: Sha8
    corpus: Corpus
    prompt_sha8: Sha8
    models_sha8: Sha8
    models: list[str]
    cycles_run: Count
    successes_per_cycle: list[Count]
    verdict: Verdict | None
    scores: dict[str, DimensionScores]
    overall_score: Number | None
    cost_usd: Annotated[Number, Field(ge=0)] | None
    improvements: list[str]
    errors: list[SeatError]
    verdictMessage: str  # noqa: N815 - the contract's spelling

    eval: EvalName | None = None
    run_id: str | None = None
    subject: dict[str, Any] | None = None
    subject_sha8: Sha8 | None = None
    judge: Judge | None = None
    judge_kind: str | None = None
    fingerprints: Fingerprints | None = None
    sampler: Sampler | None = None
    panel: Panel | None = None
    cycles: Cycles | None = None
    threshold: Threshold | None = None
    quorum: Quorum | None = None
    scores_exact: dict[str, list[ExactFraction]] | None = None
    metrics: dict[str, MetricFigure] | None = None
    headline: Headline | None = None
    groups: dict[str, dict[str, dict[str, MetricFigure]]] | None = None
    denominator: Denominator | None = None
    budget: Budget | None = None
    usage: Usage | None = None
    answered_by: dict[str, list[str]] | None = None
    judgements: list[JudgementRow] | None = None
    judgements_file: JudgementsFile | None = None
    items: list[dict[str, Any]] | None = None
    cases: list[dict[str, Any]] | None = None
    defects: list[dict[str, Any]] | None = None
    unmatched: list[dict[str, Any]] | None = None
    warnings: list[str] | None = None
    interrupted: bool | None = None
    resumed: Resumed | None = None
    cache: Cache | None = None
    environment: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The receipt as a JSON object: required keys in order, then the optional ones that were set."""
        return self.model_dump(exclude_unset=True)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from evalrunner.receipt.html import table

        return table(self)


KEYS: Final = tuple(Receipt.model_fields)
REQUIRED: Final = tuple(name for name, field in Receipt.model_fields.items() if field.is_required())
OPTIONAL: Final = tuple(name for name in KEYS if name not in REQUIRED)


def assemble(values: Mapping[str, Any]) -> Receipt:
    """A receipt of our own. Keys that are in no list are refused rather than lost.

    Raises:
        InputError: unknown or missing keys, or values that do not fit; all of them.
    """
    receipt, problems = _validated(values, "")
    if receipt is None:
        raise InputError(problems)
    lost = unknown(values, receipt)
    if lost:
        raise InputError(
            [
                Problem(key, "is no key of a receipt", nearest=None if "." in key else nearest(key, KEYS))
                for key in lost
            ]
        )
    return receipt


def unknown(given: Mapping[str, Any], receipt: Receipt) -> list[str]:
    """The dotted keys of a JSON object that are none of a receipt's, and did not make it into `receipt`."""
    return list(_lost(given, receipt.to_json(), ""))


def _lost(given: Any, kept: Any, path: str) -> Iterator[str]:
    """The paths of keys that were given and did not make it into the receipt."""
    if isinstance(given, Mapping):
        for key, value in given.items():
            where = f"{path}.{key}" if path else str(key)
            if key in kept:
                yield from _lost(value, kept[key], where)
            else:
                yield where
    elif isinstance(given, list):
        for index, value in enumerate(given):
            yield from _lost(value, kept[index], f"{path}.{index}")


def parse(value: Any, place: str = "") -> Receipt:
    """A receipt that any program wrote, from its parsed JSON. Keys that we do not know are ignored.

    Args:
        value: the JSON object, its fractional numbers as Decimal where they are to be kept as written.
        place: the file's name for messages.

    Raises:
        InputError: not an object, another schema_version (a newer one is named as such), or keys that are
            missing or do not fit; every problem with its path.
    """
    if not isinstance(value, Mapping):
        raise InputError(Problem(place, "a receipt is a JSON object", shown(value)))
    version = value.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise InputError(_version_problem(version, "schema_version" in value, place))
    receipt, problems = _validated(value, place)
    if receipt is None:
        raise InputError(problems)
    return receipt


def _version_problem(version: Any, present: bool, place: str) -> Problem:
    where = f"{place}: schema_version" if place else "schema_version"
    if not present:
        return Problem(where, "is missing: this is no receipt", allowed=str(SCHEMA_VERSION))
    newer = type(version) is int and version > SCHEMA_VERSION
    what = "is newer than this program reads" if newer else "is no version of a receipt"
    return Problem(where, what, shown(version), str(SCHEMA_VERSION))


def _validated(value: Mapping[str, Any], place: str) -> tuple[Receipt | None, list[Problem]]:
    try:
        return Receipt.model_validate(value), []
    except ValidationError as error:
        return None, [
            Problem(
                ": ".join(part for part in (place, ".".join(map(str, each["loc"]))) if part),
                told(each["type"], each["msg"]),
                None if each["type"] == "missing" else shown(each["input"]),
                nearest=_misspelt(each["loc"], value) if each["type"] == "missing" else None,
            )
            for each in error.errors()
        ]


def _misspelt(loc: tuple[int | str, ...], value: Any) -> str | None:
    """A key beside the missing one that looks like it."""
    *path, key = loc
    for step in path:
        value = value[step]
    return nearest(str(key), [name for name in value if isinstance(name, str) and name not in KEYS])
