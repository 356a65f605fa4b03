"""The journal: every attempt is on disk before it is sent, and every reply before it is used."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from scripted_client import MILL, Scripted, bound, desk, failure, hang, ledger, reply, request

from evalrunner.calls.journal import Journal
from evalrunner.calls.request import CallFailed, Limits
from evalrunner.errors import EXIT_CRASH
from evalrunner.records import Usage

ALL = Limits(concurrency=8)


def lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    assert data.endswith(b"\n")
    return [json.loads(line, parse_float=Decimal) for line in data.decode("utf-8").split("\n")[:-1]]


def ended(path: Path) -> list[dict[str, Any]]:
    """The lines of attempts that have ended."""
    return [each for each in lines(path) if "ok" in each]


def test_a_reply_is_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "run" / "calls.jsonl"
    answer = reply(
        "größer 🦉", answered_by="one-2026", raw='{"id":"x","deep":[1,null],"x":"\\ud800"}', dropped=("seed",)
    )

    async def scene() -> None:
        table = desk(journal=Journal(path))
        assert not path.exists(), "the file is made with its first line"
        got = await table.call(request(7), Scripted(failure("overloaded"), answer), ALL)
        sent, failed, again, line = lines(path)
        assert sent == {
            "v": 1,
            "sent": 1,
            "fingerprint": request(7).fingerprint(),
            "model": "openai:one",
            "bound_usd": bound(),
        }
        assert again == sent | {"sent": 2}
        assert (failed["ok"], failed["failure"], failed["cost_usd"]) == (False, "overloaded", 0)
        assert line.pop("at").endswith("Z")
        assert line.pop("latency_s") == pytest.approx(Decimal(repr(got.latency_s)), abs=Decimal("0.00001"))
        assert line == {
            "v": 1,
            "fingerprint": request(7).fingerprint(),
            "slot": {"purpose": "judge", "item": "", "run": 1, "cycle": 1, "chunk": 7, "ask": 0},
            "model": "openai:one",
            "ok": True,
            "attempts": 2,
            "text": "größer 🦉",
            "finish_reason": "stop",
            "answered_by": "one-2026",
            "dropped": ["seed"],
            "usage": {
                "calls": 1,
                "input_tokens": 10,
                "output_tokens": 1,
                "cached_tokens": 0,
                "reasoning_tokens": 0,
                "estimated": False,
            },
            "raw": {"id": "x", "deep": [1, None], "x": "\ud800"},
            "cost_usd": Decimal("0.011"),
        }
        await table.close()

    asyncio.run(scene())


def test_every_attempt_is_kept_with_what_it_may_have_cost(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"

    async def scene() -> None:
        table = desk(journal=Journal(path))
        steps = [failure("rate_limited"), failure("timeout", billed=True), failure("connection", billed=True)]
        await table.call(request(1), Scripted(*steps, reply()), ALL)
        for kind in ("auth", "bad_request"):
            with pytest.raises(CallFailed):
                await table.call(request(2), Scripted(failure(kind)), ALL)
        flying = asyncio.create_task(table.call(request(3), Scripted(hang), ALL))
        await asyncio.sleep(0.01)
        flying.cancel()
        await asyncio.gather(flying, return_exceptions=True)
        await table.close()
        kept = ended(path)
        assert [(each["ok"], each.get("failure"), each["attempts"], each["cost_usd"]) for each in kept] == [
            (False, "rate_limited", 1, 0),
            (False, "timeout", 2, bound()),
            (False, "connection", 3, bound()),
            (True, None, 4, 11 * MILL),
            (False, "auth", 1, 0),
            (False, "bad_request", 1, 0),
            (False, "cancelled", 1, bound()),
        ]
        assert [each["sent"] for each in lines(path) if "sent" in each] == [1, 2, 3, 4, 1, 1, 1]
        assert kept[1]["error"] == "it said timeout"
        assert sum(each["cost_usd"] for each in kept) == table.ledger.spent == 3 * bound() + 11 * MILL

    asyncio.run(scene())


def test_a_call_that_the_cap_refuses_leaves_no_line(tmp_path: Path) -> None:
    async def scene() -> None:
        table = desk(ledger(Decimal(0)), journal=Journal(tmp_path / "calls.jsonl"))
        with pytest.raises(CallFailed):
            await table.call(request(), Scripted(), ALL)
        await table.close()
        assert list(tmp_path.iterdir()) == []

    asyncio.run(scene())


def write(path: Path, **more: Any) -> None:
    journal = Journal(path)
    journal.replied(request(), "f", reply(**more), None)
    journal.close()


def test_lone_surrogates_are_escaped_and_every_line_stays_one_line(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    write(path, text="a\ud800b\nc\u2028d\x00e", answered_by="\ud83d")
    assert path.read_bytes().count(b"\n") == 1
    (line,) = lines(path)
    assert line["text"] == "a\ud800b\nc\u2028d\x00e"
    assert line["answered_by"] == "\ud83d"
    assert (line["raw"], line["cost_usd"]) == (None, None)


def test_a_later_journal_appends_and_begins_a_line_of_its_own_after_a_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    write(path)
    write(path)
    assert len(lines(path)) == 2
    path.write_bytes(path.read_bytes() + b'{"v":1,"tex')
    write(path)
    first, second, torn, last = path.read_text(encoding="utf-8").splitlines()
    assert torn == '{"v":1,"tex'
    assert json.loads(last)["text"] == json.loads(first)["text"] == json.loads(second)["text"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")

    async def scene() -> None:
        table, client = desk(journal=Journal(blocked / "calls.jsonl")), Scripted()
        with pytest.raises(CallFailed) as caught:
            await table.call(request(), client, ALL)
        assert caught.value.kind == "interrupted"
        because = table.halt.because
        assert because is not None
        assert str(blocked) in str(because)
        assert "the journal of calls cannot be written" in str(because)
        assert because.exit_code == EXIT_CRASH
        assert (table.ledger.spent, client.sent) == (0, []), "it was not even sent"
        await table.close()

    asyncio.run(scene())


FULL = """
import resource, sys
sys.dont_write_bytecode = True  # half a module would stay behind
from pathlib import Path
from evalrunner.calls.journal import Journal
from evalrunner.errors import EvalrunnerError
from scripted_client import reply, request
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
journal = Journal(Path(sys.argv[1]))
try:
    while True:
        journal.replied(request(), "f", reply(), None)
