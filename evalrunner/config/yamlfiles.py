"""Configuration files read with libyaml, ten times as fast as Hydra reads them and by the same rules."""

import os
from functools import cache
from typing import Any

import yaml
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader


def read_quickly(repository: ConfigRepository) -> None:
    """Lets the sources of a repository that are folders read their files quickly."""
    if yaml.__with_libyaml__:
        repository.sources = [
            QuickFiles(each.provider, f"file://{each.path}") if each.scheme() == "file" else each
            for each in repository.sources
        ]


class QuickFiles(FileConfigSource):
    """A folder of configuration files."""

    def load_config(self, config_path: str) -> ConfigResult:
        """As FileConfigSource's, which is asked where there is anything to complain of."""
        path = os.path.realpath(os.path.join(self.path, self._normalize_file_name(config_path)))  # noqa: PTH118
        try:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123
                text = file.read()
            content = yaml.load(text, Loader=_loader())
        except (OSError, yaml.YAMLError):
            return super().load_config(config_path)
        if not isinstance(content, dict):
            return super().load_config(config_path)
        return ConfigResult(
            config=OmegaConf.create(content),
            path=f"{self.scheme()}://{self.path}",
            provider=self.provider,
            header=ConfigSource._get_header_dict(text[:512]),
        )


@cache
def _loader() -> Any:
    """OmegaConf's loader with libyaml's parser in the place of the one in Python."""
    parser: Any = yaml.cyaml

    def start(self: Any, stream: Any) -> None:
        parser.CParser.__init__(self, stream)
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)

    return type("QuickLoader", (parser.CParser, get_yaml_loader()), {"__init__": start})
