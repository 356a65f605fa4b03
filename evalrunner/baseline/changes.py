"""What differs between two states of a configuration or of a project's files, said in a line each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalrunner.baseline.repository import Point, Repository
from evalrunner.baseline.written import content
from evalrunner.errors import ConfigError, show

_ABSENT = object()
_MOST = 8
_ORDER = (
    re.compile(r"(threshold|regress)\."),
    re.compile(r"baseline\.receipt\.(scores\..*\.mean|metrics\..*\.value|overall_score|verdict)$"),
    re.compile(r"(?!baseline\.)"),
    re.compile(r"baseline\.receipt\.(scores|metrics)"),
)


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value inside plain data with its dotted key; of a list also its length, under the key itself."""
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list) and node:
        yield path, len(node)
        for place, value in enumerate(node):
            yield from leaves(value, f"{path}.{place}")
    else:
        yield path, node


def changed(before: Any, after: Any) -> list[tuple[str, str]]:
    """The keys that differ, each with `old → new`: bars first, then figures, settings, and the rest."""
    old, new = dict(leaves(before)), dict(leaves(after))
    found = [
        (key, f"{_shown(old.get(key, _ABSENT))} → {_shown(new.get(key, _ABSENT))}")
        for key in dict.fromkeys([*old, *new])
        if old.get(key, _ABSENT) != new.get(key, _ABSENT)
    ]
    return sorted(found, key=lambda each: _rank(each[0]))


def _rank(key: str) -> int:
    return next((place for place, pattern in enumerate(_ORDER) if pattern.match(key)), len(_ORDER))


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else show(value, 40)


def listed(differences: Sequence[tuple[str, str]]) -> str:
    """Differences in one line, and how many more there are."""
    shown = ", ".join(f"{key} {what}" for key, what in differences[:_MOST])
    more = len(differences) - _MOST
    return f"{shown}, and {more} more" if more > 0 else shown


def since(repository: Repository, point: Point, files: Sequence[Path]) -> list[str]:
    """The files that differ from a commit, a line each; of a baseline's YAML also which of its keys."""
    lines = []
    for path, before in zip(files, repository.texts(point, files), strict=True):
        after = _text(path)
        if before == after:
            continue
        name = path.absolute().relative_to(repository.top).as_posix() if _inside(path, repository) else path
        if before is None:
            lines.append(f"{name} is not in {point}")
        elif after is None:
            lines.append(f"{name} is gone since {point}")
        else:
            keys = _keys(before, after) if path.parent.name == "baseline" else ""
            lines.append(f"{name} differs from {point}{keys}")
    return lines


def _inside(path: Path, repository: Repository) -> bool:
    return path.absolute().is_relative_to(repository.top)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None


def _keys(before: str, after: str) -> str:
    try:
        found = changed(content(before, ""), content(after, ""))
    except ConfigError:
        return ""
    return f": {listed(found)}" if found else " in comments or layout"


def uncovered(
    pinned: Mapping[str, Any], composed: Mapping[str, Any], overridden: Sequence[str]
) -> list[tuple[str, str]]:
    """What the composed configuration says otherwise than the baseline that it is composed from.

    Args:
        pinned: the settings of the option.
        composed: the whole configuration, unresolved as the option is.
        overridden: the keys that the command line sets; they may differ.
    """
    there = dict(leaves(composed))  # in it the names of models are full seats
    return [
        (key, f"{_shown(value)} → {_shown(there.get(key, _ABSENT))}")
        for key, value in leaves(pinned)
        if there.get(key, _ABSENT) != value
        and not (isinstance(value, str) and any(each.startswith(f"{key}.") for each in there))
        and not any(key == each or key.startswith(f"{each}.") for each in overridden)
    ]
