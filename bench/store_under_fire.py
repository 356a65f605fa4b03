"""One store under many writers, readers and vacuums that are killed at random: is every attempt there, once?

    python bench/store_under_fire.py                            16 processes, 50 runs each
    python bench/store_under_fire.py --processes 4 --runs 6     for a quick look

An attempt is acknowledged once the worker has said so: after its file lies in the pending folder, or after
`put` has returned. A worker that was killed is followed by another, which begins with the next run. At the
end every acknowledged attempt must be there exactly once, with its scores, and `store check` must find
nothing. Figures go to stdout; the exit code is 1 when anything is wrong.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalrunner.errors import StoreError
from evalrunner.receipt.fingerprint import models_sha
from evalrunner.store.attempt import Attempt, Chunk, ScoreRow
from evalrunner.store.checking import check
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.vacuum import vacuum

MODELS = ["openai:gpt-4o", "anthropic:claude-opus-4-7", "google:gemini-2.5-pro"]
DIMENSIONS = ("accuracy", "attribution", "signal_density")
SCORES_EACH = len(MODELS) * len(DIMENSIONS)
CORPORA = 20
"""So many keys share all attempts, so that processes also meet in the rows of `receipts`."""


def store_in(folder: Path) -> DuckdbStore:
    return DuckdbStore(path=folder / "store.duckdb", receipts_dir=folder / "receipts")


def attempt(name: str, number: int) -> Attempt:
    verdict = "inconclusive" if number % 5 == 0 else "pass"
    figures = {
        "mean": 7.5,
        "min": 7.5,
        "max": 7.5,
        "scores": [7.5] * 3,
        "per_model": dict.fromkeys(MODELS, 7.5),
    }
    content: dict[str, Any] = {
        "schema_version": 1,
        "ts": f"2026-01-01T{number // 60 % 24:02d}:{number % 60:02d}:00.000Z",
        "rubric_version": "v1.0",
        "rubric_sha8": "aaaaaaaa",
        "corpus": {
            "source": "fs",
            "n_takes": 20,
            "slug_prefix": None,
            "corpus_sha8": f"{(number * 7 + len(name)) % CORPORA:08x}",
        },
        "prompt_sha8": "bbbbbbbb",
        "models_sha8": models_sha(MODELS).sha8,
        "models": MODELS,
        "cycles_run": 1,
        "successes_per_cycle": [3],
        "verdict": verdict,
        "scores": {} if verdict == "inconclusive" else dict.fromkeys(DIMENSIONS, figures),
        "overall_score": None if verdict == "inconclusive" else 7.5,
        "cost_usd": 0.01,
        "improvements": [],
        "errors": [],
        "verdictMessage": verdict,
        "eval": "takes_quality",
        "run_id": f"{name}-{number}",
    }
    rows = tuple(
        ScoreRow(None, 1, dimension, model, 1, Decimal("7.50"))
        for dimension in DIMENSIONS
        for model in MODELS
    )
    chunks = (Chunk(1, tuple(f"take-{each}" for each in range(20))),)
    return Attempt(run_id=f"{name}-{number}", identity=True, receipt=content, scores=rows, chunks=chunks)


def write(folder: Path, name: str, first: int, runs: int) -> None:
    """A worker: `begun`, `staged` and `stored` or `pending` go to stdout, a line each."""
    store = store_in(folder)
    for number in range(first, runs):
        each = attempt(name, number)
        print("begun", number, flush=True)
        store.stage(each)
        print("staged", number, flush=True)
        print(store.put(each).kept, number, flush=True)


def read(folder: Path, stop: Path) -> None:
    """A reader: asks until it is told to stop, and never sees fewer attempts than before, or one twice."""
    store, seen, reads, busy = store_in(folder), 0, 0, 0
    while not stop.exists():
        try:
            with store.reading(lambda _: None) as reader:
                rows = reader.trend(attempts=True)
        except StoreError as error:
            if "trying again later" not in str(error):
                raise
            busy += 1
            continue
        assert len({row.run_id for row in rows}) == len(rows)
        assert len(rows) >= seen, f"{seen} attempts, and then {len(rows)}"
        seen, reads = len(rows), reads + 1
        time.sleep(0.05)
    print("reads", reads, flush=True)
    print("busy", busy, flush=True)


def rewrite(folder: Path, stop: Path) -> None:
    """Rewrites the database again and again."""
    store = store_in(folder)
    while not stop.exists():
        try:
            print("rewritten", int(vacuum(store, lambda _: None) is not None), flush=True)
        except StoreError as error:
            if "trying again later" not in str(error):
                raise
        time.sleep(0.5)


class Follower:
    """A process that is followed by another of its kind when it was killed, until its work is done."""

    def __init__(self, role: str, folder: Path, stop: Path, name: str, runs: int) -> None:
        self.words = [role, str(folder), str(stop), name, str(runs)]
        self.runs = runs if role == "write" else 1
        self.told: Counter[str] = Counter()
        self.acknowledged: set[str] = set()
        self.next = 0
        self.killed: Counter[str] = Counter()
        self.failed: list[int] = []
        self.process: subprocess.Popen[str] | None = None
        self.phase = "starting"
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()

    def _follow(self) -> None:
        while self.next < self.runs:
            command = [sys.executable, __file__, "--role", *self.words, str(self.next)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                self.process = process
                assert process.stdout is not None
                self.phase = phase = "starting"
                for line in process.stdout:
                    phase, number = line.split()
                    self.phase = phase
                    self.told[phase] += int(number) if phase in {"reads", "busy", "rewritten"} else 1
                    if phase in {"begun", "staged", "stored", "pending"}:
                        self.next = int(number) + 1
                    if phase in {"staged", "stored", "pending"}:
                        self.acknowledged.add(f"{self.words[3]}-{number}")
            if process.returncode == -signal.SIGKILL:
                self.killed[phase] += 1
            elif process.returncode:
                self.failed.append(process.returncode)
                return
            elif self.words[0] != "write":
                return

    def kill(self) -> bool:
        """Kills the process, unless it is only starting or is done: there is nothing to be lost then."""
        if self.process is None or self.phase == "starting" or self.process.poll() is not None:
            return False
        self.process.kill()
        return True


def fire(folder: Path, processes: int, runs: int, kills: int, chance: random.Random) -> dict[str, Any]:
    """Lets them all work, kills some, and returns the figures; `wrong` lists what should not be."""
    stop = folder / "stop"
    begun = time.monotonic()
    writers = [Follower("write", folder, stop, f"w{each}", runs) for each in range(processes)]
    others = [Follower("read", folder, stop, "", 0) for _ in range(2)]
    others.append(Follower("rewrite", folder, stop, "", 0))
    left = kills
    while any(each.thread.is_alive() for each in writers):
        time.sleep(chance.expovariate(1 / 0.3))
        alive = [each for each in writers if each.thread.is_alive()]
        victims = others[-1:] if chance.random() < 0.2 else alive
        left -= bool(victims and left and chance.choice(victims).kill())
    took = time.monotonic() - begun
    stop.touch()
    for each in [*writers, *others]:
        each.thread.join()
    return figures(folder, writers, others, took)


def figures(folder: Path, writers: list[Follower], others: list[Follower], took: float) -> dict[str, Any]:
    store = store_in(folder)
    with store.reading(lambda _: None) as reader:
        stored = Counter(row.run_id for row in reader.trend(attempts=True))
        counts = reader.ask("select run_id, count(*) from scores group by all", lambda rows: rows.fetchall())
    acknowledged = set().union(*(each.acknowledged for each in writers))
    told, killed = Counter[str](), Counter[str]()
    for each in writers:
        told, killed = told + each.told, killed + each.killed
    findings = check(store)
    wrong = [f"{run_id} was acknowledged, and is not there" for run_id in acknowledged - set(stored)]
    wrong += [f"{run_id} is there {count} times" for run_id, count in stored.items() if count > 1]
    wrong += [f"{run_id} has {count} scores" for run_id, count in counts or [] if count != SCORES_EACH]
    wrong += [f"{each.words[0]} ended with {code}" for each in [*writers, *others] for code in each.failed]
    wrong += [str(problem) for problem in findings.problems]
    wrong += [f"{file} still waits" for file, _ in findings.waiting]
    wrong += [f"{file} was refused" for file in findings.refused]
    if findings.copies.missing:
        wrong.append(f"{findings.copies.missing} copies of receipts are missing")
    if len(counts or []) != len(stored):
        wrong.append(f"{len(stored)} attempts, and scores of {len(counts or [])}")
    return {
        "processes": len(writers),
        "runs": told["begun"],
        "acknowledged": len(acknowledged),
        "stored": len(stored),
        "receipts": findings.receipts,
        "put returned stored": told["stored"],
        "put returned pending": told["pending"],
        "writers killed": sum(killed.values()),
        "killed after": dict(killed),
        "vacuums": others[-1].told["rewritten"],
        "vacuums killed": sum(others[-1].killed.values()),
        "reads": sum(each.told["reads"] for each in others),
        "reads that gave up waiting": sum(each.told["busy"] for each in others),
        "seconds": round(took, 1),
        "attempts a second": round(len(stored) / took, 1),
        "wrong": wrong,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--kills", type=int, help="3 a process if not given")
    parser.add_argument("--seed", type=int, default=0, help="of who is killed, and when")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--role", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role is not None:
        role, folder, stop, name, runs, first = given.role
        if role == "write":
            write(Path(folder), name, int(first), int(runs))
        else:
            {"read": read, "rewrite": rewrite}[role](Path(folder), Path(stop))
        return 0
    kills = 3 * given.processes if given.kills is None else given.kills
    with tempfile.TemporaryDirectory(prefix="store-under-fire-") as folder:
        found = fire(Path(folder), given.processes, given.runs, kills, random.Random(given.seed))
    if given.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:<22} {value}")
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
