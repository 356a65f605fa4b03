"""Many processes, and processes that are killed: no kept attempt is lost, and none is there twice."""

from contextlib import ExitStack
from pathlib import Path
from signal import SIGKILL

import pytest
from store_samples import put, query, receipt, store_in, waiting, worker
from store_worker import POINTS

from evalrunner.receipt.files import dumps

COPY = "takes-quality-cccccccc-bbbbbbbb-2d4a9ef7-aaaaaaaa.json"


@pytest.mark.parametrize("point", POINTS)
def test_killed_at(tmp_path: Path, point: str) -> None:
    with worker("die", tmp_path, point) as process:
        assert process.wait() == -SIGKILL
    store = store_in(tmp_path)
    with store.reading(lambda _: None) as reader:
        kept = [row.run_id for row in reader.trend(attempts=True)]
    assert kept == ([] if point == "before it waits" else ["r1"])
    assert waiting(store) == []
    put(store, "r1")
    put(store, "r2", receipt(ts="2026-03-02T12:00:00.000Z"))
    assert query(store, "select run_id, id from attempts order by ts") == [("r1", 1), ("r2", 2)]
    assert query(store, "select run_id, count(*) from scores group by all order by all") == [
        ("r1", 2),
        ("r2", 2),
    ]
    assert query(store, "select run_id from receipts") == [("r1",)]
    assert (tmp_path / "receipts" / COPY).read_text() == dumps(receipt())


def test_processes_share_a_store_and_one_of_them_is_killed(tmp_path: Path) -> None:
    with ExitStack() as stack:
        victim = stack.enter_context(worker("put", tmp_path, "v", 100))
        others = [stack.enter_context(worker("put", tmp_path, name, 6)) for name in "abc"]
        assert victim.stdout is not None
        kept = {victim.stdout.readline().split()[0] for _ in range(3)}
        victim.kill()
        kept |= {line.split()[0] for line in victim.stdout}
        for process in others:
            assert process.stdout is not None
            lines = process.stdout.read().splitlines()
            assert len(lines) == 6
            kept |= {line.split()[0] for line in lines}
            assert process.wait() == 0
    store = store_in(tmp_path)
    with store.reading(lambda _: None) as reader:
        stored = [row.run_id for row in reader.trend(attempts=True)]
    assert kept <= set(stored)
    assert len(stored) == len(set(stored))
    assert len(stored) - len(kept) <= 1
    assert query(store, "select count(*) = 2 * count(distinct run_id) from scores") == [(True,)]
    # The processes judged the same corpora: attempts n of each share one receipt.
    assert query(store, "select count(*) = count(distinct corpus_sha8) from receipts") == [(True,)]
    assert query(store, "select count(distinct id) = count(*) from attempts") == [(True,)]
    assert waiting(store) == []
