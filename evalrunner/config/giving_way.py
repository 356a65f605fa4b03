"""Lets the command line's choices win over what a baseline pins.

Hydra merges an option's values after the options that it stands behind: the component that a baseline pins
would take the place of one that the command line chooses, without a word.
"""

import copy
from collections.abc import Mapping
from dataclasses import replace

from hydra.core.default_element import GroupDefault
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig

from evalrunner.errors import ConfigError, Problem, show


def giving_way(name: str, result: ConfigResult, chosen: Mapping[str, object]) -> ConfigResult:
    """A baseline as Hydra read it, without the whole components of groups that the command line chooses.

    Blocks that set single keys, without `_target_`, stay: they fit any option.

    Args:
        name: of the baseline.
        result: its file.
        chosen: the options that the command line chooses, by group.

    Raises:
        ConfigError: the command line chooses another eval, and nothing that the baseline pins would fit it.
    """
    for default in result.defaults_list or ():
        if not isinstance(default, GroupDefault) or (default.group or "").strip("/") != "eval":
            continue
        if chosen.get("eval", default.value) != default.value:
            what = f"baseline {name} pins another eval"
            raise ConfigError(Problem("eval", what, show(chosen["eval"]), str(default.value)))
    config = result.config
    if not isinstance(config, DictConfig):
        return result
    whole = [key for key in config if key in chosen and _is_component(config._get_node(key))]
    if not whole:
        return result
    config = copy.deepcopy(config)
    for key in whole:
        del config[key]
    return replace(result, config=config)


def _is_component(node: object) -> bool:
    return isinstance(node, DictConfig) and not node._is_none() and "_target_" in set(node)
