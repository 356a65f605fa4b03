"""Exit codes and streams, in real processes, with a command that ends as it is told."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_probe import COMMAND_LINE, install


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("probe")
    return {**install(folder), "EVALRUNNER_CONF": str(folder / "conf")}


def run(environ: dict[str, str], cwd: Path, *tokens: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND_LINE, *tokens],
        env=environ,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        ("pass", 0, ""),
        ("fail", 1, ""),
        ("inconclusive", 2, ""),
        ("config", 3, "evalrunner: outcome: is wrong (found 'config') [E-CONFIG]\n"),
        ("source", 4, "evalrunner: database is down [E-SOURCE]\n"),
        ("crash", 4, "evalrunner: crashed: RuntimeError: boom; --debug shows where [E-CRASH]\n"),
        ("interrupt", 130, "evalrunner: interrupted\n"),
    ],
)
def test_a_single_run(environ: dict[str, str], tmp_path: Path, outcome: str, code: int, said: str) -> None:
    done = run(environ, tmp_path, "probe", f"outcome={outcome}")
    assert (done.returncode, done.stderr) == (code, said)
    (result,) = tmp_path.glob("outputs/probe/*/result.json")
    kept = json.loads(result.read_text())
    assert (kept["code"], kept["overrides"]) == (code, [f"outcome={outcome}"])
    assert (kept["receipt"] is not None) == (code < 3)


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_a_sweep_returns_the_worst_and_runs_every_job(
    environ: dict[str, str], tmp_path: Path, launcher: str
) -> None:
    tokens = ["probe", "outcome=pass,crash,fail,config", "-m", f"hydra/launcher={launcher}"]
    done = run(environ, tmp_path, *tokens)
    assert done.returncode == 4
    rows = [line.split()[:4] for line in done.stdout.splitlines()]
    assert rows == [
        ["0", "exit", "0", "outcome=pass"],
        ["1", "exit", "4", "outcome=crash"],
        ["2", "exit", "1", "outcome=fail"],
        ["3", "exit", "3", "outcome=config"],
    ]
    assert "job 1 (outcome=crash): crashed: RuntimeError: boom" in done.stderr
    assert "job 2 (outcome=fail): exit 1" in done.stderr
    assert "job 3 (outcome=config): outcome: is wrong" in done.stderr
    assert len(list(tmp_path.rglob("receipt.json"))) == 2


def test_a_sweep_as_json_is_one_receipt_a_line(environ: dict[str, str], tmp_path: Path) -> None:
    done = run(environ, tmp_path, "probe", "-m", "json=true", "outcome=fail,pass,crash")
    assert done.returncode == 4
    assert [json.loads(line)["outcome"] for line in done.stdout.splitlines()] == ["fail", "pass"]


def test_a_worker_that_dies_counts_as_a_crash(environ: dict[str, str], tmp_path: Path) -> None:
    done = run(environ, tmp_path, "probe", "-m", "outcome=pass,die", "hydra/launcher=joblib")
    assert done.returncode == 4
    assert "1  exit 4  outcome=die" in done.stdout


def test_an_interrupted_sweep_says_what_was_done(environ: dict[str, str], tmp_path: Path) -> None:
    done = run(environ, tmp_path, "probe", "-m", "outcome=fail,interrupt,pass")
    assert done.returncode == 130
    assert [line.split()[2] for line in done.stdout.splitlines()] == ["1", "130"]


def test_a_wrong_job_is_found_before_any_runs(environ: dict[str, str], tmp_path: Path) -> None:
    done = run(environ, tmp_path, "probe", "-m", "outcome=pass", "nothing=1,2")
    assert done.returncode == 3
    assert done.stdout == ""
    assert "nothing: no such key" in done.stderr
    assert not list(tmp_path.rglob("receipt.json"))


def test_commands_that_only_read_leave_nothing_behind(environ: dict[str, str], tmp_path: Path) -> None:
    assert run(environ, tmp_path, "peek", "outcome=inconclusive").returncode == 2
    assert run(environ, tmp_path, "peek", "-m", "outcome=inconclusive,fail").returncode == 1
    assert not list(tmp_path.iterdir())


def test_two_runs_never_share_a_folder(environ: dict[str, str], tmp_path: Path) -> None:
    started = [
        subprocess.Popen([*COMMAND_LINE, "probe"], env=environ, cwd=tmp_path, stdout=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert [each.wait(60) for each in started] == [0, 0, 0]
    assert len(list(tmp_path.glob("outputs/probe/*/receipt.json"))) == 3


@pytest.mark.parametrize(
    ("redirected", "code"),
    [("| head -1; exit ${PIPESTATUS[0]}", 1), ("2>&1 | head -1; exit ${PIPESTATUS[0]}", 1), (">&-", 1),
     ("0>&- 1>&- 2>&-", 1), (">/dev/full", 4)],
)  # fmt: skip
def test_streams_that_are_closed(environ: dict[str, str], tmp_path: Path, redirected: str, code: int) -> None:
    line = f"{sys.executable} -m evalrunner probe outcome=flood {redirected}"
    done = subprocess.run(
        ["bash", "-c", line], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert ("stdout: could not be written" in done.stderr or "No space left" in done.stderr) == (code == 4)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(environ: dict[str, str], tmp_path: Path, number: int) -> None:
    command = [*COMMAND_LINE, "probe", "outcome=sleep"]
    with subprocess.Popen(command, env=environ, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        assert started.stderr.readline() == "asleep\n"
        time.sleep(0.1)
        started.send_signal(number)
        assert started.wait(20) == 130
        assert started.stderr.read() == "evalrunner: interrupted\n"
    (result,) = tmp_path.glob("outputs/probe/*/result.json")
    assert json.loads(result.read_text())["code"] == 130


def test_tracebacks_only_when_asked_for(environ: dict[str, str], tmp_path: Path) -> None:
    assert "Traceback" not in run(environ, tmp_path, "probe", "outcome=crash").stderr
    assert "Traceback" in run(environ, tmp_path, "probe", "outcome=crash", "--debug").stderr
    assert "Traceback" in run({**environ, "HYDRA_FULL_ERROR": "1"}, tmp_path, "probe", "outcome=crash").stderr


def test_output_is_utf8_in_any_locale(environ: dict[str, str], tmp_path: Path) -> None:
    latin = {**environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [*COMMAND_LINE, "probe", "-m", "json=true"], env=latin, cwd=tmp_path, capture_output=True, check=True
    )
    assert done.stdout.decode("utf-8").rstrip() == '{"outcome":"pass","text":"é"}'


def test_a_terminal_gets_three_cycles_and_a_pipe_one(environ: dict[str, str], tmp_path: Path) -> None:
    assert run(environ, tmp_path, "probe").stdout == "on stdout pass 1 False\n"
    leader, follower = os.openpty()
    try:
        for tokens, cycles in ((["probe"], "3"), (["probe", "cycles.default_max=2"], "2"), (["peek"], "1")):
            subprocess.run([*COMMAND_LINE, *tokens], env=environ, cwd=tmp_path, stdout=follower, check=True)
            assert os.read(leader, 4096).decode().split()[3] == cycles
    finally:
        os.close(leader)
        os.close(follower)
