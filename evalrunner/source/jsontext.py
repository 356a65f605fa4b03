"""JSON rows: read strictly from what people write, and leniently from what DuckDB writes."""

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from evalrunner.errors import Problem, show
from evalrunner.receipt.jsontext import whole_number
from evalrunner.receipt.said import shown
from evalrunner.source.rows import RowRefused

AROUND = " \t\r\n\v\f"
"""What may stand around the object of a line."""


class _Twice(dict[str, Any]):
    """An object with a key written twice."""

    key: str = ""


def _pairs(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    twice = None
    for key, value in pairs:
        if key in result:
            twice = key
        result[key] = value
    if twice is None:
        return result
    marked = _Twice(result)
    marked.key = twice
    return marked


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


_STRICT = json.JSONDecoder(
    parse_float=Decimal, parse_int=whole_number, parse_constant=_no_constant, object_pairs_hook=_pairs
)
_LENIENT = json.JSONDecoder(parse_float=Decimal, parse_constant=lambda _: Decimal("NaN"))


def read_object(text: str) -> dict[str, Any]:
    """The object of one line; fractions as Decimal.

    Raises:
        RowRefused: not JSON, not an object, a key written twice in it, or text that is not Unicode.
    """
    try:
        value = _STRICT.decode(text.strip(AROUND))
    except RecursionError:
        raise RowRefused(Problem("", "is nested too deeply")) from None
    except (ValueError, ArithmeticError) as error:
        what = f"is not JSON: {str(error).splitlines()[0] if str(error) else 'a number out of range'}"
        raise RowRefused(Problem("", what, show(text), "one JSON object a line")) from None
    if not isinstance(value, dict):
        raise RowRefused(Problem("", "is not an object", shown(value), "one JSON object a line"))
    if isinstance(value, _Twice):
        raise RowRefused(Problem(value.key, "is written twice in one row"))
    for key, each in value.items():
        if _has_surrogate(key) or _has_surrogate(each):
            raise RowRefused(
                Problem(key, "holds half a surrogate pair", shown(each), "text that is valid Unicode")
            )
    return value


def read_trusted(text: str) -> dict[str, Any]:
    """The object that DuckDB wrote; NaN and infinity as Decimal NaN."""
    value: dict[str, Any] = _LENIENT.decode(text)
    return value


def nested(text: Any) -> Any:
    """A cell of a CSV file: the list or object that it holds as JSON, else the cell as it is."""
    if not isinstance(text, str) or not text.startswith(("{", "[")):
        return text
    try:
        value = _STRICT.decode(text)
    except (ValueError, ArithmeticError, RecursionError):
        return text
    return text if _has_surrogate(value) else value


def _has_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return True
        return False
    if isinstance(value, dict):
        return any(_has_surrogate(key) or _has_surrogate(each) for key, each in value.items())
    return isinstance(value, list) and any(_has_surrogate(each) for each in value)
