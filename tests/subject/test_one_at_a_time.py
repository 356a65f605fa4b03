"""The lock that keeps runs apart: within a process, across processes, and after a kill."""

import asyncio
import subprocess
import sys
import time

import pytest
from own_scratch import own_scratch  # noqa: F401 - an autouse fixture

from evalrunner.git.scratch import shelf
from evalrunner.subject.one_at_a_time import one_at_a_time

HOLD = """
import asyncio, sys
from evalrunner.subject.one_at_a_time import one_at_a_time

async def main():
    async with one_at_a_time("http://gateway", "KEY", print):
        print("held", flush=True)
        sys.stdin.read()

asyncio.run(main())
"""


def held():
    """A process that holds the lock until its stdin closes."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def finish(process):
    process.communicate(timeout=20)


async def taken(endpoint="http://gateway", variable="KEY", notes=None):
    async with one_at_a_time(endpoint, variable, (notes if notes is not None else []).append):
        return time.monotonic()


def test_tasks_of_one_process_follow_one_another():
    inside, most = 0, 0

    async def one():
        nonlocal inside, most
        async with one_at_a_time("e", "K", lambda _: None):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1

    async def main():
        await asyncio.gather(*(one() for _ in range(5)))

    asyncio.run(main())
    assert most == 1


def test_another_process_is_waited_for_and_that_is_said():
    process = held()
    notes = []

    async def main():
        waiting = asyncio.create_task(taken(notes=notes))
        while not notes:
            await asyncio.sleep(0.01)
        assert not waiting.done()
        await asyncio.to_thread(finish, process)
        await waiting

    asyncio.run(main())
    assert set(notes) == {"waiting for another run that asks http://gateway: runs there never overlap"}


def test_other_endpoints_and_other_keys_do_not_wait():
    process = held()
    try:
        asyncio.run(taken("http://other"))
        asyncio.run(taken(variable="OTHER_KEY"))
    finally:
        finish(process)


def test_a_killed_process_holds_nothing():
    process = held()
    process.kill()
    finish(process)
    asyncio.run(taken())


def test_who_gives_up_waiting_leaves_the_lock_alone():
    process = held()

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await taken()

    asyncio.run(main())
    finish(process)
    asyncio.run(taken())


def test_nothing_is_left():
    asyncio.run(taken())
    assert list(shelf().glob("gateway-*")) == []
