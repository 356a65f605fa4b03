"""What `eval=code_review` costs besides the reviewer: repositories, processes, matching.

    python bench/code_review.py [CASES] [--runs 3]

Without CASES it takes the demo. It prints, in milliseconds: building and removing a case's repository; a run
of a reviewer that does nothing, isolated and not; and the whole eval with such a reviewer, per run. Processor
time stands beside what the clock says, since it depends less on what else the machine does.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from evalrunner.git.case_repository import build
from evalrunner.git.diff import payload_diff
from evalrunner.paths import demo


def diffs(path: Path) -> list[bytes]:
    """The diffs of a file of cases."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [payload_diff(row) for row in rows]


def repositories(every: Sequence[bytes]) -> list[float]:
    """Milliseconds for building and removing the repository of each diff."""

    spent = []
    for diff in every:
        start = time.perf_counter()
        with build(diff):
            pass
        spent.append((time.perf_counter() - start) * 1000)
    return spent


def processor() -> float:
    """Milliseconds of processor time, of this process and of those that it has waited for."""
    return 1000 * sum(os.times()[:4])


def whole(cases: Path, runs: int, *, isolate: bool) -> tuple[float, float]:
    """Milliseconds of the whole command, and the median of what it says of a run of the program."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["eval=code_review", "subject=command_reviewer", 'subject.argv=["true"]']
        words += ["subject.reading.format=ndjson", f"subject.isolate={str(isolate).lower()}", "store=none"]
        words += [f"source.path={cases}", f"runs={runs}", "--json"]
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "evalrunner", "run", *words],
            cwd=folder,
            env={**os.environ, "EVALRUNNER_CONF": "none"},
            capture_output=True,
            check=True,
        )
        spent = (time.perf_counter() - start) * 1000
    receipt = json.loads(done.stdout)
    assert receipt["metrics"]["availability"]["value"] == 1
    return spent, 1000 * median(run["duration_s"] for case in receipt["cases"] for run in case["runs"])


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="What eval=code_review costs besides the reviewer.")
    parser.add_argument("cases", nargs="?", type=Path, default=demo("review_cases.jsonl"))
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args(argv)
    every = diffs(chosen.cases)
    repositories(every[:3])
    start = processor()
    spent = sorted(repositories(every))
    used = (processor() - start) / len(every)
    print(f"{len(every)} cases, {chosen.runs} runs each")
    print(f"repository: median {median(spent):.1f} ms, longest {spent[-1]:.1f} ms, processor {used:.1f} ms")
    for isolate in (False, True):
        start = processor()
        total, program = whole(chosen.cases.absolute(), chosen.runs, isolate=isolate)
        count = len(every) * chosen.runs
        used = (processor() - start) / count
        how = "isolated" if isolate else "not isolated"
        print(
            f"no-op reviewer, {how}: {total / 1000:.1f} s in all, {total / count:.1f} ms a run"
            f" (the program itself: median {program:.1f} ms), processor {used:.1f} ms a run"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
