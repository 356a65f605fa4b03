"""Strict JSON text of plain values: one canonical form to hash, and one in reading order to keep.

Both write a number as the shortest decimal equal to it, and both make text valid Unicode, so that neither
depends on locale, platform, hash seed or on how a number was spelled.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from evalrunner.errors import InputError, Problem, show

PLAIN_DIGITS = 21
"""Numbers with at most so many digits before the point, and few zeros behind it, are written out in full."""

MOST_DIGITS = 1000
"""A whole number with more digits than this is refused rather than read."""

_PLAIN = 10**PLAIN_DIGITS
_encode = json.JSONEncoder(ensure_ascii=False).encode


def clean(text: str) -> str:
    """The text as valid Unicode: surrogate pairs are joined, lone surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def number(value: int | float | Decimal) -> str:
    """The shortest JSON number equal to the value as written: 7, 7.0 and Decimal 7.00 all give `7`.

    A float stands for its shortest decimal. Very large and very small numbers keep an exponent.

    Raises:
        ValueError: NaN or infinite.
    """
    if isinstance(value, int) and -_PLAIN < value < _PLAIN:
        return str(int(value))
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError("not a finite number")
    return _shortest(value)


@lru_cache(maxsize=1024)
def _shortest(value: int | float | Decimal) -> str:
    """What `number` says; equal numbers are alike, so one that was written before need not be again."""
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        raise ValueError("not a finite number")
    sign, digits, exponent = exact.as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    figures = written.rstrip("0")
    if not figures:
        return "0"
    power = int(exponent) + len(written) - len(figures)
    point = len(figures) + power  # so many digits stand before the decimal point
    minus = "-" if sign else ""
    if not -6 < point <= PLAIN_DIGITS:
        return f"{minus}{figures[0]}{'.' if figures[1:] else ''}{figures[1:]}e{point - 1:+d}"
    if power >= 0:
        return f"{minus}{figures}{'0' * power}"
    if point <= 0:
        return f"{minus}0.{figures.rjust(-power, '0')}"
    return f"{minus}{figures[:point]}.{figures[point:]}"


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: keys sorted by code point, no blanks, non-ASCII kept, equal numbers
    alike.

    Mappings may have scalar keys, as YAML gives them; they are written as strings. Dates become ISO strings.

    Raises:
        InputError: NaN or infinity, a value that JSON cannot say, two keys that read the same, or nesting
            that is too deep; with the path.
    """
    return _text(value, _Style(sort=True, colon=":", comma=","))


def readable_json(value: Any, *, indent: bool = False) -> str:
    """JSON text in the value's own order of keys, on one line or indented by two.

    Raises:
        InputError: as `canonical_json`.
    """
    return _text(value, _Style(sort=False, colon=": ", comma=", ", indent=indent))


class _Style:
    def __init__(self, *, sort: bool, colon: str, comma: str, indent: bool = False) -> None:
        self.sort = sort
        self.colon = colon
        self.comma = comma
        self.indent = indent

    def wrap(self, opening: str, parts: list[str], closing: str, level: int) -> str:
        if not self.indent or not parts:
            return f"{opening}{self.comma.join(parts)}{closing}"
        inner = "\n" + "  " * (level + 1)
        return f"{opening}{inner}{f',{inner}'.join(parts)}\n{'  ' * level}{closing}"


def _text(value: Any, style: _Style) -> str:
    try:
        try:
            return _quickly(value, style, 0)
        except (_UnusualError, InputError):
            return _write(value, "", style, 0)
    except RecursionError:
        raise InputError("a value is nested too deeply to be written as JSON") from None


class _UnusualError(Exception):
    """A value that `_quickly` leaves to `_write`, which knows where it stands."""


def _quickly(value: Any, style: _Style, level: int) -> str:
    """What `_write` says, several times as fast, of usual values: text and keys in Unicode, plain numbers.

    Raises:
        _UnusualError, InputError: there is another value inside.
    """
    kind = type(value)
    if kind is str:
        return _quoted(value)
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise _UnusualError
        parts = [
            f"{_quoted(key)}{style.colon}{_quickly(value[key], style, level + 1)}"
            for key in (sorted(value) if style.sort else value)
        ]
        return style.wrap("{", parts, "}", level)
    if kind is list or kind is tuple:
        parts = [_quickly(each, style, level + 1) for each in value]
        if any(isinstance(each, Mapping | list | tuple) for each in value):
            return style.wrap("[", parts, "]", level)
        return f"[{style.comma.join(parts)}]"
    if kind is int and -_PLAIN < value < _PLAIN:
        return str(value)
    return _scalar(value, "")


def _quoted(text: str) -> str:
    if text.isascii():
        return encode_basestring(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _UnusualError from None
    return encode_basestring(text)


def _write(value: Any, path: str, style: _Style, level: int) -> str:
    if isinstance(value, str | int):
        return _scalar(value, path)
    if isinstance(value, Mapping):
        pairs = _keys(value, path)
        parts = [
            f"{_string(key)}{style.colon}{_write(pairs[key], _join(path, key), style, level + 1)}"
            for key in (sorted(pairs) if style.sort else pairs)
        ]
        return style.wrap("{", parts, "}", level)
    if isinstance(value, list | tuple):
        parts = [_write(each, _join(path, index), style, level + 1) for index, each in enumerate(value)]
        if any(isinstance(each, Mapping | list | tuple) for each in value):
            return style.wrap("[", parts, "]", level)
        return f"[{style.comma.join(parts)}]"
    return _scalar(value, path)


def _join(path: str, step: object) -> str:
    return f"{path}.{step}" if path else str(step)


def _keys(value: Mapping[Any, Any], path: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for key, each in value.items():
        text = clean(key) if isinstance(key, str) else _scalar(key, path).strip('"')
        if text in pairs:
            raise InputError(Problem(path, "two keys read the same", show(text)))
        pairs[text] = each
    return pairs


def _scalar(value: Any, path: str) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, date):
        return _string(value.isoformat())
    if isinstance(value, int | float | Decimal):
        try:
            return number(value)
        except ValueError:
            raise InputError(Problem(path, "not a finite number", show(value), "finite numbers")) from None
    raise InputError(
        Problem(
            path,
            f"a {type(value).__name__} cannot be written as JSON",
            show(value),
            "text, numbers, dates, true, false, null, lists and mappings",
        )
    )


def _string(text: str) -> str:
    return _encode(clean(text))


def no_twice(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The hook for `json.loads(object_pairs_hook=...)` that refuses a key written twice.

    Raises:
        ValueError: a key stands twice in one object; names it.
    """
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"key {show(key)} is written twice in one object")
        result[key] = value
    return result


def whole_number(text: str) -> int:
    """The hook for `json.loads(parse_int=...)` that refuses what no count, line or id needs.

    Raises:
        ValueError: more digits than MOST_DIGITS; Python's own words on that speak to programmers.
    """
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number has {len(text)} digits; at most {MOST_DIGITS} are read")
    return int(text)


def fraction(text: str) -> Decimal:
    """The hook for `json.loads(parse_float=...)`: the number as written, of any size that somebody may mean.

    Raises:
        ValueError: the exponent has no such size. Decimal itself raises no ValueError for the largest ones,
            and a whole number made of others takes all memory.
    """
    exponent = text.lower().partition("e")[2]
    if exponent and (len(exponent) > 8 or abs(int(exponent)) > MOST_DIGITS):
        raise ValueError(f"a number has the exponent {exponent[:20]}; at most {MOST_DIGITS} is read")
    return Decimal(text)
