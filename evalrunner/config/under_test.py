"""The model under test: `subject.model` becomes a full seat, and naming one chooses who asks it."""

from collections.abc import Sequence
from typing import Any

from hydra._internal.config_repository import IConfigRepository
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString
from omegaconf import DictConfig, OmegaConf

from evalrunner.component import Component
from evalrunner.config import registry
from evalrunner.config.seats import Compose, full_seat, unquoted

KEY = "subject.model"
LLM_SUBJECT = "llm_subject"
"""The key in which an eval names the option of group `subject` that asks an LLM."""


def chosen_subject(
    overrides: Sequence[Override], config_name: str | None, repo: IConfigRepository, compose: Compose
) -> list[Override]:
    """The choice of the eval's LLM subject, when overrides name a model under test and no subject."""
    named = {each.key_or_group for each in overrides}
    if config_name is None or KEY not in named or "subject" in named:
        return []
    defaults = create_defaults_list(repo, config_name, list(overrides), prepend_hydra=True, skip_missing=True)
    config = compose(defaults.defaults, repo)
    option = config.get(LLM_SUBJECT)
    return [OverridesParser.create().parse_override(f"subject={option}")] if option else []


def full_model(
    config: DictConfig, overrides: Sequence[Override], repo: IConfigRepository, compose: Compose
) -> None:
    """Makes a full seat of `subject.model`, in the configuration and in the overrides that set it.

    Subjects without a model, or with one that is no component, are left alone.
    """
    subject = config._get_node("subject") if "subject" in set(config) else None
    if not isinstance(subject, DictConfig) or not _asks_a_model(subject):
        return
    given = [each for each in overrides if each.key_or_group == KEY and _names_one(each)]
    for each in given:
        each._value = full_seat(unquoted(each._value), KEY, repo, compose)
    node = subject._get_node("model")
    if given:
        subject["model"] = given[-1]._value
    elif isinstance(node, DictConfig) and not (node._is_none() or node._is_interpolation()):
        subject["model"] = full_seat(OmegaConf.to_container(node, resolve=False), KEY, repo, compose)
    elif isinstance(value := _plain(node), str) and value != "???":
        subject["model"] = full_seat(value, KEY, repo, compose)


def _names_one(override: Override) -> bool:
    whole = not (override.is_delete() or override.is_sweep_override())
    return whole and isinstance(override._value, str | QuotedString | dict)


def _plain(node: Any) -> object:
    return node._value() if node is not None and not isinstance(node, DictConfig) else None


def _asks_a_model(subject: DictConfig) -> bool:
    """Whether the subject's field `model` is a component: a seat, not a text of its own."""
    if subject._is_none() or subject._is_missing() or subject._is_interpolation():
        return False
    target = _plain(subject._get_node("_target_")) if "_target_" in set(subject) else None
    if not registry.known(target) or "model" not in set(subject):
        return False
    field = registry.find(str(target), "subject._target_").model_fields.get("model")
    return (
        field is not None and isinstance(field.annotation, type) and issubclass(field.annotation, Component)
    )
