"""Refuses overrides that Hydra would misread or that are typos: all at once, with what to do instead."""

import re
from collections.abc import Iterator, Sequence

from hydra._internal.config_repository import IConfigRepository
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.types import ChoiceSweep, Override, QuotedString
from omegaconf import DictConfig, ListConfig

from evalrunner.errors import Problem, nearest, show

SEVERAL = "reporter"
"""The one group of which several options may be chosen at once."""

_MODEL = Problem(
    "model",
    "is no key: models sit in a panel",
    allowed="--models A,B or panel.models=[A,B]; the model under test is subject.model",
)


def wrong_choices(
    overrides: Sequence[Override], repo: IConfigRepository, *, sweeps: bool = False
) -> list[Problem]:
    """What is wrong with the overrides that choose an option of a group, or seem to.

    Only where `sweeps`, a sweep over several options is advised.
    """
    problems = []
    for override in overrides:
        group = override.key_or_group
        if group.startswith("hydra.") or override.is_delete():
            continue
        if group == "model":
            problems.append(_MODEL)
        elif repo.group_exists(group):
            for value in _choices(override):
                problems += _wrong_choice(group, value, repo, sweeps)
    return problems


def _choices(override: Override) -> Iterator[object]:
    """The values of an override, one by one where it is a sweep that names them."""
    if isinstance(override._value, ChoiceSweep):
        yield from (_text(value) for value in override._value.list)
    elif not override.is_sweep_override():
        yield override.value()


def _text(value: object) -> object:
    return value.text if isinstance(value, QuotedString) else value


def _wrong_choice(group: str, value: object, repo: IConfigRepository, sweeps: bool) -> list[Problem]:
    options = repo.get_group_options(group, ObjectType.CONFIG)
    if isinstance(value, list) and group == SEVERAL:
        return [problem for each in value for problem in _wrong_choice(group, _text(each), repo, sweeps)]
    if isinstance(value, list):
        return [_merged(group, ",".join(str(_text(each)) for each in value), sweeps)]
    if group == "threshold" and isinstance(value, int | float) and not isinstance(value, bool):
        what = "is the group of verdict rules; the largest drop that regress allows is regress.threshold"
        instead = f"--threshold {value} or regress.threshold={value}; threshold={'|'.join(options)}"
        return [Problem(group, what, show(value), instead)]
    inside = isinstance(value, str) and value and not {"", ".", ".."} & set(value.split("/"))
    is_known = inside and repo.config_exists(f"{group}/{value}")
    if is_known or isinstance(value, dict):  # a mapping sets keys of what the group fills
        return []
    what = "no such option" if isinstance(value, str) else "needs the name of an option"
    close = nearest(str(value), options)
    none = "none yet; `evalrunner baseline save NAME` makes one" if group == "baseline" else "no option"
    return [Problem(group, what, show(value), ", ".join(options) or none, close)]


def _merged(group: str, chosen: str, sweeps: bool) -> Problem:
    flag = f"--models {chosen} or " if sweeps else ""
    ways = [f"to sweep over them: -m {group}={chosen}" if sweeps else "one option"]
    if group == "panel":
        ways.append(f"for one panel of these models: {flag}panel.models=[{chosen}]")
    what = "a list would merge the options into one, the last winning"
    return Problem(group, what, show(chosen), "; ".join(ways))


def unknown_keys(overrides: Sequence[Override], config: DictConfig) -> list[Problem]:
    """The overrides of keys that the configuration, as its files made it, does not have."""
    problems = []
    for override in overrides:
        if override.is_add() or override.is_force_add() or override.is_hydra_override():
            continue
        if override.package is not None or "/" in override.key_or_group:
            groups = sorted(key for key in config if isinstance(key, str) and key != "hydra")
            key = override.get_key_element()
            problems.append(Problem(key, "no such group", nearest=nearest(key, groups)))
        elif (problem := _unknown(override.key_or_group, config)) is not None:
            problems.append(problem)
    return problems


def _unknown(key: str, config: DictConfig) -> Problem | None:
    """What is wrong with a key, walked from the root; None where it exists or anything may stand."""
    node: object = config
    parts = key.split(".")
    for depth, part in enumerate(parts):
        path = ".".join(parts[:depth])
        if not isinstance(node, DictConfig | ListConfig):
            return Problem(key, f"{path} is a value and has no keys", allowed=path)
        if is_open(node):
            return None
        if isinstance(node, DictConfig):
            if part not in {"hydra", "_target_", *node}:
                return _no_such_key(key, depth, node, config)
            node = node._get_node(part)
        elif not re.fullmatch(r"\d+", part) or int(part) >= len(node):
            places = f"0 to {len(node) - 1}" if len(node) else "none, it is empty"
            return Problem(key, f"no such place in {path}", show(part), places)
        else:
            node = node._get_node(int(part))
    return None


def is_open(node: DictConfig | ListConfig) -> bool:
    """Whether nothing can be said of the keys: no content yet, or a free mapping, whose component says it."""
    flags = node._metadata.flags or {}
    is_whole = not (node._is_none() or node._is_missing() or node._is_interpolation())
    return not is_whole or flags.get("struct") is False


def _no_such_key(key: str, depth: int, node: DictConfig, config: DictConfig) -> Problem:
    parts = key.split(".")
    path = ".".join(parts[:depth])
    keys = [str(each) for each in node if each not in {"hydra", "_target_"}]
    allowed = f"{path or 'the configuration'} has {', '.join(keys) or 'no keys'}"
    close = nearest(parts[depth], keys)
    if close is not None:
        close = ".".join([*parts[:depth], close, *parts[depth + 1 :]])
    elif not path:  # a key from deeper down, written without its path
        leaves = {leaf.rpartition(".")[2]: leaf for leaf in dotted(config)}
        close = leaves.get(nearest(parts[-1], leaves) or "")
    return Problem(key, "no such key", allowed=allowed, nearest=close)


def dotted(node: DictConfig, path: str = "") -> Iterator[str]:
    """Every key inside a configuration, dotted, without `hydra`, `_target_` and what stands in lists."""
    for key in map(str, node):
        if key in {"hydra", "_target_"}:
            continue
        below = f"{path}.{key}" if path else str(key)
        yield below
        child = node._get_node(key)
        if isinstance(child, DictConfig) and not is_open(child):
            yield from dotted(child, below)
