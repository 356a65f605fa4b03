"""Attempts that wait: why, for how long, and what becomes of files that are none."""

import json
import os
import time
from pathlib import Path

import pytest
from store_samples import (
    attempt,
    corpus,
    holding,
    put,
    query,
    receipt,
    store_in,
    trend,
    waiting,
)

from evalrunner.errors import StoreError
from evalrunner.store import pending
from evalrunner.store.base import Put
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.reader import TrendRow


def left_waiting(store: DuckdbStore, *run_ids: str) -> None:
    """Leaves attempts in the pending folder, as writers that found the lock taken do."""
    for number, run_id in enumerate(run_ids):
        pending.write(store.path, attempt(run_id, receipt(corpus=corpus(f"{number:08x}"))))


def test_when_the_lock_is_taken_the_attempt_waits_and_the_caller_is_told(tmp_path: Path) -> None:
    store = store_in(tmp_path, lock_timeout_s=0.2)
    with holding("hold", f"{store.path}.lock"):
        done = store.put(attempt("r1"))
    assert done == Put(
        "pending",
        (
            f"another evalrunner has held {store.path}.lock for more than 0.2 s; the attempt waits in"
            f" {store.path}.pending/r1.json, and the next command takes it in",
        ),
    )
    assert waiting(store) == ["r1.json"]
    assert not store.path.exists()


