"""Questions to a store."""

from pathlib import Path

import pytest
from store_samples import (
    MODELS,
    MODELS_SHA8,
    corpus,
    inconclusive,
    never,
    put,
    query,
    receipt,
    review,
    store_in,
    trend,
)

from evalrunner.errors import UsageError
from evalrunner.receipt.files import dumps
from evalrunner.receipt.fingerprint import models_sha
from evalrunner.store.base import Store
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.reader import TrendRow


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DuckdbStore:
    filled = store_in(tmp_path_factory.mktemp("store"))
    put(filled, "a1", receipt(ts="2026-03-01T12:00:00.000Z"))
    put(filled, "a2", receipt(ts="2026-03-02T12:00:00.000Z"))
    put(filled, "b1", receipt(ts="2026-03-04T12:00:00.005Z", corpus=corpus("dddddddd"), cost_usd=None))
    put(filled, "c1", receipt(ts="2026-03-03T12:00:00.000Z", rubric_version="v1.1", rubric_sha8="eeeeeeee"))
    put(filled, "c2", receipt(ts="2026-03-03T12:00:00.000Z", rubric_version="v1.1", rubric_sha8="ffffffff"))
    other = ["openai:gpt-4o"]
    put(
        filled,
        "d1",
        inconclusive(ts="2026-02-01T00:00:00.000Z", models=other, models_sha8=models_sha(other).sha8),
    )
    put(filled, "e1", review(ts="2026-01-01T00:00:00.000Z"), identity=False)
    put(filled, "e2", review(ts="2026-01-02T00:00:00.000Z"), identity=False)
    return filled


def runs(rows: list[TrendRow]) -> list[str]:
    return [row.run_id for row in rows]


def test_newest_first_and_equal_times_by_id(store: DuckdbStore) -> None:
    assert runs(trend(store)) == ["b1", "c2", "c1", "a1", "d1", "e2", "e1"]
    assert runs(trend(store, attempts=True)) == ["b1", "c2", "c1", "a2", "a1", "d1", "e2", "e1"]


def test_a_line_of_a_panel(store: DuckdbStore) -> None:
    (row,) = trend(store, corpus="dddddddd")
    assert row == TrendRow(
        id=3,
        run_id="b1",
        ts="2026-03-04T12:00:00.005Z",
        eval="takes_quality",
        rubric_version="v1.0",
        rubric_sha8="aaaaaaaa",
        verdict="pass",
        overall_score=7.75,
        metric=None,
        cost_usd=None,
        corpus_sha8="dddddddd",
        prompt_sha8="bbbbbbbb",
        models_sha8=MODELS_SHA8,
        subject_sha8="",
        models=tuple(MODELS),
        judge_kind=None,
        n_items=2,
    )


def test_a_line_of_a_metric_shows_the_headline(store: DuckdbStore) -> None:
    row = trend(store, eval_name="code_review", limit=1)[0]
    assert (row.run_id, row.verdict, row.overall_score, row.metric) == ("e2", None, 0.625, "effective_recall")
    assert row == trend(store, eval_name="code_review", limit=1, attempts=True)[0]


def test_filters(store: DuckdbStore) -> None:
    assert runs(trend(store, eval_name="code_review")) == ["e2", "e1"]
    assert runs(trend(store, eval_name="takes_quality", limit=2)) == ["b1", "c2"]
    assert runs(trend(store, rubric_version="v1.1")) == ["c2", "c1"]
    assert runs(trend(store, corpus="c" * 64, rubric_version="v1.0")) == ["a1", "d1", "e2", "e1"]
    assert runs(trend(store, panel=["openai:gpt-4o"])) == ["d1"]
    assert runs(trend(store, panel="openai:gpt-4o")) == ["d1"]
    assert runs(trend(store, panel=MODELS_SHA8)) == ["b1", "c2", "c1", "a1"]
    assert trend(store, eval_name="no such eval") == []


