"""The cache: a reply is paid for once, repeats are still asked, and the price of what was reused is told."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from scripted_client import MILL, Scripted, desk, failure, reply, request

from evalrunner.calls.cache import Cache, entries, remove
from evalrunner.calls.earlier import Earlier
from evalrunner.calls.journal import Journal
from evalrunner.calls.request import CallFailed, CallReply, CallRequest, Limits, Message, Slot
from evalrunner.errors import EvalrunnerError
from evalrunner.records import Usage

ALL = Limits(concurrency=8)


def ask(
    cache: Cache, *requests: CallRequest, client: Scripted, journal: Path | None = None
) -> list[CallReply]:
    async def scene() -> list[CallReply]:
        table = desk(cache=cache, journal=None if journal is None else Journal(journal))
        got = [await table.call(each, client, ALL) for each in requests]
        spend = table.spend()
        assert spend.usage.calls == len(client.sent)
        assert spend.cost_usd == table.ledger.spent == 11 * MILL * len(client.sent)
        await table.close()
        return got

    return asyncio.run(scene())


def test_a_reply_is_paid_for_once(tmp_path: Path) -> None:
    first = Scripted(reply("größer \ud800 🦉", answered_by="one-2026", dropped=("seed",)))
    (paid,) = ask(Cache(tmp_path), request(1), client=first)
    again, cache = Scripted(), Cache(tmp_path)
    (reused,) = ask(cache, request(1), client=again)
    assert again.sent == []
    assert (reused.text, reused.answered_by, reused.dropped) == (paid.text, "one-2026", ("seed",))
    assert (reused.cost_usd, reused.usage, reused.is_reused) == (0, Usage(), True)
    assert (cache.reused, cache.saved_usd) == (1, 11 * MILL)


@pytest.mark.parametrize(
    "other",
    [
        {"slot": Slot("judge", chunk=1, cycle=2)},
        {"slot": Slot("judge", chunk=1, run=2)},
        {"slot": Slot("judge", chunk=1, ask=1)},
        {"slot": Slot("judge", chunk=2)},
        {"slot": Slot("review", chunk=1)},
        {"model": "openai:two"},
        {"route": "openai/two"},
        {"api_base": "http://127.0.0.1:1/v1"},
        {"messages": (Message("user", "say it "),)},
        {"messages": (Message("system", "say it"),)},
        {"params": {"temperature": 0}},
        {"max_tokens": 101},
        {"schema": {"type": "object"}},
    ],
)
def test_whatever_changes_the_reply_asks_anew(tmp_path: Path, other: dict[str, object]) -> None:
    ask(Cache(tmp_path), request(1), client=Scripted())
    cache = Cache(tmp_path)
    asked = replace(request(1), **other)

    async def scene() -> int:
        table = desk(cache=cache)
        client = Scripted()
        await table.call(asked, client, ALL)
        await table.close()
        return len(client.sent)

    assert asyncio.run(scene()) == 1
    assert cache.reused == 0


def test_what_does_not_change_the_reply_asks_nobody(tmp_path: Path) -> None:
    ask(Cache(tmp_path), request(1), client=Scripted())
    cache = Cache(tmp_path)
    ask(cache, replace(request(1), timeout_s=1.0, key_env="ANOTHER"), client=Scripted())
    assert cache.reused == 1


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    async def scene() -> None:
        table = desk(cache=Cache(tmp_path))
        with pytest.raises(CallFailed):
            await table.call(request(1), Scripted(failure("auth")), ALL)
        await table.close()

    asyncio.run(scene())
    assert list(entries(tmp_path)) == []


def test_the_price_of_all_attempts_is_that_of_the_answered_one(tmp_path: Path) -> None:
    async def scene() -> None:
        table = desk(cache=Cache(tmp_path))
        await table.call(request(1), Scripted(failure("timeout", billed=True), reply()), ALL)
        await table.close()

    asyncio.run(scene())
    assert [each.reply.cost_usd for each in entries(tmp_path)] == [11 * MILL]


def test_a_price_that_is_not_known_stays_unknown(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(request(1), request(1).fingerprint(), reply())
    assert cache.get(request(1).fingerprint()) is not None
    assert (cache.reused, cache.saved_usd) == (1, None)


def test_a_resumed_run_counts_what_its_first_part_reused(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    ask(Cache(tmp_path / "c"), request(1), client=Scripted())
    ask(Cache(tmp_path / "c"), request(1), client=Scripted(), journal=journal)
    earlier, cache = Earlier(journal), Cache(tmp_path / "c")
    assert earlier.spent_usd == 0

    async def scene() -> None:
        table = desk(cache=cache, earlier=earlier)
        got = await table.call(request(1), Scripted(), ALL)
        assert (got.cost_usd, table.spend().usage.calls) == (Decimal(0), 0)
        await table.close()

    asyncio.run(scene())
    earlier.close()
    assert (cache.reused, cache.saved_usd) == (1, 11 * MILL)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"v":2}', b'{"v":1}', b"\xff", b'{"v":1,"cost_usd":"x"}']
)
def test_a_file_that_is_no_reply_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    ask(Cache(tmp_path), request(1), client=Scripted())
    (entry,) = entries(tmp_path)
    entry.path.write_bytes(content)
    assert list(entries(tmp_path)) == []
    client = Scripted()
    ask(Cache(tmp_path), request(1), client=client)
    assert len(client.sent) == 1
    assert len(list(entries(tmp_path))) == 1, "and it is replaced"


def test_removing(tmp_path: Path) -> None:
    ask(Cache(tmp_path), request(1), request(2), client=Scripted())
    for entry in list(entries(tmp_path)):
        remove(entry)
        remove(entry)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.raises(EvalrunnerError, match="the cache cannot be written"):
        Cache(blocked).put(request(), request().fingerprint(), reply())
