"""What is wrong with a value of a receipt, in our words; and such a value as it was written."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalrunner.errors import show

_WORDS = {
    "missing": "is missing",
    "string_type": "is not a text",
    "bool_type": "is neither true nor false",
    "int_type": "is not a whole number",
    "int_from_float": "is not a whole number",
    "list_type": "is not a list",
    "dict_type": "is not an object",
    "mapping_type": "is not an object",
    "model_type": "is not an object",
    "model_attributes_type": "is not an object",
    "greater_than_equal": "is too small",
    "less_than_equal": "is too large",
    "string_too_long": "is too long",
    "string_pattern_mismatch": "is not of the form that is needed",
}
_AFTER = re.compile(r"^(?:Value error, |Input should be )")


def told(kind: str, message: str) -> str:
    """What pydantic found wrong, without its own words and names of classes."""
    if kind == "literal_error":
        return f"is none of the known words: {_AFTER.sub('', message)}"
    return _WORDS.get(kind) or _AFTER.sub("", message)


def shown(value: Any, limit: int = 80) -> str:
    """A value found, cut to `limit` characters for display; numbers as they were written."""
    return show(_plain(value, 0), limit)


class _Written(str):
    """Digits that are shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, Decimal):
        return _Written(str(value))
    if isinstance(value, Mapping | list) and depth > 3:
        return _Written("{…}" if isinstance(value, Mapping) else "[…]")
    if isinstance(value, Mapping):
        return {key: _plain(each, depth + 1) for key, each in list(value.items())[:20]}
    if isinstance(value, list):
        return [_plain(each, depth + 1) for each in value[:20]]
    return value
