"""Kills runs at random moments, takes each up again, and checks that nothing was lost and nothing paid twice.

    python bench/kills.py [--kills 200] [--at-once 2] [--seed 1] [--takes 12] [--latency 0.15] [--flight 3]

A run asks two models behind a scripted server about its takes, some of which need a re-ask. It is
killed (SIGKILL) at a random moment: while it starts, after a random number of journal lines and some
milliseconds, or while receipt and database are written. Three in ten are killed once more while they go on.
Then `run --resume` ends it. Printed is what became of them. Exit code 1 when a receipt differs from the
undisturbed one in more than times, ids and the bounds of calls under way, when a call was paid for twice
whose reply had been journalled, or when the store is not whole.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests"))

from loopback import Loopback, Reply, Request, score_all, text  # noqa: E402

PROGRAM = [sys.executable, "-m", "evalrunner"]
MODELS = ("one", "two")
DIFFERS = ("ts", "run_id", "resumed", "cost_usd", "budget", "usage")
"""Keys of a receipt in which a resumed run may differ; what it cost is checked by itself."""


def answer(request: Request) -> Reply:
    """A score that depends on the question, and sometimes, at the first ask, no usable reply."""
    digest = sha256(request.prompt.encode()).digest()
    if digest[0] < 50 and len(request.messages) == 1:
        return text("I would rather not say.")
    return score_all(7 + digest[1] % 3)(request)


@dataclass
class Found:
    """What became of the killed runs."""

    lock: Lock = field(default_factory=Lock)
    undisturbed: Mapping[str, Any] = field(default_factory=dict)
    moments: Counter[str] = field(default_factory=Counter)
    replies: int = 0
    asked_again: int = 0
    paid_twice: int = 0
    wrong: list[str] = field(default_factory=list)


def main() -> int:
    """Runs the bench."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--at-once", type=int, default=2, help="runs at a time")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument(
        "--takes", type=int, default=12, help="from 251 on judgements lie beside the receipt"
    )
    arguments.add_argument("--latency", type=float, default=0.15, help="seconds that the server waits")
    arguments.add_argument("--flight", type=int, default=3, help="calls in flight a model")
    given = arguments.parse_args()
    draw = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name, Loopback(answer, latency=given.latency) as server:
        folder = Path(name)
        write_takes(folder / "takes.jsonl", given.takes)
        asked_for = words(server, given.flight, given.takes)
        whole = run(folder, *asked_for)
        assert whole.returncode in {0, 1}, whole.stderr
        found = Found(undisturbed=json.loads(whole.stdout))
        needed = len(server.requests)
        print(f"an undisturbed run makes {needed} calls")
        moments = [
            (drawn(draw, needed), drawn(draw, needed) if draw.random() < 0.3 else None)
            for _ in range(given.kills)
        ]
        with ThreadPoolExecutor(given.at_once) as pool:
            for done in [pool.submit(one, folder, asked_for, *each, found) for each in moments]:
                done.result()
        asked = len(server.requests) - needed
        checked = run(folder, "store", "check")
        rows = json.loads(run(folder, "trend", "--attempts", "--json", "--limit", "100000").stdout)["rows"]
    for moment, count in found.moments.most_common():
        print(f"{count:5}  {moment}")
    print(f"{found.replies:5}  replies were taken from journals")
    print(
        f"{found.asked_again:5}  resumed runs asked something again that was under way when they were killed"
    )
    print(f"{found.paid_twice:5}  calls were paid twice that had been journalled")
    print(f"{asked:5}  calls in all, {len(rows)} attempts stored")
    print(f"store check: {'healthy' if checked.returncode == 0 else checked.stderr}")
    if len({row["run_id"] for row in rows}) != len(rows):
        found.wrong.append("an attempt is stored twice")
    for line in found.wrong[:20]:
        print(f"WRONG: {line}")
    bad = found.wrong or found.paid_twice or checked.returncode
    print("every receipt equals the undisturbed one" if not bad else "NOT all is well")
    return 1 if bad else 0


