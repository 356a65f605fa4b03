"""A provider's double inside the process: answers by script, and remembers what went on."""

import asyncio
from collections.abc import Callable, Iterable
from decimal import Decimal
from time import monotonic
from typing import Any

from evalrunner.budget.budget import Budget, Ledger
from evalrunner.budget.pricing import Pricing
from evalrunner.calls.desk import Desk
from evalrunner.calls.request import CallFailed, CallReply, CallRequest, Message, Slot
from evalrunner.calls.retry import Retry
from evalrunner.records import Usage

PRICES = Pricing(
    source="a test",
    version="1",
    models={
        "openai/one": {"input_usd_per_mtok": 1000, "output_usd_per_mtok": 1000},  # a tenth of a cent a token
        "local": {"free": True},
    },
)
MILL = Decimal("0.001")
QUICK = Retry(base_s=0.001, most_s=0.004, patience_s=5.0, grace_s=0.05)

Step = CallReply | CallFailed | BaseException | Callable[[CallRequest], Any]


class Scripted:
    """Plays its steps in order, the last one for ever: replies, exceptions, and coroutine functions.

    Attributes:
        sent: every request, in order. times: when each came (monotonic seconds).
        inside, peak: requests under way now, and at most.
        closed: how often it was closed.
    """

    def __init__(self, *steps: Step, latency_s: float = 0.0) -> None:
        self.steps: Iterable[Step] = list(steps) or [reply()]
        self.latency_s = latency_s
        self.sent: list[CallRequest] = []
        self.times: list[float] = []
        self.inside = self.peak = self.closed = 0

    async def send(self, request: CallRequest) -> CallReply:
        steps = list(self.steps)
        step = steps[min(len(self.sent), len(steps) - 1)]
        self.sent.append(request)
        self.times.append(monotonic())
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        try:
            await asyncio.sleep(self.latency_s)
            if callable(step) and not isinstance(step, BaseException):
                step = await step(request)
            if isinstance(step, BaseException):
                raise step
            assert isinstance(step, CallReply)
            return step
        finally:
            self.inside -= 1

    async def close(self) -> None:
        self.closed += 1


def reply(text: str = "fine", tokens: int = 10, **more: Any) -> CallReply:
    usage = more.pop("usage", Usage(calls=1, input_tokens=tokens, output_tokens=1))
    return CallReply(text=text, finish_reason="stop", usage=usage, **more)


def failure(kind: Any, retry_after_s: float | None = None, *, billed: bool = False) -> CallFailed:
    return CallFailed(kind, f"it said {kind}", retry_after_s=retry_after_s, billed=billed)


async def hang(_: CallRequest) -> None:
    await asyncio.Event().wait()


def request(number: int = 1, *, model: str = "openai:one", **more: Any) -> CallRequest:
    content = more.pop("content", "say it")
    max_tokens = more.pop("max_tokens", 100)
    return CallRequest(
        model=model,
        route=model.replace(":", "/", 1),
        messages=(Message("user", content),),
        max_tokens=max_tokens,
        slot=Slot("judge", chunk=number),
        **more,
    )


def ledger(cap: Decimal | None = None, **budget: Any) -> Ledger:
    return Ledger(Budget(cap_usd=cap, **budget), PRICES)


def desk(book: Ledger | None = None, **more: Any) -> Desk:
    given = {"journal": None, "note": lambda _: None, "retry": QUICK} | more
    return Desk(book or ledger(), **given)


def bound() -> Decimal:
    """What one `request()` is bounded at."""
    each = request()
    result = ledger().bound(each.model, each.prompt_bytes(), 1, each.max_tokens)
    assert result is not None
    return result
