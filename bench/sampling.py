"""Time and memory of a sample of 100 takes from a large file, beside what counting and reading it takes.

    python bench/sampling.py [--rows 1000000] [--limit 100] [--runs 3] [--folder FOLDER]
                             [--formats parquet csv jsonl]

Every measurement is a process of its own, start-up included. The floors are taken in the same run: Python
that does nothing, and DuckDB over the same file, once counting its rows (for Parquet that reads the footer
alone) and once hashing every value. A sample checks every value too, so the ratio is to the latter.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PEAK = """
from pathlib import Path
import resource
status = Path("/proc/self/status")
if status.exists():
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print("peak", peak // 1024)
"""
NOTHING = "pass"
MAKE = """
import sys, duckdb
rows, folder, formats = int(sys.argv[1]), sys.argv[2], sys.argv[3].split(",")
con = duckdb.connect(config={"temp_directory": folder})
con.execute("SET enable_progress_bar = false")
takes = f\"\"\"SELECT 'take-' || i AS id, 'companies/c-' || i // 6 AS page_slug,
    ['fact', 'take', 'bet', 'hunch'][1 + i % 4] AS kind,
    CASE WHEN i % 3 = 0 THEN 'world' ELSE 'people/p-' || i % 1000 END AS holder,
    (i % 21 * 5 / 100)::DOUBLE AS weight, (DATE '2020-01-01' + (i % 2000)::INTEGER)::VARCHAR AS since_date,
    CASE WHEN i % 5 > 0 THEN 'note ' || i END AS source,
    'Claim number ' || i || ' says that "something", or other, holds in Zürich.' AS claim,
    repeat('The page says a thing or two about it, in plain prose. ', 8) || i AS page_text
    FROM range({rows}) AS r(i)\"\"\"
for name, how in (("parquet", "parquet"), ("csv", "csv, HEADER"), ("jsonl", "json")):
    if name in formats:
        con.execute(f"COPY ({takes}) TO '{folder}/takes.{name}' (FORMAT {how})")
"""
FLOOR = """
import sys, duckdb
readers = {"parquet": "read_parquet", "csv": "read_csv", "jsonl": "read_ndjson_objects"}
con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
reader = readers[sys.argv[1].rpartition(".")[2]]
what = {"count": "count(*)", "read": "bit_xor(hash(t))"}[sys.argv[2]]
print("value", con.execute(f"SELECT {what} FROM {reader}('{sys.argv[1]}') AS t").fetchone()[0])
"""
SAMPLE = """
import sys
from evalrunner.sampler.samplers import RandomSampler
from evalrunner.source.file import FileSource
items = FileSource(path=sys.argv[1]).take(RandomSampler(limit=int(sys.argv[2])).plan())
print("rows", len(items))
print("ids", hash(tuple(item.id for item in items)))
"""


def run(code: str, *arguments: str) -> tuple[float, dict[str, int]]:
    """Seconds, and the numbers that the code printed with their names."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code + PEAK, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": "0"},
    )
    seconds = time.perf_counter() - start
    return seconds, {name: int(value) for name, value in map(str.split, done.stdout.splitlines())}


def median(runs: int, code: str, *arguments: str) -> tuple[float, dict[str, int]]:
    """The median of the seconds, and the numbers of the run with the highest peak."""
    measured = [run(code, *arguments) for _ in range(runs)]
    return statistics.median(each[0] for each in measured), max(
        (each[1] for each in measured), key=lambda n: n["peak"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to write the files (default: a temporary folder)")
    known = ["parquet", "csv", "jsonl"]
    parser.add_argument("--formats", nargs="+", choices=known, default=known, help="only these")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run(MAKE, str(options.rows), folder, ",".join(options.formats))
        start, _ = median(options.runs, NOTHING)
        print(f"{options.rows:,} rows, sample of {options.limit}; Python alone: {start:.3f} s")
        print(
            f"{'file':8} {'MB':>6} {'count s':>8} {'read s':>8} {'MB peak':>8}"
            f" {'sample s':>9} {'MB peak':>8} {'ratio':>6}"
        )
        samples = set()
        for path in sorted(Path(folder).glob("takes.*")):
            count, counted = median(options.runs, FLOOR, str(path), "count")
            floor, read = median(options.runs, FLOOR, str(path), "read")
            seconds, sampled = median(options.runs, SAMPLE, str(path), str(options.limit))
            if (counted["value"], sampled["rows"]) != (options.rows, min(options.rows, options.limit)):
                raise SystemExit(f"{path.name}: {counted['value']} rows counted, {sampled['rows']} sampled")
            samples.add(sampled["ids"])
            print(
                f"{path.suffix[1:]:8} {path.stat().st_size / 1e6:6.0f} {count:8.2f} {floor:8.2f}"
                f" {read['peak']:8}"
                f" {seconds:9.2f} {sampled['peak']:8} {seconds / floor:6.1f}"
            )
        print("the same sample in every format:", "yes" if len(samples) == 1 else "NO")


if __name__ == "__main__":
    main()
