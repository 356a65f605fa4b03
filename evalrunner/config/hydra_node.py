"""What a configuration may say to Hydra itself, in its node `hydra`.

Hydra would set environment variables, and build whatever class its logging names, before any check of ours.
Both are refused while a configuration is composed, so the same holds for every job of a sweep in any worker.
"""

from collections.abc import Sequence
from typing import Any, Literal

from omegaconf import DictConfig, ListConfig, OmegaConf
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalrunner.config.pydantic_words import translated
from evalrunner.errors import Problem, show

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "NOTSET"]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Formatter(_Part):
    format: str | None = None
    datefmt: str | None = None
    style: Literal["%", "{", "$"] = "%"


class _Handler(_Part):
    class_: Literal[
        "logging.StreamHandler",
        "logging.FileHandler",
        "logging.NullHandler",
        "logging.handlers.RotatingFileHandler",
        "logging.handlers.TimedRotatingFileHandler",
        "logging.handlers.WatchedFileHandler",
    ] = Field(alias="class")
    level: Level = "NOTSET"
    formatter: str | None = None
    stream: Literal["ext://sys.stderr", "ext://sys.stdout"] | None = None
    filename: str | None = None
    mode: Literal["a", "w"] = "a"
    encoding: str | None = None
    delay: bool = False
    maxBytes: int = 0  # noqa: N815 - logging's spelling
    backupCount: int = 0  # noqa: N815 - logging's spelling
    when: str | None = None
    interval: int | None = None
    utc: bool | None = None


class _Logger(_Part):
    level: Level = "NOTSET"
    handlers: list[str] = Field(default_factory=list)
    propagate: bool = True


class _Logging(_Part):
    version: Literal[1]
    disable_existing_loggers: bool = True
    incremental: bool = False
    formatters: dict[str, _Formatter] = Field(default_factory=dict)
    handlers: dict[str, _Handler] = Field(default_factory=dict)
    root: _Logger | None
    loggers: dict[str, _Logger] = Field(default_factory=dict)


def wrong_with_hydra(config: DictConfig) -> list[Problem]:
    """What may not stand in the node `hydra` of a composed configuration; interpolations stay unresolved."""
    hydra = config._get_node("hydra") if "hydra" in set(config) else None
    if not isinstance(hydra, DictConfig) or hydra._is_none() or hydra._is_missing():
        return []
    problems = _environment(hydra)
    verbose = _plain(hydra, "verbose")
    names = verbose if isinstance(verbose, list) else [verbose]
    if not isinstance(verbose, bool) and not all(isinstance(each, str) for each in names):
        allowed = "true, false, the name of a logger, a list of names"
        problems.append(Problem("hydra.verbose", "names no loggers", show(verbose), allowed))
    for part in ("hydra_logging", "job_logging"):
        problems += _logging(_plain(hydra, part), f"hydra.{part}")
    most = _plain(hydra, "sweeper.max_batch_size")
    if isinstance(most, int) and most < 1:
        problems.append(Problem("hydra.sweeper.max_batch_size", "is no size", show(most), "1 or more, null"))
    return problems


def _environment(hydra: DictConfig) -> list[Problem]:
    variables = _plain(hydra, "job.env_set")
    if not variables:
        return []
    names: Sequence[str] = list(map(str, variables)) if isinstance(variables, dict) else [str(variables)]
    allowed = "variables are set where evalrunner is started"
    what = "a configuration sets no environment variables"
    return [Problem(f"hydra.job.env_set.{name}", what, None, allowed) for name in names]


def _logging(value: Any, where: str) -> list[Problem]:
    """What is wrong with a logging block: it may name the standard handlers, the two streams and files."""
    if not isinstance(value, dict):
        return [Problem(where, "is no mapping that sets up logging", show(value))]
    try:
        made = _Logging.model_validate(value)
    except ValidationError as error:
        return translated(error, value, where, _Logging)
    problems = []
    for name, handler in made.handlers.items():
        if handler.formatter is not None and handler.formatter not in made.formatters:
            place = f"{where}.handlers.{name}.formatter"
            problems.append(
                Problem(place, "no such formatter", show(handler.formatter), _list(made.formatters))
            )
    loggers = {**{f"loggers.{name}": each for name, each in made.loggers.items()}, "root": made.root}
    for place, logger in loggers.items():
        for name in logger.handlers if logger is not None else ():
            if name not in made.handlers:
                at = f"{where}.{place}.handlers"
                problems.append(Problem(at, "no such handler", show(name), _list(made.handlers)))
    return problems


def _list(names: dict[str, Any]) -> str:
    return ", ".join(names) or "none is defined"


def _plain(hydra: DictConfig, key: str) -> Any:
    """A part of the node as plain data; None where there is none."""
    node: Any = hydra
    for part in key.split("."):
        if not isinstance(node, DictConfig) or node._is_none() or node._is_missing():
            return None
        if node._is_interpolation():
            return node._value()
        node = node._get_node(part) if part in set(node) else None
    if isinstance(node, DictConfig | ListConfig):
        whole = not (node._is_none() or node._is_missing() or node._is_interpolation())
        return OmegaConf.to_container(node, resolve=False) if whole else node._value()
    return None if node is None else node._value()
