"""A proxy that lets a program in a box reach the hosts that are named, and no other.

It listens on a Unix socket, for `forward.py`. `CONNECT host:port` opens a tunnel; a request for an `http://`
URL is sent on, one a connection. What is asked for must be, letter by letter, among the allowed places.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

MOST_HEAD = 65536
CONNECT_TIMEOUT_S = 30
SHOWN = 50
"""So many different places are remembered."""

_PLACE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):(?P<port>[0-9]{1,5})")
_OWN = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")


def place(text: str) -> str:
    """`host:port` in lower case; the port is 443 when none is given.

    Raises:
        ValueError: it is none.
    """
    whole = text if _PLACE.fullmatch(text) else f"{text}:443"
    found = _PLACE.fullmatch(whole)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise ValueError("a host, or host:port, is needed, such as api.example.com:443")
    return f"{found['host'].lower()}:{int(found['port'])}"


@dataclass
class Egress:
    """What went through the proxy.

    Attributes:
        used, refused: the places that were asked for, each once.
    """

    allowed: frozenset[str]
    used: dict[str, None] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def permits(self, asked: str) -> bool:
        """Whether a place may be reached; remembers it."""
        told = self.used if asked in self.allowed else self.refused
        if len(told) < SHOWN:
            told.setdefault(asked[:200])
        return asked in self.allowed


@asynccontextmanager
async def egress(socket: Path, allowed: Collection[str]) -> AsyncIterator[Egress]:
    """The proxy, while it listens on a new Unix socket.

    Args:
        socket: its path; the folder is there, the socket is not.
        allowed: places as `place` gives them.
    """
    state = Egress(frozenset(allowed))

    def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_serve(state, reader, writer))
        state.tasks.add(task)
        task.add_done_callback(state.tasks.discard)

    server = await asyncio.start_unix_server(met, socket, limit=MOST_HEAD)
    try:
        yield state
    finally:
        server.close()
        for task in list(state.tasks):
            task.cancel()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        await server.wait_closed()
        socket.unlink(missing_ok=True)


async def _serve(state: Egress, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection."""
    far: asyncio.StreamWriter | None = None
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        asked, sent_on = _understood(head)
        if asked is None:
            writer.write(_answer("400 Bad Request"))
        elif not state.permits(asked):
            writer.write(_answer("403 Forbidden"))
        else:
            host, _, port = asked.rpartition(":")
            opening = asyncio.open_connection(host.strip("[]"), int(port))
            far_reader, opened = await asyncio.wait_for(opening, CONNECT_TIMEOUT_S)
            far = opened
            if sent_on is None:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                opened.write(sent_on)
            await asyncio.gather(_pump(reader, opened), _pump(far_reader, writer))
        await writer.drain()
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        with suppress(OSError):
            if far is None:
                writer.write(_answer("502 Bad Gateway"))
                await writer.drain()
    finally:
        for each in (writer, far):
            if each is not None:
                each.close()
                with suppress(OSError):
                    await each.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def _answer(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()


def _understood(head: bytes) -> tuple[str | None, bytes | None]:
    """The place that a request is for (None: not understood), and what to send there (None for a tunnel)."""
    line, _, rest = head.partition(b"\r\n")
    parts = line.decode("latin-1").split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        return None, None
    method, target, version = parts
    try:
        if method == "CONNECT":
            return (place(target), None) if _PLACE.fullmatch(target) else (None, None)
        url = urlsplit(target)
        if url.scheme != "http" or url.hostname is None or "@" in url.netloc:
            return None, None
        asked = place(f"{url.netloc}" if url.port is not None else f"{url.netloc}:80")
    except ValueError:
        return None, None
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    kept = [each for each in rest.split(b"\r\n") if each and not each.lower().startswith(_OWN)]
    lines = [f"{method} {path} {version}".encode("latin-1"), *kept, b"Connection: close"]
    return asked, b"\r\n".join(lines) + b"\r\n\r\n"
