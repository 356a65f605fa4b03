"""A receipt's settings as overrides, so that its run can be composed and run again."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from evalrunner.component import Component
from evalrunner.config.app import put_ahead
from evalrunner.config.jobs import given_overrides
from evalrunner.config.loader import Loader
from evalrunner.config.quoting import assigned, quoted
from evalrunner.config.tree import RunConfig
from evalrunner.errors import InputError, Problem, UsageError, show
from evalrunner.receipt.schema import Receipt

FIXED = ("panel", "source", "eval")

MOVING = frozenset({"blind_reimplementation"})
"""Evals whose items are those of a window of time: the configured source is asked again."""

_KEY = re.compile(r"^[~+]*([\w./@-]+)")


def overridden(overrides: Sequence[str]) -> list[str]:
    """The keys and groups that overrides set, without signs."""
    return [match[1] if (match := _KEY.match(each)) else each for each in overrides]


def refuse_overrides(overrides: Sequence[str], receipt: Receipt) -> None:
    """Refuses overrides of what a comparison must keep. The receipt's own eval may be named.

    Raises:
        UsageError: panel, source or eval were overridden; every such override.
    """
    fixed = {*FIXED} - ({"source"} if receipt.eval in MOVING else set())
    problems = []
    for override, key in zip(overrides, overridden(overrides), strict=True):
        if re.split(r"[./@]", key)[0] in fixed and override != f"eval={receipt.eval}":
            problems.append(
                Problem(
                    key,
                    "cannot be overridden here: what is compared with says what is run again",
                    override,
                    "run with the change, and compare receipts",
                )
            )
    if problems:
        raise UsageError(problems)


def refuse_endpoints(receipt: Receipt, config: RunConfig) -> None:
    """Refuses to send a key where only a receipt says so: receipts come from anywhere, and keys are yours.

    A seat with an endpoint and a key variable of its own is taken where the configuration here, or an option
    of group `model`, names that very pair.

    Raises:
        InputError: every seat whose pair nobody here has named.
    """
    composed = (receipt.subject or {}).get("composed")
    models = composed.get("models") if isinstance(composed, dict) else None
    seats = [*(receipt.panel.seats if receipt.panel else ()), *(models if isinstance(models, list) else ())]
    strange = [each for each in seats if isinstance(each, dict) and None not in _endpoint(each)]
    if not strange:
        return
    here = [
        dict(each) for each in (*config.panel.models, *config.subject.models()) if isinstance(each, Component)
    ]
    named = {_endpoint(each) for each in (*_options(), *here)}
    problems = [
        Problem(
            f"the receipt: seat {show(each.get('id'))}",
            f"would send the key in {place[1]} to an address that no configuration here names",
            show(place[0]),
            "an option of group model with this api_base and this api_key_env",
        )
        for each in strange
        if (place := _endpoint(each)) not in named
    ]
    if problems:
        raise InputError(list(dict.fromkeys(problems)))


def _endpoint(seat: Mapping[str, Any]) -> tuple[str | None, str | None]:
    base, variable = seat.get("api_base"), seat.get("api_key_env")
    return None if base is None else str(base), None if variable is None else str(variable)


def _options() -> Iterator[dict[str, Any]]:
    """What the options of group `model` say, of the program and of the user."""
    loader = GlobalHydra.instance().config_loader()
    for name in loader.get_group_options("model"):
        found = loader.load_configuration(f"model/{name}", [], RunMode.RUN, from_shell=False)
        option = OmegaConf.to_container(found["model"], resolve=False) if "model" in found else None
        if isinstance(option, dict):
            yield {str(key): value for key, value in option.items()}


def overrides_of(receipt: Receipt) -> tuple[list[str], list[str]]:
    """The overrides that make a config run as the receipt did, and what it does not tell, one line each.

    What the user overrides besides (a limit, a seed, a budget) comes after these, and wins.
    """
    overrides: list[str] = []
    untold: list[str] = []
    if receipt.eval is not None:
        overrides.append(f"eval={receipt.eval}")
    _source(receipt, overrides, untold)
    _sampler(receipt, overrides, untold)
    _judge(receipt, overrides, untold)
    _subject(receipt, overrides, untold)
    if receipt.cycles is not None:
        overrides += [f"cycles.max={receipt.cycles.max}", f"cycles.stop={quoted(receipt.cycles.stop)}"]
    else:
        overrides.append(f"cycles.max={max(receipt.cycles_run, 1)}")
        untold.append(f"the receipt does not name the cycles; its {receipt.cycles_run} run are the most now")
    return overrides, untold


def _source(receipt: Receipt, overrides: list[str], untold: list[str]) -> None:
    corpus = receipt.corpus
    if receipt.eval in MOVING:
        untold.append("the items are those that the configured source gives now, not the receipt's")
        return
    of_takes = receipt.eval in {None, "takes_quality"}
    if of_takes and corpus.source is not None:
        overrides.append(f"source={'db' if corpus.source == 'db' else 'file'}")
    if corpus.location is None:
        untold.append("the receipt does not name the location of its corpus; the configured one is used")
    elif corpus.source != "db" or not corpus.location.startswith("postgresql:"):
        overrides.append(assigned("source.path", corpus.location))
    if corpus.slug_prefix is not None:
        overrides.append(assigned("source.slug_prefix", corpus.slug_prefix))
    elif of_takes:
        overrides.append("source.slug_prefix=null")


def _judge(receipt: Receipt, overrides: list[str], untold: list[str]) -> None:
    seats = _seats(receipt, untold)
    if seats:
        overrides.append(f"panel.models={_value(seats)}")
    if receipt.judge is not None and receipt.judge.name == "rubric_panel":
        overrides.append(f"judge.chunk_size={_value(receipt.judge.chunk_size)}")
    elif receipt.judge is not None and receipt.judge.name == "diff_verdict":
        most = (receipt.judge.model_extra or {}).get("max_bytes")
        overrides += [f"judge.max_bytes={most}"] if isinstance(most, int) else []
    elif seats:
        untold.append("the receipt does not name a chunk size; the configured one is used")
    rule = receipt.threshold
    if rule is not None and rule.name in {"metric", "strict"}:
        overrides.append(f"threshold={rule.name}")
        for side, bars in (("at_least", rule.at_least), ("at_most", rule.at_most)):
            overrides += [f"threshold.{side}.{_name(name, side)}={bar}" for name, bar in (bars or {}).items()]


def _subject(receipt: Receipt, overrides: list[str], untold: list[str]) -> None:
    """The subject's option, model and runs; a program's command line is never taken from a receipt."""
    composed = (receipt.subject or {}).get("composed")
    if not isinstance(composed, dict):
        if receipt.eval not in {None, "takes_quality"}:
            untold.append("the receipt does not name its subject's option; the configured one runs")
        return
    option, models, runs = composed.get("option"), composed.get("models"), composed.get("runs")
    if isinstance(option, str):
        overrides.append(f"subject={_name(option, 'subject.composed.option')}")
    if isinstance(runs, int):
        overrides.append(f"runs={runs}")
    if isinstance(models, list) and len(models) == 1 and isinstance(models[0], dict):
        overrides.append(f"subject.model={_value(models[0])}")


def _sampler(receipt: Receipt, overrides: list[str], untold: list[str]) -> None:
    sampler = receipt.sampler
    if sampler is None:
        overrides.append(f"sampler.limit={receipt.corpus.n_takes}")
        untold.append(
            f"the receipt does not name its sampler; the configured one takes {receipt.corpus.n_takes} items"
        )
        return
    overrides.append(f"sampler={_name(sampler.name, 'sampler.name')}")
    overrides.append(f"sampler.limit={_value(sampler.limit)}")
    if sampler.name in {"random", "stratified"}:
        overrides.append(f"sampler.seed={_value(sampler.seed)}")
    if sampler.stratify is not None:
        overrides.append(assigned("sampler.by", sampler.stratify))


def _seats(receipt: Receipt, untold: list[str]) -> list[Any]:
    if receipt.panel is None:
        untold.append("the receipt does not name call parameters; the models' options or defaults are used")
        return list(receipt.models)
    return [dict(seat) for seat in receipt.panel.seats]


def _name(text: str, where: str) -> str:
    """A text of the receipt that becomes a key or an option's name, unquoted: a plain word or nothing."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", text):
        raise InputError(Problem(f"the receipt: {where}", "is no plain name", show(text)))
    return text


