"""The gate of one model: order, concurrency, rates, pauses, and slowing down when it is throttled."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

import pytest

from evalrunner.calls.limits import Gate
from evalrunner.calls.request import CallFailed, Limits


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await scene()

    asyncio.run(bounded())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_calls_are_let_through_in_the_order_in_which_they_came() -> None:
    async def scene() -> None:
        gate = Gate(Limits(concurrency=2))
        order: list[int] = []

        async def call(number: int) -> None:
            await gate.enter(0)
            order.append(number)
            await asyncio.sleep(0.001)
            gate.leave()

        await asyncio.gather(*(call(number) for number in range(10)))
        assert order == list(range(10))

    play(scene)


def test_whoever_gives_up_waiting_leaves_the_place_to_the_next() -> None:
    async def scene() -> None:
        gate = Gate(Limits(concurrency=1))
        await gate.enter(0)
        waiting = [asyncio.create_task(gate.enter(0)) for _ in range(3)]
        await settle()
        waiting[0].cancel()
        await settle()
        gate.leave()
        waiting[1].cancel()  # let in just now, and gone before it knew
        await settle()
        assert [task.done() for task in waiting] == [True, True, True]
        assert not waiting[2].cancelled()
        gate.leave()
        await gate.enter(0)

    play(scene)


def test_a_newcomer_is_not_stuck_behind_those_who_gave_up() -> None:
    async def scene() -> None:
        gate = Gate(Limits(concurrency=1))
        gate.throttled(monotonic(), 0.02)
        gone = asyncio.create_task(gate.enter(0))
        await settle()
        gone.cancel()
        await settle()
        await asyncio.sleep(0.03)
        await gate.enter(0)

    play(scene)


def test_a_throttled_gate_opens_when_the_wait_is_over() -> None:
    async def scene() -> None:
        gate = Gate(Limits(concurrency=4))
        start = monotonic()
        gate.throttled(start, 0.05)
        await asyncio.gather(*(gate.enter(0) for _ in range(2)))
        assert monotonic() - start >= 0.049

    play(scene)


def test_a_later_shorter_wait_does_not_shorten_the_first() -> None:
    async def scene() -> None:
        gate = Gate(Limits(concurrency=4))
        start = monotonic()
        gate.throttled(start, 0.06)
        gate.throttled(start, 0.01)
        await gate.enter(0)
        assert monotonic() - start >= 0.059

    play(scene)


def test_one_burst_halves_once_and_successes_raise_it_again() -> None:
    async def scene() -> None:
        gate = Gate(Limits(concurrency=8))
        sent_at = monotonic()
        for _ in range(8):
            gate.throttled(sent_at, 0.0)
        assert gate.allowed == 4
        for _ in range(10):
            gate.throttled(monotonic(), 0.0)
        assert gate.allowed == 1
        gate.succeeded()
        assert gate.allowed == 2
        for _ in range(100):
            gate.succeeded()
        assert gate.allowed == 8

    play(scene)


def test_fewer_are_let_through_after_a_cut() -> None:
    async def scene() -> None:
        gate = Gate(Limits(concurrency=4))
        for _ in range(4):
            await gate.enter(0)
        gate.throttled(monotonic(), 0.0)
        waiting = [asyncio.create_task(gate.enter(0)) for _ in range(4)]
        gate.leave()
        gate.leave()
        await settle()
        assert not any(task.done() for task in waiting)
        gate.leave()
        await settle()
        assert sum(task.done() for task in waiting) == 1
        for task in waiting:
            task.cancel()
        await settle()

    play(scene)


def test_requests_a_minute() -> None:
    async def scene() -> None:
        gate = Gate(
            Limits(concurrency=100, requests_per_minute=1200)
        )  # one in 0.05 s, once a minute's are used
        for _ in range(1200):
            await gate.enter(0)
            gate.leave()
        start = monotonic()
        for _ in range(2):
            await gate.enter(0)
            gate.leave()
        assert monotonic() - start >= 0.04

    play(scene)


def test_tokens_a_minute_also_for_a_call_larger_than_a_minutes_worth() -> None:
    async def scene() -> None:
        gate = Gate(Limits(concurrency=100, tokens_per_minute=60000))  # a thousand a second
        assert gate.counts_tokens
        await gate.enter(10**9)
        gate.leave()
        start = monotonic()
        await gate.enter(50)
        gate.leave()
        assert monotonic() - start >= 0.04

    play(scene)


def test_a_gate_that_refuses_fails_at_once_and_keeps_no_place() -> None:
    async def scene() -> None:
        gate = Gate(Limits(concurrency=1))
        gate.refuse("come back tomorrow", 86400)
        for _ in range(3):
            with pytest.raises(CallFailed, match="come back tomorrow") as caught:
                await gate.enter(0)
            assert caught.value.kind == "rate_limited"
            assert caught.value.retry_after_s == pytest.approx(86400, abs=60)

    play(scene)
