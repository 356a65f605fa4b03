"""Asking a model until its reply can be used, a bounded number of times; every ask is paid and counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from evalrunner.calls.request import (
    CallFailed,
    CallReply,
    CallRequest,
    Client,
    FailureKind,
    Limits,
    Message,
)
from evalrunner.model.reply import ReplyRejected, harmless
from evalrunner.records import Spend, total

if TYPE_CHECKING:
    from evalrunner.calls.desk import Desk

T = TypeVar("T")

ECHO_BYTES = 4096
"""At most so much of a rejected reply goes back to the model with a re-ask; bounds what a re-ask costs."""

REASON_BYTES = 400

REASK = (
    "That reply could not be used: {reason}. Answer the request above once more, with exactly one JSON "
    "object in the form asked for, complete, and with nothing before or after it."
)

Status = Literal["answered", "rejected", "failed", "skipped"]

Parse = Callable[[str, str | None], T]
"""Text and finish reason of a reply -> its value. Raises ReplyRejected."""


@dataclass(frozen=True)
class Asked(Generic[T]):
    """What came of asking a model.

    Attributes:
        status: `answered` with a value; `rejected` when no reply could be used; `failed` when the provider
            gave none; `skipped` when the budget did not allow the call.
        value: what the parser made of the reply; None unless answered.
        error: one line for people; None when answered.
        spend: of all replies, the rejected ones included, and of attempts that may have been billed.
        answered_by: the model name in the last reply.
        asks: how many replies there were.
        dropped: parameters that the provider does not take.
        failure: how the provider failed, where it did.
    """

    status: Status
    value: T | None = None
    error: str | None = None
    spend: Spend = field(default_factory=Spend)
    answered_by: str | None = None
    asks: int = 0
    dropped: tuple[str, ...] = ()
    failure: FailureKind | None = None


async def ask(
    make: Callable[[Sequence[Message], int], CallRequest],
    messages: Sequence[Message],
    parse: Parse[T],
    *,
    reasks: int,
    desk: "Desk",
    client: Client,
    limits: Limits,
) -> Asked[T]:
    """Asks, and asks again with the reply and what was wrong with it, at most `reasks` times.

    Never raises for what a model or provider does.

    Args:
        make: builds the request from a conversation and the number of the ask, from 0.
    """
    spends, replies, reasons = list[Spend](), list[CallReply](), list[str]()
    conversation = tuple(messages)
    for number in range(reasks + 1):
        try:
            reply = await desk.call(make(conversation, number), client, limits)
        except CallFailed as failed:
            spends.append(failed.spend)
            told = harmless("; then ".join([*_numbered(reasons), failed.message]))
            status: Status = "skipped" if failed.kind in {"budget", "interrupted"} else "failed"
            return replace(_asked(status, None, told, spends, replies), failure=failed.kind)
        replies.append(reply)
        spends.append(Spend(usage=reply.usage, cost_usd=reply.cost_usd))
        try:
            return _asked("answered", parse(reply.text, reply.finish_reason), None, spends, replies)
        except ReplyRejected as rejected:
            reasons.append(harmless(rejected.reason))
            conversation = (*messages, *correction(reply.text, rejected.reason))
    whys = _numbered(reasons) if len(reasons) > 1 else reasons
    return _asked("rejected", None, f"no usable reply: {'; '.join(whys)}", spends, replies)


def _asked(
    status: Status, value: T | None, error: str | None, spends: Sequence[Spend], replies: Sequence[CallReply]
) -> Asked[T]:
    last = replies[-1] if replies else None
    name = harmless(last.answered_by) if last is not None and last.answered_by else None
    spend = spends[0] if len(spends) == 1 else total(spends)
    return Asked(status, value, error, spend, name, len(replies), last.dropped if last else ())


def _numbered(reasons: Sequence[str]) -> list[str]:
    return [f"reply {place}: {reason}" for place, reason in enumerate(reasons, start=1)]


def correction(reply: str, reason: str) -> tuple[Message, Message]:
    """The two messages that a re-ask adds: the reply, cut to ECHO_BYTES, and what was wrong with it."""
    echo = _cut(reply, ECHO_BYTES) if reply.strip() else "(an empty reply)"
    return (
        Message("assistant", echo),
        Message("user", REASK.format(reason=_cut(harmless(reason), REASON_BYTES))),
    )


def correction_bytes() -> int:
    """The most UTF-8 bytes that `correction` adds to a prompt, roles included."""
    roles = len("assistant") + len("user")
    return ECHO_BYTES + REASON_BYTES + len(REASK.format(reason="").encode()) + roles


def _cut(text: str, limit: int) -> str:
    """The text, cut to at most so many UTF-8 bytes; lone surrogates become question marks."""
    data = text.encode("utf-8", "replace")
    return data.decode() if len(data) <= limit else data[: limit - 3].decode("utf-8", "ignore") + "…"
