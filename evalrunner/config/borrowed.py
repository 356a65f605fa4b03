"""Hydra borrowed for a while: its global state, and OmegaConf's, is given back as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobRuntime
from hydra.version import VersionBase
from omegaconf import DictConfig
from omegaconf.basecontainer import BaseContainer


@contextmanager
def borrowed() -> Iterator[None]:
    """Inside, Hydra is as if nobody used it; afterwards it is as before, for programs that use it too."""
    entered, version, job = GlobalHydra.instance(), VersionBase.instance(), JobRuntime.instance()
    config = HydraConfig.instance()
    before = (entered.hydra, version.version_base, config.cfg, DictConfig(job.conf))
    resolvers = dict(BaseContainer._resolvers)
    entered.hydra = None
    config.cfg = None
    try:
        yield
    finally:
        entered.hydra, version.version_base, config.cfg, job.conf = before
        BaseContainer._resolvers.clear()
        BaseContainer._resolvers.update(resolvers)
