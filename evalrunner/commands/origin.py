"""A run to save a baseline from: its receipt, and the configuration that it ran with."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evalrunner.baseline.pinned import composed, raw
from evalrunner.commands.composed import configured_store
from evalrunner.commands.found import folders, found, run_folders, whole
from evalrunner.commands.output import say
from evalrunner.commands.rerun import overrides_of
from evalrunner.config.jobs import RECEIPT
from evalrunner.errors import InputError, Problem
from evalrunner.receipt.files import loads, read_receipt
from evalrunner.receipt.schema import Receipt

_WHOLE = frozenset({"run", "regress"})
"""The commands whose configuration says all: the others read items that an earlier stage chose."""


@dataclass(frozen=True)
class Origin:
    """A run that happened.

    Attributes:
        receipt: what it left.
        config: what it ran with, interpolations unresolved.
        choices: the options chosen.
        exact: the configuration is the run's own, from its folder; else it was derived from the receipt.
    """

    receipt: Receipt
    config: Mapping[str, Any]
    choices: Mapping[str, str]
    exact: bool


def newest(eval_name: str | None = None) -> Receipt:
    """The receipt of the newest attempt in the store, of one eval or of all.

    Raises:
        InputError: there is none.
    """
    with configured_store().reading(say) as reader:
        kept = reader.latest(eval_name)
    if kept is None:
        what = "no runs yet" if eval_name is None else f"no runs of {eval_name} yet"
        raise InputError(Problem("--from", what, None, "evalrunner run, or --from RUN"))
    receipt, doubts = loads(kept.text, f"receipt {kept.id} of the store")
    for line in doubts:
        say(f"warning: {line}")
    return receipt


def named(name: str) -> Receipt:
    """The receipt of a run that somebody names: a file, a run folder, a run id, or an id of the store."""
    folder = next(run_folders(name), None) if not Path(name).exists() else None
    [receipt] = found([name if folder is None else str(folder)], configured_store())
    return receipt


def origin(receipt: Receipt, name: str | None = None) -> Origin:
    """What a receipt's run ran with.

    Args:
        receipt: of the run.
        name: as it was given, which may be a folder or a file in one.

    Raises:
        InputError: the run folder's configuration cannot be read.
        ConfigError: what the receipt tells does not compose.
    """
    receipt = whole(receipt, name)
    for folder in folders(receipt, name):
        config, hydra = folder / ".hydra" / "config.yaml", folder / ".hydra" / "hydra.yaml"
        if not (config.is_file() and hydra.is_file() and _is_of(folder, receipt)):
            continue
        told = _read(hydra)["hydra"]
        if told["job"]["name"] in _WHOLE:
            chosen = {group: option for group, option in told["runtime"]["choices"].items() if option}
            return Origin(receipt, _read(config), chosen, exact=True)
    overrides, untold = overrides_of(receipt)
    for line in untold:
        say(f"warning: {line}")
    job, choices = composed("run", overrides)
    return Origin(receipt, raw(job), choices, exact=False)


def _is_of(folder: Path, receipt: Receipt) -> bool:
    """Whether the folder is that of the receipt's run."""
    path = folder / RECEIPT
    return path.is_file() and read_receipt(path)[0].run_id == receipt.run_id


def _read(path: Path) -> dict[str, Any]:
    try:
        made = OmegaConf.load(path)
    except (OSError, yaml.YAMLError, OmegaConfBaseException, ValueError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {' '.join(str(error).split())}")) from None
    if not isinstance(made, DictConfig):
        raise InputError(Problem(str(path), "is no configuration"))
    return raw(made)
