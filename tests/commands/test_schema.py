"""The schemas: in step with docs/schema/, true of real files, and false of wrong ones."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from program import inside as evalrunner

from evalrunner.commands.init import contents
from evalrunner.config import registry
from evalrunner.config.schemas import SCHEMAS, config_schema, written
from evalrunner.paths import demo

TOP = Path(__file__).parents[2]
CONF = [path for path in sorted((TOP / "conf").rglob("*.yaml")) if "hydra" not in path.parts]
RELATIVE = [str(path.relative_to(TOP)) for path in CONF]


@pytest.fixture(scope="module")
def config() -> Draft202012Validator:
    return Draft202012Validator(config_schema(registry.packaged()))


def wrong(validator: Draft202012Validator, value: Any) -> list[str]:
    return [error.message for error in validator.iter_errors(value)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_in_step(name: str) -> None:
    made = config_schema(registry.packaged()) if name == "config" else SCHEMAS[name]()
    Draft202012Validator.check_schema(made)
    committed = (TOP / "docs" / "schema" / f"{name}.json").read_text(encoding="utf-8")
    assert committed == written(made), f"evalrunner schema {name} > docs/schema/{name}.json"


@pytest.mark.parametrize("name", RELATIVE)
def test_packaged_files_fit_and_name_the_schema(name: str, config: Draft202012Validator) -> None:
    path = TOP / name
    text = path.read_text(encoding="utf-8")
    assert wrong(config, yaml.safe_load(text)) == []
    [line] = [each for each in text.splitlines()[:2] if each.startswith("# yaml-language-server: $schema=")]
    assert (path.parent / line.partition("=")[2]).resolve() == TOP / "docs" / "schema" / "config.json"
    assert "# @package" not in "".join(text.splitlines()[1:])


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", "panel=frontier", "sampler=stratified", "reporter=[terminal,json]"],
        ["run", "eval=code_review"],
        ["run", "eval=code_review", "--model", "openai:gpt-4o"],
        ["run", "eval=review_judge"],
        ["run", "eval=blind_reimplementation"],
        ["regress"],
        ["trend"],
        ["replay"],
    ],
)
def test_composed_configurations_fit(words: list[str], tmp_path: Path, config: Draft202012Validator) -> None:
    done = evalrunner(tmp_path, *words, "--cfg", "job")
    assert done.code == 0, done.err
    assert wrong(config, yaml.safe_load(done.out)) == []


def test_what_init_and_baseline_write_fits(tmp_path: Path, config: Draft202012Validator) -> None:
    assert evalrunner(tmp_path, "init").code == 0
    assert json.loads((tmp_path / "conf" / "schema.json").read_text())["title"].startswith("A file of conf/")
    assert evalrunner(tmp_path, "run", "eval=my_takes").code == 0
    assert evalrunner(tmp_path, "baseline", "save", "mine", "--reason", "a test").code == 0
    for path in (tmp_path / "conf").rglob("*.yaml"):
        text = path.read_text()
        assert wrong(config, yaml.safe_load(text)) == [], path
        if path.name in {"my_takes.yaml", "mine.yaml"} and path.parent.name != "baseline":
            assert "# yaml-language-server: $schema=../schema.json" in text.splitlines()
    assert "conf/schema.json" in contents()


@pytest.mark.parametrize(
    "value",
    [
        {"sampler": {"limt": 5}},
        {"smapler": {"limit": 5}},
        {"sampler": {"limit": "five"}},
        {"cycles": {"max": 0}},
        {"budget": {"cap_usd": -1}},
        {"regress": {"threshold": True}},
        {"panel": {"models": [{"id": "openai:gpt-4o", "temprature": 0}]}},
        {"panel": {"models": [3]}},
        {"threshold": {"mean_min": [7]}},
        {"_target_": "evalrunner.model.panel.Pannel", "models": []},
        {"_target_": "evalrunner.source.file.FileSource", "pth": "x"},
        {"reporter": {"terminal": {"_target_": "os.system"}}},
    ],
)
def test_wrong_configurations_do_not_fit(value: object, config: Draft202012Validator) -> None:
    assert wrong(config, value) != []


def test_values_may_be_said_later(config: Draft202012Validator) -> None:
    assert wrong(config, {"sampler": {"limit": "${oc.env:N}"}, "regress": {"threshold": "???"}}) == []


def test_demo_rows_fit_and_wrong_ones_do_not() -> None:
    takes, cases = (Draft202012Validator(SCHEMAS[name]()) for name in ("takes", "cases"))
    for validator, name in ((takes, "takes"), (cases, "review_cases"), (cases, "judge_cases")):
        for line in demo(f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            assert wrong(validator, json.loads(line)) == []
    take = {"page_slug": "a", "kind": "fact", "holder": "world", "weight": 1, "claim": "c", "more": [1]}
    assert wrong(takes, take) == []
    assert wrong(takes, take | {"id": 7, "source": None}) == []
    for change in (
        {"weight": 1.01},
        {"weight": "0.5"},
        {"kind": "guess"},
        {"holder": " "},
        {"page_slug": "a\nb"},
    ):
        assert wrong(takes, take | change) != [], change
    assert wrong(takes, {name: value for name, value in take.items() if name != "claim"}) != []
    assert wrong(cases, {"id": "x", "kind": "clean", "language": "python"}) != []
    assert wrong(cases, {"id": "x", "kind": "clean", "language": "python", "diff": "", "note": ""}) != []


def test_real_receipts_fit(tmp_path: Path) -> None:
    validator = Draft202012Validator(SCHEMAS["receipt"]())
    for words in (["--limit", "10"], ["eval=code_review", "runs=1"], ["eval=review_judge"]):
        done = evalrunner(tmp_path, "run", *words, "--json")
        assert done.code in {0, 1}, done.err
        assert wrong(validator, done.json) == []
    receipt = done.json
    assert wrong(validator, receipt | {"a_key_of_later": 1}) == []
    assert wrong(validator, receipt | {"cost_usd": "0.1"}) != []
    assert wrong(validator, {name: value for name, value in receipt.items() if name != "verdict"}) != []


def test_numbers_are_numbers() -> None:
    scores = SCHEMAS["receipt"]()["$defs"]["DimensionScores"]["properties"]
    assert scores["mean"]["type"] == "number"


def test_the_command_prints_one_or_lists_them(tmp_path: Path) -> None:
    assert [line.split()[0] for line in evalrunner(tmp_path, "schema").out.splitlines()] == [*SCHEMAS]
    assert evalrunner(tmp_path, "schema", "takes").json == SCHEMAS["takes"]()
    done = evalrunner(tmp_path, "schema", "reciept")
    assert (done.code, done.out) == (3, "")
    assert "did you mean 'receipt'" in done.err
