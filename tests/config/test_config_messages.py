"""Wrong configurations: each message names place, value found, what is allowed, and the nearest name."""

from pathlib import Path

import pytest
from config_composing import problems, wheres, write

from evalrunner.config.table import COMMANDS
from evalrunner.config.tree import RegressConfig, ReplayConfig, RunConfig, TrendConfig


@pytest.mark.parametrize(
    ("tokens", "where", "said"),
    [
        # typos at every level
        (
            ["sourc=db"],
            "sourc",
            "no such key",
        ),
        (["sourc=db"], "sourc", "did you mean 'source'?"),
        (["sampler.limt=5"], "sampler.limt", "did you mean 'sampler.limit'?"),
        (["limit=5"], "limit", "did you mean 'sampler.limit'?"),
        (["cycles.maxx=2"], "cycles.maxx", "cycles has max, default_max, stop; did you mean 'cycles.max'?"),
        (
            ["reporter.terminl.errors=1"],
            "reporter.terminl.errors",
            "did you mean 'reporter.terminal.errors'?",
        ),
        (
            ["panel.models.0.temprature=0", "--models", "openai:gpt-4o"],
            "--models (panel.models.0.temprature)",
            "did you mean 'panel.models.0.temperature'?",
        ),
        (
            ["panel.models.3.id=x"],
            "panel.models.3.id",
            "no such place in panel.models (found '3'); allowed: 0 to 0",
        ),
        (["sampler.limit.x=1"], "sampler.limit.x", "sampler.limit is a value and has no keys"),
        (["+nonsense=1"], "nonsense", "no such key (found 1)"),
        (["++cycles={mx: 1}"], "cycles.mx", "did you mean 'cycles.max'?"),
        (
            ["pricing.models={openai/x: {input_usd_per_mtk: 1, output_usd_per_mtok: 1}}"],
            "pricing.models.openai/x.input_usd_per_mtk",
            "did you mean 'pricing.models.openai/x.input_usd_per_mtok'?",
        ),
        (["+source.pth=x"], "source.pth", "did you mean 'source.path'?"),
        (["+judge._args_=[1]"], "judge._args_", "no such key"),
        # unknown options
        (["panel=rulez"], "panel", "no such option (found 'rulez'); allowed: budget, frontier, none, rules"),
        (["panel=rulez"], "panel", "did you mean 'rules'?"),
        (["panel="], "panel", "no such option (found '')"),
        (["eval=takes"], "eval", "no such option (found 'takes')"),
        (["source=5"], "source", "needs the name of an option (found 5); allowed: db, file"),
        (["source=null"], "source", "needs the name of an option (found None)"),
        (["hydra/launcher=slurm"], "hydra/launcher", "no such option (found 'slurm')"),
        (["hydra/launcher=jobli"], "hydra/launcher", "did you mean 'joblib'?"),
        (["reporter=[terminal,jsn]"], "reporter", "no such option (found 'jsn'); allowed: github, json,"),
        (["sources/x=db"], "sources/x", "no such group"),
        # what Hydra would take for something else
        (
            ["panel=[rules,budget]"],
            "panel",
            "to sweep over them: -m panel=rules,budget; for one panel of these",
        ),
        (["source=[db,file]"], "source", "a list would merge the options into one"),
        (
            ["threshold=0.5"],
            "threshold",
            "--threshold 0.5 or regress.threshold=0.5; threshold=metric|none|panel",
        ),
        (["model=gpt-4o"], "model", "models sit in a panel"),
        (["+model=gpt-4o"], "model", "--models A,B or panel.models=[A,B]"),
        (
            ["panel=rules,budget"],
            "panel",
            "are a sweep, and it needs -m (found 'rules,budget'); allowed: -m panel=",
        ),
        (["sampler.limit=[1"], "sampler.limit", "a value that cannot be read: [ is not closed"),
        # seats
        (["--models", "rulez"], "--models (panel.models.0)", "did you mean 'rules'?"),
        (["--models", "rules,gpt4"], "--models (panel.models.1)", "an id such as openai:gpt4 or openai/gpt4"),
        (["panel.models=[3]"], "panel.models.0", "is no seat (found 3)"),
        (["panel.models=[]"], "panel.models", "at least one model is needed (found [])"),
        (
            ["--models", "openai:gpt-4o,openai/gpt-4o"],
            "--models (panel.models)",
            "the same model sits twice: openai:gpt-4o at 0 and openai/gpt-4o at 1",
        ),
        (["panel=none"], "panel", "judge RubricPanel asks a panel"),
        (
            ["panel=none", "--models", "openai:gpt-4o"],
            "--models (panel.models)",
            "no such key; allowed: panel has no keys",
        ),
        # types and ranges
        (["--limit", "-1"], "--limit (sampler.limit)", "should be greater than or equal to 0 (found -1)"),
        (["sampler.limit=ten"], "sampler.limit", "should be a valid integer (found 'ten')"),
        (["sampler.limit=true"], "sampler.limit", "should be a valid integer (found True)"),
        (["sampler.limit=1.5"], "sampler.limit", "should be a valid integer (found 1.5)"),
        (["--seed", "frsh"], "--seed (sampler.seed)", "should be a valid integer or 'fresh' (found 'frsh')"),
        (["--seed", "frsh"], "--seed (sampler.seed)", "did you mean 'fresh'?"),
        (["cycles.stop=sometimes"], "cycles.stop", "should be 'verdict' or 'never' (found 'sometimes')"),
        (["cycles.stop=nevr"], "cycles.stop", "did you mean 'never'?"),
        (["--cycles", "0"], "--cycles (cycles.max)", "should be greater than or equal to 1 (found 0)"),
        (["runs=0"], "runs", "should be greater than or equal to 1 (found 0)"),
        (["json=yes"], "json", "should be a valid boolean (found 'yes')"),
        (["budget.cap_usd=much"], "budget.cap_usd", "should be a number (found 'much')"),
        (["budget.cap_usd=nan"], "budget.cap_usd", "found nan"),
        (["budget.cap_usd=-1"], "budget.cap_usd", "found -1"),
        (["threshold.quorum=1.5"], "threshold.quorum", "found 1.5"),
        (["judge.prompt=../secret"], "judge.prompt", "should match pattern"),
        (["out=''"], "out", "a path must not be empty"),
        (
            ["source={path: x}", "source.path=[1]"],
            "source.path",
            "should be a path, written as text (found [1])",
        ),
        (["cycles=3"], "cycles", "should be a mapping (found 3)"),
        (["reporter.terminal=5"], "reporter.terminal", "is no Reporter (found 5)"),
        (
            ["source._target_=evalrunner.source.file.FileSourc"],
            "source._target_",
            "is no registered component",
        ),
        # missing and unresolvable
        (["~source"], "source", "is missing and has no default"),
        (["source.path=???"], "source.path", "is missing and has no default"),
        (
            ["source.path=${nothing.here}"],
            "source.path",
            "cannot be resolved: names the key 'nothing.here', which is not there",
        ),
        (["source.path=${oc.env:NOT_SET_ANYWHERE}"], "source.path", "NOT_SET_ANYWHERE"),
        (["source.path=${oc.nv:X}"], "source.path", "cannot be resolved"),
        (["source.path=${"], "source.path", "a value that cannot be read: { is not closed"),
    ],
)
def test_wrong_overrides(tokens: list[str], where: str, said: str) -> None:
    found = problems("run", *tokens)
    assert wheres(found) == [where]
    assert said in str(found[0])


