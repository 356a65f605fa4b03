"""What a store keeps of attempts, and which receipt stands for a key."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from store_samples import (
    CHUNKS,
    MODELS,
    ROWS,
    attempt,
    corpus,
    inconclusive,
    put,
    query,
    receipt,
    review,
    store_in,
    trend,
    waiting,
)

from evalrunner.errors import InputError, StoreError
from evalrunner.receipt.files import dumps, read_receipt
from evalrunner.records import Judgement
from evalrunner.store import pending
from evalrunner.store.attempt import AT_ONCE, Attempt, Chunk, ScoreRow, Scores, chunks_of
from evalrunner.store.base import Put, Store
from evalrunner.store.null import NullStore

COPY = "takes-quality-cccccccc-bbbbbbbb-2d4a9ef7-aaaaaaaa.json"


def test_an_attempt_is_kept_whole(tmp_path: Path) -> None:
    store = store_in(tmp_path / "new" / "folder")
    put(store, "r1")
    (row,) = query(
        store,
        "select id, run_id, identity, eval, ts::varchar, rubric_version, subject_sha8, corpus_sha8, models,"
        " n_items, cycles_run, verdict, conclusive, overall_score, cost_usd, receipt_json from attempts",
    )
    assert row[:-1] == (
        1, "r1", True, "takes_quality", "2026-03-01 12:00:00", "v1.0", "", "cccccccc", MODELS, 2,
        1, "pass", True, 7.75, 0.0123,
    )  # fmt: skip
    assert row[-1] == dumps(receipt())
    assert query(store, "from receipts") == [
        (1, "takes_quality", "", "cccccccc", "bbbbbbbb", "2d4a9ef7", "aaaaaaaa", "r1")
    ]
    assert waiting(store) == []


def test_scores_are_long_form_and_keep_how_they_were_written(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    assert query(store, "from scores order by value desc") == [
        ("r1", None, 1, "accuracy", "openai:gpt-4o", 1, 8.0, "8"),
        ("r1", None, 1, "accuracy", "anthropic:claude-opus-4-7", 1, 7.5, "7.50"),
    ]
    assert query(store, "from chunks") == [("r1", 1, ["take-1", "take-2"])]


def test_an_attempt_without_scores_is_kept(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    assert store.put(Attempt(run_id="r1", identity=True, receipt=inconclusive())) == Put("stored")
    assert query(store, "select count(*) from scores") == [(0,)]


def test_many_scores_of_any_text_go_in(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    rows = tuple(
        ScoreRow(f"take \0 ü '{n}", n % 7 + 1, f'd"{n % 5}', "m\n", n % 3 + 1, Decimal(n) / 100)
        for n in range(AT_ONCE + 2000)
    )
    store.put(Attempt(run_id="r1", identity=True, receipt=receipt(), scores=rows))
    kept = query(store, "select * exclude (run_id, value) from scores order by value")
    assert kept == [(*row[:-1], str(row.value)) for row in rows]
    assert query(store, "select count(*) from scores where value != written::double") == [(0,)]


def test_many_scores_wait_and_are_taken_in(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    rows = [ScoreRow(f"take\ud800{n}", 1, "d", "m", 1, Decimal(n)) for n in range(2 * AT_ONCE)]
    store.stage(Attempt(run_id="r1", identity=True, receipt=receipt(), scores=rows))
    store = store_in(tmp_path)
    with store.reading(print):
        pass
    assert query(store, "select item, written from scores order by value") == [
        (f"take\ufffd{n}", str(n)) for n in range(2 * AT_ONCE)
    ]


def test_the_same_attempt_twice_is_one(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    put(store, "r1")
    assert query(store, "select count(*) from attempts") == [(1,)]
    assert query(store, "select count(*) from scores") == [(2,)]


def test_an_identical_run_adds_an_attempt_and_no_receipt(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    put(store, "r2", receipt(ts="2026-03-02T12:00:00.000Z", run_id="r2"))
    assert [(row.id, row.run_id) for row in trend(store)] == [(1, "r1")]
    assert [(row.id, row.run_id) for row in trend(store, attempts=True)] == [(2, "r2"), (1, "r1")]
    assert (tmp_path / "receipts" / COPY).read_text() == dumps(receipt())


def test_an_inconclusive_receipt_gives_way_and_its_row_keeps_its_id(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    copy = tmp_path / "receipts" / COPY
    put(store, "r1", inconclusive())
    assert [(row.id, row.verdict) for row in trend(store)] == [(1, "inconclusive")]
    assert copy.read_text() == dumps(inconclusive())
    put(store, "r2", inconclusive(ts="2026-03-02T12:00:00.000Z"))
    assert [(row.id, row.run_id) for row in trend(store)] == [(1, "r1")]
    put(store, "r3", receipt(ts="2026-03-03T12:00:00.000Z", verdict="fail"))
    put(store, "r4", receipt(ts="2026-03-04T12:00:00.000Z"))
    put(store, "r5", inconclusive(ts="2026-03-05T12:00:00.000Z"))
    assert [(row.id, row.run_id, row.verdict) for row in trend(store)] == [(1, "r3", "fail")]
    assert copy.read_text() == dumps(receipt(ts="2026-03-03T12:00:00.000Z", verdict="fail"))
    assert [row.run_id for row in trend(store, attempts=True)] == ["r5", "r4", "r3", "r2", "r1"]


def test_an_id_always_means_one_receipt(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1", inconclusive())
    put(store, "r2", receipt(ts="2026-03-02T12:00:00.000Z"))
    put(store, "r3", receipt(ts="2026-03-03T12:00:00.000Z", corpus=corpus("dddddddd")))
    attempts = {row.run_id: row.id for row in trend(store, attempts=True)}
    assert attempts == {"r1": 2, "r2": 1, "r3": 3}
    with store.reading(print) as reader:
        for run_id, number in attempts.items():
            found = reader.by_id(number)
            assert found is not None
            assert found.run_id == run_id


def test_without_a_verdict_a_figure_makes_it_conclusive(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    cases = [
        (review(), True),
        (review(headline={"metric": "effective_recall", "value": None}, metrics={}), False),
        (review(headline=None), True),
        (review(verdict="inconclusive"), False),
        (receipt(), True),
        (inconclusive(), False),
    ]
    for number, (content, _) in enumerate(cases):
        put(store, f"r{number}", content, identity=False)
    assert query(store, "select conclusive from attempts order by run_id") == [(each,) for _, each in cases]


def test_receipts_of_a_subject_are_told_apart_by_it(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1", review(), identity=False)
    put(store, "r2", review(subject_sha8="66666666"), identity=False)
    put(store, "r3", review(), identity=False)
    assert query(store, "select subject_sha8, run_id from receipts order by id") == [
        ("55555555", "r1"),
        ("66666666", "r2"),
    ]
    assert sorted(file.name for file in (tmp_path / "receipts").iterdir()) == [
        "code-review-55555555-cccccccc-bbbbbbbb-4f53cda1-aaaaaaaa.json",
        "code-review-66666666-cccccccc-bbbbbbbb-4f53cda1-aaaaaaaa.json",
    ]


def test_identity_has_no_part_in_the_key(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    put(store, "r2", receipt(subject_sha8="77777777"))
    assert query(store, "select count(*) from receipts") == [(1,)]


def test_the_copy_is_a_receipt_that_reads_back_and_is_made_again(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    copy = tmp_path / "receipts" / COPY
    found, doubts = read_receipt(copy)
    assert found.to_json()["scores"]["accuracy"]["mean"] == Decimal("7.75")
    assert doubts == []
    copy.write_text("{}")
    put(store, "r2")
    assert copy.read_text() == dumps(receipt())
    copy.unlink()
    put(store, "r3")
    assert copy.read_text() == dumps(receipt())


def test_a_copy_that_cannot_be_written_is_only_a_warning(tmp_path: Path) -> None:
    (tmp_path / "receipts").write_text("a file where the folder should be")
    done = store_in(tmp_path).put(attempt("r1"))
    assert done.kept == "stored"
    (warning,) = done.warnings
    assert warning.startswith("the store holds the receipt, but its copy was not written: ")
    assert "receipts" in warning


def test_numbers_longer_than_a_float_survive(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    exact = Decimal("7.33333333333333333333333333")
    put(store, "r1", receipt(overall_score=exact))
    with store.reading(print) as reader:
        kept = reader.by_run("r1")
    assert kept is not None
    assert json.loads(kept.text, parse_float=Decimal)["overall_score"] == exact


def test_a_run_id_with_another_receipt_is_refused_and_set_aside(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1")
    with pytest.raises(StoreError, match="is in the store with another receipt") as caught:
        store.put(attempt("r1", receipt(verdict="fail")))
    assert "did not take in run r1" in str(caught.value)
    assert [row.verdict for row in trend(store)] == ["pass"]
    refused = json.loads((tmp_path / "evalrunner.duckdb.pending" / "refused" / "r1.json").read_text())
    assert refused["receipt"]["verdict"] == "fail"


@pytest.mark.parametrize("run_id", ["", "../r1", "a/b", ".hidden", "a b", "r\n", "x" * 201])
def test_a_run_id_is_a_file_name(run_id: str) -> None:
    with pytest.raises(ValueError, match="is no run id"):
        attempt(run_id)
    with pytest.raises(pending.NoAttemptError, match="run_id"):
        pending.attempt_in({"format": 1, "run_id": run_id, "identity": True, "receipt": receipt()})


def test_what_is_no_receipt_is_refused_before_anything_is_kept(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with pytest.raises(InputError, match="verdict"):
        store.put(attempt("r1", receipt(verdict="maybe")))
    with pytest.raises(InputError, match="of another run"):
        store.put(attempt("r1", receipt(run_id="r2")))
    assert list(tmp_path.iterdir()) == []


def test_a_score_must_be_a_number_of_sane_size() -> None:
    for value in (Decimal("NaN"), Decimal("Infinity"), Decimal("1e400")):
        row = [*ROWS[0][:-1], str(value)]
        with pytest.raises(pending.NoAttemptError, match="scores"):
            pending.attempt_in(
                {"format": 1, "run_id": "r", "identity": True, "receipt": receipt(), "scores": [row]}
            )


def test_scores_and_chunks_of_judgements() -> None:
    def said(items: tuple[str, ...], seat: str, chunk: int, status: str = "scored") -> Judgement:
        values = {"accuracy": Decimal("8.0")} if status == "scored" else {}
        return Judgement(item_ids=items, seat=seat, chunk=chunk, status=status, values=values)

    judgements = [
        said(("a", "b"), "m1", 1),
        said(("c",), "m1", 2),
        said(("a", "b"), "m2", 1),
        said(("c",), "m2", 2, "rejected"),
    ]
    eight, scores = Decimal("8.0"), Scores(judgements)
    for _ in range(2):
        assert list(scores) == [
            (None, 1, "accuracy", "m1", 1, eight),
            ("c", 2, "accuracy", "m1", 1, eight),
            (None, 1, "accuracy", "m2", 1, eight),
        ]
    assert chunks_of(judgements) == (Chunk(1, ("a", "b")),)
    assert CHUNKS[0].number == 1


def test_the_store_that_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = NullStore()
    assert isinstance(store, Store)
    assert store.put(attempt("r1")) == Put("nowhere")
    with store.reading(print) as reader:
        assert reader.is_empty
        assert reader.trend() == []
    assert list(tmp_path.iterdir()) == []
