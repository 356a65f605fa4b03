"""Sends one request to an OpenAI-compatible endpoint, once; retries, prices and limits are the desk's."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from evalrunner import __version__
from evalrunner.calls.request import CallFailed, CallReply, CallRequest, schema_text
from evalrunner.model.http_session import (
    MAX_REPLY_BYTES,
    ReplyTooLongError,
    open_session,
    proxy_for,
    read_bounded,
)
from evalrunner.model.ids import split
from evalrunner.model.keys import PLACEHOLDER, find_key, key_problem
from evalrunner.model.wire_errors import one_line, redacted, refused
from evalrunner.receipt.jsontext import clean
from evalrunner.records import Usage

MAX_ERROR_BYTES = 2**16
CONNECT_WITHIN_S = 30.0


class OpenAIClient:
    """Speaks the OpenAI chat completions format to any address. Usable again after `close`.

    Redirects are not followed: the key is for the address that was configured.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._session: aiohttp.ClientSession | None = None
        self._places: dict[tuple[str | None, str | None, float], _Place] = {}

    async def send(self, request: CallRequest) -> CallReply:
        """The provider's reply.

        The whole attempt is bounded by `request.timeout_s`, also when bytes keep trickling in, and the reply
        by MAX_REPLY_BYTES. All parameters are sent as configured.

        Raises:
            CallFailed: for everything that can go wrong; the message holds no key.
        """
        key = self._key(request)
        place = self._place(request, key)
        secret = None if key == PLACEHOLDER else key
        if self._session is None:
            self._session = open_session()
        try:
            async with self._session.post(
                place.url,
                data=_body(request),
                headers=place.headers,
                timeout=place.timeout,
                proxy=place.proxy,
                allow_redirects=False,
            ) as answer:
                if answer.status != 200:
                    raise await _refused(answer, secret)
                data = await read_bounded(answer, MAX_REPLY_BYTES)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise _failure(error, request.timeout_s, secret) from None
        if data is None:
            raise CallFailed("garbage", str(ReplyTooLongError()), billed=True)
        try:
            return redacted(_reply(data), secret)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            words = one_line(data[:MAX_ERROR_BYTES].decode("utf-8", "replace"), secret)
            raise CallFailed("garbage", f"the reply is no chat completion: {words}", billed=True) from None

    async def close(self) -> None:
        """Closes the pooled connections; a later `send` opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _key(self, request: CallRequest) -> str | None:
        """The key to send.

        Raises:
            CallFailed: it is missing, or holds characters that no header can hold.
        """
        where = (request.route, request.api_base, request.key_env, self._environ)
        problem = key_problem(request.model, *where)
        if problem is not None:
            raise CallFailed("auth", problem.what)
        key = find_key(*where)
        if key is not None and not (key.isascii() and key.isprintable()):
            raise CallFailed("auth", f"the API key in {request.key_env} holds characters that no key has")
        return key

    def _place(self, request: CallRequest, key: str | None) -> "_Place":
        """Where a request goes, worked out once for all that go there.

        Raises:
            CallFailed: the environment names a proxy that is none for HTTP.
        """
        named = (request.api_base, key, request.timeout_s)
        if named not in self._places:
            self._places[named] = _where(request.api_base or "", key, request.timeout_s)
        return self._places[named]


@dataclass(frozen=True)
class _Place:
    """An endpoint: address and proxy, and with what headers and time limits it is asked."""

    url: URL
    proxy: str | None
    headers: CIMultiDict[str]
    timeout: aiohttp.ClientTimeout


def _where(base: str, key: str | None, timeout_s: float) -> _Place:
    path, mark, query = base.partition("?")
    url = f"{path.rstrip('/')}/chat/completions{mark}{query}"
    proxy = proxy_for(url)
    if proxy is not None and not proxy.startswith(("http://", "https://")):
        raise CallFailed("bad_request", "the proxy that the environment names for api_base is none for HTTP")
    headers = CIMultiDict(
        {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"evalrunner/{__version__}",
        }
    )
    if key is not None and key != PLACEHOLDER:
        headers["Authorization"] = f"Bearer {key}"
    timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(timeout_s, CONNECT_WITHIN_S))
    return _Place(URL(url), proxy, headers, timeout)


@cache
def shared() -> OpenAIClient:
    """The process's client: all models share its connections."""
    return OpenAIClient()


