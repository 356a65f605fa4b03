"""Rewriting the database: all of it is kept, and a kill leaves one of the two files whole."""

from pathlib import Path
from signal import SIGKILL

import pytest
from store_samples import (
    attempt,
    corpus,
    filled,
    holding,
    never,
    put,
    query,
    receipt,
    store_in,
    trend,
    worker,
)
from store_worker import VACUUM_POINTS

from evalrunner.errors import StoreError
from evalrunner.store import pending
from evalrunner.store.checking import check
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.vacuum import Sizes, vacuum


def rows(store: DuckdbStore) -> list[object]:
    tables = ("attempts", "receipts", "scores", "chunks", "trend", "evalrunner_migrations")
    return [query(store, f"from {table} order by all") for table in tables]


def test_space_is_reclaimed_and_everything_kept(tmp_path: Path) -> None:
    import duckdb

    store = filled(tmp_path)
    with duckdb.connect(str(store.path)) as connection:
        connection.execute(
            "create table own as select range as n, md5(range::varchar) as t from range(50000)"
        )
        connection.execute("create view mine as select count(*) as n from own")
        connection.execute("checkpoint")
        connection.execute("delete from own where n >= 10")
    before = rows(store)
    sizes = vacuum(store, never)
    assert sizes is not None
    assert sizes.before > 1_000_000
    assert sizes == Sizes(sizes.before, store.path.stat().st_size)
    assert sizes.after < sizes.before / 2
    assert rows(store) == before
    assert query(store, "from mine") == [(10,)]
    put(store, "r4", receipt(corpus=corpus("44444444")))
    assert {row.run_id: row.id for row in trend(store)} == {"r1": 1, "r3": 3, "r4": 4}
    assert check(store).problems == []
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "evalrunner.duckdb",
        "evalrunner.duckdb.lock",
        "evalrunner.duckdb.pending",
        "receipts",
    ]


def test_a_link_stays_one_and_the_mode_is_kept(tmp_path: Path) -> None:
    real, store = filled(tmp_path / "real"), store_in(tmp_path)
    store.path.symlink_to(real.path)
    real.path.chmod(0o660)
    assert vacuum(store, never) is not None
    assert store.path.is_symlink()
    assert real.path.stat().st_mode & 0o777 == 0o660
    assert query(real, "select count(*) from attempts") == [(3,)]


def test_no_store_is_nothing_to_rewrite(tmp_path: Path) -> None:
    assert vacuum(store_in(tmp_path), never) is None
    assert list(tmp_path.iterdir()) == []


def test_what_waits_is_taken_in(tmp_path: Path) -> None:
    store = filled(tmp_path)
    pending.write(store.path, attempt("r4"))
    said: list[str] = []
    vacuum(store, said.append)
    assert said == [f"took in 1 attempt that waited in {pending.folder(store.path)}"]
    assert query(store, "select count(*) from attempts") == [(4,)]


@pytest.mark.parametrize("point", VACUUM_POINTS)
def test_killed_at(tmp_path: Path, point: str) -> None:
    store = filled(tmp_path)
    before = rows(store)
    with worker("vacuum", tmp_path, point) as process:
        assert process.wait() == -SIGKILL
    assert check(store).problems == []
    assert rows(store) == before
    assert vacuum(store, never) is not None
    assert rows(store) == before
    assert list(tmp_path.glob("*.vacuum*")) == []


def test_a_full_disk_leaves_the_old_one(tmp_path: Path) -> None:
    store = filled(tmp_path)
    before = rows(store)
    with worker("full-vacuum", tmp_path, 40000) as process:
        assert process.stdout is not None
        kind, message, *_ = process.stdout.read().splitlines()
    assert kind == "StoreError"
    assert "File too large" in message
    assert rows(store) == before
    assert list(tmp_path.glob("*.vacuum*")) == []


def test_a_store_in_use_or_broken_is_left_alone(tmp_path: Path) -> None:
    store = filled(tmp_path).model_copy(update={"lock_timeout_s": 0.1})
    with (
        holding("open", store.path, "ro"),
        pytest.raises(StoreError, match="cannot be rewritten now: a program"),
    ):
        vacuum(store, never)
    assert query(store, "select count(*) from attempts") == [(3,)]
    store.path.write_text("no database")
    with pytest.raises(StoreError, match="is no DuckDB database"):
        vacuum(store, never)
    assert store.path.read_text() == "no database"
