"""Runs from elsewhere come in once each, and what is none keeps nobody out."""

import json
from pathlib import Path
from typing import Any

import pytest
from store_samples import CHUNKS, MODELS, attempt, corpus, holding, put, query, receipt, review, store_in

from evalrunner.errors import InputError, StoreError
from evalrunner.receipt.files import dumps
from evalrunner.store import pending
from evalrunner.store.attempt import attempt_of
from evalrunner.store.checking import check
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.importing import Imported, NothingThereError, bring_in

JUDGEMENTS = [
    {
        "model": model,
        "place": place,
        "cycle": 1,
        "chunk": 1,
        "item_ids": list(CHUNKS[0].items),
        "status": "scored",
        "values": {"accuracy": value},
    }
    for place, (model, value) in enumerate(zip(MODELS, (8, 7.5), strict=True))
]


def run(folder: Path, run_id: str, **changes: Any) -> Path:
    """A run folder below `folder`."""
    place = folder / run_id
    (place / ".hydra").mkdir(parents=True)
    (place / "receipt.json").write_text(dumps(receipt(run_id=run_id, **changes), indent=True))
    return place


def bring(store: DuckdbStore, *paths: Path) -> tuple[Imported, list[str]]:
    said: list[str] = []
    return bring_in(store, paths, said.append), said


def test_a_run_folder_gives_what_its_run_put_in(tmp_path: Path) -> None:
    store, direct = store_in(tmp_path / "store"), store_in(tmp_path / "direct")
    whole = {"judgements": JUDGEMENTS, "a_later_key": {"kept": 1.50}}
    assert bring(store, run(tmp_path / "runs", "r1", **whole)) == (Imported(("r1",), ()), [])
    put(direct, "r1", receipt(run_id="r1", **whole))
    for table in ("attempts", "receipts", "chunks", "(select * exclude (written) from scores)"):
        assert query(store, f"from {table} order by all") == query(direct, f"from {table} order by all")
    assert query(store, "select written from scores order by value") == [("7.5",), ("8",)]
    assert check(store).problems == []
    assert check(store).copies.equal == 1


def test_once_each_at_any_depth(tmp_path: Path) -> None:
    store = store_in(tmp_path / "store")
    run(tmp_path / "runs" / "2026", "r1")
    run(tmp_path / "runs" / "sweep", "r2.0")
    run(tmp_path / "runs" / "sweep", "r2.1")
    assert bring(store, tmp_path / "runs")[0] == Imported(("r1", "r2.0", "r2.1"), ())
    assert bring(store, tmp_path / "runs") == (Imported((), ("r1", "r2.0", "r2.1")), [])
    run(tmp_path / "runs", "r3")
    paths = (tmp_path / "runs", tmp_path / "runs" / "r3", tmp_path / "runs" / "r3" / "receipt.json")
    assert bring(store, *paths)[0] == Imported(("r3",), ("r1", "r2.0", "r2.1"))
    assert query(store, "select count(*) from attempts") == [(4,)]


def test_attempts_that_waited_elsewhere_keep_how_scores_were_written(tmp_path: Path) -> None:
    other, store = store_in(tmp_path / "other"), store_in(tmp_path / "store")
    for name in ("r1", "r2"):
        pending.write(other.path, attempt(name, receipt(run_id=name)))
    run(tmp_path / "other" / "runs", "r1")
    (pending.folder(other.path) / "refused").mkdir()
    (pending.folder(other.path) / "refused" / "bad.json").write_text("bad")
    assert bring(store, pending.folder(other.path) / "r1.json") == (Imported(("r1",), ()), [])
    assert bring(store, tmp_path / "other") == (Imported(("r2",), ("r1",)), [])
    assert query(store, "select run_id, written from scores order by all") == [
        (name, value) for name in ("r1", "r2") for value in ("7.50", "8")
    ]
    assert len(pending.waiting(other.path)) == 2


