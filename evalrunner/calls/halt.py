"""Stopping early: what only waits is broken off at once, what is under way gets a while to end."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evalrunner.errors import EvalrunnerError

GRACE_S = 20.0
"""How long calls and programs under way may take to end, once the user asked to stop."""

_AGAIN_S = 1.0


class Halted(Exception):  # noqa: N818 - it is an outcome of a piece of work, not a programming error
    """The user asked to stop, and this piece of work was broken off, or not begun."""


@dataclass(eq=False)
class _Work:
    """A piece of work that may be broken off."""

    has_grace: bool
    broken_off: bool = False


class Halt:
    """Whether it was asked to stop, and the work that this concerns. Used on one event loop.

    Attributes:
        asked: whether it was asked for; it is never taken back.
        because: what failed, so that nothing more can be done; None when it was the user who asked.

    Args:
        told: called once, when it is asked for.
    """

    def __init__(self, told: Callable[[], None] | None = None) -> None:
        self.asked = False
        self.because: EvalrunnerError | None = None
        self._told = told
        self._open: dict[asyncio.Task[object], list[_Work]] = {}

    def ask(self, because: EvalrunnerError | None = None) -> None:
        """Asks to stop: breaks off what waits now, and GRACE_S later what is still under way."""
        if self.asked:
            return
        self.asked, self.because = True, because
        if self._told is not None:
            self._told()
        self._break_off(with_grace=False)
        if self._open:
            asyncio.get_running_loop().call_later(GRACE_S, self._end)

    @contextmanager
    def work(self, *, grace: bool) -> Iterator[None]:
        """What the current task does inside may be broken off; pieces of work may lie inside one another.

        Args:
            grace: whether it gets a while to end; else it is broken off at once.

        Raises:
            Halted: it was broken off, or it was asked to stop before.
        """
        if self.asked:
            raise Halted
        task = asyncio.current_task()
        assert task is not None
        work = _Work(grace)
        pieces = self._open.setdefault(task, [])
        pieces.append(work)
        try:
            yield
        except asyncio.CancelledError:
            if not work.broken_off:
                raise
            task.uncancel()
            raise Halted from None
        finally:
            pieces.remove(work)
            if not pieces:
                self._open.pop(task, None)

    def _break_off(self, *, with_grace: bool) -> None:
        for task, pieces in list(self._open.items()):
            innermost = pieces[-1]
            if (with_grace or not innermost.has_grace) and not innermost.broken_off:
                innermost.broken_off = True
                task.cancel()

    def _end(self) -> None:
        self._break_off(with_grace=True)
        if self._open:
            asyncio.get_running_loop().call_later(_AGAIN_S, self._end)
