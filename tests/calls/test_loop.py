"""One event loop for the process, in a thread of its own."""

import asyncio
import os
import signal
import subprocess
import sys
from threading import current_thread
from typing import NoReturn

import pytest

from evalrunner.calls.loop import close_loop, run_async


@pytest.fixture(autouse=True)
def _closed() -> None:
    close_loop()


async def where() -> tuple[int, str]:
    await asyncio.sleep(0)
    return id(asyncio.get_running_loop()), current_thread().name


def test_all_coroutines_run_on_the_same_loop() -> None:
    assert run_async(where()) == run_async(where())
    assert run_async(where())[1] == "evalrunner-loop"


def test_it_works_where_a_loop_is_already_running() -> None:
    async def cell() -> tuple[int, str]:
        return run_async(where())

    assert asyncio.run(cell()) == run_async(where())


def test_what_a_coroutine_raises_arrives() -> None:
    async def fails() -> NoReturn:
        await asyncio.sleep(0)
        raise KeyError("x")

    async def leaves() -> NoReturn:
        raise SystemExit(7)

    with pytest.raises(KeyError):
        run_async(fails())
    with pytest.raises(SystemExit):
        run_async(leaves())
    assert run_async(where())[1] == "evalrunner-loop", "the loop goes on"


def test_calling_it_on_its_own_loop_is_refused() -> None:
    async def inner() -> None:
        run_async(where())

    with pytest.raises(RuntimeError, match="await it instead"):
        run_async(inner())


def test_closing_cancels_what_still_runs_and_a_later_call_starts_anew() -> None:
    ended: list[str] = []

    async def lingers() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("task")

    async def stream() -> object:
        try:
            yield 1
        finally:
            ended.append("generator")

    kept: list[object] = []

    async def leaves_things_behind() -> None:
        kept.append(asyncio.create_task(lingers()))
        generator = stream()
        kept.append(generator)
        await anext(generator)  # type: ignore[call-overload]

    run_async(leaves_things_behind())
    close_loop()
    close_loop()
    assert sorted(ended) == ["generator", "task"]
    assert run_async(where())[1] == "evalrunner-loop"


INTERRUPTED = """
import asyncio, warnings
warnings.simplefilter("error")
from evalrunner.calls.loop import run_async

async def main():
    try:
        print("running", flush=True)
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0.01)
        print("cleaned up", flush=True)

try:
    run_async(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_an_interrupt_cancels_the_coroutine_and_waits_for_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=60)
    assert said == "cleaned up\ninterrupted\n"
    assert complaints == ""
    assert process.returncode == 0


EARLY = """
import asyncio, sys
from evalrunner.calls import loop


asked = []

async def main():
    print("running", flush=True)
    try:
        while not asked:
            await asyncio.sleep(0.01)
    finally:
        await asyncio.sleep(0.01)
        print("cleaned up", flush=True)
    return "ended"

class Scheduling:
    def __init__(self, inner, when):
        self.inner, self.when = inner, when
    def __getattr__(self, name):
        return getattr(self.inner, name)
    def call_soon_threadsafe(self, *what):
        when, self.when = self.when, None
        if when == "before":
            raise KeyboardInterrupt
        self.inner.call_soon_threadsafe(*what)
        if when == "after":
            raise KeyboardInterrupt

running = loop._current()
running.loop = Scheduling(running.loop, sys.argv[1])
interrupt = (lambda: asked.append(1)) if sys.argv[2] == "asks" else None
try:
    print(loop.run_async(main(), interrupt), flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", ["asks", "cancels"])
def test_an_interrupt_around_the_beginning_is_one_like_any_other(when: str, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY, when, how], capture_output=True, text=True, timeout=60, check=False
    )
    said = done.stdout.splitlines()
    if how == "asks":
        assert said == ["running", "cleaned up", "ended"], done.stderr
    else:
        assert said[-1] == "interrupted", done.stderr
        assert "running" not in said or said.index("cleaned up") == len(said) - 2


LEFT_OPEN = """
import asyncio
from evalrunner.calls.loop import run_async

async def main():
    global kept
    kept = asyncio.create_task(asyncio.sleep(60))

run_async(main())
print("done")
"""


def test_a_process_ends_at_once_and_without_complaint_with_tasks_left() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", LEFT_OPEN],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


def test_a_group_of_errors_is_raised_as_its_first_one() -> None:
    async def fails() -> None:
        raise OSError("disk full")

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())
            group.create_task(asyncio.sleep(60))

    with pytest.raises(OSError, match="disk full"):
        run_async(both())
