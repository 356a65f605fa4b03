"""The desk under a cap: nothing is sent that the cap does not cover, at any concurrency."""

import asyncio
from decimal import Decimal
from random import Random

import pytest
from scripted_client import MILL, QUICK, Scripted, bound, desk, failure, ledger, reply, request

from evalrunner.calls.request import CallFailed, CallReply, CallRequest, Limits
from evalrunner.records import Usage

ALL = Limits(concurrency=8)


def test_a_call_that_the_cap_does_not_cover_is_not_sent() -> None:
    async def scene() -> None:
        client = Scripted()
        table = desk(ledger(bound() - MILL))
        with pytest.raises(
            CallFailed, match="the budget does not allow the call: openai:one may cost"
        ) as caught:
            await table.call(request(), client, ALL)
        assert caught.value.kind == "budget"
        assert client.sent == []
        assert table.ledger.block()["refused_calls"] == 1

    asyncio.run(scene())


def test_side_by_side_a_cap_allows_what_it_allows_one_after_another() -> None:
    async def scene() -> None:
        client = Scripted(latency_s=0.002)
        table = desk(ledger(bound() + 8 * 11 * MILL))
        replies = await asyncio.gather(*(table.call(request(number), client, ALL) for number in range(8)))
        assert len(replies) == 8
        assert table.ledger.spent == 88 * MILL
        assert table.ledger.block()["refused_calls"] == 0

    asyncio.run(scene())


def test_every_attempt_is_reserved_and_a_retry_beyond_the_cap_is_refused() -> None:
    async def scene() -> None:
        client = Scripted(failure("timeout", billed=True), reply())
        table = desk(ledger(2 * bound() - MILL))
        with pytest.raises(CallFailed, match="after it said timeout") as caught:
            await table.call(request(), client, ALL)
        assert caught.value.kind == "budget"
        assert caught.value.spend.cost_usd == bound()
        assert len(client.sent) == 1

    asyncio.run(scene())


def test_attempts_that_were_not_billed_cost_the_cap_nothing() -> None:
    async def scene() -> None:
        client = Scripted(*[failure("rate_limited")] * 3, *[failure("overloaded")] * 3, reply())
        table = desk(ledger(bound()))
        assert (await table.call(request(), client, ALL)).cost_usd == 11 * MILL

    asyncio.run(scene())


@pytest.mark.parametrize("seed", range(25))
def test_a_provider_that_bills_up_to_the_bound_never_gets_more_than_the_cap(seed: int) -> None:
    """Random caps, concurrency, failures and bills: what the provider bills stays within the cap."""
    random = Random(seed)
    most = bound()
    billed = Decimal(0)

    async def answer(_: CallRequest) -> CallReply:
        nonlocal billed
        await asyncio.sleep(random.random() * 0.003)
        end = random.random()
        tokens = random.randint(1, int(most / MILL))
        if end < 0.15:
            raise failure(random.choice(["rate_limited", "overloaded"]))
        billed += tokens * MILL
        if end < 0.3:
            raise failure(random.choice(["timeout", "connection", "garbage"]), billed=True)
        if end < 0.4:
            return reply(usage=Usage(calls=1, estimated=True))
        return reply(usage=Usage(calls=1, input_tokens=tokens, output_tokens=0))

    async def scene() -> None:
        cap = most * random.randint(0, 30) / 2
        unit = random.choice(["call", "run"])
        table = desk(ledger(cap, unit=unit), retry=QUICK)
        client = Scripted(answer)
        limits = Limits(concurrency=random.randint(1, 8))
        book = table.ledger

        async def run(number: int) -> None:
            async with book.run(2 * most):
                for ask in range(2):
                    await table.call(request(2 * number + ask), client, limits)

        calls = [table.call(request(number), client, limits) for number in range(10)]
        runs = [run(number) for number in range(10, 15)]
        ends = await asyncio.gather(*calls, *runs, return_exceptions=True)
        assert not [end for end in ends if isinstance(end, AssertionError)]
        assert book.spent is not None
        assert billed <= book.spent <= cap
        assert table.spend().cost_usd == book.spent
        assert book.block()["reserved_usd"] == 0
        assert book.block()["overrun"] == 0

    asyncio.run(scene())
