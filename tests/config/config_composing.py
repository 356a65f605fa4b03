"""Composes configurations in this process, the way a job gets them."""

import copy
from collections.abc import Sequence
from pathlib import Path

import pytest
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, open_dict

from evalrunner.config.app import App
from evalrunner.config.commandline import parse, positional_overrides, relabelled
from evalrunner.config.explain import CONFIG_FAULTS, explained
from evalrunner.config.table import COMMANDS
from evalrunner.config.tree import RunConfig, load
from evalrunner.errors import EvalrunnerError, Problem


def composed(command: str, *tokens: str, name: str | None = None) -> DictConfig:
    """The configuration of a job, without the node `hydra`; HydraConfig knows the whole."""
    parsed = parse(command, tokens)
    overrides = [*parsed.overrides, *positional_overrides(command, parsed.positionals)]
    sweeps = COMMANDS[command].sweeps
    try:
        with App(command, sweeps=sweeps) as app:
            whole = app.compose_config(name or command, overrides, RunMode.RUN)
    except (*CONFIG_FAULTS, EvalrunnerError) as error:
        raise relabelled(explained(error, sweeps=sweeps), parsed.flags) from error
    HydraConfig.instance().set_config(whole)
    job = copy.deepcopy(whole)
    with open_dict(job):
        del job["hydra"]
    return job


def loaded(command: str, *tokens: str, kind: type = RunConfig) -> RunConfig:
    """The typed tree."""
    return load(composed(command, *tokens), kind)


def problems(command: str, *tokens: str, kind: type = RunConfig) -> list[Problem]:
    """Everything that is wrong, whether composing or checking finds it."""
    with pytest.raises(EvalrunnerError) as caught:
        loaded(command, *tokens, kind=kind)
    assert caught.value.exit_code == 3
    return list(
        relabelled(caught.value, {} if _named(caught.value) else parse(command, tokens).flags).problems
    )


def _named(error: EvalrunnerError) -> bool:
    return any(problem.where.startswith("--") for problem in error.problems)


def wheres(found: Sequence[Problem]) -> list[str]:
    """The places of problems."""
    return [problem.where for problem in found]


def write(path: Path, text: str) -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
