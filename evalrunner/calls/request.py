"""What a model call is, what comes back, and what can go wrong with it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any, Literal, Protocol

from evalrunner.once import Once
from evalrunner.records import Spend, Usage

FailureKind = Literal[
    "rate_limited",
    "overloaded",
    "timeout",
    "connection",
    "bad_request",
    "auth",
    "not_found",
    "garbage",
    "budget",
    "interrupted",
]
"""`rate_limited` (429), `overloaded` (5xx), `timeout` and `connection` are retried; the others are final."""


Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One chat message."""

    role: Role
    content: str


@dataclass(frozen=True)
class Slot:
    """What tells apart calls that ask the same: repeats are never joined.

    Attributes:
        purpose: what the call is for: `judge`, `review`, `keep_reject`, `diff_verdict`.
        item: the item's or the chunk's name.
        run, cycle, chunk: from 1. ask: 0 for the first question, 1 for its re-ask.
    """

    purpose: str
    item: str = ""
    run: int = 1
    cycle: int = 1
    chunk: int = 1
    ask: int = 0


@dataclass(frozen=True)
class CallRequest:
    """One question to one model.

    Attributes:
        model: the id as configured: what receipts, prices and messages name.
        route: the id as the client wants it (`openai/gpt-4o`).
        messages: the conversation.
        max_tokens: always sent; bounds the reply and the reservation.
        params: temperature, seed and the like, as configured; only those that were set.
        schema: the JSON schema that the reply must follow, requested where the model supports it.
        api_base: the endpoint, or None for the provider's own.
        key_env: the environment variable that holds the key; never the key itself.
        timeout_s: for one attempt.
        slot: what tells this call from a repeat of it.
    """

    model: str
    route: str
    messages: tuple[Message, ...]
    max_tokens: int
    slot: Slot
    params: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    api_base: str | None = None
    key_env: str | None = None
    timeout_s: float = 120.0

    def prompt_bytes(self) -> int:
        """UTF-8 bytes of everything that the provider counts as prompt: messages, roles and schema."""
        text = sum(_size(each.content) + len(each.role) for each in self.messages)
        return text + (len(schema_text(self.schema)) if self.schema is not None else 0)

    def fingerprint(self) -> str:
        """sha256 hex over everything that changes the reply, the slot included; not time limits or keys.

        Every part goes in with its length before it, so that no two requests read alike.
        """
        where = [self.model, self.route, self.api_base, self.max_tokens]
        parts = [
            _sorted_json([*where, dict(self.params), vars(self.slot)]),
            schema_text(self.schema) if self.schema is not None else "null",
        ]
        for each in self.messages:
            parts += [each.role, each.content]
        digest = sha256()
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data))
            digest.update(data)
        return digest.hexdigest()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_sorted_json = json.JSONEncoder(sort_keys=True).encode

schema_text = Once[Mapping[str, Any], str](_sorted_json)
"""A schema as JSON in ASCII; written once, since all calls of a run have the same."""


@dataclass(frozen=True)
class CallReply:
    """A reply as a client read it off the wire, before anybody trusts its text.

    Attributes:
        finish_reason: normalised by the client: `stop`, `length`, `content_filter`, `tool_calls` or as given.
        usage: tokens as reported; `usage.estimated` when the provider reported none.
        answered_by: the model name that the provider returned.
        raw: the provider's whole reply as strict JSON on one line, for the journal.
        dropped: parameters that the provider does not take and that were therefore not sent.
        cost_usd: set by the desk: what all attempts of the call cost; None while or where unknown.
        latency_s: set by the desk: of the attempt that was answered. attempts: set by the desk: how many.
        is_reused: an earlier run has paid for it. saved_usd: what it cost then, where that is known.
    """

    text: str
    finish_reason: str | None
    usage: Usage
    answered_by: str | None = None
    raw: str | None = None
    dropped: tuple[str, ...] = ()
    cost_usd: Decimal | None = None
    latency_s: float = 0.0
    attempts: int = 1
    is_reused: bool = False
    saved_usd: Decimal | None = None


class CallFailed(Exception):  # noqa: N818 - it is an outcome of a call, not a programming error
    """A call that gave no reply. `message` is for people and holds no secret.

    Attributes:
        kind: what went wrong; says whether it is worth another try.
        retry_after_s: what the provider asked to wait, if it did.
        billed: the provider may have charged for it (it timed out, or broke off after accepting).
        spend: set by the desk: what the attempts of the call may have cost all the same.
    """

    def __init__(
        self, kind: FailureKind, message: str, *, retry_after_s: float | None = None, billed: bool = False
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message
        self.retry_after_s = retry_after_s
        self.billed = billed
        self.spend = Spend()


@dataclass(frozen=True)
class Limits:
    """What one model allows at a time; None means no limit of that sort."""

    concurrency: int = 8
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class Client(Protocol):
    """Speaks to providers: sends one request once. No retries, no prices, no limits: the desk does those."""

    async def send(self, request: CallRequest) -> CallReply:
        """The provider's reply. Raises CallFailed, and nothing else but cancellation.

        It keeps `request.timeout_s` itself; the desk breaks off what is still open a moment later.
        """
        ...

    async def close(self) -> None:
        """Closes pooled connections; called once, on the loop that used the client."""
        ...
