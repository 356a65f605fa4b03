"""What an HTTP answer that is an error means, whichever client read it."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from evalrunner.calls.request import CallFailed, CallReply, FailureKind

MAX_MESSAGE = 300
_RETRY_DELAY = re.compile(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')
"""Gemini names the wait in the body instead of a header."""


def refused(
    status: int, headers: Mapping[str, str], body: str, message: str, *, out_of_money: bool
) -> CallFailed:
    """The failure that a provider's answer with an error status stands for. It bills nothing.

    Args:
        status: of HTTP.
        headers: read without regard to the case of names.
        body: where some providers name the wait.
        message: one line for people, without secrets.
        out_of_money: the provider says that the account has no quota left, which no waiting mends.
    """
    kind: FailureKind = "auth" if status == 429 and out_of_money else by_status(status)
    wait = retry_after(headers.get("Retry-After"), datetime.now(UTC))
    if wait is None and (named := _RETRY_DELAY.search(body)):
        wait = float(named[1])
    return CallFailed(kind, f"{status}: {message}", retry_after_s=wait)


def by_status(status: int) -> FailureKind:
    """The kind of an error status."""
    if status == 429:
        return "rate_limited"
    if status == 408:
        return "timeout"
    if status in {401, 403}:
        return "auth"
    if status == 404:
        return "not_found"
    return "overloaded" if status >= 500 else "bad_request"


MIN_SECRET = 8
"""A shorter key would be found inside ordinary words; nobody issues such keys."""


def redacted(reply: CallReply, secret: str | None) -> CallReply:
    """The reply without the key, which a gateway may hand back: it would end up in the receipt."""
    if secret is None or len(secret) < MIN_SECRET:
        return reply
    given = {name: getattr(reply, name) for name in ("text", "raw", "finish_reason", "answered_by")}
    found = {
        name: text.replace(secret, "[API key]") for name, text in given.items() if text and secret in text
    }
    return replace(reply, **found) if found else reply


def one_line(text: str, secret: str | None) -> str:
    """A provider's words without the secret, on one short line; those inside its JSON, where it holds any."""
    line = " ".join(_provider_words(text).split())
    if secret:
        line = line.replace(secret, "[API key]")
    return line if len(line) <= MAX_MESSAGE else f"{line[: MAX_MESSAGE - 1]}…"


def _provider_words(text: str) -> str:
    """The message inside a provider's JSON error body, when the text holds one."""
    start = text.find("{")
    if start < 0:
        return text
    try:
        body: Any = json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return text
    inside = body.get("error", body)
    if isinstance(inside, dict):
        inside = inside.get("message", inside.get("detail"))
    return inside if isinstance(inside, str) and inside.strip() else text


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header: a number of them, or an HTTP date; None if unreadable."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            when = parsedate_to_datetime(header)
        except (ValueError, TypeError):
            return None
        seconds = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - now).total_seconds()
    return max(0.0, seconds) if seconds < float("inf") else None
