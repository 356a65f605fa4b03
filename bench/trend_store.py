"""`trend` on a large store, beside what no trend can do without: starting Python, and opening the database.

    python bench/trend_store.py            1,000,000 scores
    python bench/trend_store.py --small    45,000 scores, for a quick look

Everything is measured in this one run, whole processes and in turn, and the ratios are what counts.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from evalrunner.receipt.files import dumps
from evalrunner.store import database
from evalrunner.store.duckdb_store import DuckdbStore

MODELS = ("openai:gpt-4o", "anthropic:claude-opus-4-7", "google:gemini-2.5-pro")
DIMENSIONS = ("accuracy", "attribution", "weight_calibration", "kind_classification", "signal_density")
CYCLES = 3
SCORES_EACH = len(MODELS) * len(DIMENSIONS) * CYCLES

OPEN = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
connection.execute("select 1").fetchone()
connection.close()
"""
TREND = """
import sys
from pathlib import Path
from evalrunner.store.duckdb_store import DuckdbStore
with DuckdbStore(path=Path(sys.argv[1])).reading(print) as reader:
    assert reader.trend(limit={limit}, {filters})
"""


def receipt() -> str:
    """A receipt of three seats with `@` for what differs: about 2.5 kB."""
    figures = {
        "mean": 7.666666666666667,
        "min": 7,
        "max": 8.5,
        "scores": [7.5, 7, 8.5],
        "per_model": dict.fromkeys(MODELS, 7.5),
    }
    content = {
        "schema_version": 1,
        "ts": "2026-01-01T00:00:00.000Z",
        "rubric_version": "v1.0",
        "rubric_sha8": "aaaaaaaa",
        "corpus": {"source": "fs", "n_takes": 100, "slug_prefix": None, "corpus_sha8": "@"},
        "prompt_sha8": "bbbbbbbb",
        "models_sha8": "dddddddd",
        "models": MODELS,
        "cycles_run": CYCLES,
        "successes_per_cycle": [3] * CYCLES,
        "verdict": "pass",
        "scores": dict.fromkeys(DIMENSIONS, figures),
        "overall_score": 7.67,
        "cost_usd": 0.42,
        "improvements": [
            f"improvement {n}: say whose belief it is, in the page's own words" for n in range(10)
        ],
        "errors": [],
        "verdictMessage": "every mean is at least 7, every minimum at least 5",
    }
    return dumps(content)


def build(path: Path, attempts: int) -> None:
    """A store of so many attempts, each with its receipt and its 45 scores, newest last."""
    with database.locked(path, 0), database.writing(path, 0) as connection:
        connection.execute(
            """
            insert into attempts
            select 'run-' || n, n, true, 'takes_quality', timestamp '2026-01-01' + n * interval 1 minute,
                'v1.' || n // 5000, lpad(to_hex(n // 5000), 8, '0'), '', lpad(to_hex(n), 8, '0'),
                'bbbbbbbb', 'dddddddd', ?::varchar[], 'llm', 100, 3, if(n % 7 = 0, 'fail', 'pass'), true,
                7.67, null, null, 0.42, replace(?, '@', lpad(to_hex(n), 8, '0'))
            from range(1, ? + 1) numbers(n)
            """,
            [list(MODELS), receipt(), attempts],
        )
        connection.execute(
            """
            insert into receipts
            select id, eval, subject_sha8, corpus_sha8, prompt_sha8, models_sha8, rubric_sha8, run_id
            from attempts
            """
        )
        connection.execute(
            """
            insert into scores
            select 'run-' || n, null, 1, dimension, model, cycle, value, value::varchar
            from range(1, ? + 1) numbers(n),
                unnest(?::varchar[]) dimensions(dimension), unnest(?::varchar[]) models(model),
                range(1, ? + 1) cycles(cycle), (values (7.5::double)) given(value)
            """,
            [attempts, list(DIMENSIONS), list(MODELS), CYCLES],
        )


def process(code: str, path: Path) -> Callable[[], None]:
    """A whole Python process that runs this."""
    return lambda: subprocess.run([sys.executable, "-c", code, str(path)], check=True).check_returncode()


def within(store: DuckdbStore) -> Callable[[], None]:
    """The same trend in a process that has everything imported."""

    def run() -> None:
        with store.reading(print) as reader:
            assert reader.trend(limit=20)

    return run


def medians(jobs: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Median seconds of each, taken in turn after one round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(rounds + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if turn:
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="45,000 scores instead of 1,000,000")
    parser.add_argument("--rounds", type=int, default=9, help="how often each is run; the median counts")
    options = parser.parse_args()
    attempts = 1_000 if options.small else -(-1_000_000 // SCORES_EACH)
    with tempfile.TemporaryDirectory() as folder:
        path, young = Path(folder) / "large.duckdb", Path(folder) / "young.duckdb"
        start = time.perf_counter()
        build(path, attempts)
        print(
            f"{attempts:,} attempts, {attempts * SCORES_EACH:,} scores, {path.stat().st_size / 1e6:.0f} MB,"
            f" built in {time.perf_counter() - start:.1f} s"
        )
        build(young, 20)
        found = medians(
            {
                "bare Python": process("pass", path),
                "Python, DuckDB opened, select 1": process(OPEN, path),
                "trend, 20 newest": process(TREND.format(limit=20, filters=""), path),
                "trend, 20 newest of an epoch": process(
                    TREND.format(limit=20, filters='rubric_version="v1.0"'), path
                ),
                "trend --attempts, 20 newest": process(TREND.format(limit=20, filters="attempts=True"), path),
                "trend, every row": process(TREND.format(limit=None, filters=""), path),
                "trend, 20 newest, of a store with 20": process(TREND.format(limit=20, filters=""), young),
                "trend, 20 newest, all imported": within(DuckdbStore(path=path)),
            },
            options.rounds,
        )
    bare, opened = found["bare Python"], found["Python, DuckDB opened, select 1"]
    print(f"{'':40}{'ms':>8}{'x bare Python':>16}{'x DuckDB opened':>18}")
    for name, seconds in found.items():
        print(f"{name:40}{seconds * 1e3:8.0f}{seconds / bare:16.1f}{seconds / opened:18.2f}")


if __name__ == "__main__":
    main()
