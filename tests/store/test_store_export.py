"""Tables as files: whole or not at all, and never over a file that is there."""

import csv
import json
from pathlib import Path

import pytest
from store_samples import MODELS, put, receipt, store_in, worker

from evalrunner.errors import InputError, StoreError
from evalrunner.receipt.files import dumps
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.export import export
from evalrunner.store.frames import TABLES, Table, Tables


def table(store: DuckdbStore, name: str) -> Table:
    return Tables(store, print).named(name)


@pytest.fixture
def store(tmp_path: Path) -> DuckdbStore:
    filled = store_in(tmp_path)
    put(filled, "r1")
    put(
        filled,
        "r2",
        receipt(ts="2026-03-02T12:00:00.000Z", verdict=None, cost_usd=None, judge_kind='ä, "ö"\n'),
    )
    return filled


@pytest.mark.parametrize("name", TABLES)
def test_parquet_holds_the_rows(store: DuckdbStore, tmp_path: Path, name: str) -> None:
    import duckdb

    file = tmp_path / "new" / "folder" / "rows.parquet"
    rows = table(store, name).rows()
    assert export(table(store, name), file, "parquet") == len(rows)
    found = duckdb.read_parquet(str(file))
    assert [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()] == rows
    assert list(file.parent.iterdir()) == [file]


def test_csv_has_a_head_empty_nulls_and_lists_as_json(store: DuckdbStore, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    assert export(table(store, "attempts"), file, "csv") == 2
    with file.open(encoding="utf-8", newline="") as text:
        first, second = csv.DictReader(text)
    assert list(first) == list(table(store, "attempts").rows()[0])
    assert (first["run_id"], first["id"], first["ts"]) == ("r1", "1", "2026-03-01 12:00:00")
    assert json.loads(first["models"]) == MODELS
    assert first["receipt_json"] == dumps(receipt())
    assert (second["verdict"], second["cost_usd"], second["judge_kind"]) == ("", "", 'ä, "ö"\n')
    export(table(store, "chunks"), tmp_path / "chunks.csv", "csv")
    assert 'r1,1,"[""take-1"",""take-2""]"' in (tmp_path / "chunks.csv").read_text()


def test_without_a_store_there_is_a_head_alone(tmp_path: Path) -> None:
    store = store_in(tmp_path / "nowhere")
    assert export(table(store, "trend"), tmp_path / "trend.csv", "csv") == 0
    assert (tmp_path / "trend.csv").read_text().startswith("id,run_id,ts,eval,")
    assert export(table(store, "trend"), tmp_path / "trend.parquet", "parquet") == 0
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_is_there_is_replaced_only_when_told_to(store: DuckdbStore, tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("mine")
    with pytest.raises(InputError, match=r"is there already; allowed: another name, or --force"):
        export(table(store, "scores"), file, "csv")
    assert file.read_text() == "mine"
    link = tmp_path / "link.csv"
    link.symlink_to(file)
    export(table(store, "scores"), link, "csv", force=True)
    assert link.is_symlink()
    assert len(file.read_text().splitlines()) == 5
    with pytest.raises(InputError, match="is no file that can be replaced"):
        export(table(store, "scores"), tmp_path, "csv", force=True)


def test_what_cannot_be_written_leaves_nothing(store: DuckdbStore, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match=r"blocked/rows\.csv: cannot be written: "):
        export(table(store, "scores"), tmp_path / "blocked" / "rows.csv", "csv")
    with pytest.raises(StoreError, match="File name too long"):
        export(table(store, "scores"), tmp_path / ("x" * 300 + ".csv"), "csv")
    with worker("full-export", tmp_path, 200) as process:
        assert process.stdout is not None
        kind, message = process.stdout.read().splitlines()
    assert kind == "StoreError"
    assert message.startswith(f"{tmp_path}/rows.csv: cannot be written: ")
    assert "File too large" in message
    assert [file for file in tmp_path.iterdir() if "rows" in file.name or file.suffix == ".tmp"] == []
