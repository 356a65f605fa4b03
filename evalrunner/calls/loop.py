"""One event loop for the life of the process, in a thread of its own.

Clients keep connections that belong to the loop they were opened on, so stages, jobs of a sweep and
notebooks, which run a loop of their own, all use this one.
"""

import asyncio
import atexit
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")

CLOSE_WITHIN_S = 5.0

ONE_PRESS_S = 0.5
"""Programs that start others pass on signals that these got already: a second one so soon is the first."""


class _Running:
    """A loop that runs in its thread."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self._run, name="evalrunner-loop", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def close(self) -> None:
        """Cancels what still runs and closes the loop; waits at most CLOSE_WITHIN_S for either."""
        if self.process != os.getpid():  # a fork: the thread is not in this process
            return
        closing = asyncio.run_coroutine_threadsafe(_drain(), self.loop)
        try:
            closing.result(CLOSE_WITHIN_S)
        except TimeoutError:
            return  # something does not let itself be cancelled; the thread ends with the process
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(CLOSE_WITHIN_S)
        if not self.thread.is_alive():
            self.loop.close()


_lock = Lock()
_running: _Running | None = None


def _current() -> _Running:
    global _running  # noqa: PLW0603 - one loop for the process
    with _lock:
        if _running is None or _running.process != os.getpid():
            _running = _Running()
        return _running


def run_async(coroutine: Coroutine[Any, Any, T], interrupt: Callable[[], None] | None = None) -> T:
    """Runs a coroutine on the process's loop and waits for its result. The caller's own loop may be running.

    ^C cancels the coroutine, waits until it has ended, and is raised again; one more does not wait.

    Args:
        coroutine: what to run.
        interrupt: called on the loop at the first ^C, instead: the coroutine may then end in its own way. A
            second one counts after ONE_PRESS_S.

    Raises:
        RuntimeError: called on that loop itself, where waiting would never end.
        BaseException: whatever the coroutine raises; of a group, which task groups raise, its first error.
    """
    running = _current()
    if _on(running.loop):
        coroutine.close()
        raise RuntimeError("run_async was called on the loop that would have to run it; await it instead")
    result: Future[T] = Future()
    tasks: list[asyncio.Task[None]] = []

    def ended(_: asyncio.Task[None]) -> None:
        if not result.done():  # cancelled before its first step
            coroutine.close()
            result.set_exception(asyncio.CancelledError())

    def begin() -> None:
        if not tasks:
            tasks.append(running.loop.create_task(_into(result, coroutine)))
            tasks[0].add_done_callback(ended)

    try:
        return _waited(result, running.loop, begin, interrupt)
    except BaseExceptionGroup as group:
        raise first_of(group) from group
    except KeyboardInterrupt:
        if result.done():
            raise
        running.loop.call_soon_threadsafe(begin)  # else a ^C that came before it would be waited for for ever
        running.loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        result.exception()
        raise


def _waited(
    result: "Future[T]",
    loop: asyncio.AbstractEventLoop,
    begin: Callable[[], None],
    interrupt: Callable[[], None] | None,
) -> T:
    """Begins and waits; the work may be under way before this thread is waiting, and ^C comes at any time."""
    try:
        loop.call_soon_threadsafe(begin)
        return result.result()
    except KeyboardInterrupt:
        if interrupt is None or result.done():
            raise
        loop.call_soon_threadsafe(begin)
        loop.call_soon_threadsafe(interrupt)
    asked_at = monotonic()
    while True:
        try:
            return result.result()
        except KeyboardInterrupt:
            if result.done() or monotonic() - asked_at > ONE_PRESS_S:
                raise


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error inside a group, however deep it lies."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def close_loop() -> None:
    """Ends the process's loop and whatever still runs on it. A later `run_async` starts a new one."""
    global _running
    with _lock:
        running, _running = _running, None
    if running is not None:
        running.close()


atexit.register(close_loop)


def _on(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


async def _into(result: "Future[T]", coroutine: Coroutine[Any, Any, T]) -> None:
    """Puts what becomes of the coroutine into the result; nothing it raises reaches the loop."""
    try:
        value = await coroutine
    except BaseException as error:
        result.set_exception(error)
    else:
        result.set_result(value)


async def _drain() -> None:
    loop = asyncio.get_running_loop()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