def _body(request: CallRequest) -> bytes:
    messages = ",".join(
        f'{{"role":"{each.role}","content":{_json(each.content)}}}' for each in request.messages
    )
    parts = [
        f'"model":{_json(split(request.route)[1])}',
        f'"max_tokens":{request.max_tokens}',
        f'"messages":[{messages}]',
    ]
    if request.params:
        params = {**request.params.get("extra_body", {}), **request.params}
        params.pop("extra_body", None)
        parts += [f"{_json(name)}:{_json(value)}" for name, value in params.items()]
    if request.schema is not None:
        schema = f'{{"name":"reply","schema":{schema_text(request.schema)},"strict":true}}'
        parts.append(f'"response_format":{{"type":"json_schema","json_schema":{schema}}}')
    return f"{{{','.join(parts)}}}".encode()


_json = json.JSONEncoder().encode


async def _refused(answer: aiohttp.ClientResponse, secret: str | None) -> CallFailed:
    """The failure that an answer other than 200 stands for."""
    if 300 <= answer.status < 400:
        return CallFailed(
            "bad_request", f"{answer.status}: the address only redirects; set api_base to the one meant"
        )
    data = await read_bounded(answer, MAX_ERROR_BYTES)
    body = "" if data is None else data.decode("utf-8", "replace")
    message = one_line(body, secret) or str(answer.reason)
    if answer.status < 300:
        return CallFailed("garbage", f"{answer.status}: {message}", billed=True)
    return refused(answer.status, answer.headers, body, message, out_of_money='"insufficient_quota"' in body)


def _failure(error: BaseException, timeout_s: float, secret: str | None) -> CallFailed:
    """The failure of an attempt that got no whole answer."""
    if isinstance(error, TimeoutError):
        billed = not isinstance(error, aiohttp.ConnectionTimeoutError)
        return CallFailed("timeout", f"no whole reply within {timeout_s:g} s", billed=billed)
    if isinstance(error, aiohttp.InvalidURL):
        return CallFailed("bad_request", "api_base is no address")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return CallFailed("connection", f"the proxy refused the connection: {error.status}")
    words = one_line(str(error) or type(error).__name__, secret)
    if isinstance(error, aiohttp.ClientResponseError):
        return CallFailed("garbage", f"the answer is no HTTP: {words}", billed=True)
    billed = not isinstance(error, aiohttp.ClientConnectorError)
    return CallFailed("connection", f"the connection failed: {words}", billed=billed)


def _reply(data: bytes) -> CallReply:
    """The reply in a body. Raises one of the errors of its wrong shape when it is no chat completion."""
    written = data.decode()
    try:
        body, raw = _strictly(written), written.replace("\n", " ").replace("\r", " ")
    except _NoNumberError:  # NaN and the like: what the model said can be read all the same
        body, raw = json.loads(written), _json(written)
    choice = body["choices"][0]
    message = choice["message"]
    text, refusal = _text(message.get("content")), _text(message.get("refusal"))
    reason, model = _text(choice.get("finish_reason")), _text(body.get("model"))
    if not text and refusal:
        text, reason = refusal, "refusal"
    return CallReply(
        text=clean(text or ""),
        finish_reason=reason,
        usage=_usage(body.get("usage")),
        answered_by=model or None,
        raw=raw,
    )


class _NoNumberError(ValueError):
    """NaN or an infinity, which JSON does not have."""


def _no_number(name: str) -> float:
    raise _NoNumberError(name)


_strictly = json.JSONDecoder(parse_constant=_no_number).decode


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value


def _usage(reported: object) -> Usage:
    """The tokens reported; `estimated` with counts of 0 where none are."""
    prompt, completion = _count(reported, "prompt_tokens"), _count(reported, "completion_tokens")
    if not prompt:
        return Usage(calls=1, estimated=True)
    assert isinstance(reported, dict)
    return Usage(
        calls=1,
        input_tokens=prompt,
        output_tokens=completion,
        cached_tokens=_count(reported.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count(reported.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(values: object, name: str) -> int:
    """A count of tokens; 0 where there is none, or what stands there is none."""
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
