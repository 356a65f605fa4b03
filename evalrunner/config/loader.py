"""Hydra's config loader with our rules: full seats, every field shown, and clear refusals.

Everything here happens during composition, so it holds for a single run, for `--cfg job`, and for each job
of a sweep under any launcher. A loader pickles with its search path, so that workers compose alike.
"""

import copy
import re
import warnings
from collections.abc import Callable, Mapping, Sequence

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, IConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.default_element import ResultDefault
from hydra.core.override_parser.types import Override, OverrideType
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf

from evalrunner.config import folders
from evalrunner.config.advice import unknown_keys, wrong_choices
from evalrunner.config.credentials import with_credentials
from evalrunner.config.fill import fill
from evalrunner.config.giving_way import giving_way
from evalrunner.config.hydra_node import wrong_with_hydra
from evalrunner.config.hydra_words import TOO_LONG
from evalrunner.config.seats import full_seat, full_seats, unquoted
from evalrunner.config.under_test import chosen_subject, full_model
from evalrunner.config.yamlfiles import read_quickly
from evalrunner.errors import ChoiceError, ConfigError, Problem, UnknownKeyError, show

folders.register_resolver()

SEATS = "panel.models"
_HYDRA_ONLY = frozenset({"hydra"})
_ENDLESS = re.compile(r"(?<!['\"\w])\d{1001}")


class Loader(ConfigLoaderImpl):
    """Composes as Hydra does, and resolves the names of models on the way."""

    _overrides: Sequence[Override] = ()
    _chosen: Mapping[str, object] = {}

    def __init__(self, config_search_path: ConfigSearchPath, *, sweeps: bool = False) -> None:
        super().__init__(config_search_path)
        self._sweeps = sweeps
        read_quickly(self.repository)

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """As Hydra's; refuses what a configuration may not say to Hydra, see `wrong_with_hydra`."""
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="provider=hydra.searchpath")
                config = super().load_configuration(
                    config_name, overrides, run_mode, from_shell, validate_sweep_overrides
                )
        except UserWarning as warning:
            place = str(warning).partition("path=")[2].removesuffix(" is not available.")
            raise ConfigError(Problem("hydra.searchpath", "is not there", show(place))) from None
        except AssertionError as error:  # how OmegaConf says that a key stands inside a value
            keys = [each.key_or_group for each in self._overrides if each.key_or_group.count(".") > 1]
            raise ConfigError(
                Problem(", ".join(keys), "a key cannot be set inside a value that has no keys")
            ) from error
        problems = [*wrong_with_hydra(config), *with_credentials(config)]
        if problems:
            raise ConfigError(problems)
        return config

    def _parse_overrides_and_create_caching_repo(
        self, config_name: str | None, overrides: list[str]
    ) -> tuple[list[Override], CachingConfigRepository]:
        """Parses, refuses wrong choices of options, and makes full seats of what overrides list."""
        if endless := [each for each in overrides if _ENDLESS.search(each)]:
            raise ConfigError([Problem(each.partition("=")[0].lstrip("+~"), TOO_LONG) for each in endless])
        parsed, repo = super()._parse_overrides_and_create_caching_repo(config_name, overrides)
        problems = wrong_choices(parsed, repo, sweeps=self._sweeps)
        if problems:
            raise ChoiceError(problems)
        compose = super()._compose_config_from_defaults_list
        self._chosen = _choices(parsed, repo)
        parsed = [*chosen_subject(parsed, config_name, repo, compose), *parsed]
        self._chosen = _choices(parsed, repo)
        for override in parsed:
            self._rewrite(override, repo)
        self._overrides = [each for each in parsed if not _chooses(each, repo)]
        return parsed, repo

    def _compose_config_from_defaults_list(
        self, defaults: list[ResultDefault], repo: IConfigRepository
    ) -> DictConfig:
        """Merges the files, then makes full seats, shows every field, and refuses unknown keys."""
        config = super()._compose_config_from_defaults_list(defaults, repo)
        listed = [each for each in self._overrides if _lists_seats(each)]
        if not listed:
            _resolve_seats(config, repo, super()._compose_config_from_defaults_list)
        elif (panel := _panel(config)) is not None and "models" in set(panel):
            panel["models"] = listed[-1]._value  # so that overrides of its places are checked against it
        full_model(config, self._overrides, repo, super()._compose_config_from_defaults_list)
        for key in config:
            if key not in _HYDRA_ONLY:
                fill(config._get_node(key), str(key))
        problems = unknown_keys(self._overrides, config)
        if problems:
            raise UnknownKeyError(problems)
        if listed and (panel := _panel(config)) is not None:
            # what Hydra will put in the place of these seats are the same ones, with their free mappings
            listed[-1]._value = copy.deepcopy(panel._get_node("models"))  # type: ignore[assignment]
        return config

    def _load_single_config(self, default: ResultDefault, repo: IConfigRepository) -> ConfigResult:
        """As Hydra's; what a baseline pins gives way to what the command line chooses; see `giving_way`."""
        result = super()._load_single_config(default, repo)
        group, _, name = (default.config_path or "").partition("/")
        return giving_way(name, result, self._chosen) if group == "baseline" else result

    def _rewrite(self, override: Override, repo: IConfigRepository) -> None:
        """Replaces names in the value of an override of panel.models, or of one place in it."""
        key = override.key_or_group
        if override.is_delete() or override.is_sweep_override() or override.package is not None:
            return
        compose, value = super()._compose_config_from_defaults_list, unquoted(override._value)
        if key == SEATS and isinstance(value, list):
            override._value = full_seats(value, SEATS, repo, compose)
        elif key == "panel" and isinstance(value, dict) and isinstance(value.get("models"), list):
            override._value = {**value, "models": full_seats(value["models"], SEATS, repo, compose)}
        elif key.startswith(f"{SEATS}.") and key.count(".") == 2 and isinstance(value, str | dict):
            override._value = full_seat(value, key, repo, compose)


def _chooses(override: Override, repo: IConfigRepository) -> bool:
    """Whether an override chooses an option (or sweeps) rather than setting a key."""
    is_dict = isinstance(override._value, dict)
    return override.is_sweep_override() or (repo.group_exists(override.key_or_group) and not is_dict)


def _choices(overrides: Sequence[Override], repo: IConfigRepository) -> dict[str, object]:
    """The options that overrides choose, by group."""
    return {
        each.key_or_group: each.value()
        for each in overrides
        if not (each.is_delete() or each.is_sweep_override()) and _chooses(each, repo)
    }


def _lists_seats(override: Override) -> bool:
    is_set = override.type == OverrideType.CHANGE and override.key_or_group == SEATS
    return is_set and isinstance(override._value, list)


def _panel(config: DictConfig) -> DictConfig | None:
    panel = config._get_node("panel") if "panel" in set(config) else None
    if isinstance(panel, DictConfig) and not panel._is_none() and not panel._is_interpolation():
        return panel
    return None


def _resolve_seats(
    config: DictConfig,
    repo: IConfigRepository,
    compose: Callable[[list[ResultDefault], IConfigRepository], DictConfig],
) -> None:
    """Makes full seats of the entries that the files list."""
    panel = _panel(config)
    models = panel._get_node("models") if panel is not None and "models" in set(panel) else None
    if panel is None or not isinstance(models, ListConfig) or models._is_none() or models._is_interpolation():
        return
    entries = [
        OmegaConf.to_container(each, resolve=False) if OmegaConf.is_config(each) else each
        for each in models._iter_ex(resolve=False)
    ]
    panel["models"] = full_seats(entries, SEATS, repo, compose)
