"""How long it takes to build a repository from a diff, against plain git that makes one commit.

    python bench/case_repositories.py [CASES.jsonl ...]

The demo cases are measured, and the files that are named, beside plain git that makes less: a repository with
one commit of one file, by `git init`, `git add` and `git commit`. Both are made and removed by turns in one
process, so that a busy machine slows both. Further lines show where the time goes, and what a program that
does nothing costs when it is run in each repository.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from evalrunner.git.case_repository import build
from evalrunner.git.diff import payload_diff
from evalrunner.git.run import environment, git
from evalrunner.git.scratch import discard, scratch
from evalrunner.git.trees import rebuild
from evalrunner.records import Selection
from evalrunner.sandbox.process import environment as program_environment
from evalrunner.sandbox.process import run
from evalrunner.source.file import FileSource

ROUNDS = 3
AIM_MS = 50.0


def main(paths: list[str]) -> None:
    for path in ("demo:review_cases.jsonl", *paths):
        source = FileSource.model_validate({"path": path, "rows": "review_cases"})
        items = source.take(Selection(order="source", sampler="all"))
        measure(path, [payload_diff(item.payload) for item in items])


def measure(name: str, diffs: list[bytes]) -> None:
    plain: list[float] = []
    one_process: list[float] = []
    built: list[float] = []
    rebuilt: list[float] = []
    reviewed: list[float] = []
    for _ in range(ROUNDS):
        for diff in diffs:
            plain.append(timed(one_commit))
            one_process.append(timed(one_git))
            built.append(timed(lambda diff=diff: build(diff).remove()))
            rebuilt.append(timed(lambda diff=diff: rebuild(diff)))
            reviewed.append(timed(lambda diff=diff: build_and_run(diff)))
    low = statistics.median(plain)
    print(f"{name}: {len(diffs)} cases x {ROUNDS}, medians in ms, and as a multiple of plain git's")
    for label, times in (
        ("plain git: init, add, commit", plain),
        ("one git process", one_process),
        ("repository from a diff", built),
        ("  of it reading the diff", rebuilt),
        ("repository, and `true` run in it", reviewed),
    ):
        middle = statistics.median(times)
        worst = statistics.quantiles(times, n=20)[-1]
        print(f"  {label:34} {middle:7.1f}   x {middle / low:5.2f}   (95 %: {worst:.1f})")
    verdict = "kept" if statistics.median(built) < AIM_MS else "missed"
    print(f"  aim of {AIM_MS:.0f} ms a repository: {verdict}; all {len(built)}: {sum(built) / 1000:.2f} s")


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def one_commit() -> None:
    path = scratch().folder("plain")
    env = environment(path)
    (path / "file").write_bytes(b"1\n")
    for arguments in (("init", "-q", "--template="), ("add", "file"), ("commit", "-q", "-m", "one")):
        subprocess.run(["git", *arguments], cwd=path, env=env, check=True)
    discard(path)


def one_git() -> None:
    git(scratch().path, "version")


def build_and_run(diff: bytes) -> None:
    with build(diff) as case:
        run(["true"], cwd=case.path, env=program_environment(case.path), timeout_s=60)


if __name__ == "__main__":
    main(sys.argv[1:])