def test_the_stores_own_pending_folder_is_taken_in_as_ever(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    pending.write(store.path, attempt("r1"))
    run(tmp_path / "runs", "r2")
    done, said = bring(store, tmp_path)
    assert done == Imported(("r2",), ())
    assert said == [f"took in 1 attempt that waited in {pending.folder(store.path)}"]
    assert pending.waiting(store.path) == []


def test_what_is_no_run_is_named_with_its_reason_and_keeps_nobody_out(tmp_path: Path) -> None:
    store = store_in(tmp_path / "store")
    runs = tmp_path / "runs"
    put(store, "taken", receipt(run_id="taken"))
    for name in ("a", "z"):
        run(runs, name)
    bad = {
        "b": ('{"schema_version": 1,', "is not JSON"),
        "c": ("[]", "a receipt is a JSON object"),
        "d": (dumps(receipt()), "run_id: is missing"),
        "e": (dumps(receipt(run_id="../e")), "run_id: is no run id (found '../e')"),
        "f": (dumps(receipt(run_id="f", verdict="maybe")), "verdict"),
        "g": (dumps(receipt(run_id="g", schema_version=2)), "is newer than this program reads"),
        "h": (
            dumps(receipt(run_id="taken", verdict="fail")),
            "run taken is in the store with another receipt",
        ),
        "i": (dumps(receipt(run_id="i", judgements=[{**JUDGEMENTS[0], "chunk": 2**40}])), "out of range"),
    }
    for name, (text, _) in bad.items():
        run(runs, name)
        (runs / name / "receipt.json").write_text(text)
    (runs / "begun" / ".hydra").mkdir(parents=True)
    done, said = bring(store, runs)
    assert done.taken == ("a", "z")
    assert said[0] == f"{runs}/begun has no receipt.json: the run did not finish, or its command writes none"
    assert len(said) == 1 + len(bad)
    for line, (name, (_, reason)) in zip(said[1:], bad.items(), strict=True):
        assert line.startswith(f"{runs / name}/receipt.json is not taken in: ")
        assert reason in line
    assert check(store).problems == []


def test_paths_without_a_run_are_refused_after_the_others_are_in(tmp_path: Path) -> None:
    store = store_in(tmp_path / "store")
    good, bad = run(tmp_path, "r1"), run(tmp_path, "r2")
    (bad / "receipt.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingThereError) as caught:
        bring(store, tmp_path / "gone", good, tmp_path / "empty", bad)
    assert caught.value.done == Imported(("r1",), ())
    assert [(problem.where, problem.what) for problem in caught.value.problems] == [
        (f"{tmp_path}/gone", "no such file or folder"),
        (f"{bad}", "holds no run that the store can take in"),
        (f"{tmp_path}/empty", "holds no run"),
    ]
    assert caught.value.exit_code == 3
    assert query(store, "select run_id from attempts") == [("r1",)]


def test_nothing_to_take_in_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        bring(store_in(tmp_path / "store"), tmp_path / "gone", Path("x" * 5000), Path("a\0b"))
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_takes_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path, lock_timeout_s=0.1)
    folder = run(tmp_path / "runs", "r1")
    with (
        holding("hold", f"{store.path}.lock"),
        pytest.raises(StoreError, match="cannot take the runs in now: another evalrunner has held"),
    ):
        bring(store, folder)
    store.path.write_text("no database")
    with pytest.raises(StoreError, match="is no DuckDB database"):
        bring(store, folder)


def test_the_subject_tells_whether_the_item_itself_was_judged() -> None:
    def identity(**changes: Any) -> bool:
        return attempt_of(receipt(run_id="r1", **changes), Path("there")).identity

    assert identity()
    assert identity(subject={"subject": "identity"}, eval="own_eval")
    assert not identity(subject={"subject": "unknown"})
    assert not identity(eval="own_eval")
    assert not attempt_of(review(run_id="r1"), Path("there")).identity


def test_scores_are_those_of_judgements_that_count() -> None:
    said = [*JUDGEMENTS, {**JUDGEMENTS[0], "cycle": 2, "status": "failed", "values": {}}]
    made = attempt_of(json.loads(dumps(receipt(run_id="r1", judgements=said))), Path("there"))
    assert [(row.model, row.cycle, str(row.value)) for row in made.scores] == [
        (MODELS[0], 1, "8"),
        (MODELS[1], 1, "7.5"),
    ]
    assert made.chunks == CHUNKS
    assert corpus("x")["n_takes"] == 2