def test_a_panel_is_found_whatever_the_order_of_its_models(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    put(store, "r1", receipt(models_sha8=models_sha(MODELS).sha8))
    assert runs(trend(store, panel=MODELS[::-1])) == ["r1"]


def test_what_is_no_fingerprint_is_said(store: DuckdbStore) -> None:
    with pytest.raises(UsageError, match=r"corpus: is no fingerprint \(found 'CCCC'\); allowed: 8 or 64 hex"):
        trend(store, corpus="CCCC")


def test_finding_one_receipt(store: DuckdbStore) -> None:
    with store.reading(never) as reader:
        kept = reader.by_id(1)
        assert kept is not None
        assert (kept.run_id, kept.text) == ("a1", dumps(receipt(ts="2026-03-01T12:00:00.000Z")))
        assert reader.by_id(2**62) is None
        assert reader.by_run("a2") is not None
        assert reader.by_run("nobody") is None
        for row in reader.trend():
            found = reader.by_id(row.id)
            assert found is not None
            assert found.run_id == row.run_id
        latest = reader.latest()
        assert latest is not None
        assert latest.run_id == "b1"
        latest = reader.latest("code_review")
        assert latest is not None
        assert latest.run_id == "e2"
        assert reader.latest("blind_reimplementation") is None


def test_finding_by_the_four_fingerprints(store: DuckdbStore) -> None:
    with store.reading(never) as reader:
        four = {"corpus": "cccccccc", "prompt": "b" * 8, "models": MODELS_SHA8, "rubric": "a" * 64}
        assert [kept.run_id for kept in reader.by_shas(**four)] == ["a1"]
        assert [kept.run_id for kept in reader.by_shas(**{**four, "models": "4f53cda1"})] == ["e1"]
        assert reader.by_shas(**four, eval_name="code_review") == []
        with pytest.raises(UsageError, match="prompt: is no fingerprint"):
            reader.by_shas(**{**four, "prompt": "x"})


def test_evals_and_rubric_versions(store: DuckdbStore) -> None:
    with store.reading(never) as reader:
        assert not reader.is_empty
        assert reader.evals() == ["code_review", "takes_quality"]
        assert reader.rubric_versions("takes_quality") == {
            "v1.0": {"aaaaaaaa"},
            "v1.1": {"eeeeeeee", "ffffffff"},
        }
        assert reader.rubric_versions("code_review") == {"v1.0": {"aaaaaaaa"}}


def test_the_views_for_users(store: DuckdbStore) -> None:
    assert [name for name, *_ in query(store, "describe eval_takes_quality_runs")] == [
        "id", "ts", "rubric_version", "corpus_sha8", "prompt_sha8", "models_sha8", "rubric_sha8",
        "verdict", "overall_score", "cost_usd", "receipt_json",
    ]  # fmt: skip
    assert query(
        store, "select id, verdict, receipt_json->>'verdict' from eval_takes_quality_runs order by id"
    ) == [
        (1, "pass", "pass"),
        (3, "pass", "pass"),
        (4, "pass", "pass"),
        (5, "pass", "pass"),
        (6, "inconclusive", "inconclusive"),
    ]
    assert [row[0] for row in query(store, "select run_id from trend order by ts desc, id desc")] == runs(
        trend(store)
    )


def test_reading_leaves_the_database_as_it_is(store: DuckdbStore) -> None:
    before = store.path.stat()
    trend(store)
    after = store.path.stat()
    assert (before.st_mtime_ns, before.st_size, before.st_ino) == (
        after.st_mtime_ns,
        after.st_size,
        after.st_ino,
    )


def test_without_a_store_every_answer_is_empty_and_nothing_is_made(tmp_path: Path) -> None:
    store = store_in(tmp_path / "nowhere")
    assert isinstance(store, Store)
    with store.reading(never) as reader:
        assert reader.is_empty
        assert reader.trend() == []
        assert reader.by_id(1) is None
        assert reader.by_run("r1") is None
        assert reader.latest() is None
        assert reader.evals() == []
        assert reader.rubric_versions("takes_quality") == {}
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_reader_is_not_taken_for_one_of_the_store(store: DuckdbStore) -> None:
    with pytest.raises(BrokenPipeError), store.reading(never):
        raise BrokenPipeError
    assert runs(trend(store, limit=1)) == ["b1"]


def test_a_name_that_means_something_to_duckdb_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = DuckdbStore(path=":memory:", receipts_dir="receipts")
    put(store, "r1")
    assert runs(trend(store)) == ["r1"]
    assert sorted(file.name for file in Path().iterdir()) == [
        ":memory:",
        ":memory:.lock",
        ":memory:.pending",
        "receipts",
    ]
