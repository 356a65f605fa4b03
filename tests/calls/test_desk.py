"""The desk: one reply a call, retries where they may help, limits kept, clients closed, spend summed."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from scripted_client import MILL, QUICK, Scripted, bound, desk, failure, hang, ledger, reply, request

from evalrunner.calls.desk import Desk, Progress
from evalrunner.calls.request import CallFailed, CallReply, Limits
from evalrunner.calls.retry import Retry
from evalrunner.records import Spend, Usage

ALL = Limits(concurrency=8)


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await scene()

    asyncio.run(bounded())


def one_call(client: Scripted, **more: object) -> tuple[CallReply, Desk]:
    result: list[tuple[CallReply, Desk]] = []

    async def scene() -> None:
        table = desk(**more)
        result.append((await table.call(request(), client, ALL), table))
        await table.close()

    play(scene)
    return result[0]


def one_failure(client: Scripted, **more: object) -> tuple[CallFailed, Desk]:
    table = desk(**more)

    async def scene() -> None:
        with pytest.raises(CallFailed) as caught:
            await table.call(request(), client, ALL)
        failures.append(caught.value)

    failures: list[CallFailed] = []
    play(scene)
    return failures[0], table


def test_a_reply_is_priced_timed_and_counted() -> None:
    got, table = one_call(Scripted(reply(tokens=10), latency_s=0.01))
    assert (got.text, got.attempts, got.cost_usd) == ("fine", 1, 11 * MILL)
    assert got.latency_s >= 0.01
    assert table.spend() == Spend(usage=Usage(calls=1, input_tokens=10, output_tokens=1), cost_usd=11 * MILL)
    assert table.ledger.spent == 11 * MILL


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "timeout", "connection", "garbage"])
def test_passing_troubles_are_tried_again(kind: str) -> None:
    client = Scripted(failure(kind), reply())
    got, table = one_call(client)
    assert got.attempts == 2
    assert len(client.sent) == 2
    assert table.spend().usage.calls == 1
    assert table.spend().cost_usd == 11 * MILL


@pytest.mark.parametrize(
    ("kind", "attempts"),
    [
        ("rate_limited", 8),
        ("overloaded", 4),
        ("timeout", 4),
        ("connection", 4),
        ("garbage", 2),
        ("bad_request", 1),
        ("auth", 1),
        ("not_found", 1),
    ],
)
def test_a_lasting_trouble_is_tried_a_bounded_number_of_times(kind: str, attempts: int) -> None:
    client = Scripted(failure(kind))
    failed, table = one_failure(client)
    assert failed.kind == kind
    assert len(client.sent) == attempts
    tail = f" ({attempts} attempts)" if attempts > 1 else ""
    assert failed.message == f"it said {kind}{tail}"
    assert failed.spend == Spend()
    assert table.ledger.spent == 0


def test_kinds_of_trouble_are_counted_apart() -> None:
    steps = [failure(kind) for kind in ("overloaded", "rate_limited", "timeout", "garbage", "connection")]
    got, _ = one_call(Scripted(*steps, reply()))
    assert got.attempts == 6
    failed, _ = one_failure(Scripted(failure("overloaded"), failure("auth")))
    assert failed.kind == "auth"


def test_the_providers_wait_is_kept() -> None:
    client = Scripted(failure("rate_limited", 0.05), failure("overloaded", 0.05), reply())
    one_call(client)
    first, second, third = client.times
    assert second - first >= 0.05
    assert third - second >= 0.05


def test_a_wait_beyond_all_patience_is_not_begun_by_anyone() -> None:
    client = Scripted(failure("rate_limited", 3600.0))

    async def scene() -> None:
        table = desk()
        calls = [table.call(request(number), client, Limits(concurrency=2)) for number in range(20)]
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert {end.kind for end in ends if isinstance(end, CallFailed)} == {"rate_limited"}
        assert "it asks to wait 3600 s, longer than 5 s" in str(ends[0])
        assert "longer than 5 s" in str(ends[19])
        assert len(client.sent) == 2

    play(scene)


def test_waits_add_up_against_patience() -> None:
    client = Scripted(failure("overloaded", 0.03))
    one_failure(client, retry=Retry(faults=50, base_s=0.001, patience_s=0.1))
    assert len(client.sent) == 4


def test_a_storm_of_429_is_waited_out_together() -> None:
    """A provider that takes nothing for a while: after the first burst only a few calls ask again."""
    opens: list[float] = []

    async def scene() -> None:
        loop = asyncio.get_running_loop()

        async def throttle(_: object) -> CallReply:
            if not opens:
                opens.append(loop.time() + 0.25)
            if loop.time() < opens[0]:
                raise failure("rate_limited", 0.1)
            return reply()

        client = Scripted(throttle, latency_s=0.002)
        table = desk()
        calls = [table.call(request(number), client, Limits(concurrency=16)) for number in range(120)]
        assert len(await asyncio.gather(*calls)) == 120
        assert len(client.sent) <= 1.5 * 120
        assert len(client.sent) <= 120 + 16 + 8 + 4
        assert table.spend().usage.calls == 120

    play(scene)


def test_a_throttled_model_does_not_hold_back_another() -> None:
    async def scene() -> None:
        slow, fast = Scripted(failure("rate_limited", 0.2), reply()), Scripted()
        table = desk()
        first = asyncio.create_task(table.call(request(), slow, ALL))
        await asyncio.sleep(0.01)
        await table.call(request(model="local"), fast, ALL)
        assert not first.done()
        await first

    play(scene)


def test_concurrency_is_kept_for_each_model() -> None:
    async def scene() -> None:
        one, other = Scripted(latency_s=0.005), Scripted(latency_s=0.005)
        table = desk()
        async with asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(table.call(request(number), one, Limits(concurrency=3)))
                group.create_task(table.call(request(number, model="local"), other, Limits(concurrency=5)))
        assert (one.peak, other.peak) == (3, 5)

    play(scene)


def test_a_call_that_waits_for_its_retry_lets_others_through() -> None:
    async def scene() -> None:
        client = Scripted(failure("overloaded", 0.1), reply())
        table = desk()
        first = asyncio.create_task(table.call(request(1), client, Limits(concurrency=1)))
        await asyncio.sleep(0.01)
        await table.call(request(2), client, Limits(concurrency=1))
        assert not first.done()
        await first

    play(scene)


def test_a_hanging_attempt_is_paid_at_its_bound_and_tried_again() -> None:
    async def scene() -> None:
        client = Scripted(hang, reply())
        table = desk(retry=QUICK)
        got = await table.call(request(timeout_s=0.02), client, ALL)
        assert got.attempts == 2
        assert got.cost_usd == bound() + 11 * MILL
        assert client.inside == 0
        spend = table.spend()
        assert spend.cost_usd == got.cost_usd
        assert spend.usage == Usage(calls=1, input_tokens=10, output_tokens=1, estimated=True)
        assert table.ledger.block()["estimated_usd"] == bound()

    play(scene)


def test_a_failure_carries_what_it_may_have_cost() -> None:
    failed, table = one_failure(Scripted(failure("timeout", billed=True)))
    assert failed.spend == Spend(usage=Usage(estimated=True), cost_usd=4 * bound())
    assert table.spend() == failed.spend
    assert table.ledger.spent == 4 * bound()


def test_a_reply_without_usage_is_counted_at_its_bound() -> None:
    notes: list[str] = []
    got, table = one_call(Scripted(reply(usage=Usage(calls=1, estimated=True))), note=notes.append)
    assert got.cost_usd == bound()
    assert got.usage.estimated
    assert (got.usage.input_tokens + got.usage.output_tokens) * MILL == bound()
    assert table.spend().usage == got.usage
    assert notes == ["openai:one reports no usage; its calls are counted at their upper bound"]


def test_a_bill_above_the_bound_is_said() -> None:
    notes: list[str] = []
    got, table = one_call(Scripted(reply(tokens=5000)), note=notes.append)
    assert got.cost_usd == 5001 * MILL
    assert table.ledger.block()["overrun"] == 5001 * MILL - bound()
    assert notes == [f"openai:one billed $5.001 for a call bounded at ${bound().normalize():f}"]


def test_an_unpriced_call_makes_the_sum_unknown() -> None:
    async def scene() -> None:
        table = desk()
        got = await table.call(request(model="who:knows"), Scripted(), ALL)
        assert got.cost_usd is None
        assert table.spend().cost_usd is None
        assert table.spend().usage.calls == 1

    play(scene)


def test_a_cancelled_call_leaves_nothing_behind() -> None:
    async def scene() -> None:
        client = Scripted(hang, reply())
        table = desk(ledger(10 * bound()))
        limits = Limits(concurrency=1)
        flying = asyncio.create_task(table.call(request(1), client, limits))
        queued = asyncio.create_task(table.call(request(2), client, limits))
        await asyncio.sleep(0.01)
        for task in (queued, flying):
            task.cancel()
        await asyncio.gather(flying, queued, return_exceptions=True)
        assert client.inside == 0
        assert table.ledger.spent == bound(), "the one under way may have been billed"
        assert table.ledger.block()["reserved_usd"] == 0
        await table.call(request(3), client, limits)

    play(scene)


def test_a_broken_client_is_a_crash_and_its_attempt_is_paid() -> None:
    async def scene() -> None:
        table = desk()
        with pytest.raises(ZeroDivisionError):
            await table.call(request(), Scripted(ZeroDivisionError()), ALL)
        assert table.ledger.spent == bound()

    play(scene)


def test_every_client_is_closed_once() -> None:
    async def scene() -> None:
        one, other, unused = Scripted(), Scripted(), Scripted()
        table = desk()
        await table.call(request(1), one, ALL)
        await table.call(request(2), one, ALL)
        await table.call(request(3), other, ALL)
        await table.close()
        await table.close()
        assert (one.closed, other.closed, unused.closed) == (1, 1, 0)

    play(scene)


def test_a_client_that_cannot_be_closed_does_not_keep_the_others_open() -> None:
    class Stuck(Scripted):
        async def close(self) -> None:
            raise OSError("stuck")

    async def scene() -> None:
        notes: list[str] = []
        stuck, other = Stuck(), Scripted()
        table = desk(note=notes.append)
        await table.call(request(1), stuck, ALL)
        await table.call(request(2), other, ALL)
        await table.close()
        assert other.closed == 1
        assert notes == ["a connection could not be closed: OSError: stuck"]

    play(scene)


def test_progress_counts_every_end() -> None:
    seen: list[Progress] = []

    async def scene() -> None:
        table = desk(progress=seen.append)
        table.expect(3)
        await table.call(request(1), Scripted(), ALL)
        with pytest.raises(CallFailed):
            await table.call(request(2), Scripted(failure("auth")), ALL)
        await table.call(request(3), Scripted(), ALL)
        await table.call(request(4), Scripted(), ALL)

    play(scene)
    assert [(each.done, each.planned) for each in seen] == [(1, 3), (2, 3), (3, 3), (4, 4)]
    assert seen[-1].spent_usd == 33 * MILL


def test_a_failures_message_is_the_last_attempts() -> None:
    failed, _ = one_failure(Scripted(failure("garbage"), failure("garbage", billed=True)))
    assert failed.kind == "garbage"
    assert failed.billed
    assert failed.spend.cost_usd == bound()


def test_all_desks_of_a_process_share_a_model_s_limits() -> None:
    """Stages of a run and jobs of a sweep have desks of their own, and one provider."""

    async def scene() -> None:
        client = Scripted(latency_s=0.01)
        desks = [desk(), desk()]
        calls = [
            table.call(request(number), client, Limits(concurrency=2))
            for table in desks
            for number in range(4)
        ]
        await asyncio.gather(*calls)
        assert client.peak == 2
        other = Scripted(latency_s=0.01)
        await asyncio.gather(
            *(desks[0].call(request(n, key_env="OTHER"), other, Limits(concurrency=2)) for n in range(2)),
            *(desks[1].call(request(n, model="openai:two"), other, Limits(concurrency=2)) for n in range(2)),
        )
        assert other.peak == 4, "another key, and another model"
        for table in desks:
            await table.close()

    asyncio.run(scene())


def test_what_a_provider_asked_of_one_desk_the_next_one_keeps() -> None:
    async def scene() -> None:
        first = desk()
        with pytest.raises(CallFailed):
            await first.call(request(1), Scripted(failure("rate_limited", retry_after_s=60)), ALL)
        await first.close()
        second, client = desk(), Scripted()
        with pytest.raises(CallFailed) as caught:
            await second.call(request(2), client, ALL)
        assert (caught.value.kind, client.sent) == ("rate_limited", [])
        await second.close()

    asyncio.run(scene())
