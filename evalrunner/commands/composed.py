"""The configured store, for commands that compose nothing else."""

from collections.abc import Sequence

from hydra.types import RunMode

from evalrunner.config.app import App
from evalrunner.config.tree import TrendConfig, load
from evalrunner.store.base import Store


def configured_store(overrides: Sequence[str] = ()) -> Store:
    """The store that `trend` would read, with overrides such as `store.path=FILE`.

    Raises:
        ConfigError: the overrides do not fit.
    """
    with App("trend") as app:
        return load(app.compose_config("trend", list(overrides), RunMode.RUN), TrendConfig).store
