"""The pooled HTTP sessions of the clients: strict TLS, proxies, bounded replies."""

import ssl
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

MAX_REPLY_BYTES = 16 * 2**20
"""A longer reply is broken off. It is many times what the longest answer of a model takes."""

KEEPALIVE_S = 4.0
"""How long a connection may lie idle: many servers close theirs after 5 s, at times under a new request."""


class ReplyTooLongError(aiohttp.ClientPayloadError):
    """A reply of more than MAX_REPLY_BYTES."""

    def __init__(self) -> None:
        super().__init__(f"the reply is longer than {MAX_REPLY_BYTES // 2**20} MiB")


def open_session(*middlewares: aiohttp.ClientMiddlewareType) -> aiohttp.ClientSession:
    """A session for the running loop. How many connections it holds is for its user to say.

    Certificates are always checked, against the system's authorities or those that SSL_CERT_FILE or
    SSL_CERT_DIR name. Cookies are not kept, and ~/.netrc is not read.
    """
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S, ssl=_tls())
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        middlewares=middlewares,
        timeout=aiohttp.ClientTimeout(),
    )


def _tls() -> ssl.SSLContext | bool:
    """aiohttp's own context; where the system has no authorities, one with those of the package certifi."""
    paths = ssl.get_default_verify_paths()
    if paths.cafile or paths.capath:
        return True
    try:
        import certifi
    except ImportError:
        return True
    return ssl.create_default_context(cafile=certifi.where())


def proxy_for(url: str) -> str | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or the system's settings, name for an address."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


async def read_bounded(answer: aiohttp.ClientResponse, most: int) -> bytes | None:
    """The body, or None when it is longer than `most` bytes; what is left of it is then not read."""
    chunks: list[bytes] = []
    size = 0
    if (answer.content_length or 0) <= most:
        async for chunk in answer.content.iter_any():
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                break
        else:
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
    answer.close()
    return None


async def bound_replies(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """A middleware for readers that read whatever comes: theirs end with ReplyTooLongError."""
    answer = await handler(request)
    if (answer.content_length or 0) > MAX_REPLY_BYTES:
        answer.close()
        raise ReplyTooLongError
    answer.content = _Bounded(answer.content)  # type: ignore[assignment]
    return answer


class _Bounded:
    """A stream that counts what is read of it in chunks."""

    def __init__(self, stream: aiohttp.StreamReader) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """As StreamReader's."""
        read = 0
        async for chunk in self._stream.iter_chunked(size):
            read += len(chunk)
            if read > MAX_REPLY_BYTES:
                raise ReplyTooLongError
            yield chunk