def write_takes(path: Path, count: int) -> None:
    """So many takes."""
    rows = (
        {
            "id": f"take-{number}",
            "page_slug": "page",
            "page_text": f"Line {number} was measured.",
            "claim": f"Line {number} was measured.",
            "kind": "fact",
            "holder": "world",
            "weight": 0.85,
            "since_date": "2026-01",
            "source": "bench",
        }
        for number in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def words(server: Loopback, flight: int, takes: int) -> list[str]:
    """The command line of the run."""
    address = server.url("openai")
    seats = ",".join(f"{{id: {name}, api_base: '{address}', concurrency: {flight}}}" for name in MODELS)
    prices = [f"pricing.models.{name}={{input_usd_per_mtok: 10, output_usd_per_mtok: 20}}" for name in MODELS]
    return [
        "run",
        f"panel.models=[{seats}]",
        *prices,
        "judge.chunk_size=1",
        "source.path=takes.jsonl",
        f"--limit={takes}",
        "--json",
    ]


def run(folder: Path, *given: str) -> "subprocess.CompletedProcess[str]":
    """A command, waited for."""
    return subprocess.run(
        [*PROGRAM, *given], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


def environment() -> dict[str, str]:
    """The environment of the runs: no keys, nothing of ours."""
    kept = ("PATH", "HOME", "TMPDIR", "PYTHONPATH")
    return {name: os.environ[name] for name in kept if name in os.environ}


@dataclass(frozen=True)
class Moment:
    """When to kill: once the journal has so many lines, and so much later."""

    lines: int
    later_s: float


def drawn(draw: random.Random, calls: int) -> Moment:
    """A random moment. A call leaves two lines in the journal."""
    when = draw.random()
    if when < 0.1:
        return Moment(0, draw.uniform(0, 0.8))
    if when < 0.75:
        return Moment(draw.randint(1, 2 * calls), draw.uniform(0, 0.03))
    return Moment(2 * calls, draw.uniform(0, 0.3))


def killed(folder: Path, moment: Moment, given: list[str]) -> Path | None:
    """Starts a command and kills it; returns its run folder, if there is one yet."""
    mark = f"outputs/run/{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-000-{os.urandom(4).hex()}"
    journal = folder / mark / "calls.jsonl"
    with subprocess.Popen(
        [*PROGRAM, *given, f"hydra.run.dir={mark}"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while moment.lines and process.poll() is None and lines(journal) < moment.lines:
            time.sleep(0.002)
        time.sleep(moment.later_s)
        process.kill()
        process.wait()
    return folder / mark if (folder / mark).is_dir() else None


def lines(path: Path) -> int:
    """How many lines a file has; 0 where there is none."""
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def one(folder: Path, asked: list[str], first: Moment, second: Moment | None, found: Found) -> None:
    """Kills a run, perhaps once more, takes it up, and looks at what came of it."""
    place = killed(folder, first, asked)
    moment = where(place)
    if second is not None and resumable(place):
        assert place is not None
        again = killed(folder, second, ["run", "--resume", place.name, "--json"])
        place = again if resumable(again) else place
        moment += ", and killed again while it went on"
    if not resumable(place):
        with found.lock:
            found.moments[moment] += 1
        if place is not None and (place / "receipt.json").is_file():
            receipt = json.loads((place / "receipt.json").read_text(), parse_float=Decimal)
            told(found, receipt, place)
        return
    assert place is not None
    replies = ended(place)
    done = run(folder, "run", "--resume", place.name, "--json")
    if done.returncode == 3 and "was resumed already" in done.stderr:
        place = folder / "outputs" / "run" / json.loads((place / "begun.json").read_text())["resumed_by"]
        replies = ended(place)
        done = run(folder, "run", "--resume", place.name, "--json")
    if done.returncode == 3 and "is finished" in done.stderr:
        receipt = json.loads((place / "receipt.json").read_text(), parse_float=Decimal)
    elif done.returncode not in {0, 1}:
        with found.lock:
            found.wrong.append(f"{place.name}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        return
    else:
        receipt = json.loads(done.stdout, parse_float=Decimal)
    told(found, receipt, place)
    paid = Counter(ended(folder / "outputs" / "run" / receipt["run_id"]))
    with found.lock:
        found.moments[moment] += 1
        found.replies += len(replies)
        found.paid_twice += sum(count - 1 for count in paid.values())
        if set(replies) - set(paid):
            found.wrong.append(f"{place.name}: replies of its journal are gone")
        found.asked_again += int(receipt["usage"]["judge"]["estimated"])


def where(place: Path | None) -> str:
    """When a run was killed, by what it left."""
    if place is None or not (place / "begun.json").is_file():
        done = place is not None and (place / "receipt.json").is_file()
        return "after its receipt was kept" if done else "before it began"
    if (place / "receipt.json").is_file():
        return "while its receipt was put into the store"
    return "during its calls" if (place / "calls.jsonl").is_file() else "before its first call"


def resumable(place: Path | None) -> bool:
    """Whether a run can be taken up."""
    return (
        place is not None and (place / "begun.json").is_file() and (place / "begun.json").stat().st_size > 0
    )


def ended(place: Path) -> list[str]:
    """The fingerprints of the calls in a journal that have a reply."""
    path = place / "calls.jsonl"
    found = []
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if told.get("ok"):
            found.append(told["fingerprint"])
    return found


def told(found: Found, receipt: Mapping[str, Any], place: Path) -> None:
    """Notes in what a receipt differs that must not."""
    undisturbed = found.undisturbed
    plain = json.loads(json.dumps(receipt, default=float))
    wrong = [
        key
        for key in dict.fromkeys([*plain, *undisturbed])
        if key not in DIFFERS and plain.get(key) != undisturbed.get(key)
    ]
    lost = Decimal(receipt["budget"]["estimated_usd"])
    if Decimal(receipt["cost_usd"]) - lost != Decimal(str(undisturbed["cost_usd"])):
        wrong.append(f"cost_usd {receipt['cost_usd']}, of which {lost} are bounds")
    if receipt["usage"]["judge"]["calls"] != undisturbed["usage"]["judge"]["calls"]:
        wrong.append("usage.judge.calls")
    if beside := receipt.get("judgements_file"):
        kept = place.parent / receipt["run_id"] / beside["file"]
        if not kept.is_file() or sha256(kept.read_bytes()).hexdigest() != beside["sha256"]:
            wrong.append(f"{kept.name} is not the receipt's")
    if wrong:
        with found.lock:
            found.wrong.append(f"{place.name}: {', '.join(wrong)}")


if __name__ == "__main__":
    sys.exit(main())
