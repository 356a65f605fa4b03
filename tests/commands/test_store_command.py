"""`store` from the command line, and `run` where the store or the disk fails."""

import atexit
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock
from program import Done, environment, inside

from evalrunner.receipt.files import read_receipt

DATABASE = "outputs/evalrunner.duckdb"


@cache
def template(*limits: int) -> Path:
    """A folder with a run for each limit; nobody changes it."""
    folder = Path(tempfile.mkdtemp(prefix="store-command-"))
    atexit.register(shutil.rmtree, folder)
    for limit in limits:
        assert inside(folder, "run", "--limit", str(limit)).code in {0, 1}
    return folder


def machine(folder: Path, *limits: int) -> Path:
    """A folder of one's own with a run for each limit."""
    return Path(shutil.copytree(template(*limits or (5,)), folder))


def ids(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "outputs" / "run").iterdir())


def lines(done: Done) -> dict[str, str]:
    return dict(line.split(None, 1) for line in done.out.splitlines())


def test_check_tells_of_a_healthy_store(tmp_path: Path) -> None:
    folder = machine(tmp_path / "a")
    (folder / f"{DATABASE}.pending" / "torn.json").write_text("{")
    done = inside(folder, "store", "check")
    assert (done.code, done.err) == (0, "")
    told = lines(done)
    assert told["database"].startswith(f"{DATABASE}: 0.")
    assert told["rows"] == "attempts 1, receipts 1, scores 5"
    assert told["copies"] == "equal 1, missing 0, different 0"
    assert told["waiting"].startswith(f"{DATABASE}.pending/torn.json: not JSON, or cut off")
    assert (told["lock"], told["store"]) == ("nobody holds it", "is healthy")
    assert (folder / f"{DATABASE}.pending" / "torn.json").is_file()
    found = inside(folder, "store", "check", "--json").json
    assert (found["healthy"], found["attempts"], found["problems"]) == (True, 1, [])
    assert found["waiting"][0]["file"] == f"{DATABASE}.pending/torn.json"


def test_check_of_no_store_makes_none(tmp_path: Path) -> None:
    done = inside(tmp_path, "store", "check")
    assert done.code == 0
    assert "is not there yet" in lines(done)["database"]
    assert list(tmp_path.iterdir()) == []


def test_check_of_a_broken_store_is_exit_4_with_json_too(tmp_path: Path) -> None:
    (tmp_path / "bad.duckdb").write_text("no database")
    done = inside(tmp_path, "store", "check", "store.path=bad.duckdb")
    assert (done.code, lines(done)["store"]) == (4, "is broken")
    assert done.err == "evalrunner: bad.duckdb: is no DuckDB database [E-STORE]\n"
    done = inside(tmp_path, "store", "check", "store.path=bad.duckdb", "--json")
    assert (done.code, done.json["healthy"]) == (4, False)
    assert done.json["problems"] == ["bad.duckdb: is no DuckDB database"]
    assert done.err.endswith("[E-STORE]\n")


def test_check_shows_some_of_many_problems(tmp_path: Path) -> None:
    import duckdb

    folder = machine(tmp_path / "a")
    with duckdb.connect(str(folder / DATABASE)) as connection:
        connection.execute("insert into chunks select 'gone' || range, 1, ['a'] from range(30)")
    done = inside(folder, "store", "check")
    assert done.code == 4
    assert done.err.count("which is no attempt") == 20
    assert "and 10 more, which --json has" in done.err
    assert len(inside(folder, "store", "check", "--json").json["problems"]) == 30


def test_runs_of_another_machine_come_in_once(tmp_path: Path) -> None:
    theirs, ours = machine(tmp_path / "theirs", 5, 10), machine(tmp_path / "ours", 7)
    own = ids(ours)
    done = inside(ours, "store", "import", "../theirs", "store.lock_timeout_s=5")
    assert done.code == 0
    assert done.out.splitlines() == ids(theirs)
    assert done.err == "evalrunner: took in 2 runs\n"
    rows = inside(ours, "trend", "--attempts", "--json").json["rows"]
    assert sorted(row["run_id"] for row in rows) == sorted([*ids(theirs), *own])
    done = inside(ours, "store", "import", "../theirs")
    assert (done.code, done.out) == (0, "")
    assert done.err == "evalrunner: took in 0 runs; 2 runs in the store already\n"
    assert inside(ours, "store", "check").code == 0