def test_all_problems_of_a_tree_are_reported_at_once() -> None:
    found = problems(
        "run",
        "sampler.limit=-1",
        "+source.pth=x",
        "cycles.max=0",
        "+extra=1",
        "runs=no",
        "threshold.quorum=2",
        "source.path=${nope}",
        "judge._target_=os.system",
    )
    assert set(wheres(found)) == {
        "sampler.limit",
        "source.pth",
        "cycles.max",
        "extra",
        "runs",
        "threshold.quorum",
        "source.path",
        "judge._target_",
    }


def test_all_problems_of_a_command_line_are_reported_at_once() -> None:
    choices = problems("run", "panel=rulez", "source=fil", "threshold=1", "model=x", "reporter=[a]")
    assert wheres(choices) == ["panel", "source", "threshold", "model", "reporter"]
    keys = problems("run", "sampler.limt=1", "cycels.max=2", "nothing=3")
    assert wheres(keys) == ["sampler.limt", "cycels.max", "nothing"]


@pytest.mark.parametrize(
    "value", ["duckdb,none", "[duckdb,none]", "range(1,3)", "choice(duckdb,none)", "glob(*)"]
)
@pytest.mark.parametrize("command", [name for name, row in COMMANDS.items() if not row.plain])
def test_a_sweep_is_advised_only_to_commands_that_can_be_swept(command: str, value: str) -> None:
    [problem] = problems(command, f"store={value}")
    assert problem.where == "store"
    assert value.strip("[]") in str(problem.found)
    assert ("-m" in str(problem)) == COMMANDS[command].sweeps


