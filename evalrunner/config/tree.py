"""The whole configuration of a command, typed: what is left when a composed config has passed every check."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from omegaconf import DictConfig
from pydantic import ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic.dataclasses import dataclass

from evalrunner.budget.budget import Budget
from evalrunner.budget.pricing import Pricing
from evalrunner.component import Component, ExactDecimal, FilePath
from evalrunner.config.app import shadowed
from evalrunner.config.baseline import Baseline
from evalrunner.config.check import ABSENT, checked, raise_all, resolved, unknown_roots
from evalrunner.config.jobs import given_overrides
from evalrunner.config.pydantic_words import translated
from evalrunner.errors import Problem
from evalrunner.judge.base import Judge
from evalrunner.model.panel import NoPanel, Panel
from evalrunner.paths import no_file
from evalrunner.reporter.base import Reporter
from evalrunner.rubric import RubricFile
from evalrunner.sampler.base import Sampler
from evalrunner.source.base import Source
from evalrunner.store.base import Store
from evalrunner.subject.base import Subject
from evalrunner.threshold.base import Threshold

STRICT = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)
SHA8 = r"^[0-9a-f]{8}$"


class Cycles(Component):
    """How often the panel is asked.

    Attributes:
        max: at most so many panel calls; None takes `default_max`.
        default_max: 1; the command line makes it 3 on a terminal.
        stop: `verdict` stops at the first PASS or INCONCLUSIVE; `never` pools all cycles.
    """

    max: int | None = Field(default=None, ge=1)
    default_max: int = Field(default=1, ge=1)
    stop: Literal["verdict", "never"] = "verdict"


class Regress(Component):
    """When a drop is a regression.

    Attributes:
        threshold: the largest drop of a dimension's mean, of the overall score or of a metric that is none.
        advisory: while the eval has no verdict rule (`threshold=none`), a regression is said and exits 0.
        max_age_days: a baseline measured longer ago is warned about; None for never.
    """

    threshold: ExactDecimal = Field(ge=0)
    advisory: bool = False
    max_age_days: int | None = Field(default=None, ge=1)


class TrendFilter(Component):
    """Which receipts `trend` shows; None filters nothing.

    Attributes:
        panel: a model id of the panel, or the panel's models_sha8.
        corpus: a corpus_sha8.
        limit: at most so many rows, the newest.
        attempts: every attempt rather than one row a receipt.
        group: a group of the receipts' rollups: then each of its cells has a line of its own.
    """

    eval: str | None = None
    rubric_version: str | None = None
    panel: str | None = None
    corpus: str | None = Field(default=None, pattern=SHA8)
    limit: int = Field(ge=1)
    attempts: bool = False
    group: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]*$")


class FromDb(Component):
    """A stored receipt, by its id or by its four fingerprints; all None when none is meant."""

    id: int | None = Field(default=None, ge=1)
    corpus: str | None = Field(default=None, pattern=SHA8)
    prompt: str | None = Field(default=None, pattern=SHA8)
    models: str | None = Field(default=None, pattern=SHA8)
    rubric: str | None = Field(default=None, pattern=SHA8)

    @property
    def shas(self) -> tuple[str, str, str, str] | None:
        """Corpus, prompt, models, rubric; None when they are not given."""
        given = (self.corpus, self.prompt, self.models, self.rubric)
        return given if all(each is not None for each in given) else None  # type: ignore[return-value]

    @model_validator(mode="after")
    def _one_way(self) -> "FromDb":
        shas = [self.corpus, self.prompt, self.models, self.rubric]
        given = sum(each is not None for each in shas)
        if given not in {0, 4} or (given and self.id is not None):
            raise ValueError("name a receipt by its id, or by all four of corpus, prompt, models and rubric")
        return self


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Composed:
    """What every command's configuration tells of how it was composed.

    Attributes:
        json: print the result as JSON and nothing else.
        out: write the result to this file.
        choices: the option chosen of each group; several are joined by commas.
        overrides: as given, flags translated.
        shadowed: the packaged options that the user's conf/ shadows.
    """

    json: bool
    out: FilePath | None
    choices: Mapping[str, str]
    overrides: Sequence[str]
    shadowed: Sequence[str]

    @field_validator("out", mode="after")
    @classmethod
    def _can_be_a_file(cls, value: Path | None) -> Path | None:
        if value is not None and (why := no_file(value)):
            raise ValueError(why)
        return value


@dataclass(frozen=True, config=STRICT, kw_only=True)
class RunConfig(Composed):
    """The configuration of `run` and `validate`: one eval and everything that it takes.

    Attributes:
        eval: the eval's name.
        llm_subject: the option of group subject that `--model` chooses when no subject is named.
        runs: how often the subject runs on each item.
        concurrency: how many runs of the subject go on at a time.
        regress: what `regress` makes of this eval's figures; the other commands do not look at it.
        locked: refuse to run anything but what the baseline was measured with.
        cache: `read_write` takes replies of earlier runs from `cache_dir`, and keeps new ones there.
        cache_dir: where replies are kept across runs.
        resume: the unfinished run to go on with: its id, its folder, or `auto`; None begins a new one.
        baseline: the figures of the option of group `baseline`; None where none is chosen.
    """

    eval: str
    llm_subject: str | None
    source: Source
    sampler: Sampler
    subject: Subject
    judge: Judge
    panel: Panel | NoPanel
    rubric: RubricFile
    budget: Budget
    pricing: Pricing
    threshold: Threshold
    store: Store
    reporter: Mapping[str, Reporter]
    cycles: Cycles
    runs: int = Field(ge=1)
    concurrency: int = Field(ge=1)
    regress: Regress
    baseline: Baseline | None = None
    locked: bool
    cache: Literal["read_write"] | None
    cache_dir: FilePath
    resume: str | None

    @field_validator("locked", mode="after")
    @classmethod
    def _to_something(cls, value: bool, info: ValidationInfo) -> bool:
        if value and "baseline" in info.data and info.data["baseline"] is None:
            raise ValueError("needs a baseline with figures: baseline=NAME")
        return value


@dataclass(frozen=True, config=STRICT, kw_only=True)
class StageConfig(RunConfig):
    """The configuration of `select`, `produce` and `judge`.

    Attributes:
        input: where records are read from; None is stdin.
    """

    input: FilePath | None

    @field_validator("locked", mode="after")
    @classmethod
    def _whole_run(cls, value: bool) -> bool:
        if value:
            raise ValueError("is for run, validate and regress, which see the whole run")
        return value

    @field_validator("resume", mode="after")
    @classmethod
    def _not_a_stage(cls, value: str | None) -> str | None:
        return _only_run(value)


@dataclass(frozen=True, config=STRICT, kw_only=True)
class RegressConfig(RunConfig):
    """The configuration of `regress`.

    Attributes:
        against: the receipt to compare with; None where a baseline is chosen.
        against_ref: the git ref whose baseline counts, rather than the working tree's.
    """

    against: FilePath | None
    against_ref: str | None

    @field_validator("against", mode="after")
    @classmethod
    def _one_of_two(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if "baseline" not in info.data:
            return value
        chosen = info.data["choices"].get("baseline") if "choices" in info.data else None
        if value is not None and chosen is not None:
            raise ValueError(f"excludes baseline={chosen}: only one of them can be compared with")
        if value is None and info.data["baseline"] is None:
            if chosen is not None:
                raise ValueError(f"baseline {chosen} pins a run but holds no figures to compare with")
            raise ValueError("the receipt to compare with is not given: --against FILE, or baseline=NAME")
        return value

    @field_validator("against_ref", mode="after")
    @classmethod
    def _of_a_baseline(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("against") is not None:
            raise ValueError("goes with baseline=NAME; a receipt is read as it lies there")
        return value

    @field_validator("resume", mode="after")
    @classmethod
    def _not_again(cls, value: str | None) -> str | None:
        return _only_run(value)


@dataclass(frozen=True, config=STRICT, kw_only=True)
class TrendConfig(Composed):
    """The configuration of `trend`."""

    trend: TrendFilter
    store: Store


@dataclass(frozen=True, config=STRICT, kw_only=True)
class ReplayConfig(Composed):
    """The configuration of `replay`: a receipt's file, or a receipt of the store.

    Attributes:
        receipt: the file; None when `from_db` names a stored one.
    """

    receipt: FilePath | None
    from_db: FromDb
    store: Store
    reporter: Mapping[str, Reporter]


def _only_run(resume: str | None) -> str | None:
    if resume is not None:
        raise ValueError("is for evalrunner run")
    return resume


C = TypeVar("C", bound=Composed)

_OWN = frozenset({"choices", "overrides", "shadowed"})


def run_config(config: DictConfig) -> RunConfig:
    """The configuration of `run` and `validate`; see `load`."""
    return load(config, RunConfig)


def load(config: DictConfig, kind: type[C], stand_ins: Mapping[str, object] | None = None) -> C:
    """A composed configuration as a typed, frozen tree, with its components built.

    Everything is checked at once: missing values, interpolations, unknown keys at any level, types, ranges,
    code that is not registered. The components are built here, from the values that were checked: Hydra's own
    `instantiate` resolves interpolations twice, so that a text such as a slug prefix of `${oc.env:KEY}` would
    become what the variable holds.

    Args:
        config: as a job gets it, without the node `hydra`.
        kind: the class of the command's configuration.
        stand_ins: root key -> what takes the place of a component that the command does not use, where
            nothing is wrong with it but settings that are missing.

    Raises:
        ConfigError: with every problem, under the dotted key that mends it.
    """
    problems: list[Problem] = []
    names = [each.name for each in fields(kind) if each.name not in _OWN]
    values = resolved(config, problems)
    problems += unknown_roots(values, names)
    parts = {name: checked(value, name, problems) for name, value in values.items() if name in names}
    for root, stand_in in (stand_ins or {}).items():
        own = [problem for problem in problems if problem.where.startswith(f"{root}.")]
        if own and all(problem.what == ABSENT for problem in own):
            problems = [problem for problem in problems if problem not in own]
            parts[root] = stand_in
    tree: C | None = None
    try:
        tree = kind(**parts, choices=_choices(parts), overrides=given_overrides(), shadowed=shadowed())
    except ValidationError as error:
        problems += translated(error, parts, "", kind)
    if isinstance(tree, RunConfig):
        problems += tree.judge.check_panel(tree.panel.models)
    raise_all(problems)
    assert tree is not None
    return tree


def _choices(parts: Mapping[str, Any]) -> dict[str, str]:
    """The options chosen, as far as Hydra is at work."""
    from hydra.core.hydra_config import HydraConfig

    several = parts.get("reporter")
    choices = {"reporter": ",".join(several)} if isinstance(several, Mapping) else {}
    if HydraConfig.initialized():
        for group, option in HydraConfig.get().runtime.choices.items():
            if isinstance(option, str) and not str(group).startswith("hydra/"):
                choices[str(group)] = option
    return choices
