"""Stopping early: what waits is broken off at once, what is under way ends or is broken off later."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest
from scripted_client import Scripted, bound, desk, failure, hang, reply, request

from evalrunner.calls import halt as halting
from evalrunner.calls.halt import Halt, Halted
from evalrunner.calls.journal import Journal
from evalrunner.calls.request import CallFailed, Limits

ONE = Limits(concurrency=1)


def test_what_waits_is_broken_off_and_what_is_under_way_ends() -> None:
    async def scene() -> None:
        halt = Halt()
        table = desk(halt=halt)
        client = Scripted(latency_s=0.05)
        calls = [asyncio.create_task(table.call(request(n), client, ONE)) for n in range(3)]
        await asyncio.sleep(0.01)
        halt.ask()
        first, second, third = await asyncio.gather(*calls, return_exceptions=True)
        assert not isinstance(first, BaseException)
        assert first.text == "fine"
        for refused in (second, third):
            assert isinstance(refused, CallFailed)
            assert (refused.kind, refused.spend.cost_usd) == ("interrupted", 0)
        assert len(client.sent) == 1
        with pytest.raises(CallFailed, match="interrupted"):
            await table.call(request(9), client, ONE)
        await table.close()

    asyncio.run(scene())


def test_a_call_that_does_not_end_is_broken_off_later_and_counts_as_billed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halting, "GRACE_S", 0.02)

    async def scene() -> None:
        halt = Halt()
        table = desk(halt=halt, journal=Journal(tmp_path / "calls.jsonl"))
        call = asyncio.create_task(table.call(request(), Scripted(hang), ONE))
        await asyncio.sleep(0.01)
        halt.ask()
        (ended,) = await asyncio.gather(call, return_exceptions=True)
        assert isinstance(ended, CallFailed)
        assert (ended.kind, ended.spend.cost_usd) == ("interrupted", bound())
        assert table.ledger.spent == bound()
        await table.close()

    asyncio.run(scene())


def test_nobody_waits_for_another_attempt() -> None:
    async def scene() -> None:
        halt = Halt()
        table = desk(halt=halt)

        async def asked_meanwhile(_: object) -> None:
            halt.ask()
            raise failure("overloaded")

        client = Scripted(asked_meanwhile, reply())
        with pytest.raises(CallFailed, match="interrupted"):
            await table.call(request(), client, ONE)
        assert len(client.sent) == 1
        assert table.ledger.spent == Decimal(0)
        await table.close()

    asyncio.run(scene())


def test_a_cancellation_that_nobody_asked_for_stays_one() -> None:
    async def scene() -> None:
        halt = Halt()

        async def work() -> None:
            with halt.work(grace=True):
                await asyncio.sleep(60)

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scene())


def test_pieces_of_work_inside_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inner piece is broken off; the outer one goes on, and may end within its time."""
    monkeypatch.setattr(halting, "GRACE_S", 60.0)

    async def scene() -> None:
        said: list[str] = []
        halt = Halt(lambda: said.append("told"))

        async def work() -> str:
            with halt.work(grace=True):
                try:
                    with halt.work(grace=False):
                        await asyncio.sleep(60)
                except Halted:
                    await asyncio.sleep(0.01)
                    return "put away"
            return "never"

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        halt.ask()
        halt.ask()
        assert await task == "put away"
        assert said == ["told"]
        assert task.cancelling() == 0

    asyncio.run(scene())
