"""Shows every field of a component in the composed configuration, with its default.

An option file says what it wants to say. What it leaves out is filled in from the component's class, so that
`--cfg job` and the saved configuration are whole, and every field can be overridden without a `+`.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, Node, OmegaConf
from pydantic import BaseModel

from evalrunner.config import registry
from evalrunner.config.quoting import literal
from evalrunner.errors import TargetError

MISSING = "???"


def fill(node: object, path: str = "") -> None:
    """Adds to every registered component inside `node`, in place, the fields that it leaves out.

    A required field becomes `???`. What is no registered component is left alone: validation refuses it.
    """
    if isinstance(node, DictConfig):
        if not _is_whole(node):
            return
        for key in list(node):
            fill(node._get_node(key), f"{path}.{key}" if path else str(key))
        written = set(node)
        target = node._get_node("_target_") if "_target_" in written else None
        target = target._value() if isinstance(target, Node) else None
        if registry.known(target):
            for name, default in defaults(str(target), path).items():
                if name not in written:
                    node[name] = default
            for key in node:
                _open(node._get_node(key))
    elif isinstance(node, ListConfig) and _is_whole(node):
        for place in range(len(node)):
            fill(node._get_node(place), f"{path}.{place}")


def _open(node: object) -> None:
    """Lets free mappings of a component, such as metric names with bars, take keys that they do not have yet.

    Hydra would want a `+` for them. What may stand in them is the component's to say.
    """
    if isinstance(node, DictConfig) and _is_whole(node) and "_target_" not in set(node):
        OmegaConf.set_struct(node, False)
        for name in node:
            _open(node._get_node(name))


def _is_whole(node: DictConfig | ListConfig) -> bool:
    return not (node._is_none() or node._is_missing() or node._is_interpolation())


def defaults(target: str, where: str) -> dict[str, Any]:
    """The fields of a registered target as YAML would write them, `???` where one is required.

    A target that cannot be imported has none here; validation says why.
    """
    try:
        component = registry.find(target, where)
    except TargetError:
        return {}
    return {
        field.alias or name: MISSING
        if field.is_required()
        else plain(field.get_default(call_default_factory=True))
        for name, field in component.model_fields.items()
    }


def plain(value: Any) -> Any:
    """A field's default as YAML data that validates to it again."""
    made = value
    if isinstance(value, BaseModel):
        made = {name: plain(getattr(value, name)) for name in type(value).model_fields}
    elif isinstance(value, Mapping):
        made = {key: plain(each) for key, each in value.items()}
    elif isinstance(value, list | tuple):
        made = [plain(each) for each in value]
    elif isinstance(value, Decimal):
        made = int(value) if value == value.to_integral_value() else float(value)
    elif isinstance(value, str | Path | Fraction):
        made = literal(str(value))
    return made
