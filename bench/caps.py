"""A provider that bills as much as it can: no run, and no sweep, passes its cap.

    python bench/caps.py [--runs 500] [--sweeps 20] [--seed 1]

The scripted server bills every call anything from nothing to the bound that was reserved for it, computed
from the request that it received: also calls that it answers with garbage, without usage, too late, in part,
or not at all before it resets the connection. It throttles and fails others, unbilled. Runs have random caps,
panels (both clients), concurrency and re-asks; sweeps have two jobs in processes of their own under one cap,
and half of them are killed. Exit code 1 when a bill passes its cap, or a receipt tells less than the bill.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from threading import Lock

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests"))

from loopback import (  # noqa: E402
    Loopback,
    Reply,
    Request,
    Tokens,
    error,
    garbage,
    hang,
    reset,
    score_all,
    text,
    trickle,
)

IN_USD, OUT_USD = Decimal(10) / 10**6, Decimal(30) / 10**6
MESSAGE_TOKENS, REQUEST_TOKENS = 16, 512
"""What the bound of a request allows beside its bytes: docs/costs.md."""

PRICES = [
    f"+pricing.models.{name}={{input_usd_per_mtok: 10, output_usd_per_mtok: 30}}" for name in ("one", "rook")
]


class Greedy:
    """The script of the server, and what it has billed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.bill = Decimal(0)
        self.kinds: Counter[str] = Counter()
        self._lock = Lock()

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            return self._answer(request)

    def _answer(self, request: Request) -> Reply:
        kind = self.draw.choices(
            ("fine", "all", "silent", "cut", "no scores", "garbage", "reset", "late", "slow", "429", "500"),
            (40, 15, 8, 5, 8, 4, 4, 2, 1, 8, 5),
        )[0]
        self.kinds[kind] += 1
        if kind == "429":
            return error(429, retry_after=self.draw.choice((None, 0.05)))
        if kind == "500":
            return error(500)
        used = self._bound(request)
        if kind != "all":
            used = Tokens(self.draw.randint(1, used.input), self.draw.randint(0, used.output))
        self.bill += used.input * IN_USD + used.output * OUT_USD
        scored = replace(score_all(8)(request), usage=used)
        return {
            "silent": replace(scored, usage=None),
            "cut": replace(scored, finish="length"),
            "no scores": replace(text("Rather not."), usage=used),
            "garbage": garbage(),
            "reset": reset(),
            "late": hang(),
            "slow": trickle(scored, 5),
        }.get(kind, scored)

    @staticmethod
    def _bound(request: Request) -> Tokens:
        messages = request.body["messages"]
        size = sum(len(each["content"].encode()) + len(each["role"]) for each in messages)
        schema = request.body.get("response_format", {}).get("json_schema", {}).get("schema")
        size += 0 if schema is None else len(json.dumps(schema))
        limit = request.max_tokens
        assert limit is not None
        return Tokens(size + MESSAGE_TOKENS * len(messages) + REQUEST_TOKENS, limit)


def main() -> int:
    """Runs the bench."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=500)
    arguments.add_argument("--sweeps", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--worker", action="store_true", help="makes the runs in this process")
    given = arguments.parse_args()
    if given.worker:
        return runs(given.runs, given.seed)
    halves = [given.runs // 2, given.runs - given.runs // 2]
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--worker", f"--runs={half}", f"--seed={given.seed + place}"]
        )
        for place, half in enumerate(halves)
        if half
    ]
    codes = [worker.wait() for worker in workers]
    return max([*codes, sweeps(given.sweeps, given.seed)])


def seats(server: Loopback, draw: random.Random) -> str:
    """A panel of one or two models, one of each client."""
    chosen = draw.choice((("one",), ("one",), ("openai:rook",), ("one", "openai:rook")))
    settings = {
        "api_base": f"'{server.url('openai')}'",
        "concurrency": draw.choice((1, 2, 8)),
        "max_tokens": draw.choice((50, 500, 2000)),
        "reasks": draw.choice((0, 1, 2)),
        "timeout_s": 0.4,
        "structured": draw.choice(("true", "false")),
    }
    told = ", ".join(f"{key}: {value}" for key, value in settings.items())
    return "panel.models=[" + ", ".join(f"{{id: '{name}', {told}}}" for name in chosen) + "]"


def runs(count: int, seed: int) -> int:
    """So many runs, one after another, in this process."""
    import evalrunner

    draw = random.Random(seed)
    greedy = Greedy(seed)
    wrong = calls = refused = 0
    shares: list[float] = []
    with tempfile.TemporaryDirectory() as name, Loopback(greedy) as server:
        os.chdir(name)
        os.environ["OPENAI_API_KEY"] = "none"
        for number in range(count):
            greedy.bill, before = Decimal(0), len(server.requests)
            cap = Decimal(draw.randint(20, 1000)) / 1000
            receipt = evalrunner.run(
                [
                    seats(server, draw),
                    *PRICES,
                    f"judge.chunk_size={draw.choice((1, 1, 2))}",
                    f"sampler.limit={draw.choice((4, 8))}",
                    f"cycles.max={draw.choice((1, 2))}",
                    f"budget.cap_usd={cap}",
                    "store=none",
                ],
                note=lambda _: None,
            ).to_json()
            bill, budget = greedy.bill, receipt["budget"]
            calls += len(server.requests) - before
            refused += budget["refused_calls"]
            spent = Decimal(str(budget["spent_usd"]))
            shares.append(float(spent / cap))
            if not bill <= spent <= cap or budget["overrun"] or budget["reserved_usd"]:
                wrong += 1
                print(f"WRONG: run {number}: cap {cap}, billed {bill}, told {budget}")
        os.chdir(TOP)
    used = sum(share > 0.5 for share in shares)
    print(f"{count} runs: {calls} calls, {refused} refused; {used} runs spent over half of their cap")
    print(f"answers: {', '.join(f'{kind} {times}' for kind, times in greedy.kinds.most_common())}")
    print(f"{wrong} runs passed their cap, or told less than they were billed")
    return int(wrong > 0)


def sweeps(count: int, seed: int) -> int:
    """So many sweeps of two jobs in processes of their own, under one cap; every other one is killed."""
    draw = random.Random(seed)
    greedy = Greedy(seed)
    wrong = done = 0
    with tempfile.TemporaryDirectory() as name, Loopback(greedy, latency=0.02) as server:
        for number in range(count):
            greedy.bill = Decimal(0)
            cap = Decimal(draw.randint(100, 1500)) / 1000
            with subprocess.Popen(
                [
                    *(sys.executable, "-m", "evalrunner", "run", "-m", "hydra/launcher=joblib"),
                    seats(server, draw),
                    *PRICES,
                    "judge.chunk_size=1",
                    "sampler.limit=8",
                    "sampler.seed=1,2",
                    f"budget.cap_usd={cap}",
                    "budget.scope=sweep",
                    "store=none",
                ],
                cwd=name,
                env={**os.environ, "OPENAI_API_KEY": "none"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ) as process:
                if number % 2:
                    asked = len(server.requests)
                    enough = draw.randint(1, 12)
                    while process.poll() is None and len(server.requests) - asked < enough:
                        time.sleep(0.005)
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            done += process.returncode in {0, 1, 2}
            if greedy.bill > cap:
                wrong += 1
                print(f"WRONG: sweep {number}: cap {cap}, billed {greedy.bill}")
    if count:
        print(
            f"{count} sweeps of two processes, of which {count - done} were killed: {wrong} passed their cap"
        )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