except EvalrunnerError as error:
    print(error)
journal.close()
"""


def child(program: str, path: Path) -> subprocess.Popen[str]:
    here = Path(__file__).parent
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parent.parent)])}
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True, env=environ
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_is_named_and_whole_lines_stay(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with child(FULL, path) as process:
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.startswith(f"{path}: the journal of calls cannot be written: ")
    whole = path.read_bytes().split(b"\n")[:-1]
    assert whole
    assert all(json.loads(line)["text"] == "fine" for line in whole)


KILLED = """
import asyncio, sys
from pathlib import Path
from evalrunner.calls.journal import Journal
from evalrunner.calls.request import Limits
from scripted_client import Scripted, desk, request

async def main():
    table = desk(journal=Journal(Path(sys.argv[1])))
    client = Scripted(latency_s=0.0005)

    async def one(number):
        await table.call(request(number), client, Limits(concurrency=8))
        print(number, flush=True)  # its reply is used

    for start in range(0, 10**6, 50):
        await asyncio.gather(*(one(number) for number in range(start, start + 50)))

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_process_loses_no_reply_that_was_used(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with child(KILLED, path) as process:
        assert process.stdout is not None
        used = [int(process.stdout.readline()) for _ in range(173)]
        process.send_signal(signal.SIGKILL)
        used += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    assert process.returncode == -signal.SIGKILL
    whole = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    kept = [line["slot"]["chunk"] for line in whole if "ok" in line]
    assert set(used) <= set(kept)
    assert len(set(kept)) == len(kept)


def test_unreported_usage_is_kept_as_counted(tmp_path: Path) -> None:
    async def scene() -> None:
        table = desk(journal=Journal(tmp_path / "calls.jsonl"))
        await table.call(request(), Scripted(reply(usage=Usage(calls=1, estimated=True))), ALL)
        await table.close()
        (line,) = ended(tmp_path / "calls.jsonl")
        assert line["usage"]["estimated"] is True
        assert line["cost_usd"] == bound()

    asyncio.run(scene())
