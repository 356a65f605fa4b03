"""Names in a panel become full seats, through Hydra's own loader, while a configuration is composed.

An entry of `panel.models` is the name of an option of the group `model`, a model id (it has a `:` or a `/`),
or a mapping, which may leave `_target_` out when it is an LLM's.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from hydra._internal.config_repository import IConfigRepository
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.default_element import ResultDefault
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.types import QuotedString
from omegaconf import DictConfig, ListConfig, OmegaConf

from evalrunner.config.fill import fill
from evalrunner.errors import ConfigError, Problem, nearest, show

GROUP = "model"
LITELLM = "evalrunner.model.litellm_model.LitellmModel"
_OPTION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")

Compose = Callable[[list[ResultDefault], IConfigRepository], DictConfig]


def full_seats(
    entries: Sequence[object], where: str, repo: IConfigRepository, compose: Compose
) -> list[dict[str, Any]]:
    """The entries as full mappings, interpolations unresolved.

    Args:
        entries: of a list in YAML or on the command line.
        where: the key of the list, for messages.
        repo: where options of the group `model` are found.
        compose: merges the files of a defaults list.

    Raises:
        ConfigError: entries that are no seat, all of them.
    """
    seats: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for place, entry in enumerate(entries):
        try:
            seats.append(full_seat(entry, f"{where}.{place}", repo, compose))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return seats


def full_seat(entry: object, where: str, repo: IConfigRepository, compose: Compose) -> dict[str, Any]:
    """One entry as a full mapping; see `full_seats`."""
    node = OmegaConf.create({"seat": {"_target_": LITELLM, **_mapping(entry, where, repo, compose)}})
    fill(node)
    seat = OmegaConf.to_container(node, resolve=False)
    assert isinstance(seat, dict)
    return dict(seat["seat"])


def _mapping(entry: object, where: str, repo: IConfigRepository, compose: Compose) -> dict[str, Any]:
    if isinstance(entry, DictConfig | ListConfig):
        entry = OmegaConf.to_container(entry, resolve=False)
    if isinstance(entry, dict):
        return entry
    if not isinstance(entry, str):
        raise ConfigError(
            Problem(where, "is no seat", show(entry), "a model id, an option of group model, a mapping")
        )
    if _OPTION.fullmatch(entry) and repo.config_exists(f"{GROUP}/{entry}"):
        return _option(entry, where, repo, compose)
    if ":" in entry or "/" in entry:
        return {"id": entry}
    options, name = repo.get_group_options(GROUP, ObjectType.CONFIG), entry or "NAME"
    raise ConfigError(
        Problem(
            where,
            "is neither a model id nor an option of group model",
            show(entry),
            f"an id such as openai:{name} or openai/{name}, or one of {', '.join(options)}",
            nearest(entry, options),
        )
    )


def _option(name: str, where: str, repo: IConfigRepository, compose: Compose) -> dict[str, Any]:
    """What an option of the group `model` says, with the files of its own defaults list merged."""
    path = f"{GROUP}/{name}"
    defaults = create_defaults_list(repo, path, [], prepend_hydra=False, skip_missing=False)
    node = compose(defaults.defaults, repo)
    for part in path.split("/")[:-1]:
        node = node.get(part) if isinstance(node, DictConfig) else None
    seat = OmegaConf.to_container(node, resolve=False) if isinstance(node, DictConfig) else None
    if not isinstance(seat, dict):
        raise ConfigError(Problem(where, f"option {path} is no mapping", show(name)))
    return {str(key): value for key, value in seat.items()}


def unquoted(value: Any) -> Any:
    """A parsed value with quoted strings as plain ones; `${` in them is still unresolved."""
    if isinstance(value, QuotedString):
        return value.text
    if isinstance(value, list):
        return [unquoted(each) for each in value]
    if isinstance(value, dict):
        return {unquoted(key): unquoted(each) for key, each in value.items()}
    return value
