"""`run --resume RUN`: finding an unfinished run, and composing what it was begun with."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from evalrunner.commands.output import near, say
from evalrunner.commands.rerun import recomposed
from evalrunner.config.folders import is_run_id
from evalrunner.config.jobs import RECEIPT, in_sweep
from evalrunner.errors import InputError, Problem, UsageError, nearest, show
from evalrunner.pipeline.unfinished import BEGUN, RunningError, TakenUp, take_up
from evalrunner.receipt.files import read_receipt

AUTO = "auto"

_FREE = frozenset(
    {"resume", "json", "out", "reporter", "store", "budget", "cache", "cache_dir", "concurrency"}
)
"""Roots of the configuration that may differ: they change nothing of what is asked."""

_FREE_LEAVES = frozenset(
    {"concurrency", "requests_per_minute", "tokens_per_minute", "timeout_s", "default_max"}
)


def taken_up(config: DictConfig, folder: Path) -> tuple[DictConfig, TakenUp | None]:
    """The configuration to run, and the unfinished run to go on with, as the key `resume` asks.

    Args:
        config: as composed.
        folder: the new run's.

    Raises:
        UsageError: the configuration differs from that of the run; every key.
        InputError: there is no such run, it is finished, or it still goes on.
    """
    asked = OmegaConf.select(config, "resume")
    if asked is None:
        return config, None
    if not isinstance(asked, str) or not asked:
        raise UsageError(Problem("resume", "is no run", show(asked), "a run id, a run folder, or auto"))
    root = folder.parent.parent if in_sweep() else folder.parent
    if asked == AUTO:
        return config, _newest(config, root)
    place = _named(asked, root)
    taken = _opened(place, asked)
    try:
        config = recomposed(_overrides(place), last=_as_then(place))
        problems = [
            Problem(
                key,
                f"differs from run {taken.begun.run_id}, which would be resumed",
                show(new),
                f"{show(old)}, or a new run without --resume",
            )
            for key, old, new in changes(_saved(place), _plain(config))
        ]
        if problems:
            raise UsageError(problems)
    except BaseException:
        taken.close()
        raise
    return config, taken


def _newest(config: DictConfig, root: Path) -> TakenUp | None:
    """The newest unfinished run with this configuration, if there is any."""
    found = sorted([*root.glob(f"*/{BEGUN}"), *root.glob(f"*/*/{BEGUN}")], key=_age)
    for path in found:
        try:
            taken = take_up(path.parent, is_named=False)
        except (RunningError, FileNotFoundError, InputError):
            continue
        if (
            taken.begun.resumed_by is None
            and not _has_ended(path.parent)
            and not any(changes(_saved(path.parent), _plain(config)))
        ):
            return taken
        taken.close()
    say("no unfinished run with this configuration: begins a new one")
    return None


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:
        return 0.0


def _has_ended(folder: Path) -> bool:
    """Whether it left a receipt of its own will: not because somebody interrupted it."""
    path = folder / RECEIPT
    return path.is_file() and not read_receipt(path)[0].interrupted


def _named(name: str, root: Path) -> Path:
    path = Path(name)
    if path.is_dir():
        return path
    if is_run_id(name):
        for place in _places(root):
            if place.name == name:
                return place
    known = list(dict.fromkeys(place.name for place in _places(root) if (place / BEGUN).is_file()))
    raise InputError(
        Problem(
            "resume",
            "is no run folder, and no id of one",
            show(name),
            f"{', '.join(known[-5:]) or 'no run is unfinished here'}",
            nearest(name, known),
        )
    )


def _places(root: Path) -> Iterator[Path]:
    for top in sorted({root.absolute(), *Path("outputs").absolute().glob("*")}):
        for place in sorted([*top.glob("*"), *top.glob("*/*")]):
            if place.is_dir() and is_run_id(place.name):
                yield place


def _opened(place: Path, name: str) -> TakenUp:
    """The unfinished run of a folder, held."""
    where = near(place)
    try:
        taken = take_up(place)
    except FileNotFoundError:
        what = "is finished" if (place / RECEIPT).is_file() else "called nothing"
        raise InputError(Problem("resume", f"run {where} {what}: there is nothing to resume", name)) from None
    except RunningError:
        raise InputError(Problem("resume", f"run {where} still goes on", name)) from None
    by = taken.begun.resumed_by
    if by is not None:
        taken.close()
        raise InputError(Problem("resume", "was resumed already", name, by))
    if _is_conclusive(place):
        taken.close()
        raise InputError(Problem("resume", f"run {where} is finished: there is nothing to resume", name))
    return taken


def _is_conclusive(place: Path) -> bool:
    path = place / RECEIPT
    return path.is_file() and read_receipt(path)[0].verdict != "inconclusive"


def _overrides(place: Path) -> list[str]:
    """The overrides that a run was begun with."""
    path = place / ".hydra" / "overrides.yaml"
    found = _loaded(path)
    if not isinstance(found, list):
        raise InputError(Problem(str(path), "is no list of overrides"))
    return [str(each) for each in found if not str(each).lstrip("+").startswith("resume=")]


def _as_then(place: Path) -> list[str]:
    """What the process decides, as it was decided then."""
    cycles = _saved(place).get("cycles.default_max")
    return [] if cycles is None else [f"cycles.default_max={cycles}"]


def _saved(place: Path) -> dict[str, Any]:
    """The configuration that a run was begun with: dotted key -> value."""
    found = _loaded(place / ".hydra" / "config.yaml")
    return dict(_leaves(found, "")) if isinstance(found, Mapping) else {}


def _loaded(path: Path) -> Any:
    try:
        return OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {' '.join(str(error).split())}")) from None


def _plain(config: DictConfig) -> dict[str, Any]:
    job = [str(key) for key in config if key != "hydra"]
    return dict(_leaves(OmegaConf.to_container(OmegaConf.masked_copy(config, job), resolve=False), ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for place, each in enumerate(value):
            yield from _leaves(each, f"{path}.{place}")
    else:
        yield path, value


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The keys that differ between two configurations and that matter: key, value then, value now.

    A key that is missing on one side has the value None there.
    """
    for key in dict.fromkeys([*then, *now]):
        parts = key.split(".")
        if parts[0] in _FREE or parts[-1] in _FREE_LEAVES:
            continue
        if then.get(key) != now.get(key):
            yield key, then.get(key), now.get(key)
