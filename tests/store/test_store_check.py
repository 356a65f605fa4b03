"""`check` finds what is wrong with a store, and changes nothing."""

import hashlib
import json
from pathlib import Path

import pytest
from store_samples import attempt, filled, holding, inconclusive, put, receipt, store_in

from evalrunner.store import pending
from evalrunner.store.checking import Findings, as_json, check
from evalrunner.store.duckdb_store import DuckdbStore

COPY = "takes-quality-cccccccc-bbbbbbbb-2d4a9ef7-aaaaaaaa.json"


def change(store: DuckdbStore, sql: str) -> None:
    import duckdb

    with duckdb.connect(str(store.path)) as connection:
        connection.execute(sql)


def content(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def problems(found: Findings) -> list[str]:
    return [str(each) for each in found.problems]


def test_a_healthy_store_is_counted_and_left_alone(tmp_path: Path) -> None:
    store = filled(tmp_path)
    before = content(tmp_path)
    found = check(store)
    assert problems(found) == []
    assert (found.attempts, found.receipts, found.scores) == (3, 2, 6)
    assert vars(found.copies) == {"equal": 2, "missing": 0, "different": 0}
    assert (found.waiting, found.refused, found.left, found.lock) == ([], [], [], None)
    assert content(tmp_path) == before


def test_no_store_is_no_broken_one_and_nothing_is_made(tmp_path: Path) -> None:
    found = check(store_in(tmp_path / "nowhere"))
    assert (found.exists, found.problems) == (False, [])
    assert list(tmp_path.iterdir()) == []


def test_a_copy_without_its_lock_file_is_looked_at_without_one(tmp_path: Path) -> None:
    store = filled(tmp_path)
    lock = Path(f"{store.path}.lock")
    lock.unlink()
    assert check(store).attempts == 3
    assert not lock.exists()


def test_what_lies_beside_is_listed_and_stays(tmp_path: Path) -> None:
    store = filled(tmp_path)
    pending.write(store.path, attempt("r4"))
    folder = pending.folder(store.path)
    (folder / "torn.json").write_text("{")
    (folder / ".half.tmp").write_text("half")
    (folder / "refused").mkdir()
    (folder / "refused" / "bad.json").write_text("bad")
    Path(f"{store.path}.vacuum").write_text("half")
    before = content(tmp_path)
    found = check(store)
    assert found.problems == []
    assert [(file.name, reason is None) for file, reason in found.waiting] == [
        ("r4.json", True),
        ("torn.json", False),
    ]
    assert [file.name for file in found.refused] == ["bad.json"]
    assert [file.name for file in found.left] == ["evalrunner.duckdb.vacuum", ".half.tmp"]
    assert content(tmp_path) == before


def test_a_log_that_a_killed_writer_left_is_read_and_stays(tmp_path: Path) -> None:
    from store_samples import worker

    store = store_in(tmp_path)
    with worker("die", tmp_path, "after the commit") as process:
        process.wait()
    before = content(tmp_path)
    found = check(store)
    assert (found.problems, found.attempts) == ([], 1)
    assert found.copies.missing == 1
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "update attempts set verdict = 'fail' where run_id = 'r2'",
            "r2: columns do not say what its receipt",
        ),
        ("update attempts set receipt_json = '{}' where run_id = 'r2'", "r2: schema_version: is missing"),
        ("update attempts set id = 1 where run_id = 'r2'", "id 1 stands for several attempts"),
        ("delete from receipts where id = 1", "attempt r1 has no receipt of its key"),
        ("update receipts set run_id = 'gone' where id = 1", "receipt 1 has no attempt of its key"),
        (
            "insert into scores values ('gone', null, 1, 'a', 'm', 1, 1, '1')",
            "scores of gone, which is no att",
        ),
        ("insert into chunks values ('gone', 1, ['a'])", "chunks of gone, which is no attempt"),
        ("drop view trend", "tables or views lack columns (found trend.attempts"),
        ("alter table attempts drop column cost_usd", "lack columns (found attempts.cost_usd)"),
    ],
)
def test_rows_that_do_not_fit_together(tmp_path: Path, sql: str, said: str) -> None:
    store = filled(tmp_path)
    if "view" in sql:
        said = said.replace("trend.attempts", "trend.")
    change(store, sql)
    assert any(said in each for each in problems(check(store))), problems(check(store))


def test_an_inconclusive_receipt_that_should_have_given_way(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1", inconclusive())
    put(store, "r2", receipt(ts="2026-03-02T12:00:00.000Z"))
    change(store, "update receipts set run_id = 'r1'")
    assert any("receipt 1 is inconclusive, though" in each for each in problems(check(store)))


def test_copies_that_are_gone_are_counted_and_those_that_differ_are_problems(tmp_path: Path) -> None:
    store = filled(tmp_path)
    copy = tmp_path / "receipts" / COPY
    copy.unlink()
    found = check(store)
    assert (found.copies.missing, found.problems) == (1, [])
    copy.write_text("{}")
    found = check(store)
    assert found.copies.different == 1
    assert problems(found)[0].startswith(
        f"{copy}: is not what receipt 1 of the database says; allowed: removing"
    )


def test_files_that_are_no_store(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.path.write_text("no database")
    assert problems(check(store)) == [f"{store.path}: is no DuckDB database"]
    store.path.unlink()
    store.path.mkdir()
    assert len(check(store).problems) == 1


def test_a_database_with_broken_blocks(tmp_path: Path) -> None:
    store = filled(tmp_path)
    data = bytearray(store.path.read_bytes())
    for place in range(3 * 4096 + 100, len(data), 4096):  # past DuckDB's headers
        data[place] ^= 0xFF
    store.path.write_bytes(data)
    assert check(store).problems


def test_a_store_of_a_newer_program(tmp_path: Path) -> None:
    store = filled(tmp_path)
    change(store, "insert into evalrunner_migrations values ('9999-later', now()::timestamp, '99')")
    assert "was made by a newer evalrunner" in problems(check(store))[0]


def test_a_store_of_an_older_program_is_healthy(tmp_path: Path) -> None:
    store = filled(tmp_path)
    change(store, "delete from evalrunner_migrations where name = '0002-views'")
    found = check(store)
    assert (found.older, found.problems, found.attempts) == (True, [], None)


def test_who_holds_the_lock_is_said(tmp_path: Path) -> None:
    store = filled(tmp_path).model_copy(update={"lock_timeout_s": 0.1})
    with holding("hold", f"{store.path}.lock") as process:
        found = check(store)
    assert found.lock == f"process {process} holds it"
    assert "cannot be looked at now: another evalrunner has held" in problems(found)[0]


def test_the_findings_as_json(tmp_path: Path) -> None:
    store = filled(tmp_path)
    told = json.loads(json.dumps(as_json(check(store))))
    assert told["healthy"] is True
    assert told["copies"] == {"equal": 2, "missing": 0, "different": 0}
    store.path.write_text("no database")
    told = as_json(check(store))
    assert told["healthy"] is False
    assert told["problems"] == [f"{store.path}: is no DuckDB database"]
