"""The real commands, in real processes, as a user meets them."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml
from cli_probe import COMMAND_LINE

ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith("EVALRUNNER_")}


def run(cwd: Path, *tokens: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND_LINE, *tokens],
        env={**ENVIRON, **environ},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_demo_passes_without_a_key_and_keeps_what_it_was(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--json", "--limit", "12")
    assert done.returncode in {0, 1}, done.stderr
    receipt = json.loads(done.stdout)
    assert receipt["corpus"]["n_takes"] == 12
    (folder,) = (tmp_path / "outputs" / "run").iterdir()
    assert receipt["run_id"] == folder.name
    result = json.loads((folder / "result.json").read_text())
    assert (result["code"], Path(result["receipt"])) == (done.returncode, folder / "receipt.json")
    kept = yaml.safe_load((folder / ".hydra" / "config.yaml").read_text())
    assert kept["panel"]["models"][0] == {"_target_": "evalrunner.model.rules.RulesModel", "id": "rules-v1"}
    assert kept["sampler"]["limit"] == 12


def test_a_sweep_over_real_runs(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "-m", "--json", "threshold.mean_min=1,10", "threshold.min_min=1")
    receipts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [receipt["verdict"] for receipt in receipts] == ["pass", "fail"]
    assert done.returncode == 1
    assert len({receipt["run_id"] for receipt in receipts}) == 2


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["rnu"], "rnu: no such command"),
        (["run", "--limt", "5"], "did you mean '--limit'?"),
        (["run", "limit", "5"], "limit: is neither a flag nor key=value"),
        (["run", "sampler.limt=5"], "did you mean 'sampler.limit'?"),
        (["run", "panel=rulez"], "did you mean 'rules'?"),
        (["run", "panel=[rules,budget]"], "-m panel=rules,budget"),
        (
            ["run", "--limit", "-5"],
            "--limit (sampler.limit): should be greater than or equal to 0 (found -5)",
        ),
        (["run", "threshold=0.5"], "--threshold 0.5 or regress.threshold=0.5"),
        (
            ["run", "source.path=${nope}"],
            "source.path: cannot be resolved: names the key 'nope', which is not there",
        ),
        (["run", "panel=tabs"], "panel/tabs.yaml:2:1: is no YAML"),
        (["run", "source.path=nowhere.jsonl"], "nowhere.jsonl"),
        (
            ["run", "source._target_=os.system"],
            "source._target_: is no registered component (found 'os.system')",
        ),
        (["run", "+hydra.callbacks.x._target_=shutil.copy"], "hydra.callbacks.x._target_: names code"),
        (["run", "-m", "panel=rules,rulez"], "did you mean 'rules'?"),
        (["select", "-m", "runs=1,2"], "-m: select cannot be swept; allowed: run, validate, regress"),
        (["run", "-cn", "nightly"], "--config-name: no such configuration (found 'nightly')"),
    ],
)
def test_what_is_wrong_is_said_once_and_nothing_is_done(tmp_path: Path, tokens: list[str], said: str) -> None:
    tabs = tmp_path / "conf" / "panel" / "tabs.yaml"
    tabs.parent.mkdir(parents=True)
    tabs.write_text("_target_: evalrunner.model.panel.Panel\n\tmodels: [rules]\n")
    done = run(tmp_path, *tokens)
    assert (done.returncode, done.stdout) == (3, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("receipt.json"))
    assert not list(tmp_path.rglob("*.duckdb"))


def test_variables_and_shadows_are_named(tmp_path: Path) -> None:
    assert "EVALRUNNER_CONF" in run(tmp_path, "validate", EVALRUNNER_KONF="x").stderr
    own = tmp_path / "conf" / "panel" / "rules.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("_target_: evalrunner.model.panel.Panel\nmodels: [rules]\n")
    done = run(tmp_path, "run", "--json", "--limit", "3")
    assert "your conf/ shadows packaged options: panel/rules" in done.stderr
    assert json.loads(done.stdout)["environment"]["shadowed"] == ["panel/rules"]
    assert "shadows" not in run(tmp_path, "validate", EVALRUNNER_CONF="none").stderr


def test_showing_a_configuration_runs_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--cfg", "job", "--models", "openai:gpt-4o", "panel.models.0.temperature=0")
    shown = yaml.safe_load(done.stdout)
    assert shown["panel"]["models"][0]["temperature"] == 0
    assert run(tmp_path, "run", "--info", "searchpath").returncode == 0
    assert run(tmp_path, "run", "--info", "config", "x=1").returncode == 3
    assert run(tmp_path, "run", "--cfg", "job", "--package", "nope").returncode == 3
    assert not list(tmp_path.iterdir())