def _value(value: Any) -> str:
    """A plain value in Hydra's grammar; every text in it stays a text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        pairs = (f"{_name(key, 'panel.seats')}:{_value(each)}" for key, each in value.items())
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_value(each) for each in value) + "]"
    return str(value)


def recomposed(
    derived: Sequence[str] = (), ahead: Path | None = None, last: Sequence[str] = ()
) -> DictConfig:
    """The running job's configuration, composed again, and saved in the run folder in the place of the first.

    Args:
        derived: overrides that come before the user's own.
        ahead: a folder whose options win over all others.
        last: overrides that come after the user's own.
    """
    hydra = HydraConfig.get()
    number = OmegaConf.select(OmegaConf.structured(hydra), "job.num", default=0)
    loader = GlobalHydra.instance().config_loader()
    if ahead is not None:
        loader = Loader(put_ahead(loader.get_search_path(), ahead))
    made = loader.load_configuration(
        config_name=hydra.job.config_name,
        overrides=[*derived, *given_overrides(), *last],
        run_mode=RunMode.RUN,
        from_shell=False,
    )
    with open_dict(made.hydra):
        made.hydra.runtime.output_dir = hydra.runtime.output_dir
        made.hydra.mode = hydra.mode
        made.hydra.job.num = number
    HydraConfig.instance().set_config(made)
    if hydra.output_subdir is not None:
        folder = Path(hydra.runtime.output_dir) / hydra.output_subdir
        OmegaConf.save(OmegaConf.masked_copy(made, "hydra"), folder / "hydra.yaml")
        job = [str(key) for key in made if key != "hydra"]
        OmegaConf.save(OmegaConf.masked_copy(made, job), folder / "config.yaml")
        OmegaConf.save(made.hydra.overrides.task, folder / "overrides.yaml")
    return made
