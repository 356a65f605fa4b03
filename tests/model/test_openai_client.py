"""What is the direct client's own: addresses, headers, proxies, redirects, odd bodies."""

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from loopback import Loopback, Reply, refusing_url, text

from evalrunner.calls.loop import close_loop, run_async
from evalrunner.calls.request import CallFailed, CallReply, CallRequest, Message, Slot
from evalrunner.model.http_session import MAX_REPLY_BYTES
from evalrunner.model.openai_client import OpenAIClient

KEY = "opaque-0123456789abcdef"
Send = Callable[[CallRequest], CallReply]


@pytest.fixture(scope="module", autouse=True)
def loop() -> Iterator[None]:
    yield
    close_loop()


@pytest.fixture
def send() -> Iterator[Send]:
    client = OpenAIClient({"MINE": KEY, "ODD": "kéy\x01"})
    yield lambda request: run_async(client.send(request))
    run_async(client.close())


def request(api_base: str, **fields: Any) -> CallRequest:
    given = {"route": "openai/llama3:8b", "timeout_s": 10.0, **fields}
    return CallRequest(
        "llama3:8b",
        messages=(Message("user", "?"),),
        max_tokens=9,
        slot=Slot("judge"),
        api_base=api_base,
        **given,
    )


def failed(send: Send, asked: CallRequest) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        send(asked)
    return caught.value


def completion(**fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "fine"}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]} | fields


@pytest.mark.parametrize(
    ("tail", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("?version=1", "/v1/chat/completions?version=1"),
    ],
)
def test_the_address_is_that_of_the_endpoint_and_the_usual_path(send: Send, tail: str, path: str) -> None:
    with Loopback(text("x")) as server:
        send(request(server.url("openai") + tail))
        assert server.requests[0].path == path


@pytest.mark.parametrize(
    ("route", "name"),
    [("openai/llama3:8b", "llama3:8b"), ("openai/anthropic/claude-opus-4-7", "anthropic/claude-opus-4-7")],
)
def test_the_model_is_named_as_the_endpoint_names_it(send: Send, route: str, name: str) -> None:
    with Loopback(text("x")) as server:
        send(request(server.url("openai"), route=route))
        assert server.requests[0].model == name


def test_without_a_key_there_is_no_authorization(send: Send) -> None:
    with Loopback(text("x")) as server:
        send(request(server.url("openai")))
        send(request(server.url("openai"), key_env="MINE"))
        bare, keyed = (each.headers for each in server.requests)
    assert "authorization" not in bare
    assert keyed["authorization"] == f"Bearer {KEY}"
    assert bare["user-agent"].startswith("evalrunner/")


def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(send: Send) -> None:
    problem = failed(send, request(refusing_url(), key_env="ODD"))
    assert (problem.kind, "ODD" in str(problem), "kéy" in str(problem)) == ("auth", True, False)


def test_connections_are_kept_and_used_again(send: Send) -> None:
    with Loopback(text("x")) as server:
        for _ in range(3):
            send(request(server.url("openai")))
        assert len(server.requests) == 3
        assert server.connections == 1


def test_a_redirect_is_not_followed(send: Send) -> None:
    with Loopback(text("x")) as elsewhere:
        away = Reply(
            status=307, body=b"", headers={"Location": elsewhere.url("openai") + "/chat/completions"}
        )
        with Loopback(away) as server:
            problem = failed(send, request(server.url("openai"), key_env="MINE"))
        assert elsewhere.requests == []
    assert (problem.kind, problem.billed) == ("bad_request", False)
    assert str(problem).startswith("307: the address only redirects")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "the words"}},
        {"error": "the words"},
        {"message": "the words", "object": "error"},
        {"detail": "the words"},
        {"error": {"detail": "the words"}},
    ],
)
def test_the_words_of_an_error_are_found_wherever_servers_put_them(send: Send, body: dict[str, Any]) -> None:
    with Loopback(Reply(status=400, body=json.dumps(body).encode())) as server:
        assert str(failed(send, request(server.url("openai")))) == "400: the words"


def test_an_error_without_words_has_those_of_http(send: Send) -> None:
    with Loopback(Reply(status=503, body=b"")) as server:
        assert str(failed(send, request(server.url("openai")))) == "503: Scripted"


