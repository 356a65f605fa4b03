"""Keys and passwords stay in the environment: they are neither saved with a configuration nor shown."""

import re
from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig, ListConfig

from evalrunner.errors import Problem

_IN_ADDRESS = re.compile(
    r"\bhttps?://[^/\s@'\"]+@|\b[a-z][a-z0-9+.-]*://[^/\s@:'\"]*:[^/\s@'\"]+@", re.IGNORECASE
)


class FromEnvironment(str):
    """A text that an interpolation took from the environment; messages show the interpolation instead.

    Attributes:
        written: the interpolation.
    """

    written: str

    def __new__(cls, value: str, written: str) -> "FromEnvironment":
        """The text `value`, which stands in the configuration as `written`."""
        made = super().__new__(cls, value)
        made.written = written
        return made

    def __repr__(self) -> str:
        return self.written


def with_credentials(config: DictConfig) -> list[Problem]:
    """The keys of a composed configuration whose texts hold credentials in an address, as they are written.

    Hydra saves what it composed before any job checks it, so these are refused while it composes.
    """
    texts = ((key, text) for key, text in _texts(config, "") if _IN_ADDRESS.search(text))
    what = "credentials in an address are refused: they would be saved with the configuration"
    return [
        Problem(key, what, None, "an address without them; keys come from the environment")
        for key, _ in texts
    ]


def _texts(node: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text of a configuration with its key, interpolations unresolved, without the node `hydra`."""
    if isinstance(node, DictConfig | ListConfig):
        if node._is_none() or node._is_missing() or node._is_interpolation():
            return
        keys: Any = list(node) if isinstance(node, DictConfig) else range(len(node))
        for key in keys:
            if path or key != "hydra":
                yield from _texts(node._get_node(key), f"{path}.{key}" if path else str(key))
    elif node is not None and isinstance(text := node._value(), str):
        yield path, text
