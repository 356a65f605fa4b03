"""A scripted model provider on 127.0.0.1, for tests, benches and trying things out without a key.

It speaks three wire formats on one port: OpenAI chat completions (`POST .../chat/completions`), Anthropic
messages (`POST .../messages`) and Gemini (`POST .../models/NAME:generateContent`). It needs nothing but the
standard library and runs in a thread of its own.

    from loopback import Loopback, error, scores

    with Loopback(scores(accuracy=8, attribution=7)) as server:      # the same reply to every request
        api_base = server.url("openai")                              # or "anthropic", "gemini"
        ...
        assert server.requests[0].model == "gpt-4o"
        assert server.peak == 1

A script says what is answered:

    scores(accuracy=8)                      one reply, to every request
    [error(429, retry_after=1), scores(accuracy=8)]      one a request, in order; then 400 "no reply left"
    {"gpt-4o": [...], "*": scores(...)}     by model name, each its own script; "*" is any other model
    lambda request: scores(accuracy=8)      any function of the request; a Reply, or a plain string

What a reply can be:

    text("...")                 any words of the model; finish="length" and the like; usage=None: unreported
    scores(accuracy=8, ...)     the judge's reply form, with improvements=[...]
    score_all(8)                a function: that score for every dimension that the request asks for
    cut("...")                  a reply that stopped at the token limit
    error(503, "busy")          an error in the provider's own form; retry_after= sets the header
    garbage()                   status 200 with a body that is no JSON; garbage(b"...") any bytes
    hang()                      accepts the request and never answers
    reset()                     accepts the request, then resets the connection
    trickle(reply, seconds)     the reply, byte group by byte group, over so many seconds
    flood(size)                 status 200 and so many bytes of blanks, as fast as the client takes them

Every field of `Reply` can be set by hand as well: `Reply(text="...", delay=0.2, model="gpt-4o-2024-08-06")`.

As a program it answers every dimension asked for with one score, and prints its port on a line of its own:

    python tests/loopback.py --latency 0.05 --score 8
"""

import argparse
import asyncio
import atexit
import contextlib
import json
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from loopback_replies import cut, error, flood, garbage, hang, reset, score_all, scores, text, trickle
from loopback_wire import Reply, Request, Tokens, Wire, body_of, understood

__all__ = [
    "Loopback",
    "Reply",
    "Request",
    "Tokens",
    "Wire",
    "cut",
    "error",
    "flood",
    "garbage",
    "hang",
    "refusing_url",
    "reset",
    "score_all",
    "scores",
    "text",
    "trickle",
]

Script = Reply | str | Sequence[Any] | Mapping[str, Any] | Callable[[Request], Any]


@cache
def refusing_url() -> str:
    """An address where nothing listens; it is held, so that nobody else comes to listen there."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    atexit.register(held.close)
    return f"http://127.0.0.1:{held.getsockname()[1]}"


class Loopback:
    """The server. A context manager; see the top of this file.

    Attributes:
        requests: every request, in the order read.
        answered: (request number, time.monotonic()) of every finished answer.
        peak: the most requests in flight at once; `peaks` the same by model.
        connections: how many were opened. flooded: bytes of floods that clients took.
        errors: exceptions of the script itself, and requests that could not be understood.
    """

    def __init__(self, script: Script = "", *, latency: float = 0.0, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.answered: list[tuple[int, float]] = []
        self.peak = 0
        self.peaks: Counter[str] = Counter()
        self.connections = self.flooded = 0
        self.errors: list[Exception] = []
        self.port = port
        self._script = script
        self._latency = latency
        self._served: Counter[str] = Counter()
        self._flying: Counter[str] = Counter()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    def __enter__(self) -> "Loopback":
        self._thread.start()
        self._ready.wait()
        if not self.port:
            raise OSError("the loopback server could not listen")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def url(self, wire: Wire) -> str:
        """What `api_base` must be for this wire format."""
        return f"http://127.0.0.1:{self.port}" + ("/v1" if wire == "openai" else "")

    def of(self, model: str) -> list[Request]:
        """The requests to one model."""
        return [request for request in self.requests if request.model == model]

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=1024)
            self.port = server.sockets[0].getsockname()[1]
        except OSError:
            self.port = 0
            raise
        finally:
            self._ready.set()
        await self._stop.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (request := await self._read(reader)) is not None:
                self._flying[request.model] += 1
                self.peak = max(self.peak, self._flying.total())
                self.peaks[request.model] = max(self.peaks[request.model], self._flying[request.model])
                try:
                    await self._answer(request, reader, writer)
                finally:
                    self._flying[request.model] -= 1
                    self.answered.append((request.number, time.monotonic()))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        except Exception as problem:
            self.errors.append(problem)
        finally:
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
        }
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        request = understood(len(self.requests), path, headers, body)
        self.requests.append(request)
        return request

    async def _answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        reply = self._next(request)
        if self._latency or reply.delay:
            await asyncio.sleep(self._latency + reply.delay)
        if reply.how == "hang":
            await reader.read(1)
            raise ConnectionAbortedError
        if reply.how == "reset":
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            raise ConnectionResetError
        if reply.how == "flood":
            await self._flood(int(reply.over), writer, chunked=bool(reply.headers))
            return
        body = body_of(request, reply)
        head = {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"HTTP/1.1 {reply.status} Scripted\r\n{lines}\r\n".encode("latin-1"))
        if reply.how == "trickle":
            step = max(1, len(body) // 20)
            for start in range(0, len(body), step):
                writer.write(body[start : start + step])
                await writer.drain()
                await asyncio.sleep(reply.over * step / len(body))
        else:
            writer.write(body)
            await writer.drain()

    async def _flood(self, size: int, writer: asyncio.StreamWriter, *, chunked: bool) -> None:
        piece = b" " * 2**16
        length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode())
        while self.flooded < size:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            await writer.drain()
            self.flooded += len(piece)
        writer.write(b"0\r\n\r\n" if chunked else b"")

    def _next(self, request: Request) -> Reply:
        try:
            reply = self._pick(self._script, request, "")
        except Exception as problem:
            self.errors.append(problem)
            return error(500, f"the script raised {problem!r}")
        return Reply(text=reply) if isinstance(reply, str) else reply

    def _pick(self, script: Any, request: Request, name: str) -> Reply | str:
        if isinstance(script, Reply | str):
            return script
        if isinstance(script, Mapping):
            key = request.model if request.model in script else "*"
            if key not in script:
                return error(404, f"no script for model {request.model}")
            return self._pick(script[key], request, key)
        if callable(script):
            answer: Reply | str = script(request)
            return answer
        number = self._served[name]
        self._served[name] += 1
        if number >= len(script):
            return error(400, f"the script has no reply left for request {number + 1}")
        return self._pick(script[number], request, name)


def main(argv: Sequence[str]) -> int:
    """Serves until interrupted."""
    parser = argparse.ArgumentParser(description="A scripted model provider on 127.0.0.1.")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    parser.add_argument("--score", default="8", help="the score of every dimension")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    chosen = parser.parse_args(argv)
    with Loopback(score_all(chosen.score), latency=chosen.latency, port=chosen.port) as server:
        print(server.port, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
