"""The proxy that lets a box out: what it opens, what it refuses, and what it remembers."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from evalrunner.sandbox.egress import egress, place

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


async def upstream(seen: list[bytes]):
    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head)
        writer.write(HELLO)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


async def ask(socket: Path, request: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(socket)
    writer.write(request)
    await writer.drain()
    got = b""
    with contextlib.suppress(OSError):
        got = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return got


def trial(tmp_path: Path, *requests: str, allow: bool = True):
    """Answers to requests in which PORT is an upstream's; what that saw, and what the proxy remembers."""

    async def run():
        seen: list[bytes] = []
        server, port = await upstream(seen)
        async with server, egress(tmp_path / "out", [f"127.0.0.1:{port}"] if allow else []) as state:
            got = [await ask(tmp_path / "out", each.replace("PORT", str(port)).encode()) for each in requests]
        used, refused = (
            [each.replace(str(port), "PORT") for each in told] for told in (state.used, state.refused)
        )
        return got, seen, used, refused

    return asyncio.run(run())


def test_a_tunnel_to_an_allowed_place(tmp_path):
    request = "CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: x\r\n\r\nGET /a HTTP/1.1\r\nHost: y\r\n\r\n"
    (got,), (head,), used, refused = trial(tmp_path, request)
    assert got == b"HTTP/1.1 200 Connection established\r\n\r\n" + HELLO
    assert head == b"GET /a HTTP/1.1\r\nHost: y\r\n\r\n"
    assert (used, refused) == (["127.0.0.1:PORT"], [])


def test_a_plain_request_to_an_allowed_place_is_one_a_connection(tmp_path):
    own = "Proxy-Connection: keep-alive\r\nConnection: keep-alive\r\n"
    request = f"GET http://127.0.0.1:PORT/v1?a=b HTTP/1.1\r\nHost: h\r\n{own}\r\n"
    (got,), (head,), _, _ = trial(tmp_path, request)
    assert got == HELLO
    assert head == b"GET /v1?a=b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("CONNECT github.com:443 HTTP/1.1\r\n\r\n", b"403"),
        ("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", b"403"),
        ("CONNECT localhost:PORT HTTP/1.1\r\n\r\n", b"403"),
        ("GET http://github.com/ HTTP/1.1\r\n\r\n", b"403"),
        ("GET http://github.com/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", b"403"),
        ("CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n", b"400"),
        ("CONNECT 127.0.0.1:PORT@github.com:443 HTTP/1.1\r\n\r\n", b"400"),
        ("GET http://127.0.0.1:PORT@github.com/ HTTP/1.1\r\n\r\n", b"400"),
        ("GET https://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n", b"400"),
        ("GET /v1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", b"400"),
        ("rubbish\r\n\r\n", b"400"),
    ],
)
def test_anything_else_is_refused(tmp_path, request_, status):
    (got,), seen, used, _ = trial(tmp_path, request_)
    assert got.split()[1] == status
    assert seen == []
    assert used == []


def test_what_was_refused_is_remembered_once(tmp_path):
    asks = ["CONNECT github.com:443 HTTP/1.1\r\n\r\n", "GET http://a.invalid/ HTTP/1.1\r\n\r\n"] * 2
    _, _, used, refused = trial(tmp_path, *asks)
    assert (used, refused) == ([], ["github.com:443", "a.invalid:80"])


def test_a_place_that_nobody_listens_at_and_a_head_without_end(tmp_path):
    async def run():
        async with egress(tmp_path / "out", ["127.0.0.1:1"]) as state:
            got = await ask(tmp_path / "out", b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n")
            long = await ask(tmp_path / "out", b"GET " + b"x" * 100_000)
            reader, writer = await asyncio.open_unix_connection(tmp_path / "out")
            await asyncio.sleep(0.05)
        assert await reader.read() in {
            b"",
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        }
        writer.close()
        return got, long, state

    got, long, state = asyncio.run(run())
    assert got.split()[1] == b"502"
    assert long == b"" or long.split()[1] == b"502"
    assert list(state.used) == ["127.0.0.1:1"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("api.Example.com", "api.example.com:443"),
        ("h:80", "h:80"),
        ("h:0080", "h:80"),
        ("[::1]:5", "[::1]:5"),
    ],
)
def test_places(text, expected):
    assert place(text) == expected


@pytest.mark.parametrize("text", ["", "h:", "h:0", "h:65536", "http://h", "h h", "h/x", "a:b:c", "::1"])
def test_what_is_no_place(text):
    with pytest.raises(ValueError, match="host"):
        place(text)
