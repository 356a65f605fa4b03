"""Seats that cannot score on a rubric say so before anything runs."""

from pathlib import Path

import pytest
from program import inside as evalrunner

from evalrunner.model.abstaining import abstains
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.rules import RulesModel
from evalrunner.model.tree_equality import TreeEquality
from evalrunner.paths import data_root
from evalrunner.rubric import Rubric, load_rubric


def rubric(*names: str) -> Rubric:
    dimensions = [{"id": name, "question": "?"} for name in names]
    return Rubric.model_validate({"version": "v9", "scale": {"min": 0, "max": 1}, "dimensions": dimensions})


def test_rules_speak_to_their_own_dimensions_alone() -> None:
    assert abstains(RulesModel(), load_rubric("takes_quality")) is None
    assert abstains(RulesModel(), rubric("accuracy", "attribution")) is None
    told = abstains(RulesModel(), rubric("accuracy", "atribution", "wit"))
    assert told is not None
    assert told.startswith(
        "no rule speaks to atribution (did you mean attribution?), wit of rubric v9; rules exist"
    )


def test_others_are_asked() -> None:
    assert abstains(LitellmModel(id="openai:gpt-4o"), rubric("wit")) is None
    assert abstains(TreeEquality(), rubric("wit")) is None


@pytest.mark.parametrize("command", ["validate", "run"])
def test_it_is_said_by(command: str, tmp_path: Path) -> None:
    (tmp_path / "rubrics").mkdir()
    text = (data_root() / "rubrics" / "takes_quality.yaml").read_text(encoding="utf-8")
    (tmp_path / "rubrics" / "mine.yaml").write_text(text.replace("accuracy", "acuracy"), encoding="utf-8")
    done = evalrunner(tmp_path, command, "rubric.name=mine")
    assert done.code == (2 if command == "run" else 0)
    assert "warning: rules-v1 will abstain: no rule speaks to acuracy (did you mean accuracy?)" in done.err
