"""Many processes, and processes that are killed: no kept attempt is lost, and none is there twice."""

import json
import subprocess
import sys
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


def test_under_fire(tmp_path: Path) -> None:
    """Writers, readers and a vacuum at once, and some are killed; bench/store_under_fire.py does more."""
    program = Path(__file__).parent.parent.parent / "bench" / "store_under_fire.py"
    words = ["--processes", "4", "--runs", "6", "--kills", "5", "--json"]
    done = subprocess.run(
        [sys.executable, str(program), *words], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["acknowledged"] >= 24 - found["writers killed"]
    assert found["acknowledged"] <= found["stored"] <= 24
