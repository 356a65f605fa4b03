"""Launchers: jobs that really run in processes of their own, and land in one store."""

import json
import sqlite3
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from program import FAST, environment, inside


def needs(plugin: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(f"hydra_plugins.{plugin}") is None, reason="needs the extra")


LAUNCHERS = [
    pytest.param("joblib", id="joblib"),
    pytest.param("ray", id="ray", marks=needs("hydra_ray_launcher")),
    pytest.param("submitit_local", id="submitit", marks=needs("hydra_submitit_launcher")),
]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_jobs_run_in_other_processes_and_land_in_one_store(tmp_path: Path, launcher: str) -> None:
    given = ["run", "-m", f"hydra/launcher={launcher}", "sampler.seed=1,2", "sampler.limit=5,7"]
    shared = ["budget.scope=sweep", "budget.cap_usd=1", "--json"]
    with subprocess.Popen(
        [*FAST, *given, *shared],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        out, err = process.communicate(timeout=300)
    receipts = [json.loads(line) for line in out.splitlines()]
    assert len(receipts) == 4, err
    asked = [(receipt["sampler"]["seed"], receipt["corpus"]["n_takes"]) for receipt in receipts]
    assert asked == [(1, 5), (1, 7), (2, 5), (2, 7)], "in the order of the jobs"
    worst = 1 if any(receipt["verdict"] == "fail" for receipt in receipts) else 0
    assert process.returncode == worst, err
    (ledger,) = tmp_path.glob("outputs/run/*/budget.sqlite")
    with sqlite3.connect(ledger) as connection:
        processes = [number for (number,) in connection.execute("select process from jobs")]
    connection.close()
    assert len(processes) == 4
    assert process.pid not in processes
    assert len(set(processes)) > 1
    rows = inside(tmp_path, "trend", "--attempts", "--json").json["rows"]
    assert sorted(row["run_id"] for row in rows) == sorted(receipt["run_id"] for receipt in receipts)


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_readers_who_have_seen_enough_change_no_exit_code(tmp_path: Path, launcher: str) -> None:
    given = ["run", "-m", f"hydra/launcher={launcher}", "sampler.limit=5,7"]
    with subprocess.Popen(
        [*FAST, *given], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=300) in {0, 1}
    assert len(list(tmp_path.glob("outputs/run/*/*/receipt.json"))) == 2
