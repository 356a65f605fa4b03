"""The model under test: a name becomes a full seat, and naming one chooses the subject that asks it."""

from pathlib import Path
from typing import Any

import pytest
from config_composing import composed, loaded, problems, write
from omegaconf import OmegaConf

from evalrunner.model.litellm_model import LitellmModel
from evalrunner.subject.identity import Identity
from evalrunner.subject.keep_reject_llm import KeepRejectLlm
from evalrunner.subject.keep_reject_rules import KeepRejectRules

EVAL = """\
# @package _global_
defaults:
  - override /subject: keep_reject
  - override /judge: label_match
  - override /panel: none
  - override /rubric: review_judge
  - override /threshold: none
eval: mine
llm_subject: keep_reject_llm
"""


@pytest.fixture(autouse=True)
def mine(elsewhere: Path) -> None:
    write(elsewhere / "conf" / "eval" / "mine.yaml", EVAL)


def model(*tokens: str) -> dict[str, Any]:
    """The seat under test as `--cfg job` shows it."""
    return dict(OmegaConf.to_container(composed("run", "eval=mine", *tokens).subject.model))  # type: ignore


def test_without_a_model_the_eval_keeps_its_subject() -> None:
    assert isinstance(loaded("run", "eval=mine").subject, KeepRejectRules)


@pytest.mark.parametrize(
    "tokens",
    [["--model", "openai:gpt-4o"], ["subject.model=openai:gpt-4o"], ["subject.model={id: 'openai:gpt-4o'}"]],
)
def test_naming_a_model_chooses_the_subject_that_asks_it(tokens: list[str]) -> None:
    tree = loaded("run", "eval=mine", *tokens)
    assert isinstance(tree.subject, KeepRejectLlm)
    assert tree.subject.model == LitellmModel(id="openai:gpt-4o")
    assert tree.choices["subject"] == "keep_reject_llm"
    assert [each for each in tree.overrides if each.startswith("subject=")] == ["subject=keep_reject_llm"]


def test_a_subject_that_is_named_wins(elsewhere: Path) -> None:
    text = "defaults: [keep_reject_llm, _self_]\nmodel: openai:gpt-4o\nprompt: other\n"
    write(elsewhere / "conf" / "subject" / "own.yaml", text)
    subject: Any = loaded("run", "eval=mine", "subject=own", "--model", "anthropic:z").subject
    assert (subject.prompt, subject.model.id) == ("other", "anthropic:z")
    subject = loaded("run", "eval=mine", "subject=own").subject
    assert subject.model == LitellmModel(id="openai:gpt-4o")


def test_options_of_the_group_model_and_overrides_of_its_fields() -> None:
    seat = model("--model", "gpt-4o", "subject.model.temperature=0.3", "subject.model.params.top_k=5")
    assert seat["id"] == "openai:gpt-4o"
    assert (seat["temperature"], seat["params"]) == (0.3, {"top_k": 5})
    assert set(seat) == {"_target_", *LitellmModel.model_fields}


def test_ids_arrive_letter_by_letter() -> None:
    for name in ("x:${oc.env:HOME}", "x:a b", "x:it's", 'x:"q"', "x:[a]"):
        config = composed("run", "eval=mine", "--model", name)
        assert config.subject.model.id == name


def test_every_job_of_a_sweep_has_its_own() -> None:
    from hydra.types import RunMode

    from evalrunner.config.app import App

    with App("run") as app:
        overrides = ["eval=mine", "subject.model='a:x','b:y'"]
        master = app.compose_config("run", overrides, RunMode.MULTIRUN)
        assert master.hydra.overrides.task[0] == "subject=keep_reject_llm"
        job = app.compose_config(
            "run", ["subject=keep_reject_llm", "eval=mine", "subject.model='b:y'"], RunMode.RUN
        )
        assert job.subject.model.id == "b:y"


def test_an_eval_whose_subject_is_no_model_says_so() -> None:
    (problem,) = problems("run", "--model", "openai:gpt-4o")
    assert problem.where == "--model (subject.model)"
    assert isinstance(loaded("run").subject, Identity)


def test_what_is_no_model_is_told_with_its_flag() -> None:
    (problem,) = problems("run", "eval=mine", "--model", "gpt-4")
    assert problem.where == "--model (subject.model)"
    assert problem.nearest == "gpt-4o"
    (problem,) = problems("run", "eval=mine", "--model", "openai:gpt-4o", "subject.model.temprature=1")
    assert problem.nearest == "subject.model.temperature"
    (problem,) = problems("run", "eval=mine", "subject=keep_reject_llm")
    assert (problem.where, problem.what) == ("subject.model", "is missing and has no default")
