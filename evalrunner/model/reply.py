"""Reads a model's reply strictly: one JSON object, taken whole or rejected, never repaired into a value.

What is forgiven loses or adds no value: a code fence or prose around the object, a closed thinking block,
the same object said twice, a comma before a closing bracket. Everything else is rejected: a reply that did
not end cleanly, two different objects, a key twice, numbers that are not finite, anything cut off.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from evalrunner.errors import nearest, show

MAX_CHARS = 4_000_000
MAX_DEPTH = 64
MAX_OBJECTS = 16
MAX_NUMBER_CHARS = 64
MAX_EXPONENT = 300

How = Literal["strict", "extracted", "trailing_comma"]


class ReplyRejected(Exception):  # noqa: N818 - it is an outcome of a call, not a programming error
    """A reply that cannot be used. The reason is one clause, fit to be told to the model and to the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Read:
    """An object read out of a reply.

    Attributes:
        value: strings, booleans, None, lists and objects as JSON has them; every number is a Decimal exactly
            as written. Strings may hold any character, lone surrogates included; see `harmless`.
        how: `strict` when the text is nothing but the object, `extracted` when something stood around it,
            `trailing_comma` when commas before a closing bracket were left out.
    """

    value: dict[str, Any]
    how: How


@lru_cache(maxsize=1024)
def _number(written: str) -> Decimal:
    if len(written) > MAX_NUMBER_CHARS:
        raise ReplyRejected(f"a number of {len(written)} characters is no score or count")
    exponent = written.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        raise ReplyRejected(f"the number {written} is out of range")
    return Decimal(written)


