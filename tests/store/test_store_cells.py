"""A trend by the cells of a rollup."""

from pathlib import Path

import pytest
from store_samples import never, put, receipt, review, store_in

from evalrunner.store.duckdb_store import DuckdbStore


def of(value: float | None, n: int) -> dict[str, object]:
    low, high = (None, None) if value is None else (value / 2, 1.0)
    return {"effective_recall": {"value": value, "n": n, "ci_low": low, "ci_high": high}}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DuckdbStore:
    filled = store_in(tmp_path_factory.mktemp("store"))
    put(filled, "takes", receipt())
    for day, groups in enumerate(
        [
            {"language": {"go": of(0.5, 2), "c": of(None, 0)}},
            {
                "language": {"go": of(0.25, 4), "c": {"other": {"value": 1, "n": 1}}},
                "kind": {"clean": of(1, 1)},
            },
            {},
        ],
        start=1,
    ):
        content = review(ts=f"2026-01-0{day}T00:00:00.000Z", groups=groups)
        put(filled, f"review-{day}", content, identity=False)
    return filled


def test_a_line_a_cell_by_cell_and_then_the_newest_first(store: DuckdbStore) -> None:
    with store.reading(never) as reader:
        cells = reader.cells(reader.trend(eval_name="code_review"), "language")
    assert [(each.cell, each.row.run_id, each.value, each.n, each.ci_low) for each in cells] == [
        ("c", "review-1", None, 0, None),
        ("go", "review-2", 0.25, 4, 0.125),
        ("go", "review-1", 0.5, 2, 0.25),
    ]


def test_a_group_that_no_run_has_gives_nothing_and_the_known_ones_can_be_named(store: DuckdbStore) -> None:
    with store.reading(never) as reader:
        rows = reader.trend()
        assert reader.cells(rows, "size") == []
        assert reader.groups(rows) == ["kind", "language"]
        assert reader.cells([], "language") == []


def test_no_store_yet_has_no_cells(tmp_path: Path) -> None:
    with store_in(tmp_path).reading(never) as reader:
        assert reader.cells(reader.trend(), "language") == []
