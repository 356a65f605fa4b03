"""Receipts and attempts for the tests of the store."""

import atexit
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from evalrunner.store.attempt import Attempt, Chunk, ScoreRow
from evalrunner.store.base import Put
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.reader import TrendRow

MODELS = ["openai:gpt-4o", "anthropic:claude-opus-4-7"]
MODELS_SHA8 = "2d4a9ef7"


def receipt(**changes: Any) -> dict[str, Any]:
    """A receipt that passed; `changes` replace keys, and a change of None to an optional key drops it."""
    whole: dict[str, Any] = {
        "schema_version": 1,
        "ts": "2026-03-01T12:00:00.000Z",
        "rubric_version": "v1.0",
        "rubric_sha8": "aaaaaaaa",
        "corpus": {"source": "fs", "n_takes": 2, "slug_prefix": None, "corpus_sha8": "cccccccc"},
        "prompt_sha8": "bbbbbbbb",
        "models_sha8": MODELS_SHA8,
        "models": MODELS,
        "cycles_run": 1,
        "successes_per_cycle": [2],
        "verdict": "pass",
        "scores": {
            "accuracy": {
                "mean": 7.75,
                "min": 7.5,
                "max": 8,
                "scores": [8, 7.5],
                "per_model": {"openai:gpt-4o": 8, "anthropic:claude-opus-4-7": 7.5},
            }
        },
        "overall_score": 7.75,
        "cost_usd": 0.0123,
        "improvements": ["näher am Text"],
        "errors": [],
        "verdictMessage": "all dimensions pass",
        "eval": "takes_quality",
    }
    whole.update(changes)
    return whole


def inconclusive(**changes: Any) -> dict[str, Any]:
    """A receipt of the same key without a result."""
    return receipt(
        **{
            "verdict": "inconclusive",
            "scores": {},
            "overall_score": None,
            "successes_per_cycle": [0],
            "verdictMessage": "0 of 2 seats contributed",
            **changes,
        }
    )


def corpus(sha8: str) -> dict[str, Any]:
    """The `corpus` key of a receipt over another corpus."""
    return {"source": "fs", "n_takes": 2, "slug_prefix": None, "corpus_sha8": sha8}


def review(**changes: Any) -> dict[str, Any]:
    """A receipt of an eval that judges a subject, without a threshold."""
    return receipt(
        **{
            "eval": "code_review",
            "models": [],
            "models_sha8": "4f53cda1",
            "subject_sha8": "55555555",
            "verdict": None,
            "scores": {},
            "overall_score": None,
            "metrics": {"effective_recall": {"value": 0.625, "n": 8}},
            "headline": {"metric": "effective_recall", "value": 0.625},
            "verdictMessage": "no threshold",
            **changes,
        }
    )


ROWS = (
    ScoreRow(None, 1, "accuracy", "openai:gpt-4o", 1, Decimal("8")),
    ScoreRow(None, 1, "accuracy", "anthropic:claude-opus-4-7", 1, Decimal("7.50")),
)
CHUNKS = (Chunk(1, ("take-1", "take-2")),)


def attempt(run_id: str, content: dict[str, Any] | None = None, *, identity: bool = True) -> Attempt:
    """An attempt with two scores of one chunk."""
    return Attempt(
        run_id=run_id,
        identity=identity,
        receipt=receipt() if content is None else content,
        scores=ROWS,
        chunks=CHUNKS,
    )


def store_in(folder: Path, **settings: Any) -> DuckdbStore:
    """A store in this folder, with the file names of the default one."""
    return DuckdbStore(path=folder / "evalrunner.duckdb", receipts_dir=folder / "receipts", **settings)


def put(store: DuckdbStore, run_id: str, content: dict[str, Any] | None = None, **more: Any) -> Put:
    """Puts an attempt that must get in without a word."""
    done = store.put(attempt(run_id, content, **more))
    assert done == Put("stored")
    return done


@cache
def _filled() -> Path:
    """A folder with a store of two receipts and three attempts; nobody changes it."""
    folder = Path(tempfile.mkdtemp(prefix="store-samples-"))
    atexit.register(shutil.rmtree, folder)
    store = store_in(folder)
    put(store, "r1")
    put(store, "r2", receipt(ts="2026-03-02T12:00:00.000Z"))
    put(store, "r3", receipt(corpus=corpus("33333333")))
    return folder


def filled(folder: Path) -> DuckdbStore:
    """A store of one's own with two receipts and three attempts."""
    shutil.copytree(_filled(), folder, dirs_exist_ok=True)
    return store_in(folder)


def never(line: str) -> None:
    """A note that must not come."""
    raise AssertionError(f"unexpected note: {line}")


def trend(store: DuckdbStore, **filters: Any) -> list[TrendRow]:
    """The trend of a store that has nothing to say besides."""
    with store.reading(never) as reader:
        return reader.trend(**filters)


def query(store: DuckdbStore, sql: str) -> list[tuple[Any, ...]]:
    """What a user's own query gives, in a store that nobody has open."""
    import duckdb

    connection = duckdb.connect(str(store.path), read_only=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def waiting(store: DuckdbStore) -> list[str]:
    """Names of the files that wait."""
    return sorted(file.name for file in Path(f"{store.path}.pending").glob("*.json"))


@contextmanager
def worker(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """`store_worker.py` in a process of its own; it is gone when the block ends."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("store_worker.py")), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def holding(*arguments: object) -> Iterator[int]:
    """A worker that holds something for as long as the block lasts; gives its process id."""
    with worker(*arguments) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() in {"held", "open"}
        yield process.pid