def _constant(written: str) -> Decimal:
    raise ReplyRejected(f"{written} is no JSON number")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ReplyRejected(f"the key {show(key)} stands twice in one object")
        result[key] = value
    return result


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=_number, parse_int=_number, parse_constant=_constant
)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|["{}\[\],]', re.DOTALL)
_LANDMARK = re.compile(r"[{}]|<(/?)think(?:ing)?>", re.IGNORECASE)
_CLEAN_STOPS = {"stop", "end_turn", "STOP"}


def read_object(text: str, finish_reason: str | None) -> Read:
    """The one JSON object of a reply.

    Args:
        text: what the model said.
        finish_reason: why it stopped. Only a clean stop is taken. None means that the provider names no
            reason; such a reply is taken when it is whole: one that was cut off does not close its object.

    Raises:
        ReplyRejected: anything but exactly one complete object; says what is wrong.
    """
    if finish_reason is not None and finish_reason not in _CLEAN_STOPS:
        cut = " (the reply was cut off; a shorter one is needed)" if finish_reason == "length" else ""
        raise ReplyRejected(f"the reply ended with finish reason {show(finish_reason)}{cut}")
    if len(text) > MAX_CHARS:
        raise ReplyRejected(f"the reply has {len(text)} characters; at most {MAX_CHARS} are read")
    whole = _whole(text)
    if whole is not None:
        return Read(whole, "strict")
    objects = _objects(text)
    if not objects:
        raise ReplyRejected("the reply holds no JSON object" if text.strip() else "the reply is empty")
    start, end, value, mended = objects[0]
    if mended:
        return Read(value, "trailing_comma")
    alone = not text[:start].strip() and not text[end:].strip()
    return Read(value, "strict" if alone else "extracted")


def _whole(text: str) -> dict[str, Any] | None:
    """The object, when the text is nothing but one; None leaves it to the closer look, which says why not."""
    text = text.strip()
    if not text.startswith("{") or text.count("{") + text.count("[") > MAX_DEPTH:
        return None
    try:
        return _decoded(text)
    except (json.JSONDecodeError, ReplyRejected):
        return None


def _objects(text: str) -> list[tuple[int, int, dict[str, Any], bool]]:
    """Every top-level object outside thinking blocks: (start, end, value, whether commas were left out)."""
    found: list[tuple[int, int, dict[str, Any], bool]] = []
    position = 0
    while (landmark := _LANDMARK.search(text, position)) is not None:
        position = landmark.end()
        if landmark[0] == "{":
            start = landmark.start()
            end, value, mended = _object_at(text, start)
            _refuse_part(text, start, end)
            if found and not _same(found[0][2], value):
                raise ReplyRejected("the reply holds more than one JSON object, and they differ")
            found.append((start, end, value, mended))
            if len(found) > MAX_OBJECTS:
                raise ReplyRejected(f"the reply says its object more than {MAX_OBJECTS} times")
            position = end
        elif landmark[0] == "}":
            raise ReplyRejected("a closing brace stands outside of any JSON object")
        elif landmark[1]:
            if found:
                raise ReplyRejected("the JSON object stands in a thinking block closed, never opened")
        else:
            position = _end_of_thinking(text, position)
    return found


def _end_of_thinking(text: str, position: int) -> int:
    depth = 1
    for tag in _LANDMARK.finditer(text, position):
        if tag[0] not in {"{", "}"}:
            depth += -1 if tag[1] else 1
            if depth == 0:
                return tag.end()
    raise ReplyRejected("a thinking block is not closed")


def _object_at(text: str, start: int) -> tuple[int, dict[str, Any], bool]:
    end, commas = _extent(text, start)
    try:
        return end, _decoded(text[start:end]), False
    except json.JSONDecodeError as error:
        if not commas:
            raise ReplyRejected(f"no valid JSON: {error.msg} at character {start + error.pos}") from None
    cuts = [start, *(edge for comma in commas for edge in (comma, comma + 1)), end]
    without = "".join(text[left:right] for left, right in zip(cuts[::2], cuts[1::2], strict=True))
    try:
        return end, _decoded(without), True
    except json.JSONDecodeError as error:
        raise ReplyRejected(f"no valid JSON: {error.msg}, in the object at character {start}") from None


def _decoded(text: str) -> dict[str, Any]:
    value: dict[str, Any] = _DECODER.decode(text)
    return value


def _extent(text: str, start: int) -> tuple[int, list[int]]:
    """Where the object that opens at `start` ends, and its commas that stand before a closing bracket."""
    closers: list[str] = []
    commas: list[int] = []
    last = ""
    last_at = last_end = start
    for token in _TOKEN.finditer(text, start):
        sign = token[0]
        if sign == '"':
            raise ReplyRejected("the JSON object is cut off inside a string")
        touching = not text[last_end : token.start()].strip()
        if sign == "," and touching and last in set("{[,"):
            raise ReplyRejected("a comma of the JSON object follows no value")
        if sign in "{[":
            closers.append("}" if sign == "{" else "]")
            if len(closers) > MAX_DEPTH:
                raise ReplyRejected(f"the JSON object is nested deeper than {MAX_DEPTH}")
        elif sign in "}]":
            if sign != closers.pop():
                raise ReplyRejected("brackets of the JSON object do not match")
            if last == "," and touching:
                commas.append(last_at)
            if not closers:
                return token.end(), commas
        last, last_at, last_end = sign, token.start(), token.end()
    raise ReplyRejected("the JSON object is cut off")


def _refuse_part(text: str, start: int, end: int) -> None:
    """Refuses an object that is a piece of something larger: an element of a list, the value of a key."""
    before = text[:start].rstrip()[-40:]
    after = text[end:].lstrip()[:40]
    if before.endswith("[") or after.startswith("]"):
        raise ReplyRejected("the JSON object stands in a list; one object alone is asked for")
    if re.search(r'"\s*:$', before) or re.match(r',\s*"', after):
        raise ReplyRejected("the JSON object is a piece of a larger one whose braces do not match")


def _same(one: Any, other: Any) -> bool:
    """Equal with equal types: True is not 1, and the order of keys does not matter."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def exact_keys(value: Mapping[str, Any], names: Iterable[str], where: str) -> None:
    """Refuses an object that lacks one of the names or has another one.

    Raises:
        ReplyRejected: names what is missing and what is too much, with the name probably meant.
    """
    wanted = list(names)
    missing = [name for name in wanted if name not in value]
    if missing:
        raise ReplyRejected(f"{where} lacks {', '.join(missing)}")
    for name in value:
        if name not in wanted:
            meant = nearest(name, wanted)
            hint = f" (meant {meant}?)" if meant else ""
            raise ReplyRejected(f"{where} has {show(name, 40)}, which was not asked for{hint}")


_BLANK = re.compile(r"\s+")
_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def harmless(text: str) -> str:
    """The text on one line; control characters, direction overrides and lone surrogates become U+FFFD."""
    return _HARMFUL.sub("\ufffd", _BLANK.sub(" ", text)).strip()


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with these properties, all of them, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
