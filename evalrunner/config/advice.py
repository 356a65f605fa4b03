"""Refuses overrides that Hydra would misread or that are typos: all of a command line at once, with what to do."""

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


def wrong_choices(overrides: Sequence[Override], repo: IConfigRepository) -> list[Problem]:
    """What is wrong with the overrides that choose an option of a group, or seem to."""
    problems = []
    for override in overrides:
        group = override.key_or_group
        if group.startswith("hydra.") or override.is_delete():
            continue
        if group == "model":
            problems.append(_MODEL)
        elif repo.group_exists(group):
            for value in _choices(override):
                problems += _wrong_choice(group, value, repo)
    return problems


def _choices(override: Override) -> Iterator[object]:
    """The values of an override, one by one where it is a sweep that names them."""
    if isinstance(override._value, ChoiceSweep):
        yield from (_text(value) for value in override._value.list)
    elif not override.is_sweep_override():
        yield override.value()


def _text(value: object) -> object:
    return value.text if isinstance(value, QuotedString) else value


def _wrong_choice(group: str, value: object, repo: IConfigRepository) -> list[Problem]:
    options = repo.get_group_options(group, ObjectType.CONFIG)
    allowed = ", ".join(options) or "no option"
    if isinstance(value, dict):
        return []
    if isinstance(value, list):
        if group == SEVERAL:
            return [problem for each in value for problem in _wrong_choice(group, _text(each), repo)]
        chosen = ",".join(str(_text(each)) for each in value)
        instead = f"to sweep over them: -m {group}={chosen}"
        if group == "panel":
            instead += f"; for one panel of these models: --models {chosen} or panel.models=[{chosen}]"
        return [
            Problem(group, "a list would merge the options into one, the last winning", show(chosen), instead)
        ]
    if group == "threshold" and isinstance(value, int | float) and not isinstance(value, bool):
        return [
            Problem(
                group,
                "is the group of verdict rules; the largest drop that regress allows is regress.threshold",
                show(value),
                f"--threshold {value} or regress.threshold={value}; threshold={'|'.join(options)}",
            )
        ]
    if not isinstance(value, str):
        return [Problem(group, "needs the name of an option", show(value), allowed)]
    if not value or not repo.config_exists(f"{group}/{value}"):
        return [Problem(group, "no such option", show(value), allowed, nearest(value, options))]
    return []


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
    node: object = config
    parts = key.split(".")
    for depth, part in enumerate(parts):
        path = ".".join(parts[:depth])
        if isinstance(node, DictConfig):
            if node._is_none() or node._is_missing() or node._is_interpolation():
                return None
            if node._metadata.flags and node._metadata.flags.get("struct") is False:
                return None  # a free mapping: the component says what may stand in it
            keys = [str(each) for each in node if each not in {"hydra", "_target_"}]
            if part not in keys and part not in {"hydra", "_target_"}:
                return Problem(
                    key,
                    "no such key",
                    allowed=f"{path or 'the configuration'} has {', '.join(keys) or 'no keys'}",
                    nearest=_nearest(path, part, parts[depth + 1 :], keys, config),
                )
            node = node._get_node(part)
        elif isinstance(node, ListConfig):
            if node._is_none() or node._is_missing() or node._is_interpolation():
                return None
            if not re.fullmatch(r"\d+", part) or int(part) >= len(node):
                places = f"0 to {len(node) - 1}" if len(node) else "none, it is empty"
                return Problem(key, f"no such place in {path}", show(part), places)
            node = node._get_node(int(part))
        else:
            return Problem(key, f"{path} is a value and has no keys", allowed=path)
    return None


def _nearest(
    path: str, part: str, rest: Sequence[str], keys: Sequence[str], config: DictConfig
) -> str | None:
    """A key like the unknown one: at its level, else, for one at the root, anywhere by its last part."""
    close = nearest(part, keys)
    if close is not None:
        return ".".join([*([path] if path else []), close, *rest])
    if path:
        return None
    leaves = {leaf.rpartition(".")[2]: leaf for leaf in dotted(config)}
    close = nearest(rest[-1] if rest else part, leaves)
    return leaves[close] if close is not None else None


def dotted(node: object, path: str = "") -> Iterator[str]:
    """Every key inside a configuration, dotted, without `hydra` and `_target_`."""
    if not isinstance(node, DictConfig | ListConfig):
        return
    if node._is_none() or node._is_missing() or node._is_interpolation():
        return
    places = range(len(node)) if isinstance(node, ListConfig) else [key for key in node if key != "hydra"]
    for place in places:
        if place == "_target_":
            continue
        below = f"{path}.{place}" if path else str(place)
        yield below
        yield from dotted(node._get_node(place), below)
