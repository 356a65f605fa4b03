"""Which failures are worth another attempt, how long to wait for it, and when to give up."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from evalrunner.calls.request import CallFailed, FailureKind

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

_FAULTS = frozenset[FailureKind]({"overloaded", "timeout", "connection"})


@dataclass(frozen=True)
class Retry:
    """How often a call is tried, and how long between.

    Attributes:
        faults: attempts when the provider is overloaded, times out or cannot be reached.
        throttled: attempts when it says 429, which waiting does mend.
        garbage: attempts when its answer cannot be read.
        base_s: the first wait where the provider names none; each further one is twice as long.
        most_s: the longest wait of that sort.
        patience_s: all waits of one call together; a provider that asks for more is given up at once.
        grace_s: how much longer than its own time limit a client may take before it is broken off; long
            enough for one that imports a library at its first call.
    """

    faults: int = 4
    throttled: int = 8
    garbage: int = 2
    base_s: float = 0.5
    most_s: float = 30.0
    patience_s: float = 300.0
    grace_s: float = 10.0

    def attempts(self, kind: FailureKind) -> int:
        """At most so many attempts of a call that fails in this way."""
        if kind == "rate_limited":
            return self.throttled
        if kind == "garbage":
            return self.garbage
        return self.faults if kind in _FAULTS else 1

    def wait_s(self, failure: CallFailed, attempt: int) -> float:
        """Seconds until the next attempt, after attempt number `attempt` (from 1) failed.

        At least what the provider asks for; without a word from it, exponential with jitter.
        """
        jitter = random.random()
        if failure.retry_after_s is not None:
            return failure.retry_after_s + min(1.0, failure.retry_after_s / 10) * jitter
        return min(self.most_s, self.base_s * 2.0 ** min(attempt - 1, 30)) * (0.5 + jitter / 2)


async def again(
    policy: Retry,
    first: CallFailed,
    wait_s: Callable[[CallFailed], float],
    attempt: Callable[[], Awaitable[T]],
) -> T:
    """Tries a call again after its first attempt failed, as often as the policy allows.

    Args:
        policy: when to give up.
        first: how the first attempt failed.
        wait_s: the wait after a failure.
        attempt: makes one more attempt.

    Raises:
        CallFailed: the last failure, or the first one that is not worth another attempt.
    """
    from tenacity import AsyncRetrying, retry_if_exception

    failures: dict[FailureKind, int] = {}
    pending: list[CallFailed] = [first]

    async def step() -> T:
        if pending:
            raise pending.pop()
        return await attempt()

    def enough(state: "RetryCallState") -> bool:
        failure = _failure(state)
        failures[failure.kind] = failures.get(failure.kind, 0) + 1
        tired = state.idle_for + state.upcoming_sleep > policy.patience_s
        return tired or _made(failures, failure.kind) >= policy.attempts(failure.kind)

    retrying = AsyncRetrying(
        sleep=asyncio.sleep,
        stop=enough,
        wait=lambda state: wait_s(_failure(state)),
        retry=retry_if_exception(lambda error: isinstance(error, CallFailed)),
        reraise=True,
    )
    return await retrying(step)


def _made(failures: Mapping[FailureKind, int], kind: FailureKind) -> int:
    """Attempts that count against this kind: faults count together, throttling and garbage by themselves."""
    return sum(failures.get(each, 0) for each in (_FAULTS if kind in _FAULTS else {kind}))


def _failure(state: "RetryCallState") -> CallFailed:
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, CallFailed)
    return error
