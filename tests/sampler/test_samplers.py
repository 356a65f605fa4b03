"""Samplers: what they plan, what they refuse, and that their YAML says the same."""

import pytest
import yaml
from pydantic import ValidationError

from evalrunner.paths import data_root
from evalrunner.records import Selection
from evalrunner.sampler import samplers
from evalrunner.sampler.base import Sampler
from evalrunner.sampler.samplers import AllSampler, RandomSampler, StableHashSampler, StratifiedSampler

OPTIONS = {
    "all": Selection(order="source", sampler="all"),
    "random": Selection(order="sha256", sampler="random", seed=0, limit=100),
    "stable_hash": Selection(order="sha256", sampler="stable_hash", limit=100),
    "stratified": Selection(order="sha256", sampler="stratified", seed=0, limit=100, stratify="kind"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_option_plans_the_selection(name):
    option = yaml.safe_load((data_root() / "conf" / "sampler" / f"{name}.yaml").read_text())
    module, _, cls = option.pop("_target_").rpartition(".")
    assert module == samplers.__name__
    sampler = getattr(samplers, cls).model_validate(option)
    assert set(option) == set(type(sampler).model_fields)
    assert isinstance(sampler, Sampler)
    assert sampler.plan() == OPTIONS[name]


def test_the_options_are_all_there():
    assert {each.stem for each in (data_root() / "conf" / "sampler").iterdir()} == set(OPTIONS)


@pytest.mark.parametrize("cls", [RandomSampler, StratifiedSampler])
def test_a_fresh_seed_is_drawn_for_each_plan_and_stands_in_it(cls):
    sampler = cls.model_validate({"seed": "fresh", **({"by": "kind"} if cls is StratifiedSampler else {})})
    seeds = {sampler.plan().seed for _ in range(5)}
    assert len(seeds) > 1
    assert all(isinstance(seed, int) and 0 <= seed < 2**32 for seed in seeds)


@pytest.mark.parametrize("limit", [0, 1, 10**9, None])
def test_limits(limit):
    assert AllSampler(limit=limit).plan().limit == limit
    assert StableHashSampler(limit=limit).plan().limit == limit


@pytest.mark.parametrize("limit", [-1, True, 1.0, "5", float("nan")])
def test_other_limits_are_refused(limit):
    for cls in (AllSampler, RandomSampler, StableHashSampler):
        with pytest.raises(ValidationError):
            cls.model_validate({"limit": limit})


@pytest.mark.parametrize("seed", [-1, True, 1.5, "fresher", None])
def test_other_seeds_are_refused(seed):
    with pytest.raises(ValidationError):
        RandomSampler.model_validate({"seed": seed})


def test_unknown_keys_are_refused_and_by_is_needed():
    with pytest.raises(ValidationError):
        StableHashSampler.model_validate({"seed": 1})
    with pytest.raises(ValidationError):
        StratifiedSampler.model_validate({})
    with pytest.raises(ValidationError):
        StratifiedSampler.model_validate({"by": ""})
