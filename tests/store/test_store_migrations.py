"""Stores of other ages, and files that are no stores."""

from pathlib import Path

import duckdb
import pytest
from store_samples import attempt, put, query, store_in, trend, waiting

from evalrunner.errors import StoreError
from evalrunner.store import migrations
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.migrations import MIGRATIONS


def run(path: Path, sql: str) -> None:
    connection = duckdb.connect(str(path))
    connection.execute(sql)
    connection.close()


def steps(store: DuckdbStore) -> list[str]:
    return [name for (name,) in query(store, "select name from evalrunner_migrations order by name")]


def test_a_new_store_has_every_step(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    assert steps(store) == [name for name, _ in MIGRATIONS]
    assert [name for name, _ in MIGRATIONS] == sorted({name for name, _ in MIGRATIONS})


def test_an_empty_database_becomes_a_store(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    run(store.path, "select 1")
    assert trend(store) == []
    assert steps(store) == [name for name, _ in MIGRATIONS]
    put(store, "r1")


@pytest.mark.parametrize("first", ["read", "write"])
def test_an_older_store_is_brought_up_to_date_with_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    store = store_in(tmp_path)
    with monkeypatch.context() as older:
        older.setattr(migrations, "MIGRATIONS", MIGRATIONS[:1])
        put(store, "r1")
        assert steps(store) == [MIGRATIONS[0][0]]
    if first == "read":
        assert [row.run_id for row in trend(store)] == ["r1"]
    else:
        put(store, "r2")
    assert steps(store) == [name for name, _ in MIGRATIONS]
    assert query(store, "select id from eval_takes_quality_runs") == [(1,)]


def test_a_step_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    with monkeypatch.context() as newer:
        broken = ("0009-broken", "create table half (i integer); insert into half values ('no number')")
        newer.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, broken))
        with pytest.raises(StoreError, match="no number"):
            trend(store)
    assert steps(store) == [name for name, _ in MIGRATIONS]
    assert query(store, "select count(*) from duckdb_tables() where table_name = 'half'") == [(0,)]
    assert [row.run_id for row in trend(store)] == ["r1"]


def test_a_newer_store_is_refused_and_the_attempt_waits(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    run(store.path, "insert into evalrunner_migrations values ('9999-future', timestamp '2030-01-01', '9.0')")
    with pytest.raises(StoreError, match=r"was made by a newer evalrunner; this one is .*found 9999-future"):
        trend(store)
    with pytest.raises(StoreError, match="newer evalrunner") as caught:
        store.put(attempt("r2"))
    assert f"{store.path}.pending/r2.json: the attempt waits here" in str(caught.value)
    assert waiting(store) == ["r2.json"]
    assert query(store, "select run_id from attempts") == [("r1",)]
    run(store.path, "delete from evalrunner_migrations where name = '9999-future'")
    with store.reading(lambda _: None) as reader:
        assert len(reader.trend(attempts=True)) == 2


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    run(store.path, "create table sales (i integer)")
    for use in (lambda: trend(store), lambda: store.put(attempt("r1"))):
        with pytest.raises(StoreError, match=r"holds the tables of another program.*found sales"):
            use()
    assert query(store, "select table_name from duckdb_tables()") == [("sales",)]


@pytest.mark.parametrize("content", [b"", b"hi", b"no database at all " * 1000])
def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    store = store_in(tmp_path)
    store.path.write_bytes(content)
    for use in (lambda: trend(store), lambda: store.put(attempt("r1"))):
        with pytest.raises(StoreError, match=r"evalrunner\.duckdb: is no DuckDB database"):
            use()
    assert store.path.read_bytes() == content
    assert waiting(store) == ["r1.json"]