def test_import_of_nothing_is_exit_3_and_takes_the_others_in(tmp_path: Path) -> None:
    theirs, ours = machine(tmp_path / "theirs"), tmp_path / "ours"
    ours.mkdir()
    (ours / "empty").mkdir()
    done = inside(ours, "store", "import", "gone", "../theirs/outputs/run", "empty")
    assert done.code == 3
    assert done.out.splitlines() == ids(theirs)
    assert "gone: no such file or folder" in done.err
    assert "empty: holds no run; allowed: a run folder with its receipt.json" in done.err
    assert "[E-INPUT]" in done.err
    done = inside(ours, "store", "import")
    assert (done.code, done.out) == (3, "")
    assert "store import: needs a PATH" in done.err


def test_import_into_a_store_that_takes_nothing_is_exit_4(tmp_path: Path) -> None:
    theirs = machine(tmp_path / "theirs")
    (tmp_path / "bad.duckdb").write_text("no database")
    done = inside(tmp_path, "store", "import", str(theirs), "store.path=bad.duckdb")
    assert (done.code, done.out) == (4, "")
    assert "bad.duckdb: is no DuckDB database" in done.err
    with FileLock(theirs / f"{DATABASE}.lock"):
        done = inside(theirs, "store", "import", "outputs/run", "store.lock_timeout_s=0")
    assert done.code == 4
    assert "cannot take the runs in now: another evalrunner has held" in done.err


def test_vacuum_says_both_sizes(tmp_path: Path) -> None:
    folder = machine(tmp_path / "a")
    done = inside(folder, "store", "vacuum")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{DATABASE}: 0.2 MB before, 0.2 MB after\n"
    assert inside(folder, "store", "check").code == 0
    assert inside(tmp_path, "store", "vacuum").err == "evalrunner: no runs yet\n"


def test_export_writes_files(tmp_path: Path) -> None:
    import duckdb

    folder = machine(tmp_path / "a", 5, 10)
    done = inside(folder, "store", "export", "all.parquet")
    assert (done.code, done.out) == (0, "all.parquet: 2 rows\n")
    assert len(duckdb.read_parquet(str(folder / "all.parquet")).fetchall()) == 2
    done = inside(
        folder, "store", "export", "s.txt", "--table", "scores", "--format=csv", f"store.path={DATABASE}"
    )
    assert (done.code, done.out) == (0, "s.txt: 10 rows\n")
    assert len((folder / "s.txt").read_text().splitlines()) == 11
    done = inside(folder, "store", "export", "all.parquet")
    assert (done.code, done.out) == (3, "")
    assert "all.parquet: is there already; allowed: another name, or --force [E-INPUT]" in done.err
    assert inside(folder, "store", "export", "all.parquet", "--force", "--table", "trend").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek"], "did you mean 'check'? [E-USAGE]"),
        ([], "the following arguments are required: action"),
        (["check", "--jsn"], "did you mean '--json'? [E-USAGE]"),
        (["check", "store.pth=x"], "did you mean 'store.path'? [E-CONFIG-UNKNOWN-KEY]"),
        (["check", "store=dukdb"], "did you mean 'duckdb'? [E-CONFIG-CHOICE]"),
        (["check", "store.path=["], "cannot be read"),
        (["check", "x.duckdb"], "x.duckdb: is neither an argument nor key=value"),
        (["check", "store=none"], "store: is none in a DuckDB file (found NullStore); allowed: store=duckdb"),
        (["vacuum", "store=none"], "store: is none in a DuckDB file"),
        (["import", ".", "store=none"], "store: is none in a DuckDB file"),
        (["export", "x.csv", "--table", "scors"], "did you mean 'scores'? [E-USAGE]"),
        (["export", "x.csv", "--format", "parket"], "did you mean 'parquet'? [E-USAGE]"),
        (["export", "x.xls"], "x.xls: does not say the format by its ending; allowed: a name that ends in"),
        (["export"], "the following arguments are required: FILE"),
    ],
)
def test_wrong_words_are_exit_3(tmp_path: Path, words: list[str], said: str) -> None:
    done = inside(tmp_path, "store", *words)
    assert (done.code, done.out) == (3, "")
    assert said in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("action", ["check", "import", "vacuum", "export"])
def test_help_teaches(tmp_path: Path, action: str) -> None:
    done = inside(tmp_path, "store", action, "--help")
    assert done.code == 0
    assert f"usage: evalrunner store {action}" in done.out
    examples = done.out.partition("examples:\n")[2].splitlines()
    assert examples
    assert all(line.startswith(f"  evalrunner store {action}") for line in examples)


