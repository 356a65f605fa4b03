"""What the journal of an unfinished run is worth: replies are taken once, and all that was spent counts."""

import asyncio
import json
from decimal import Decimal
from pathlib import Path

import pytest
from scripted_client import MILL, Scripted, bound, desk, failure, hang, ledger, reply, request

from evalrunner.calls.desk import Desk
from evalrunner.calls.earlier import Earlier
from evalrunner.calls.journal import Journal
from evalrunner.calls.request import CallReply, Limits
from evalrunner.errors import InputError
from evalrunner.records import Usage

ALL = Limits(concurrency=8)


def first_part(path: Path) -> None:
    """One answered call, one that timed out before its reply, and one that was under way at the end."""

    async def scene() -> None:
        table = desk(journal=Journal(path))
        await table.call(request(1), Scripted(reply("one")), ALL)
        await table.call(request(2), Scripted(failure("timeout", billed=True), reply("two")), ALL)
        await table.close()
        journal = Journal(path)
        journal.sent(request(3), request(3).fingerprint(), 1, bound())
        journal.close()

    asyncio.run(scene())


def resumed(path: Path) -> tuple[Desk, Earlier]:
    earlier = Earlier(path)
    table = desk(journal=Journal(path), earlier=earlier)
    table.ledger.carry(earlier.spent_usd, estimated=earlier.estimated_usd, overrun=earlier.overrun_usd)
    return table, earlier


def test_replies_are_taken_and_the_rest_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    first_part(path)

    async def scene() -> None:
        table, earlier = resumed(path)
        assert (earlier.replies, earlier.dropped) == (2, 0)
        assert table.ledger.spent == earlier.spent_usd == 22 * MILL + 2 * bound()
        client = Scripted(reply("new"))
        got = [await table.call(request(number), client, ALL) for number in (1, 2, 3, 4)]
        assert [each.text for each in got] == ["one", "two", "new", "new"]
        twice = 11 * MILL + bound()
        assert [each.cost_usd for each in got] == [11 * MILL, twice, twice, 11 * MILL]
        assert [each.slot.chunk for each in client.sent] == [3, 4]
        assert got[2].attempts == 2
        spend = table.spend()
        assert (spend.usage.calls, spend.cost_usd) == (4, 44 * MILL + 2 * bound())
        assert spend.usage.estimated
        assert table.ledger.spent == spend.cost_usd
        assert table.ledger.block()["estimated_usd"] == 2 * bound()
        assert earlier.untaken().cost_usd == 0
        await table.close()
        earlier.close()

    asyncio.run(scene())


def test_a_run_that_was_taken_up_can_be_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    first_part(path)

    async def second() -> None:
        table, earlier = resumed(path)
        flying = asyncio.create_task(table.call(request(3), Scripted(hang), ALL))
        await asyncio.sleep(0.01)
        flying.cancel()
        await asyncio.gather(flying, return_exceptions=True)
        await table.close()
        earlier.close()

    async def third() -> None:
        table, earlier = resumed(path)
        assert earlier.spent_usd == 22 * MILL + 3 * bound()
        got = await table.call(request(3), Scripted(reply("at last")), ALL)
        assert (got.cost_usd, got.attempts) == (11 * MILL + 2 * bound(), 3)
        await table.close()
        earlier.close()

    asyncio.run(second())
    asyncio.run(third())


