"""Checks a composed configuration whole, and reports everything that is wrong with it at once.

Each problem stands under the dotted key that a user would override. Only what is free of problems is
instantiated.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, ListConfig, Node, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from evalrunner.component import Component
from evalrunner.config import registry
from evalrunner.errors import ConfigError, Problem, TargetError, nearest, show


class _Bad:
    """Stands for a part that is wrong, so that what surrounds it can be checked all the same."""


BAD = _Bad()


def resolved(node: DictConfig | ListConfig, problems: list[Problem], path: str = "") -> Any:
    """The node as plain data. Missing values and interpolations that fail are added to `problems`."""
    keys = (
        [key for key in node if path or key != "hydra"] if isinstance(node, DictConfig) else range(len(node))
    )
    values: dict[Any, Any] = {}
    for key in keys:
        where = f"{path}.{key}" if path else str(key)
        raw = node._get_node(key)
        if isinstance(raw, Node) and raw._is_missing():
            problems.append(Problem(where, "is missing and has no default", "???", f"{where}=VALUE"))
            values[key] = BAD
            continue
        try:
            value = node[key]
        except OmegaConfBaseException as error:
            text = str(error.msg or error).splitlines()[0]
            found = raw._value() if raw is not None and not isinstance(raw, list) else None
            problems.append(Problem(where, f"cannot be resolved: {text}", show(found)))
            values[key] = BAD
            continue
        values[key] = resolved(value, problems, where) if OmegaConf.is_config(value) else value
    return values if isinstance(node, DictConfig) else list(values.values())


def checked(value: Any, path: str, problems: list[Problem]) -> Any:
    """Plain data with its components built, inside out. What is wrong is added to `problems`, and is BAD."""
    if isinstance(value, list):
        return [checked(each, f"{path}.{place}", problems) for place, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    parts = {
        key: checked(each, f"{path}.{key}" if path else str(key), problems) for key, each in value.items()
    }
    if "_target_" not in parts or not path:
        return parts
    try:
        component = registry.find(str(parts.pop("_target_")), f"{path}._target_")
    except TargetError as error:
        problems += error.problems
        return BAD
    return built(component, parts, path, problems)


def built(component: type[Component], parts: Mapping[str, Any], path: str, problems: list[Problem]) -> Any:
    """A component from its fields, or BAD."""
    try:
        made = component.model_validate(dict(parts))
    except ValidationError as error:
        problems += translated(error, parts, path, known_fields(component))
        return BAD
    return BAD if holds_bad(parts) else made


def holds_bad(value: object) -> bool:
    """Whether there is a wrong part anywhere inside."""
    if isinstance(value, Mapping):
        return any(holds_bad(each) for each in value.values())
    if isinstance(value, list):
        return any(holds_bad(each) for each in value)
    return value is BAD


def known_fields(component: type[Component]) -> list[str]:
    """The keys of a component, as configuration writes them."""
    return [field.alias or name for name, field in component.model_fields.items()]


def translated(
    error: ValidationError, parts: Mapping[str, Any], path: str, keys: Sequence[str]
) -> list[Problem]:
    """Pydantic's errors as problems, one a place; nothing is said of parts that are already known to be BAD."""
    found: dict[str, list[Problem]] = {}
    for detail in error.errors(include_url=False):
        loc, value, inside = _place(detail, parts)
        if value is BAD or holds_bad(value):
            continue
        where = ".".join([*([path] if path else []), *map(str, loc)])
        found.setdefault(where, []).append(_problem(detail, where, value, inside, keys))
    return [_joined(problems) for problems in found.values()]


_ABSENT = object()
_WRITTEN = {
    "Path": "a path, written as text",
    "Decimal": "a number",
    "Fraction": "a number or a fraction such as 2/3",
}
_IN_YAML_WORDS = re.compile(r"a valid (tuple|dictionary|mapping)( or instance of \w+)?")


def _place(detail: ErrorDetails, parts: Mapping[str, Any]) -> tuple[list[int | str], Any, bool]:
    """Where in the data an error sits, without pydantic's names of union branches; and what is there."""
    loc: list[int | str] = []
    value: Any = parts
    for step in detail["loc"]:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
            value = value[step]
        elif detail["type"] in {"missing", "missing_argument"} and isinstance(value, Mapping):
            return [*loc, step], _ABSENT, bool(loc)
        else:
            break
        loc.append(step)
    return loc, value, len(loc) > 1


def _problem(detail: ErrorDetails, where: str, value: Any, inside: bool, keys: Sequence[str]) -> Problem:
    kind = detail["type"]
    if kind == "extra_forbidden":
        name = where.rpartition(".")[2]
        allowed = None if inside else ", ".join(keys) or "no keys"
        close = None if inside else nearest(name, keys)
        prefix = where.rpartition(".")[0]
        return Problem(
            where, "no such key", show(value), allowed, f"{prefix}.{close}" if prefix and close else close
        )
    if kind in {"missing", "missing_argument"}:
        return Problem(where, "is missing and has no default", allowed=f"{where}=VALUE")
    if kind == "is_instance_of":
        wanted = str(detail["ctx"]["class"])
        if wanted in _WRITTEN:
            return Problem(where, f"should be {_WRITTEN[wanted]}", _shown(value))
        return Problem(where, f"is no {wanted}", _shown(value), f"{where}=OPTION")
    what = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    what = _IN_YAML_WORDS.sub(lambda match: "a list" if match[1] == "tuple" else "a mapping", what)
    what = what.replace("Input should be", "should be")
    close = None
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", "")))
        close = nearest(str(value), choices)
    return Problem(where, what, _shown(value), nearest=close)


def _shown(value: object) -> str | None:
    """A value found, as a user wrote it: of components already built only the kind, of lists of them nothing."""
    if isinstance(value, Component):
        return type(value).__name__
    if isinstance(value, Mapping):
        return None
    holds = isinstance(value, list | tuple) and any(isinstance(each, Component | Mapping) for each in value)
    return None if holds else show(value)


def _joined(problems: Sequence[Problem]) -> Problem:
    """One problem of those in one place: the branches of a union each say theirs."""
    whats: list[str] = list(dict.fromkeys(problem.what for problem in problems))
    first = problems[0]
    if len(whats) > 1 and all(what.startswith("should be ") for what in whats):
        whats = [whats[0], *(what.removeprefix("should be ") for what in whats[1:])]
    close = next((problem.nearest for problem in problems if problem.nearest), None)
    return Problem(first.where, " or ".join(whats), first.found, first.allowed, close)


def unknown_roots(values: Mapping[str, Any], known: Sequence[str]) -> list[Problem]:
    """The root keys that the command does not read."""
    return [
        Problem(
            key, "no such key", None if value is BAD else show(value), ", ".join(known), nearest(key, known)
        )
        for key, value in values.items()
        if key not in known
    ]


def raise_all(problems: Sequence[Problem]) -> None:
    """Raises ConfigError with every different problem, when there are any."""
    unique = list(dict.fromkeys(problems))
    if unique:
        only_targets = all(problem.where.endswith("._target_") for problem in unique)
        raise (TargetError if only_targets else ConfigError)(unique)