@pytest.mark.parametrize("command", ["show", "explain"])
def test_overrides_of_other_commands_fail_as_usage_too(tmp_path: Path, command: str) -> None:
    words = [command, "1"] + (["2"] if command == "explain" else [])
    done = inside(tmp_path, *words, "store.path=[")
    assert done.code == 3
    assert "cannot be read" in done.err


def test_overrides_may_follow_flags(tmp_path: Path) -> None:
    folder = machine(tmp_path / "a")
    done = inside(tmp_path, "show", "1", "--item", "demo-05", f"store.path={folder / DATABASE}")
    assert done.code == 0, done.err


def limited(folder: Path, most: int, *words: str) -> Done:
    """A run in a process that can write no file beyond so many bytes, as on a disk that fills up."""
    done = subprocess.run(
        [sys.executable, "-m", "evalrunner", "run", *words],
        cwd=folder,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),  # half a module would stay behind
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_disk_that_is_full_for_the_database_leaves_the_receipt_and_the_attempt(tmp_path: Path) -> None:
    done = limited(tmp_path, 60_000, "--limit", "5")
    assert (done.code, done.out) == (4, "")
    assert "[E-RECEIPT-LOST]" in done.err
    assert f"{DATABASE}: the database cannot be used: " in done.err
    assert "File too large" in done.err
    assert "Traceback" not in done.err
    [folder] = (tmp_path / "outputs" / "run").iterdir()
    assert f"the receipt stands in {folder.relative_to(tmp_path)}/receipt.json" in done.err
    assert read_receipt(folder / "receipt.json")[0].verdict == "pass"
    assert {file.name for file in (tmp_path / "outputs").iterdir()} == {
        "evalrunner.duckdb.lock",
        "evalrunner.duckdb.pending",
        "run",
    }
    found = inside(tmp_path, "store", "check", "--json").json
    assert (found["healthy"], len(found["waiting"]), found["left"]) == (True, 1, [])
    rows = inside(tmp_path, "trend", "--json").json["rows"]
    assert [row["run_id"] for row in rows] == [folder.name]


def test_a_disk_that_is_full_for_the_receipt_too_leaves_it_on_stdout(tmp_path: Path) -> None:
    done = limited(tmp_path, 16_000, "judge.chunk_size=1")
    assert done.code == 4, done.err
    assert json.loads(done.out)["verdict"] in {"pass", "fail"}
    assert "receipt.json: cannot be written: File too large" in done.err
    assert "the receipt stands on stdout, and in no file" in done.err
    names = [file.name for file in tmp_path.rglob("*")]
    assert "receipt.json" not in names
    assert not [name for name in names if name.endswith((".tmp", ".new", ".duckdb"))]


def test_a_run_beside_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    (tmp_path / DATABASE).write_text("no database")
    done = inside(tmp_path, "run", "--limit", "5")
    assert done.code == 4
    assert f"{DATABASE}: is no DuckDB database" in done.err
    assert "the attempt waits here, and is taken in once the store is mended" in done.err
    assert "the receipt stands in outputs/run/" in done.err
    assert (tmp_path / DATABASE).read_text() == "no database"
    (tmp_path / DATABASE).unlink()
    assert len(inside(tmp_path, "trend", "--json").json["rows"]) == 1


def test_a_file_where_the_pending_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    (tmp_path / f"{DATABASE}.pending").write_text("mine")
    done = inside(tmp_path, "run", "--limit", "5")
    assert done.code == 4
    assert f"{DATABASE}.pending" in done.err
    assert "the receipt stands in outputs/run/" in done.err
    assert not (tmp_path / DATABASE).exists()
    [folder] = (tmp_path / "outputs" / "run").iterdir()
    (tmp_path / f"{DATABASE}.pending").unlink()
    assert inside(tmp_path, "store", "import", str(folder)).out == f"{folder.name}\n"


def test_a_database_that_was_deleted_between_runs_is_said_and_its_runs_come_back(tmp_path: Path) -> None:
    folder = machine(tmp_path / "a")
    (folder / DATABASE).unlink()
    done = inside(folder, "run", "--limit", "10")
    assert done.code == 0
    assert "is not there, and a new store is begun; the receipts of earlier runs (1) lie in" in done.err
    assert len(inside(folder, "trend", "--json").json["rows"]) == 1
    assert inside(folder, "store", "import", "outputs/run").err.endswith(
        "took in 1 run; 1 run in the store already\n"
    )
    assert len(inside(folder, "trend", "--json").json["rows"]) == 2
