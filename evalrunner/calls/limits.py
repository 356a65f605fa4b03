"""What may be in flight to one model at a time: concurrency, requests and tokens a minute, pauses."""

import asyncio
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING

from evalrunner.calls.request import CallFailed, Limits

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter

MINUTE_S = 60.0


class Gate:
    """Lets calls of one model through, first come first served.

    A provider that answers 429 closes the gate for as long as it asks for, and halves the number of calls let
    through at a time; successes raise it again, by one for as many successes as are let through at a time.
    Rates are buckets of a minute's worth that refill evenly.
    """

    def __init__(self, limits: Limits) -> None:
        self._most = limits.concurrency
        self._allowed = float(limits.concurrency)
        self._inside = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._closed_until = 0.0
        self._opens: asyncio.TimerHandle | None = None
        self._cut_at = 0.0
        self._refuses_until = 0.0
        self._refusal = ""
        self._requests = _bucket(limits.requests_per_minute)
        self._tokens = _bucket(limits.tokens_per_minute)
        self.counts_tokens = self._tokens is not None

    @property
    def allowed(self) -> int:
        """How many calls are let through at a time now."""
        return int(self._allowed)

    async def enter(self, tokens: int) -> None:
        """Waits until one more call may be sent; `leave` must follow.

        Args:
            tokens: what the call will count as, where tokens a minute are limited. More than a minute's worth
                waits for a full minute's.

        Raises:
            CallFailed: the provider asked for a wait that is too long for anyone; see `refuse`.
        """
        await self._place()
        try:
            if self._requests is not None:
                await self._requests.acquire()
            if self._tokens is not None:
                await self._tokens.acquire(min(tokens, self._tokens.max_rate))
            while (wait := self._closed_until - monotonic()) > 0:
                await asyncio.sleep(wait)
            if (left := self._refuses_until - monotonic()) > 0:
                raise CallFailed("rate_limited", self._refusal, retry_after_s=left)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """The call that entered is over."""
        self._inside -= 1
        self._let_in()

    def succeeded(self) -> None:
        """A call was answered."""
        if self._allowed < self._most:
            self._allowed = min(float(self._most), self._allowed + 1 / self._allowed)

    def throttled(self, sent_at: float, wait_s: float) -> None:
        """The provider answered 429.

        Args:
            sent_at: when the call was sent (monotonic seconds). Calls sent before the last cut do not cut
                again: one burst is one reason.
            wait_s: nothing is let through for so long.
        """
        now = monotonic()
        if sent_at >= self._cut_at:
            self._cut_at = now
            self._allowed = max(1.0, self._allowed / 2)
        if now + wait_s > self._closed_until:
            self._closed_until = now + wait_s
            if self._opens is not None:
                self._opens.cancel()
            self._opens = asyncio.get_running_loop().call_later(wait_s, self._open)

    def refuse(self, message: str, wait_s: float) -> None:
        """Nobody is let through for so long, and nobody waits for it: `enter` fails with the message."""
        self._refusal = message
        self._refuses_until = monotonic() + wait_s

    async def _place(self) -> None:
        if not self._queue and self._free():
            self._inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # let in and cancelled at once: the place goes to the next
                self.leave()
            raise

    def _free(self) -> bool:
        return self._inside < int(self._allowed) and self._closed_until <= monotonic()

    def _let_in(self) -> None:
        while self._queue and self._free():
            turn = self._queue.popleft()
            if not turn.done():
                self._inside += 1
                turn.set_result(None)

    def _open(self) -> None:
        self._closed_until = 0.0
        self._opens = None
        self._let_in()


def _bucket(per_minute: int | None) -> "AsyncLimiter | None":
    if per_minute is None:
        return None
    from aiolimiter import AsyncLimiter

    return AsyncLimiter(per_minute, MINUTE_S)
