"""What went wrong with a call through litellm, told apart by what happened on the wire.

litellm's own classes do not say it: a refused connection, a reset one, a missing key and a body that is no
JSON all arrive as its InternalServerError (500), and a Gemini reply without token counts as a
BadRequestError. The chain of causes does say it, so it is what decides here.
"""

import re
from collections.abc import Iterator, Mapping

from evalrunner.calls.request import CallFailed, FailureKind
from evalrunner.model.http_session import ReplyTooLongError
from evalrunner.model.wire_errors import one_line, refused

_WRAPPING = re.compile(r"^(?:litellm\.)?(?:\w+Error|\w+Exception|Timeout)\b(?: Error)?\s*(?::|-)\s*")
_KEYLESS = re.compile(r"api[_ -]?key|credential|missing .*token", re.IGNORECASE)


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
        return refused(*answer, str(error), message, out_of_money=_out_of_money(error))
    silent_kind, billed = _without_answer(error, message)
    if silent_kind == "timeout":
        message = f"no whole reply within {timeout_s:g} s"
    elif too_long := [each for each in _chain(error) if isinstance(each, ReplyTooLongError)]:
        message = str(too_long[0])
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


def _without_answer(error: BaseException, message: str) -> tuple[FailureKind, bool]:
    """Kind, and whether the provider may have charged, of a call that got no HTTP error as its answer."""
    import aiohttp
    import httpx
    import litellm

    told_by: list[tuple[tuple[type[BaseException], ...], tuple[FailureKind, bool]]] = [
        ((ReplyTooLongError,), ("garbage", True)),
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
    return one_line(text, secret)
