"""No finished attempt is lost: killed between its files, or with nowhere to write."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from program import environment
from program import inside as evalrunner

KILLED = """
import os, signal, sys
from evalrunner.commands import attempt
from evalrunner.store.duckdb_store import DuckdbStore

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[1] == "before the run folder":
    attempt.write_atomic = die
else:
    DuckdbStore.put = die
sys.argv = ["evalrunner", "run", "--limit", "5"]
from evalrunner.cli import main
main()
"""


@pytest.mark.parametrize("moment", ["before the run folder", "before the database"])
def test_killed_before_the_database_the_next_command_takes_the_attempt_in_once(
    tmp_path: Path, moment: str
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, moment],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    for _ in range(2):
        rows = evalrunner(tmp_path, "trend", "--attempts", "--json").json["rows"]
        assert [row["verdict"] for row in rows] == ["pass"]


def test_a_run_folder_that_takes_no_file_leaves_the_receipt_on_stdout(tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "receipts").write_text("a file where a folder should be")
    (tmp_path / "blocked").write_text("a file where a folder should be")
    done = evalrunner(tmp_path, "run", "--limit", "5", "store.path=blocked/store.duckdb")
    assert done.code == 4
    assert "blocked" in done.err
    assert "receipt stands in outputs/run/" in done.err
    assert "Traceback" not in done.err


def test_an_out_file_is_the_receipt_as_well(tmp_path: Path) -> None:
    done = evalrunner(tmp_path, "run", "--limit", "5", "--json", "--out", "gate/receipt.json")
    shown = evalrunner(tmp_path, "replay", "gate/receipt.json", "--json")
    assert shown.out == done.out
    assert shown.code == done.code == 0


def test_a_closed_stdout_keeps_the_verdicts_code(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "evalrunner", "run", "--slug-prefix", "drafts/"],
        cwd=tmp_path,
        env=environment(),
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stderr