@pytest.mark.parametrize(
    ("file", "text", "tokens", "where", "said"),
    [
        (
            "panel/mine.yaml",
            "models:\n\t- openai:gpt-4o\n",
            ["panel=mine"],
            "{conf}/panel/mine.yaml:2:1",
            "never with tabs",
        ),
        (
            "panel/mine.yaml",
            "models: [openai:gpt-4o\n",
            ["panel=mine"],
            "{conf}/panel/mine.yaml:2:1",
            "is no YAML",
        ),
        (
            "sampler/mine.yaml",
            f"limit: {'9' * 5000}\n",
            ["sampler=mine"],
            "{conf}/sampler/mine.yaml",
            "holds a number with thousands of digits",
        ),
        ("panel/mine.yaml", "- a\n- b\n", ["panel=mine"], "panel", "should be a mapping (found ['a', 'b'])"),
        (
            "panel/mine.yaml",
            "_target_: evalrunner.model.panel.Panel\nmodels: [rulez]\n",
            ["panel=mine"],
            "panel.models.0",
            "did you mean 'rules'?",
        ),
        (
            "panel/mine.yaml",
            "_target_: evalrunner.model.panel.Panel\nmodel: [openai:gpt-4o]\nmodels: [openai:gpt-4o]\n",
            ["panel=mine"],
            "panel.model",
            "did you mean 'panel.models'?",
        ),
        (
            "panel/mine.yaml",
            "_target_: evalrunner.model.panel.Panel\nmodels: rules\n",
            ["panel=mine"],
            "panel.models",
            "should be a list (found 'rules')",
        ),
        (
            "panel/mine.yaml",
            "_target_: evalrunner.model.panel.Panel\nmodels: [{id: 'openai:gpt-4o', max_token: 5}]\n",
            ["panel=mine"],
            "panel.models.0.max_token",
            "did you mean 'panel.models.0.max_tokens'?",
        ),
        (
            "panel/mine.yaml",
            "defaults: [ruls]\n",
            ["panel=mine"],
            "panel/mine.yaml: defaults",
            "no such file (found 'panel/ruls.yaml')",
        ),
        (
            "eval/mine.yaml",
            "# @package _global_\ndefaults:\n  - override /panel: ruls\neval: mine\n",
            ["eval=mine"],
            "panel",
            "did you mean 'rules'?",
        ),
        (
            "eval/mine.yaml",
            "# @package _global_\neval: mine\nsampler: {limt: 3}\n",
            ["eval=mine"],
            "sampler.limt",
            "did you mean 'sampler.limit'?",
        ),
        (
            "eval/mine.yaml",
            "# @package _global_\neval: mine\ncycels: {max: 3}\n",
            ["eval=mine"],
            "cycels",
            "did you mean 'cycles'?",
        ),
        ("eval/mine.yaml", "# @package _global_\neval: 3\n", ["eval=mine"], "eval", "valid string (found 3)"),
        (
            "source/mine.yaml",
            "_target_: evalrunner.source.file.FileSource\n",
            ["source=mine"],
            "source.path",
            "is missing and has no default",
        ),
        (
            "source/mine.yaml",
            "_target_: shutil.copy\nsrc: a\ndst: b\n",
            ["source=mine"],
            "source._target_",
            "is no registered component (found 'shutil.copy')",
        ),
        (
            "source/mine.yaml",
            "_target_: evalrunner.source.file.glob.escape\npath: b\n",
            ["source=mine"],
            "source._target_",
            "is no registered component",
        ),
        ("source/mine.yaml", "path: x\n", ["source=mine"], "source", "is no Source"),
    ],
)
def test_wrong_files(  # noqa: PLR0917 - the columns of the table
    elsewhere: Path, file: str, text: str, tokens: list[str], where: str, said: str
) -> None:
    write(elsewhere / "conf" / file, text)
    found = problems("run", *tokens)
    assert wheres(found) == [where.format(conf=elsewhere / "conf")]
    assert said in str(found[0])


def test_files_that_are_no_text(elsewhere: Path) -> None:
    file = write(elsewhere / "conf" / "panel" / "mine.yaml", "")
    for content in (b"models: [\xff]\n", b"models: [\x01]\n"):
        file.write_bytes(content)
        (found,) = problems("run", "panel=mine")
        assert found.where == str(file)
        assert "is no text in UTF-8" in found.what
    file.write_text("models: [rules]\nmodels: [local]\n")
    (found,) = problems("run", "panel=mine")
    assert (found.where, found.what) == (f"{file}:2:1", "is no YAML: found duplicate key models")


def test_nested_targets_cannot_hide() -> None:
    (found,) = problems("run", "threshold=metric", "threshold.at_least={recall: {_target_: os.getcwd}}")
    assert found.where == "threshold.at_least.recall._target_"


@pytest.mark.parametrize(
    ("command", "kind", "tokens", "where", "said"),
    [
        ("regress", RegressConfig, [], "against", "the receipt to compare with is not given: --against FILE"),
        (
            "regress",
            RegressConfig,
            ["--against", "r.json", "--threshold", "-1"],
            "--threshold (regress.threshold)",
            "should be greater than or equal to 0",
        ),
        (
            "regress",
            RegressConfig,
            ["--against", "r.json", "regress.treshold=1"],
            "regress.treshold",
            "did you mean 'regress.threshold'?",
        ),
        ("trend", TrendConfig, ["--limit", "0"], "--limit (trend.limit)", "greater than or equal to 1"),
        ("trend", TrendConfig, ["--corpus", "xyz"], "--corpus (trend.corpus)", "should match pattern"),
        (
            "trend",
            TrendConfig,
            ["trend.rubric_version=1.0"],
            "trend.rubric_version",
            "valid string (found 1.0)",
        ),
        ("trend", TrendConfig, ["panel=rules"], "panel", "is no group of this command"),
        ("replay", ReplayConfig, ["from_db.corpus=aaaaaaaa"], "from_db", "or by all four of"),
        ("run", RunConfig, ["against=x"], "against", "no such key"),
    ],
)
def test_wrong_overrides_of_other_commands(
    command: str, kind: type, tokens: list[str], where: str, said: str
) -> None:
    (found,) = problems(command, *tokens, kind=kind)
    assert found.where == where
    assert said in str(found)
