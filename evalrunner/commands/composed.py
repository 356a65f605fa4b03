"""What commands without a configuration of their own compose: most often the store alone."""

from collections.abc import Sequence

from hydra.types import RunMode
from omegaconf import DictConfig

from evalrunner.config.app import App
from evalrunner.config.commandline import OVERRIDE
from evalrunner.config.explain import CONFIG_FAULTS, explained
from evalrunner.config.tree import TrendConfig, load
from evalrunner.errors import EvalrunnerError, Problem, UsageError
from evalrunner.store.base import Store


def composed(command: str, overrides: Sequence[str] = (), config_dir: str | None = None) -> DictConfig:
    """The configuration that a command would run with.

    Raises:
        UsageError: an override is none, or cannot be read; `config_dir` is no folder.
        ConfigError: they do not fit, or a file of the configuration cannot be used.
    """
    strange = [each for each in overrides if not OVERRIDE.match(each)]
    if strange:
        what, allowed = "is neither an argument nor key=value", "overrides such as store.path=FILE"
        raise UsageError([Problem(each, what, None, allowed) for each in strange])
    try:
        with App(command, config_dir) as app:
            return app.compose_config(command, list(overrides), RunMode.RUN)
    except (*CONFIG_FAULTS, EvalrunnerError) as error:
        raise explained(error) from error


def configured_store(overrides: Sequence[str] = ()) -> Store:
    """The store that `trend` would read, with overrides such as `store.path=FILE`.

    Raises:
        UsageError, ConfigError: as `composed`.
    """
    return load(composed("trend", overrides), TrendConfig).store
