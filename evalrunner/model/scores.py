"""The form in which a panel's LLM seats give their scores, and how it is read: strictly."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from evalrunner.model.reply import How, ReplyRejected, closed, exact_keys, harmless, read_object
from evalrunner.once import Once
from evalrunner.receipt.said import shown
from evalrunner.rubric import Rubric


@dataclass(frozen=True)
class Scores:
    """A rubric seat's reply: a score for each dimension, in the rubric's order, and what could be better."""

    values: Mapping[str, Decimal]
    improvements: tuple[str, ...]
    how: How = "strict"


def read_scores(text: str, finish_reason: str | None, rubric: Rubric) -> Scores:
    """A rubric seat's scores: `{"scores": {dimension: number}, "improvements": [text]}` and nothing else.

    Exactly the rubric's dimensions are needed, each a number inside its scale, both ends in. Improvements are
    made harmless (see `harmless`), and blank ones are left out.

    Raises:
        ReplyRejected: the reply is not in that form; says what is wrong.
    """
    read = read_object(text, finish_reason)
    exact_keys(read.value, ("scores", "improvements"), "the object")
    scores, improvements = read.value["scores"], read.value["improvements"]
    if not isinstance(scores, dict):
        raise ReplyRejected("scores is not an object")
    exact_keys(scores, rubric.names, "scores")
    for name in rubric.names:
        score = scores[name]
        if not isinstance(score, Decimal):
            raise ReplyRejected(f"the score of {name} is not a number but {shown(score, 40)}")
        if not rubric.allows(score):
            scale = rubric.scale
            inside = f" from {scale.min} to {scale.max}" if scale is not None else ""
            raise ReplyRejected(f"the score of {name} is {score}, outside the scale{inside}")
    if not isinstance(improvements, list) or not all(isinstance(each, str) for each in improvements):
        raise ReplyRejected("improvements is not a list of texts")
    said = tuple(line for each in improvements if (line := harmless(each)))
    return Scores(_values(rubric.names, tuple(str(scores[name]) for name in rubric.names)), said, read.how)


@lru_cache(maxsize=4096)
def _values(names: tuple[str, ...], written: tuple[str, ...]) -> Mapping[str, Decimal]:
    """Scores as written: one mapping for all replies that give the same ones, since thousands of them do."""
    return dict(zip(names, map(Decimal, written), strict=True))


def _schema(rubric: Rubric) -> dict[str, Any]:
    score: dict[str, Any] = {"type": "number"}
    if rubric.scale is not None:
        score |= {"minimum": _plain(rubric.scale.min), "maximum": _plain(rubric.scale.max)}
    return closed(
        {
            "scores": closed(dict.fromkeys(rubric.names, score)),
            "improvements": {"type": "array", "items": {"type": "string"}},
        }
    )


scores_schema = Once[Rubric, dict[str, Any]](_schema)
"""The JSON schema of the form that `read_scores` takes, for providers that hold a model to one."""


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)