def test_an_error_of_any_length_is_cut(send: Send) -> None:
    with Loopback(Reply(status=500, body=b"x" * 10_000_000)) as server:
        problem = failed(send, request(server.url("openai")))
    assert (problem.kind, len(str(problem)) < 400) == ("overloaded", True)


def test_a_body_over_several_lines_is_one_line_of_the_journal(send: Send) -> None:
    body = json.dumps(completion(model="m\u2028"), indent=2, ensure_ascii=False).replace("\n", "\r\n")
    with Loopback(Reply(body=body.encode())) as server:
        reply = send(request(server.url("openai")))
    assert reply.raw is not None
    assert "\n" not in reply.raw
    assert "\r" not in reply.raw
    assert json.loads(reply.raw) == completion(model="m\u2028")
    assert (reply.text, reply.answered_by, reply.usage.estimated) == ("fine", "m\u2028", True)


def test_numbers_that_json_does_not_have_do_not_lose_the_reply(send: Send) -> None:
    body = json.dumps(completion(logprobs=float("nan")))
    with Loopback(Reply(body=body.encode())) as server:
        reply = send(request(server.url("openai")))
    assert (reply.text, json.loads(str(reply.raw))) == ("fine", body)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "x",
        {"prompt_tokens": "12"},
        {"prompt_tokens": True},
        {"prompt_tokens": -3},
        {"prompt_tokens": 1.5},
        {"completion_tokens": 5},
    ],
)
def test_usage_that_is_none_is_not_reported(send: Send, usage: Any) -> None:
    with Loopback(Reply(body=json.dumps(completion(usage=usage)).encode())) as server:
        got = send(request(server.url("openai"))).usage
    assert (got.input_tokens, got.output_tokens, got.estimated) == (0, 0, True)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b"",
        b'{"choices": null}',
        b'{"choices": [null]}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [{"message": {"content": "x"}, "finish_reason": 1}]}',
        b"[" * 100_000,
        b'{"choices": [{"message": {"content": ["x"]}}]}',
        b"\xef\xbb\xbf{}",
        b'{"error": {"message": "the words"}}',
    ],
)
def test_what_is_no_completion_is_garbage_and_may_have_been_billed(send: Send, body: bytes) -> None:
    with Loopback(Reply(body=body)) as server:
        problem = failed(send, request(server.url("openai")))
    assert (problem.kind, problem.billed) == ("garbage", True)
    assert str(problem).startswith("the reply is no chat completion")
    assert len(str(problem)) < 400
    assert ("the words" in str(problem)) is (b"the words" in body)


def test_what_is_no_http_is_garbage(send: Send) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        await writer.drain()
        writer.close()

    async def asked() -> CallFailed:
        client = OpenAIClient({})
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(CallFailed) as caught:
                await client.send(request(f"http://127.0.0.1:{port}"))
            await client.close()
        return caught.value

    problem = run_async(asked())
    assert (problem.kind, problem.billed) == ("garbage", True)


def test_a_compressed_flood_is_broken_off_too(send: Send) -> None:
    body = gzip.compress(b" " * (MAX_REPLY_BYTES + 2**20))
    assert len(body) < 100_000
    with Loopback(Reply(body=body, headers={"Content-Encoding": "gzip"})) as server:
        problem = failed(send, request(server.url("openai")))
        assert server.requests[0].headers["accept-encoding"] == "identity"
    assert (problem.kind, str(problem)) == ("garbage", "the reply is longer than 16 MiB")


def test_a_proxy_of_the_environment_is_asked_and_no_proxy_is_heeded(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Loopback(text("x")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert send(request("http://models.invalid/v1")).text == "x"
        assert proxy.requests[0].path == "http://models.invalid/v1/chat/completions"
        with Loopback(text("y")) as server:
            assert send(request(server.url("openai"))).text == "y"
        assert len(proxy.requests) == 1
    problem = failed(send, request("http://other.invalid/v1"))
    assert (problem.kind, problem.billed, "secret" in str(problem)) == ("connection", False, False)


def test_a_proxy_of_another_kind_is_named(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    problem = failed(send, request("http://models.invalid/v1"))
    assert (problem.kind, "the proxy" in str(problem)) == ("bad_request", True)
