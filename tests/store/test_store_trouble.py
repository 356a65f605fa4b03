"""Disks and folders that do not play along: a clear message, and nothing half-written."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from store_samples import attempt, put, query, receipt, store_in, trend, waiting, worker

from evalrunner.errors import ReceiptNotKeptError, StoreError
from evalrunner.store.base import Put
from evalrunner.store.duckdb_store import DuckdbStore


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("")
    store = store_in(tmp_path / "outputs")
    with pytest.raises(ReceiptNotKeptError, match=r"r1\.json: cannot be written"):
        store.put(attempt("r1"))
    with pytest.raises(StoreError, match="outputs"):
        trend(store)


def test_a_folder_where_the_database_should_be(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.path.mkdir()
    with pytest.raises(StoreError, match=r"evalrunner\.duckdb: .*Is a directory"):
        store.put(attempt("r1"))
    with pytest.raises(StoreError, match="Is a directory"), store.reading(lambda _: None):
        pass
    assert waiting(store) == ["r1.json"]


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    lock = Path(f"{store.path}.lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(StoreError, match=r"evalrunner\.duckdb\.lock"):
        trend(store)
    with pytest.raises(StoreError, match=r"evalrunner\.duckdb\.lock"):
        store.put(attempt("r2"))
    lock.rmdir()
    with store.reading(lambda _: None) as reader:
        assert len(reader.trend(attempts=True)) == 2


def full(folder: Path, most: int) -> list[str]:
    with worker("full", folder, most) as process:
        assert process.stdout is not None
        return process.stdout.read().splitlines()


def test_a_full_disk_before_anything_is_written(tmp_path: Path) -> None:
    kind, message = full(tmp_path, 100)
    assert kind == "ReceiptNotKeptError"
    assert message == f"{tmp_path}/evalrunner.duckdb.pending/r1.json: cannot be written: File too large"
    assert [file.name for file in tmp_path.rglob("*")] == ["evalrunner.duckdb.pending"]


@pytest.mark.parametrize("existing", [False, True])
def test_a_full_disk_while_the_database_is_written(tmp_path: Path, existing: bool) -> None:
    store = store_in(tmp_path)
    if existing:
        put(store, "r0", receipt(ts="2026-01-01T00:00:00.000Z"))
    kind, reason, place = full(tmp_path, 1500)
    assert kind == "StoreError"
    assert reason.startswith(f"{store.path}: the database cannot be used: ")
    assert "File too large" in reason
    assert place.startswith(f"{store.path}.pending/r1.json: the attempt waits here")
    with store.reading(lambda _: None) as reader:
        assert [row.run_id for row in reader.trend(attempts=True)] == (["r1", "r0"] if existing else ["r1"])
    assert waiting(store) == []


def test_a_database_that_was_lost_is_said_and_begun_anew(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    store.path.unlink()
    done = store.put(attempt("r2", receipt(ts="2026-03-02T12:00:00.000Z")))
    assert done == Put(
        "stored",
        (
            f"{store.path} is not there, and a new store is begun; the receipts of earlier runs (1) lie in"
            f" {store.receipts_dir}, where replay reads them",
        ),
    )
    assert [row.run_id for row in trend(store, attempts=True)] == ["r2"]


def test_the_log_of_a_lost_database_is_not_replayed_into_the_next(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with worker("die", tmp_path, "after the commit") as process:
        process.wait()
    log = Path(f"{store.path}.wal")
    assert log.stat().st_size > 0
    store.path.unlink()
    with store.reading(lambda _: None) as reader:
        assert [row.run_id for row in reader.trend()] == ["r1"]
    assert Path(f"{log}.orphan").exists()
    put(store, "r2")
    assert query(store, "select count(*) from attempts") == [(2,)]


def test_a_database_cut_short_is_said(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    with store.path.open("r+b") as file:
        file.truncate(store.path.stat().st_size // 4)
    with pytest.raises(StoreError, match=r"evalrunner\.duckdb: the database cannot be used"):
        trend(store)
    with pytest.raises(StoreError, match="the attempt waits here"):
        store.put(attempt("r2"))


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "30", True])
def test_the_time_to_wait_is_a_sane_number(tmp_path: Path, seconds: object) -> None:
    with pytest.raises(ValidationError):
        store_in(tmp_path, lock_timeout_s=seconds)


def test_the_packaged_options_are_components() -> None:
    import yaml

    from evalrunner.paths import data_root
    from evalrunner.store.null import NullStore

    options = {}
    for name in ("duckdb", "none"):
        options[name] = yaml.safe_load((data_root() / "conf" / "store" / f"{name}.yaml").read_text())
    target = options["duckdb"].pop("_target_")
    assert target == f"{DuckdbStore.__module__}.{DuckdbStore.__name__}"
    assert DuckdbStore(**options["duckdb"]) == DuckdbStore()
    assert options["none"] == {"_target_": f"{NullStore.__module__}.{NullStore.__name__}"}


def test_a_path_without_a_name_is_no_file() -> None:
    with pytest.raises(ValueError, match="is a folder, and the store is a file in one"):
        DuckdbStore(path=Path())
