"""What went wrong with a call through litellm, told apart by what happened on the wire.

litellm's own classes do not say it: a refused connection, a reset one, a missing key and a body that is no
JSON all arrive as its InternalServerError (500), and a Gemini reply without token counts as a
BadRequestError. The chain of causes does say it, so it is what decides here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from evalrunner.calls.request import CallFailed, FailureKind

MAX_MESSAGE = 300
_WRAPPING = re.compile(r"^(?:litellm\.)?(?:\w+Error|\w+Exception|Timeout)\b(?: Error)?\s*(?::|-)\s*")
_KEYLESS = re.compile(r"api[_ -]?key|credential|missing .*token", re.IGNORECASE)
_RETRY_DELAY = re.compile(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')
"""Gemini names the wait in the body instead of a header."""


def failure(error: BaseException, secret: str | None, timeout_s: float) -> CallFailed:
    """The failure that stands for an exception that litellm raised.

    Args:
        error: the exception.
        secret: the API key; never part of the message.
        timeout_s: how long the call was allowed to take.
    """
    message = told(error, secret)
    answer = _answer(error)
    if answer is not None:
        status, headers = answer
        kind: FailureKind = "auth" if status == 429 and _out_of_money(error) else _by_status(status)
        wait = retry_after(headers.get("retry-after"), datetime.now(UTC))
        if wait is None and (named := _RETRY_DELAY.search(str(error))):
            wait = float(named[1])
        return CallFailed(kind, f"{status}: {message}", retry_after_s=wait)
    silent_kind, billed = _without_answer(error, message)
    if silent_kind == "timeout":
        message = f"no whole reply within {timeout_s:g} s"
    elif silent_kind == "connection":
        message = f"the connection failed: {told(list(_chain(error))[-1], secret)}"
    return CallFailed(silent_kind, message, billed=billed)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what caused it; not what an earlier attempt of the same call left behind."""
    each: BaseException | None = error
    seen: set[int] = set()
    while each is not None and id(each) not in seen and not isinstance(each, CallFailed):
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__


def _answer(error: BaseException) -> tuple[int, Mapping[str, str]] | None:
    """Status and headers of the HTTP answer, when the provider gave one that is an error."""
    import httpx

    for each in _chain(error):
        if isinstance(each, httpx.HTTPStatusError):
            return each.response.status_code, each.response.headers
    return None


def _out_of_money(error: BaseException) -> bool:
    """A 429 that no waiting mends: the account has no quota left."""
    return any(getattr(each, "code", None) == "insufficient_quota" for each in _chain(error))


def _by_status(status: int) -> FailureKind:
    if status == 429:
        return "rate_limited"
    if status == 408:
        return "timeout"
    if status in {401, 403}:
        return "auth"
    if status == 404:
        return "not_found"
    return "overloaded" if status >= 500 else "bad_request"


def _without_answer(error: BaseException, message: str) -> tuple[FailureKind, bool]:
    """Kind, and whether the provider may have charged, of a call that got no HTTP error as its answer."""
    import aiohttp
    import httpx
    import litellm

    told_by: list[tuple[tuple[type[BaseException], ...], tuple[FailureKind, bool]]] = [
        ((httpx.ConnectTimeout, httpx.PoolTimeout), ("timeout", False)),
        ((httpx.ConnectError, aiohttp.ClientConnectorError), ("connection", False)),
        ((httpx.TimeoutException, litellm.Timeout, TimeoutError), ("timeout", True)),
        ((httpx.TransportError, aiohttp.ClientError, ConnectionError), ("connection", True)),
        # an answer came, and litellm could not read it
        ((ValueError, KeyError, IndexError, TypeError, AttributeError), ("garbage", True)),
        ((litellm.AuthenticationError,), ("auth", False)),
        ((litellm.BadRequestError, litellm.UnsupportedParamsError), ("bad_request", False)),
    ]
    chain = list(_chain(error))
    for classes, meaning in told_by:
        if any(isinstance(each, classes) for each in chain):
            return meaning
    return ("auth", False) if _KEYLESS.search(message) else ("garbage", True)


def told(error: BaseException, secret: str | None = None) -> str:
    """What the exception says, without litellm's wrapping, tracebacks and the secret, on one short line."""
    text = str(error).partition("\nTraceback")[0].strip() or type(error).__name__
    while (shorter := _WRAPPING.sub("", text, count=1)) != text:
        text = shorter
    text = " ".join(_provider_words(text).split())
    if secret:
        text = text.replace(secret, "[API key]")
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"


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
    words = inside.get("message") if isinstance(inside, dict) else None
    return words if isinstance(words, str) and words.strip() else text


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
