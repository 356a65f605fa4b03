"""What a baseline pins is what composes from it: for every eval, whatever its run had set."""

import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hydra.core.hydra_config import HydraConfig

from evalrunner.baseline.pinned import PINNED, composed, raw, repeated, settings
from evalrunner.baseline.written import dump
from evalrunner.config.tree import RunConfig, load
from evalrunner.errors import ConfigError, EvalrunnerError, InputError
from evalrunner.paths import data_root
from evalrunner.receipt.schema import Receipt, parse

EVALS = sorted(file.stem for file in (data_root() / "conf" / "eval").glob("*.yaml"))

CHANGED = {
    "takes_quality": [
        "source.path=my.jsonl", r"source.slug_prefix='a\${b} c: #'", "sampler=stratified", "sampler.limit=7",
        "sampler.by=holder", "panel.models=[gpt-4o,rules]", "panel.models.0.temperature=0.5",
        "+panel.models.0.params={top_k: 5}", "threshold.mean_min=6.96", "threshold.quorum=0.5",
        "judge.chunk_size=4", "cycles.stop=never", "budget.cap_usd=1.5", "regress.threshold=0.25",
    ],
    "code_review": [
        "subject=litellm_reviewer", "subject.model=openai:gpt-4o", "threshold=metric", "runs=2",
        "threshold.at_least={effective_recall: 0.6}", "threshold.at_most={availability: 1}", "sampler=random",
    ],
    "review_judge": [
        "subject=keep_reject_command", "subject.argv=[python3, judge.py, '{batch}']", "threshold=strict",
        "threshold.at_most={failed_call_rate: 0.1}", "source.path=cases.jsonl",
    ],
    "blind_reimplementation": [
        "source=git_history", "source.repository=repo", "source.issues=issues.json", "subject=agent_patch",
        "subject.patches=patches", "panel=frontier", "threshold=strict", "sampler.limit=3", "runs=2",
        "regress.advisory=false", "source.models=[haiku]",
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in list(os.environ):
        if name.startswith("EVALRUNNER_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    HydraConfig.instance().cfg = None


def receipt(**more: Any) -> Receipt:
    """A receipt with just what a baseline takes its settings from."""
    return parse(
        {
            "schema_version": 1, "ts": "2026-01-02T03:04:05.678Z", "rubric_version": "v1",
            "rubric_sha8": "0" * 8,
            "corpus": {"source": "fs", "n_takes": 2, "slug_prefix": None, "corpus_sha8": "0" * 8},
            "prompt_sha8": "0" * 8, "models_sha8": "0" * 8, "models": [], "cycles_run": 1,
            "successes_per_cycle": [1], "verdict": None, "scores": {}, "overall_score": None, "cost_usd": 0,
            "improvements": [], "errors": [], "verdictMessage": "", **more,
        }
    )  # fmt: skip


def saved(name: str, *overrides: str, **more: Any) -> dict[str, Any]:
    """Writes a baseline of a composed run, and returns what it pins."""
    job, choices = composed("run", overrides)
    option = settings(raw(job), choices, receipt(**more))
    path = Path("conf", "baseline", f"{name}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump("A bar.", option), encoding="utf-8")
    return option


def pinned(*overrides: str) -> dict[str, Any]:
    return raw(composed("run", overrides)[0])


@pytest.mark.parametrize("bar", EVALS)
def test_every_eval_and_every_baseline(bar: str) -> None:
    """The baseline chooses the eval and sets every value; with another eval named it is refused."""
    assert set(CHANGED) == set(EVALS)
    option = saved("mine", f"eval={bar}", *CHANGED[bar])
    for chosen in [[], *([f"eval={name}"] for name in EVALS)]:
        if chosen not in ([], [f"eval={bar}"]):
            with pytest.raises(ConfigError, match=rf"baseline mine pins another eval .*; allowed: {bar}"):
                pinned(*chosen, "baseline=mine")
            continue
        config = pinned(*chosen, "baseline=mine")
        for key in PINNED:
            values = config[key]
            if key in {"cycles", "regress"}:
                values = {name: values[name] for name in option[key]}
            assert values == option[key], key


@pytest.mark.parametrize("bar", EVALS)
def test_a_baseline_as_saved_is_a_valid_configuration_of_the_same_values(bar: str) -> None:
    overrides = [f"eval={bar}", *CHANGED[bar]]
    wanted = load(composed("run", overrides)[0], RunConfig)
    saved("mine", *overrides)
    found = load(composed("run", ["baseline=mine"])[0], RunConfig)
    for key in ("source", "sampler", "subject", "judge", "panel", "rubric", "threshold", "budget", "runs"):
        assert getattr(found, key) == getattr(wanted, key), key
    assert found.regress.threshold == wanted.regress.threshold
    for group in ("panel", "threshold", "subject"):
        assert found.choices[group] == wanted.choices[group]


def test_what_the_run_decided_is_pinned_as_decided() -> None:
    option = saved(
        "mine",
        "sampler.seed=fresh",
        sampler={"name": "random", "seed": 123, "limit": 100},
        cycles={"max": 3, "stop": "verdict", "verdicts": ["fail", "pass"]},
    )
    assert option["sampler"]["seed"] == 123
    config = pinned("baseline=mine")
    assert (config["sampler"]["seed"], config["cycles"]["max"]) == (123, 3)


def test_the_environment_is_asked_again_and_no_secret_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE", "hush.jsonl")
    saved("mine", "source.path=${oc.env:WHERE}", r"source.slug_prefix='\${oc.env:WHERE}'")
    assert "hush" not in Path("conf/baseline/mine.yaml").read_text()
    config = load(composed("run", ["baseline=mine"])[0], RunConfig)
    assert (config.source.location(), config.source.prefix()) == ("hush.jsonl", "${oc.env:WHERE}")


def test_the_command_line_wins_over_what_is_pinned() -> None:
    saved("mine", "eval=takes_quality", *CHANGED["takes_quality"])
    config = pinned("baseline=mine", "sampler=all", "threshold=none", "judge.chunk_size=9", "runs=3")
    assert config["sampler"] == {"_target_": "evalrunner.sampler.samplers.AllSampler", "limit": None}
    assert set(config["threshold"]) == {"_target_"}
    assert (config["judge"]["chunk_size"], config["runs"]) == (9, 3)


def test_naming_a_model_under_test_wins_over_the_subject_that_is_pinned() -> None:
    saved("mine", "eval=code_review")
    config = pinned("baseline=mine", "subject.model=openai:gpt-4o")
    assert config["subject"]["_target_"].endswith("LitellmReviewer")
    assert config["subject"]["model"]["id"] == "openai:gpt-4o"
    assert "select" not in config["subject"]


def test_options_of_the_users_that_say_more_are_noticed() -> None:
    """A key that an option adds to a free mapping cannot be taken away by what is merged after it."""
    path = Path("conf/threshold/mine.yaml")
    path.parent.mkdir(parents=True)
    target = "_target_: evalrunner.threshold.metric.MetricThreshold"
    path.write_text(f"{target}\nat_least: {{effective_recall: 0.5}}\n")
    option = saved("mine", "eval=code_review", "threshold=mine")
    path.write_text(f"{target}\nat_least: {{effective_recall: 0.1, precision: 0.2}}\n")
    with pytest.raises(InputError, match=r"threshold\.at_least\.precision nothing → 0\.2"):
        repeated("mine", dump("x", option), receipt(), corpus=False)
    config = load(composed("run", ["baseline=mine"])[0], RunConfig)
    assert dict(config.threshold.asked()["at_least"])["effective_recall"] == Decimal("0.5")


def test_fingerprints_tell_whether_the_run_can_be_repeated() -> None:
    option = saved("mine")
    _, lost = repeated("mine", dump("x", option), receipt(), corpus=False)
    assert [each.part for each in lost] == ["prompt", "models", "rubric"]
    _, lost = repeated("mine", dump("x", option), receipt(), corpus=True)
    assert [each.part for each in lost] == ["corpus", "prompt", "models", "rubric"]


FIGURES = """\
baseline:
  saved: '2026-01-03T00:00:00Z'
  receipt:
    {extra}
    schema_version: 1
    ts: '2026-01-02T03:04:05.678Z'
    rubric_version: v1
    rubric_sha8: '00000000'
    corpus: {{source: fs, n_takes: 2, slug_prefix: null, corpus_sha8: '00000000'}}
    prompt_sha8: '00000000'
    models_sha8: '00000000'
    models: []
    cycles_run: 1
    successes_per_cycle: [1]
    verdict: pass
    scores: {{}}
    overall_score: null
    cost_usd: 0
    improvements: []
    errors: []
    verdictMessage: ''
"""


@pytest.mark.parametrize(
    ("extra", "where", "said"),
    [
        ("eval: takes_quality", None, ""),
        ("scroes: {}", "baseline.receipt", "no such keys of a receipt: scroes"),
        ("eval: 5", "baseline.receipt.eval", "valid string"),
        (
            "environment: {_target_: os.getcwd}",
            "baseline.receipt.environment._target_",
            "no registered component",
        ),
    ],
)
def test_the_block_of_a_configuration_is_strict(extra: str, where: str | None, said: str) -> None:
    path = Path("conf/baseline/mine.yaml")
    path.parent.mkdir(parents=True)
    path.write_text("# @package _global_\n" + FIGURES.format(extra=extra))
    if where is None:
        loaded = load(composed("run", ["baseline=mine"])[0], RunConfig)
        assert loaded.baseline is not None
        assert loaded.baseline.receipt.eval == "takes_quality"
        return
    with pytest.raises(EvalrunnerError) as caught:
        load(composed("run", ["baseline=mine"])[0], RunConfig)
    [problem] = caught.value.problems
    assert problem.where == where
    assert said in problem.what


@pytest.mark.parametrize("command", ["select", "produce", "judge"])
def test_stages_do_not_take_the_lock_in_silence(command: str) -> None:
    from evalrunner.config.tree import StageConfig

    path = Path("conf/baseline/mine.yaml")
    path.parent.mkdir(parents=True)
    path.write_text("# @package _global_\n" + FIGURES.format(extra="eval: takes_quality"))
    with pytest.raises(ConfigError, match="locked: is for run, validate and regress"):
        load(composed(command, ["baseline=mine", "locked=true"])[0], StageConfig)