def test_the_next_put_takes_in_what_waits_once(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    left_waiting(store, "r1", "r2")
    done = store.put(attempt("r3", receipt(corpus=corpus("33333333"))))
    assert done == Put("stored", (f"took in 2 attempts that waited in {store.path}.pending",))
    assert waiting(store) == []
    assert query(store, "select run_id, count(*) from scores group by all order by all") == [
        ("r1", 2),
        ("r2", 2),
        ("r3", 2),
    ]
    assert query(store, "select min(value), max(written) from scores") == [(7.5, "8")]
    assert len(list((tmp_path / "receipts").iterdir())) == 3
    put(store, "r4")


def test_the_next_question_takes_in_what_waits(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    left_waiting(store, "r1")
    said: list[str] = []
    with store.reading(said.append) as reader:
        assert [row.run_id for row in reader.trend()] == ["r1"]
    assert said == [f"took in 1 attempt that waited in {store.path}.pending"]
    assert [row.run_id for row in trend(store)] == ["r1"]


def test_what_waits_arrives_unchanged(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    left_waiting(store, "r1")
    direct = store_in(tmp_path / "direct")
    put(direct, "r1", receipt(corpus=corpus("00000000")))
    with store.reading(lambda _: None):
        pass
    for table in ("attempts", "receipts", "scores", "chunks"):
        assert query(store, f"from {table}") == query(direct, f"from {table}")


def test_a_notebook_that_reads_does_not_stop_questions_but_writers_leave_theirs_waiting(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path, lock_timeout_s=0.3)
    put(store, "r1")
    said: list[str] = []
    with holding("open", store.path, "ro") as process:
        done = store.put(attempt("r2", receipt(corpus=corpus("22222222"))))
        assert done.kept == "pending"
        assert f"process {process}) has {store.path} open; the attempt waits" in done.warnings[0]
        with store.reading(said.append) as reader:
            assert [row.run_id for row in reader.trend()] == ["r1"]
    assert len(said) == 1
    assert said[0].startswith(f"1 attempt in {store.path}.pending could not be taken in, and are not shown: ")
    with store.reading(lambda _: None) as reader:
        assert len(reader.trend()) == 2


def test_a_program_that_writes_stops_questions_too_and_is_named(tmp_path: Path) -> None:
    store = store_in(tmp_path, lock_timeout_s=0.2)
    put(store, "r1")
    with (
        holding("open", store.path, "rw") as process,
        pytest.raises(
            StoreError, match=rf"cannot be read now: a program \(.*, process {process}\) has .* open"
        ),
    ):
        trend(store)
    assert [row.run_id for row in trend(store)] == ["r1"]


def test_a_lock_that_is_held_too_long_stops_questions(tmp_path: Path) -> None:
    store = store_in(tmp_path, lock_timeout_s=0.1)
    put(store, "r1")
    with holding("hold", f"{store.path}.lock"), pytest.raises(StoreError, match=r"for more than 0\.1 s"):
        trend(store)


def test_a_connection_of_this_program_is_no_crash(tmp_path: Path) -> None:
    import duckdb

    store = store_in(tmp_path, lock_timeout_s=0.1)
    put(store, "r1")
    connection = duckdb.connect(str(store.path), read_only=True)
    try:
        assert store.put(attempt("r2")).kept == "pending"
    finally:
        connection.close()
    assert store.put(attempt("r3")).kept == "stored"


def test_what_was_staged_is_neither_written_nor_read_again(tmp_path: Path) -> None:
    store, one = store_in(tmp_path), attempt("r1")
    store.stage(one)
    (file,) = (tmp_path / "evalrunner.duckdb.pending").iterdir()
    file.write_text("torn: whoever reads it again cannot use it")
    assert store.put(one) == Put("stored")
    assert query(store, "select run_id from attempts") == [("r1",)]
    assert waiting(store) == []
    direct = store_in(tmp_path / "direct")
    left_waiting(direct, "r1")
    with direct.reading(lambda _: None):
        pass
    assert query(store, "from scores order by all") == query(direct, "from scores order by all")


def test_what_was_staged_and_cannot_get_in_waits_as_it_was_written(tmp_path: Path) -> None:
    store, one = store_in(tmp_path, lock_timeout_s=0.1), attempt("r1")
    store.stage(one)
    file = tmp_path / "evalrunner.duckdb.pending" / "r1.json"
    written = file.stat().st_ino
    with holding("hold", f"{store.path}.lock"):
        assert store.put(one).kept == "pending"
        assert file.stat().st_ino == written
        file.unlink()
        assert store.put(one).kept == "pending"
        assert file.exists()
    assert [row.run_id for row in trend_of(store)] == ["r1"]


def test_what_was_staged_and_taken_in_by_another_is_in_once(tmp_path: Path) -> None:
    store, one = store_in(tmp_path), attempt("r1")
    store.stage(one)
    assert [row.run_id for row in trend_of(store_in(tmp_path))] == ["r1"]
    assert store.put(one) == Put("stored")
    assert query(store, "select count(*) from scores") == [(2,)]
    assert waiting(store) == []


def test_another_attempt_of_the_same_id_is_not_taken_for_the_one_staged(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.stage(attempt("r1", receipt(verdict="fail")))
    assert store.put(attempt("r1")) == Put("stored")
    assert query(store, "select verdict from attempts") == [("pass",)]


def trend_of(store: DuckdbStore) -> list[TrendRow]:
    """The trend, whatever is taken in on the way."""
    with store.reading(lambda _: None) as reader:
        return reader.trend()


NO_ATTEMPTS = [
    (b"", "not JSON, or cut off"),
    (b'{"format": 1, "run_id": "torn", "rec', "not JSON, or cut off"),
    (b"\xff\xfe", "not JSON, or cut off"),
    (b"[1, 2]", "it is no JSON object"),
    (b'{"a": 1, "a": 2}', "written twice"),
    (b'{"format": 1, "run_id": "x", "identity": true, "receipt": {"cost_usd": NaN}}', "NaN is no number"),
    (b'{"format": ' + b"1" * 5000 + b"}", "a whole number has 5000 digits"),
    (b'{"format": 1e99999999999999999999}', "has the exponent 99999999999999999999"),
    (b"[" * 100_000, "not JSON, or cut off"),
    (b'{"name": "package"}', "its format is None, not 1"),
    (b'{"format": true}', "its format is True, not 1"),
    (b'{"format": 1, "identity": true, "receipt": {}}', "run_id: Field required"),
    (b'{"format": 1, "run_id": "../x", "identity": true, "receipt": {"schema_version": 1}}', "run_id: "),
    (b'{"format": 1, "run_id": "x", "identity": true, "receipt": {}}', "schema_version: is missing"),
]


def test_what_is_no_attempt_is_set_aside_and_blocks_nobody(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    left_waiting(store, "a1", "z1")
    folder = tmp_path / "evalrunner.duckdb.pending"
    for number, (content, _) in enumerate(NO_ATTEMPTS):
        (folder / f"bad{number:02}.json").write_bytes(content)
    (folder / "bad99.json").mkdir()
    (folder / "notes.txt").write_text("no business of ours")
    said: list[str] = []
    with store.reading(said.append) as reader:
        assert sorted(row.run_id for row in reader.trend()) == ["a1", "z1"]
    assert len(said) == len(NO_ATTEMPTS) + 2
    for number, (content, reason) in enumerate(NO_ATTEMPTS):
        name = f"bad{number:02}.json"
        assert said[number].startswith(f"{folder / name} is no attempt that the store can take in (")
        assert reason in said[number]
        assert said[number].endswith(f"); moved to {folder}/refused/{name}")
        assert (folder / "refused" / name).read_bytes() == content
    assert "(it is no file)" in said[-2]
    assert said[-1] == f"took in 2 attempts that waited in {folder}"
    assert sorted(file.name for file in folder.iterdir()) == ["notes.txt", "refused"]
    assert len(trend(store)) == 2


def test_files_that_are_set_aside_do_not_replace_one_another(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    folder = tmp_path / "evalrunner.duckdb.pending"
    for content in ("one", "two"):
        folder.mkdir(exist_ok=True)
        (folder / "bad.json").write_text(content)
        with store.reading(lambda _: None):
            pass
    assert {file.name: file.read_text() for file in (folder / "refused").iterdir()} == {
        "bad.json": "one",
        "bad.2.json": "two",
    }


def test_values_that_no_column_can_hold_are_set_aside(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    left_waiting(store, "r1", "r2")
    file = tmp_path / "evalrunner.duckdb.pending" / "r1.json"
    content = json.loads(file.read_text())
    content["scores"][0][1] = 2**40
    file.write_text(json.dumps(content))
    said: list[str] = []
    with store.reading(said.append) as reader:
        assert [row.run_id for row in reader.trend(attempts=True)] == ["r2"]
    assert "moved to" in said[0]
    assert query(store, "select count(*) from receipts") == [(1,)]


@pytest.mark.parametrize("newer", [{"format": 2}, {"receipt": {"schema_version": 2}}])
def test_what_a_newer_program_wrote_is_left_for_it(tmp_path: Path, newer: dict[str, object]) -> None:
    store = store_in(tmp_path)
    left_waiting(store, "r1", "r2")
    file = tmp_path / "evalrunner.duckdb.pending" / "r1.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | newer))
    said: list[str] = []
    with store.reading(said.append) as reader:
        assert [row.run_id for row in reader.trend()] == ["r2"]
    assert said[0].startswith(f"{file} is left where it is: ")
    assert waiting(store) == ["r1.json"]


def test_only_old_leftovers_of_killed_writers_are_cleared_away(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    old, fresh = (tmp_path / "evalrunner.duckdb.pending" / name for name in (".old.tmp", ".fresh.tmp"))
    for file in (old, fresh):
        file.write_text("half")
    two_hours_ago = time.time() - 7200
    os.utime(old, (two_hours_ago, two_hours_ago))
    put(store, "r2")
    assert not old.exists()
    assert fresh.exists()
