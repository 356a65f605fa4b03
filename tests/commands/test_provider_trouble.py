"""Providers in trouble, in whole runs: each bounded in time and memory, each named, nothing counted twice."""

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Request, cut, error, flood, garbage, hang, reset, score_all, text, trickle
from program import inside, peak

TROUBLE = {
    "hangs": (hang(), "no whole reply within 1 s"),
    "resets": (reset(), "connection"),
    "trickles": (trickle(text("x" * 4000), 60), "no whole reply within 1 s"),
    "garbage": (garbage(), "no chat completion"),
    "floods": (flood(200 * 2**20), "longer than"),
    "cuts": (cut('{"scores": {"accuracy": 9'), "cut off"),
    "fails": (error(500, "out of order"), "out of order"),
    "refuses": (error(401, "who are you"), "who are you"),
}
MOST_RSS = 170 * 2**20
"""A run takes about 135 MiB; a reply of 200 MiB must not be held."""


def seats(server: Loopback, names: Any, prefix: str = "", **more: Any) -> str:
    told = {"api_base": f"'{server.url('openai')}'", "timeout_s": 1, "reasks": 0, **more}
    rest = ", ".join(f"{key}: {value}" for key, value in told.items())
    return "panel.models=[" + ", ".join(f"{{id: '{prefix}{name}', {rest}}}" for name in names) + "]"


def test_each_trouble_is_named_and_the_others_carry_the_verdict(tmp_path: Path) -> None:
    good = {f"good{number}": score_all(8) for number in range(2 * len(TROUBLE))}
    with Loopback({name: reply for name, (reply, _) in TROUBLE.items()} | good) as server:
        names = [*good, *TROUBLE]
        done, most = peak(tmp_path, "run", seats(server, names), "--limit", "2", "--json")
        assert server.flooded < 100 * 2**20
    receipt = done.json
    assert done.code == 0
    assert (receipt["verdict"], receipt["quorum"]) == ("pass", {"seats": 24, "needed": 16, "contributed": 16})
    told = {each["modelId"]: each["error"] for each in receipt["errors"]}
    assert list(told) == list(TROUBLE)
    for name, (_, word) in TROUBLE.items():
        assert word in told[name], (name, told[name])
    assert most < MOST_RSS


def test_without_a_quorum_it_is_inconclusive_and_exits_2(tmp_path: Path) -> None:
    with Loopback({"good": score_all(8), "garbage": garbage(), "cuts": cut("{")}) as server:
        done = inside(tmp_path, "run", seats(server, ["good", "garbage", "cuts"]), "--limit", "2", "--json")
    assert done.code == 2
    assert (done.json["verdict"], done.json["scores"]) == ("inconclusive", {})


class Storm:
    """Answers 429 while more than so many calls are in flight, and to the first few whatever they are."""

    def __init__(self, first: int) -> None:
        self.left = first
        self.answered: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Any:
        with self._lock:
            if self.left:
                self.left -= 1
                return error(429, "slow down", retry_after=1)
            self.answered[request.prompt] += 1
        return score_all(8)(request)


@pytest.mark.parametrize("prefix", ["", "openai:"], ids=["direct", "litellm"])
def test_a_storm_of_429_costs_few_calls_and_counts_none_twice(tmp_path: Path, prefix: str) -> None:
    storm = Storm(first=8)
    with Loopback(storm) as server:
        done = inside(
            tmp_path,
            "run",
            seats(server, ["rook"], prefix, concurrency=8, timeout_s=10),
            "pricing.models.rook={input_usd_per_mtok: 10, output_usd_per_mtok: 20}",
            "judge.chunk_size=1",
            "--limit=40",
            "--json",
            env={"OPENAI_API_KEY": "none"},
        )
        asked = len(server.requests)
    assert done.code == 0, done.err
    assert set(storm.answered.values()) == {1}
    assert asked == 48 < 1.5 * 40, "eight were in flight when it began"
    receipt = done.json
    each = (100 * 10 + 20 * 20) / 1e6
    assert receipt["usage"]["judge"]["calls"] == 40
    assert receipt["cost_usd"] == receipt["budget"]["spent_usd"] == pytest.approx(40 * each)
    lines = [json.loads(line) for line in next(tmp_path.rglob("calls.jsonl")).read_text().splitlines()]
    ok = Counter(line["fingerprint"] for line in lines if line.get("ok"))
    assert len(ok) == 40
    assert set(ok.values()) == {1}
    assert sum(line.get("failure") == "rate_limited" for line in lines) == 8


def test_a_model_that_is_throttled_does_not_hold_up_the_others(tmp_path: Path) -> None:
    with Loopback({"slow": [error(429, retry_after=1), score_all(8)], "quick": score_all(8)}) as server:
        done = inside(
            tmp_path, "run", seats(server, ["slow", "quick"], timeout_s=10), "--limit", "2", "--json"
        )
        at = {request.model: request.time for request in server.requests}
    assert done.code == 0
    assert at["slow"] - at["quick"] > 0.9


def test_seats_that_share_a_limit_take_turns(tmp_path: Path) -> None:
    """Two purposes of one endpoint, key and model: neither waits until the other is through."""
    import asyncio

    from evalrunner.calls.desk import Desk
    from evalrunner.calls.request import Limits

    asyncio.run(_turns(Desk, Limits(concurrency=1)))


async def _turns(desk_class: Any, limits: Any) -> None:
    import asyncio

    from evalrunner.budget.budget import Budget, Ledger
    from evalrunner.budget.pricing import Pricing
    from evalrunner.calls.request import CallReply, CallRequest, Message, Slot
    from evalrunner.calls.side_by_side import side_by_side
    from evalrunner.records import Usage

    order: list[str] = []

    class Client:
        async def send(self, request: CallRequest) -> CallReply:
            order.append(request.slot.purpose)
            await asyncio.sleep(0.001)
            return CallReply("fine", "stop", Usage(calls=1, input_tokens=1, output_tokens=1))

        async def close(self) -> None:
            """Nothing is open."""

    ledger = Ledger(Budget(), Pricing(source="a test", version="1", models={"one": {"free": True}}))
    desk, client = desk_class(ledger, journal=None, note=lambda _: None), Client()

    def asked(purpose: str) -> Any:
        for number in range(20):
            slot = Slot(purpose, chunk=number)
            yield desk.call(CallRequest("one", "one", (Message("user", "?"),), 9, slot), client, limits)

    async with asyncio.TaskGroup() as group:
        for purpose in ("a", "b"):
            group.create_task(side_by_side(asked(purpose), 2))
    await desk.close()
    assert Counter(order) == {"a": 20, "b": 20}
    halves = Counter(order[:20])
    assert abs(halves["a"] - halves["b"]) <= 4
