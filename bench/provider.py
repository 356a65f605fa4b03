"""A provider for benches: one OpenAI chat completion, the same to everybody, after a wait; little CPU a call.

    python bench/provider.py --latency 0.05 [--reply FILE] [--vary]

It prints its port on a line of its own. `POST` any path is answered with the reply; `GET /log` tells what
came since the last `GET /log`, as JSON, and forgets it: the number of requests, the monotonic time of the
first request and of the last reply, and the most that were in flight. The tests' own server, which
understands what it is asked, takes too much CPU to stand beside a client that takes little.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DIMENSIONS = ("accuracy", "attribution", "weight_calibration", "kind_classification", "signal_density")


MARK = b"(reply 0000000)"
"""What each reply of a provider that varies holds its own number in."""


def completion(improvements: Sequence[str] = ()) -> dict[str, Any]:
    """A judge's reply in the OpenAI wire format."""
    said = {"scores": dict.fromkeys(DIMENSIONS, 8), "improvements": [*improvements]}
    return {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-4o-2024-08-06",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": json.dumps(said), "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 1500,
            "completion_tokens": 40,
            "total_tokens": 1540,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
    }


class Log:
    """What came in since the last look at it."""

    def __init__(self) -> None:
        self.requests = self.flying = self.peak = self.answered = 0
        self.first = self.last = 0.0

    def came(self) -> None:
        now = time.monotonic()
        self.first = self.first or now
        self.requests += 1
        self.flying += 1
        self.peak = max(self.peak, self.flying)

    def left(self) -> None:
        self.flying -= 1
        self.answered += 1
        self.last = time.monotonic()

    def told(self) -> bytes:
        told = {"requests": self.requests, "first": self.first, "last": self.last, "peak": self.peak}
        self.requests = self.peak = 0
        self.first = self.last = 0.0
        return json.dumps(told).encode()


class Connection(asyncio.Protocol):
    """One connection; a client sends its next request when it has the reply to the last one."""

    def __init__(self, log: Log, body: bytes, latency: float) -> None:
        self.log = log
        self.answer = response(body)
        self.latency = latency
        self.data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, blank, body = self.data.partition(b"\r\n\r\n")
        if not blank:
            return
        if head.startswith(b"GET /log"):
            self.data = b""
            self.transport.write(response(self.log.told()))
            return
        _, _, length = head.lower().partition(b"content-length:")
        if len(body) >= int(length.split(b"\r\n", 1)[0] or 0):
            self.data = b""
            self.log.came()
            asyncio.get_running_loop().call_later(self.latency, self.reply)

    def reply(self) -> None:
        self.log.left()
        if not self.transport.is_closing():
            self.transport.write(
                varied(self.answer, self.log.answered) if MARK in self.answer else self.answer
            )


def varied(answer: bytes, number: int) -> bytes:
    """An answer of its own, as long as the others: a number in its improvement, and scores from 6 to 9."""
    answer = answer.replace(MARK, MARK.replace(b"0000000", b"%07d" % number))
    for place, name in enumerate(DIMENSIONS):
        score = 6 + number // 4**place % 4
        answer = answer.replace(b'%s\\": 8' % name.encode(), b'%s\\": %d' % (name.encode(), score))
    return answer


def response(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(latency: float, body: bytes) -> None:
    log = Log()
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(log, body, latency), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before every answer")
    parser.add_argument("--reply", type=Path, help="the body of every answer")
    parser.add_argument("--vary", action="store_true", help="every answer has scores and words of its own")
    given = parser.parse_args()
    improvement = f"Say of the claim which page it stands on, and since when it holds {MARK.decode()}."
    made = json.dumps(completion([improvement] if given.vary else [])).encode()
    body = given.reply.read_bytes() if given.reply else made
    try:
        asyncio.run(serve(given.latency, body))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
