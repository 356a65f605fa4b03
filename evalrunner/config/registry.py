"""Which code a configuration may name.

A `_target_` is built only when it is, letter by letter, one that a packaged file of conf/ names, or one that
an installed package registered under the entry point group `evalrunner.components`. A prefix would not do:
module attributes reach into any library that a module imports.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from evalrunner.component import Component
from evalrunner.errors import Problem, TargetError, nearest, show
from evalrunner.paths import data_root

GROUP = "evalrunner.components"
_TARGET = re.compile(r"^[ \t]*(?:-[ \t]+)?_target_:[ \t]*[\"']?([A-Za-z_][\w.]*)", re.MULTILINE)


@cache
def packaged() -> frozenset[str]:
    """The targets of the packaged conf/: a new option needs no second list."""
    files = (data_root() / "conf").rglob("*.yaml")
    return frozenset(target for file in files for target in _TARGET.findall(file.read_text(encoding="utf-8")))


@cache
def by_group() -> dict[str, tuple[str, ...]]:
    """group -> the targets that its packaged options name, each once."""
    found: dict[str, list[str]] = {}
    for file in sorted((data_root() / "conf").glob("*/*.yaml")):
        targets = found.setdefault(file.parent.name, [])
        targets += _TARGET.findall(file.read_text(encoding="utf-8"))
    return {group: tuple(dict.fromkeys(targets)) for group, targets in found.items() if targets}


@cache
def registered() -> frozenset[str]:
    """The targets that installed packages registered, as `package.module.Class`."""
    return frozenset(f"{point.module}.{point.attr}" for point in entry_points(group=GROUP) if point.attr)


def known(target: object) -> bool:
    """Whether a configuration may name this target."""
    return isinstance(target, str) and (target in packaged() or target in registered())


def find(target: str, where: str) -> type[Component]:
    """The component class of a target; `where` is the key that names it, for the message.

    Raises:
        TargetError: it is not registered, cannot be imported, or is no component.
    """
    if not known(target):
        names = sorted(packaged() | registered())
        raise TargetError(
            Problem(where, "is no registered component", show(target), nearest=nearest(target, names))
        )
    module, _, name = target.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise TargetError(Problem(where, f"cannot be imported: {error}", show(target))) from error
    if not (isinstance(found, type) and issubclass(found, Component)):
        raise TargetError(Problem(where, "is no component class", show(target)))
    return found


def targets(node: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every `_target_` inside plain data, with its dotted key."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            below = f"{path}.{key}" if path else str(key)
            if key == "_target_":
                yield below, value
            yield from targets(value, below)
    elif isinstance(node, list | tuple):
        for place, value in enumerate(node):
            yield from targets(value, f"{path}.{place}")


def check_hydra(hydra: Mapping[str, Any]) -> None:
    """Refuses code that the node `hydra` of a configuration would run: it runs before any job does.

    No callback may be named; launchers and sweepers must be plugins that Hydra itself discovered.

    Raises:
        TargetError: with every such target.
    """
    from hydra.core.plugins import Plugins
    from hydra.plugins.launcher import Launcher
    from hydra.plugins.sweeper import Sweeper

    plugins = Plugins.instance()
    allowed: dict[str, set[str]] = {
        "callbacks": set(),
        "launcher": {_name(each) for each in plugins.discover(Launcher)},
        "sweeper": {_name(each) for each in plugins.discover(Sweeper)},
    }
    problems = [
        Problem(where, "names code that is not registered", show(target))
        for part in ("callbacks", "launcher", "sweeper")
        for where, target in targets(hydra.get(part), f"hydra.{part}")
        if target not in allowed[part]
    ]
    if problems:
        raise TargetError(problems)


def _name(plugin: type) -> str:
    return f"{plugin.__module__}.{plugin.__qualname__}"
