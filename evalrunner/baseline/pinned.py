"""The option that pins a run: made from the configuration that ran, and composed again to prove it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from evalrunner.baseline.changes import changed, listed
from evalrunner.baseline.written import BLOCK, content
from evalrunner.config.app import App
from evalrunner.config.explain import CONFIG_FAULTS, explained
from evalrunner.config.tree import RunConfig, load
from evalrunner.errors import EvalrunnerError, InputError, Problem
from evalrunner.pipeline.locked import PARTS, Drift, drifts
from evalrunner.pipeline.runner import select
from evalrunner.pipeline.session import Session, marks
from evalrunner.receipt.schema import Receipt

GROUPS = ("eval", "source", "sampler", "subject", "judge", "panel", "rubric", "threshold", "budget")
"""The groups of which a baseline chooses the option."""

PINNED = ("eval", *GROUPS[1:], "cycles", "runs", "regress")
"""The keys of the configuration that a baseline sets."""


def composed(
    command: str, overrides: Sequence[str], ahead: Path | None = None
) -> tuple[DictConfig, dict[str, str]]:
    """A command's configuration as its job would get it, and the options that were chosen.

    Args:
        command: with its configuration of the same name.
        overrides: Hydra's.
        ahead: a folder whose options win over those of every other.

    Raises:
        ConfigError: it cannot be composed.
    """
    try:
        with App(command, ahead=ahead) as app:
            whole = app.compose_config(command, list(overrides), RunMode.RUN)
    except (*CONFIG_FAULTS, EvalrunnerError) as error:
        raise explained(error) from error
    HydraConfig.instance().set_config(whole)
    job = OmegaConf.masked_copy(whole, [str(key) for key in whole if key != "hydra"])
    return job, {
        str(key): value for key, value in whole.hydra.runtime.choices.items() if isinstance(value, str)
    }


def raw(config: DictConfig) -> dict[str, Any]:
    """The configuration as plain data, interpolations unresolved."""
    found = OmegaConf.to_container(config, resolve=False)
    assert isinstance(found, dict)
    return {str(key): value for key, value in found.items()}


def settings(config: Mapping[str, Any], choices: Mapping[str, str], receipt: Receipt) -> dict[str, Any]:
    """The option of a run, without its block: what was chosen, and every value of it.

    What the run decided itself is pinned as decided: a seed that was drawn, the number of cycles.
    """
    chosen = [{f"override /{group}": choices[group]} for group in GROUPS if group in choices]
    pinned = {key: config[key] for key in PINNED if key in config}
    if receipt.cycles is not None:
        pinned["cycles"] = {"max": receipt.cycles.max, "stop": receipt.cycles.stop}
    if receipt.sampler is not None and "seed" in pinned["sampler"]:
        pinned["sampler"] = {**pinned["sampler"], "seed": receipt.sampler.seed}
    pinned["regress"] = {key: pinned["regress"][key] for key in ("threshold", "advisory")}
    return {"defaults": chosen, **pinned}


def parameters(option: Mapping[str, Any]) -> dict[str, Any]:
    """What an option says of the panel and of what is asked, besides texts."""
    told = {key: option.get(key) for key in ("panel", "judge", "subject")}
    return {**told, "cycles": {"stop": (option.get("cycles") or {}).get("stop")}}


def repeated(name: str, text: str, receipt: Receipt, *, corpus: bool) -> tuple[Session, list[Drift]]:
    """A session of a baseline as it is composed here and now, and in what it would not repeat its run.

    Args:
        name: of the baseline.
        text: of its file.
        receipt: the run's.
        corpus: whether the items are read and compared as well.

    Raises:
        InputError: it composes to other values than it says.
        ConfigError: it does not compose, or is not valid.
    """
    with TemporaryDirectory(prefix="evalrunner-") as folder:
        file = Path(folder) / BLOCK / f"{name}.yaml"
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
        job, _ = composed("run", [f"baseline={name}"], Path(folder))
    config = load(job, RunConfig)
    wanted = {key: value for key, value in content(text, name).items() if key in PINNED}
    now = {key: value for key, value in raw(job).items() if key in wanted}
    for part in ("cycles", "regress"):  # of these the run's own configuration says more
        now[part] = {key: value for key, value in now[part].items() if key in wanted.get(part, {})}
    if others := changed(wanted, now):
        what = "does not compose to what it says: options or configurations of yours say more"
        raise InputError(Problem(f"baseline {name}", f"{what}: {listed(others)}"))
    session = Session(config, Path(), "", say=lambda line: None)
    items = select(session).items if corpus else []
    identity = marks(session, items, dict(config.subject.described()))
    return session, drifts(receipt, identity, [part for part in PARTS if corpus or part != "corpus"])
