"""Says what pydantic found in the words of a configuration: dotted key, value found, what is allowed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from evalrunner.component import Component
from evalrunner.errors import Problem, nearest, show


class _Bad:
    """Stands for a part that is wrong, so that what surrounds it can be checked all the same."""


BAD = _Bad()

_ABSENT = object()
_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_WRITTEN = {
    "Path": "a path, written as text",
    "Decimal": "a number",
    "Fraction": "a number or a fraction such as 2/3",
}
_KINDS = re.compile(
    r"^(Input|Value|String|Bytes|List|Tuple|Set|Dictionary|Decimal|Number|Data|Path)( input)? should"
)
_YAML_WORDS = re.compile(r"a valid (tuple|dictionary|mapping)( or instance of \w+)?")


def translated(error: ValidationError, parts: Mapping[str, Any], path: str, owner: type) -> list[Problem]:
    """Pydantic's errors as problems, one a place.

    Args:
        error: what validating `parts` raised.
        parts: the fields that were validated; of those that are BAD nothing is said again.
        path: the dotted key of `parts`; empty at the root.
        owner: the model or dataclass that they were validated by.
    """
    found: dict[str, list[Problem]] = {}
    for detail in error.errors(include_url=False):
        loc, value = _place(detail, parts)
        if not _holds_bad(value):
            where = ".".join([*([path] if path else []), *map(str, loc)])
            keys = _keys(owner, loc[:-1])
            found.setdefault(where, []).append(_problem(detail, where, value, keys))
    return [_joined(problems) for problems in found.values()]


def _holds_bad(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_bad(each) for each in value.values())
    if isinstance(value, list | tuple):
        return any(_holds_bad(each) for each in value)
    return value is BAD


def _place(detail: ErrorDetails, parts: Mapping[str, Any]) -> tuple[list[int | str], Any]:
    """Where in the data an error sits, without pydantic's names of union branches; and what is there."""
    loc: list[int | str] = []
    value: Any = parts
    for step in detail["loc"]:
        inside = _at(value, step)
        if inside is _ABSENT and detail["type"] in _MISSING and isinstance(value, Mapping):
            return [*loc, step], _ABSENT
        if inside is _ABSENT:
            break
        value = inside
        loc.append(step)
    return loc, value


def _at(value: Any, step: int | str) -> Any:
    if isinstance(value, Mapping):
        return value.get(step, _ABSENT)
    is_place = isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)
    return value[step] if is_place else _ABSENT


def _problem(detail: ErrorDetails, where: str, value: Any, keys: Sequence[str]) -> Problem:
    kind, found = detail["type"], _shown(value)
    if kind in _MISSING:
        return Problem(where, "is missing and has no default", allowed=f"{where}=VALUE")
    if kind == "extra_forbidden":
        path, _, name = where.rpartition(".")
        close = nearest(name, keys)
        close = f"{path}.{close}" if path and close else close
        return Problem(where, "no such key", found, ", ".join(keys) or "no keys", close)
    if kind == "is_instance_of":
        wanted = str(detail["ctx"]["class"])
        written = _WRITTEN.get(wanted)
        what = f"should be {written}" if written else f"is no {wanted}"
        return Problem(where, what, found, None if written else f"{where}=OPTION")
    what = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    what = _YAML_WORDS.sub(lambda match: "a list" if match[1] == "tuple" else "a mapping", what)
    choices = re.findall(r"'([^']*)'", what) if kind == "literal_error" else ()
    if kind == "value_error" and value is None:
        found = None  # it says itself that nothing was given
    return Problem(where, in_our_words(what), found, None, nearest(str(value), choices))


def in_our_words(message: str) -> str:
    """What pydantic says, without its names of kinds: `should have at least 1 character`."""
    return _KINDS.sub("should", message).partition(" after validation")[0]


def _shown(value: object) -> str | None:
    """A value as a user wrote it; of a component already built its kind, of what holds them nothing."""
    if isinstance(value, Component):
        return type(value).__name__
    holds = isinstance(value, list | tuple) and any(isinstance(each, Component | Mapping) for each in value)
    return None if holds or isinstance(value, Mapping) else show(value)


def _joined(problems: Sequence[Problem]) -> Problem:
    """One problem of those in one place: the branches of a union each say theirs."""
    first = problems[0]
    whats = list(dict.fromkeys(problem.what for problem in problems))
    if all(what.startswith("should be ") for what in whats):
        whats[1:] = [what.removeprefix("should be ") for what in whats[1:]]
    close = next((problem.nearest for problem in problems if problem.nearest), None)
    return Problem(first.where, " or ".join(whats), first.found, first.allowed, close)


def _keys(owner: type, loc: Sequence[int | str]) -> list[str]:
    """The keys that may stand at a place inside what `owner` describes, as configuration writes them."""
    owners = [owner]
    for step in loc:
        held = [field for each in owners for name, field in _fields(each).items() if name == step]
        owners = [model for field in held for model in _models(field.annotation)] if held else owners
    return [name for each in owners for name in _fields(each)]


def _fields(owner: type) -> dict[str, FieldInfo]:
    found = owner.model_fields if issubclass(owner, BaseModel) else getattr(owner, "__pydantic_fields__", {})
    return {field.alias or name: field for name, field in found.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models inside an annotation, such as that of a mapping of prices."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
