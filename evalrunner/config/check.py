"""Checks a composed configuration whole, and reports everything that is wrong with it at once.

Each problem stands under the dotted key that a user would override. Only what is free of problems is
instantiated.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import ValidationError

from evalrunner.component import Component
from evalrunner.config import registry
from evalrunner.config.credentials import FromEnvironment
from evalrunner.config.hydra_words import omegaconf_says
from evalrunner.config.pydantic_words import BAD, translated
from evalrunner.errors import ConfigError, Problem, TargetError, UnknownKeyError, nearest, show

ABSENT = "is missing and has no default"


def resolved(node: DictConfig | ListConfig, problems: list[Problem], path: str = "") -> Any:
    """The node as plain data, without the root key `hydra`.

    Missing values and interpolations that fail are added to `problems`, and are BAD.
    """
    if isinstance(node, ListConfig):
        return [_value(node, place, f"{path}.{place}", problems) for place in range(len(node))]
    return {
        str(key): _value(node, key, f"{path}.{key}" if path else str(key), problems)
        for key in map(str, node)
        if path or key != "hydra"
    }


def _value(node: Any, key: str | int, where: str, problems: list[Problem]) -> Any:
    raw = node._get_node(key)
    if raw._is_missing():
        problems.append(Problem(where, ABSENT, "???", f"{where}=VALUE"))
        return BAD
    try:
        value = node[key]
    except OmegaConfBaseException as error:
        what, allowed = omegaconf_says(str(error.msg or error))
        problems.append(Problem(where, f"cannot be resolved: {what}", show(raw._value()), allowed))
        return BAD
    if isinstance(value, str) and "oc.env:" in str(raw._value()):
        return FromEnvironment(value, str(raw._value()))
    return resolved(value, problems, where) if OmegaConf.is_config(value) else value


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
    target, where = str(parts.pop("_target_")), f"{path}._target_"
    try:
        component = registry.find(target, where)
    except TargetError as error:
        problems += error.problems
        return BAD
    if (misplaced := _misplaced(target, path)) is not None:
        problems.append(misplaced)
        return BAD
    return built(component, parts, path, problems)


def _misplaced(target: str, path: str) -> Problem | None:
    """What is wrong where a component of one group stands in the place of another group's."""
    groups = registry.by_group()
    root, _, last = path.partition(".")
    is_seat = re.search(r"(^|\.)(model|models\.\d+)$", last) is not None
    group = "model" if is_seat else root if not last or root == "reporter" else None
    if group not in groups or target in groups[group]:
        return None
    others = [name for name, targets in groups.items() if target in targets and name != "baseline"]
    if not others:
        return None
    what = f"is a component of group {' and '.join(others)}, not of {group}"
    return Problem(f"{path}._target_", what, show(target), ", ".join(groups[group]))


def built(component: type[Component], parts: Mapping[str, Any], path: str, problems: list[Problem]) -> Any:
    """A component from its fields, or BAD."""
    try:
        made = component.model_validate(dict(parts))
    except ValidationError as error:
        problems += translated(error, parts, path, component)
        return BAD
    return BAD if holds_bad(parts) else made


def holds_bad(value: object) -> bool:
    """Whether there is a wrong part anywhere inside."""
    if isinstance(value, Mapping):
        return any(holds_bad(each) for each in value.values())
    if isinstance(value, list):
        return any(holds_bad(each) for each in value)
    return value is BAD


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
    """Raises with every different problem, when there are any.

    Raises:
        TargetError: all of them are code that is not registered.
        UnknownKeyError: all of them are keys that nothing reads.
        ConfigError: they are of other kinds as well.
    """
    unique = list(dict.fromkeys(problems))
    if unique:
        only_targets = all(problem.where.endswith("._target_") for problem in unique)
        only_keys = all(problem.what == "no such key" for problem in unique)
        raise (TargetError if only_targets else UnknownKeyError if only_keys else ConfigError)(unique)