def test_a_reply_is_taken_once_and_repeats_are_asked(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    first_part(path)

    async def scene() -> None:
        table, earlier = resumed(path)
        client = Scripted(reply("new"))
        got = [await table.call(request(1), client, ALL) for _ in range(2)]
        assert [each.text for each in got] == ["one", "new"]
        await table.close()
        earlier.close()

    asyncio.run(scene())


def test_the_cap_counts_what_was_spent_before(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    first_part(path)
    earlier = Earlier(path)
    book = ledger(22 * MILL + 3 * bound() - MILL)
    book.carry(earlier.spent_usd, estimated=earlier.estimated_usd, overrun=earlier.overrun_usd)
    with pytest.raises(Exception, match="is left"):
        book.reserve("openai:one", bound())
    earlier.close()


def test_calls_that_are_not_made_again_still_cost(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    first_part(path)
    earlier = Earlier(path)
    earlier.take(request(2).fingerprint())
    left = earlier.untaken()
    assert (left.cost_usd, left.usage.calls, left.usage.input_tokens) == (11 * MILL + bound(), 1, 10)
    earlier.close()


def test_torn_lines_are_dropped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    first_part(path)
    whole = path.read_bytes()
    torn = whole.splitlines()[0][:-5]
    path.write_bytes(whole + b'\x00\x00\n[]\n{"v":1}\n{"v":1e99999999999999999999}\n' + torn)
    earlier = Earlier(path)
    assert (earlier.replies, earlier.dropped) == (2, 5)
    assert earlier.spent_usd == 22 * MILL + 2 * bound()
    earlier.close()


@pytest.mark.parametrize("key", ["usage", "text", "finish_reason", "answered_by", "dropped", "latency_s"])
@pytest.mark.parametrize("spoilt", ["gone", "other"])
def test_a_reply_that_lacks_a_part_is_dropped_and_its_attempt_counts_at_its_bound(
    tmp_path: Path, key: str, spoilt: str
) -> None:
    path = tmp_path / "calls.jsonl"
    first_part(path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    broken = next(line for line in lines if line.get("ok"))
    if spoilt == "gone":
        del broken[key]
    elif key in {"usage", "dropped", "latency_s"}:
        broken[key] = {"calls": "many"} if key == "usage" else None
    else:
        return  # any text will do
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    earlier = Earlier(path)
    assert (earlier.replies, earlier.dropped) == (1, 1)
    assert earlier.spent_usd == 11 * MILL + 3 * bound()
    assert earlier.take(broken["fingerprint"]).reply is None  # type: ignore[union-attr]
    earlier.untaken()
    earlier.close()


@pytest.mark.parametrize("amount", ["f", "NaN", "-1", -1, [1]])
@pytest.mark.parametrize("key", ["bound_usd", "cost_usd"])
def test_what_is_no_amount_drops_its_line(tmp_path: Path, key: str, amount: object) -> None:
    path = tmp_path / "calls.jsonl"
    first_part(path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    next(line for line in lines if key in line)[key] = amount
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    earlier = Earlier(path)
    assert earlier.dropped == 1
    assert earlier.spent_usd is not None
    assert earlier.spent_usd >= 22 * MILL
    earlier.untaken()
    earlier.close()


def is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("size", range(0, 1200, 37))
def test_cut_anywhere_a_journal_never_costs_less_than_was_sent(tmp_path: Path, size: int) -> None:
    """Every attempt whose line is whole counts: at its bill, or at its bound where that is not known."""
    path = tmp_path / "calls.jsonl"
    first_part(path)
    data = path.read_bytes()[:size]
    path.write_bytes(data)
    last = data.rsplit(b"\n", 1)[-1]
    whole = not last or is_json(last)
    sent = data.count(b'"sent":') - (not whole and b'"sent":' in last)
    earlier = Earlier(path)
    assert earlier.spent_usd is not None
    assert sent * 11 * MILL <= earlier.spent_usd <= sent * bound()
    assert earlier.dropped == (not whole)
    earlier.close()


def test_a_bill_over_its_bound_stays_an_overrun(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"

    async def scene() -> CallReply:
        table = desk(journal=Journal(path))
        much = Usage(calls=1, input_tokens=10**6, output_tokens=1)
        got = await table.call(request(), Scripted(reply(usage=much)), ALL)
        await table.close()
        return got

    got = asyncio.run(scene())
    earlier = Earlier(path)
    assert got.cost_usd is not None
    assert earlier.overrun_usd == got.cost_usd - bound() > Decimal(0)
    earlier.close()


def test_a_newer_journal_is_refused_and_none_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    assert Earlier(path).replies == 0
    path.write_bytes(b'{"v":2,"sent":1,"fingerprint":"f","bound_usd":0}\n')
    with pytest.raises(InputError, match="a newer evalrunner wrote it"):
        Earlier(path)
