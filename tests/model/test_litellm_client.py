"""The client against real litellm over real HTTP, in three wire formats."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from loopback import (
    Loopback,
    Reply,
    Tokens,
    Wire,
    cut,
    error,
    garbage,
    hang,
    refusing_url,
    reset,
    scores,
    text,
    trickle,
)

from evalrunner.calls.loop import close_loop, run_async
from evalrunner.calls.request import CallFailed, CallReply, CallRequest, Message, Slot
from evalrunner.model.litellm_client import LitellmClient

KEY = "opaque-0123456789abcdef"
MODELS: dict[Wire, str] = {
    "openai": "openai/gpt-4o",
    "anthropic": "anthropic/claude-opus-4-7",
    "gemini": "gemini/gemini-2.5-pro",
}
WIRES = list(MODELS)
MESSAGES = (Message("system", "You judge."), Message("user", "Judge this: ü"))
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 1, "maximum": 10}},
    "required": ["score"],
    "additionalProperties": False,
}

Send = Callable[[CallRequest], CallReply]


@pytest.fixture(scope="module", autouse=True)
def loop() -> Iterator[None]:
    yield
    close_loop()


@pytest.fixture
def client() -> LitellmClient:
    return LitellmClient({"LOOPBACK_KEY": KEY, "OPENAI_API_KEY": "sk-own", "EMPTY": " "})


@pytest.fixture
def send(client: LitellmClient) -> Iterator[Send]:
    yield lambda request: run_async(client.send(request))
    run_async(client.close())


def request(wire: Wire, server: Loopback, **fields: Any) -> CallRequest:
    made = CallRequest(
        model=MODELS[wire],
        route=MODELS[wire],
        messages=MESSAGES,
        max_tokens=77,
        slot=Slot("judge"),
        api_base=server.url(wire),
        key_env="LOOPBACK_KEY",
        timeout_s=10,
    )
    return replace(made, **fields)


def failed(send: Send, asked: CallRequest) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        send(asked)
    assert KEY not in str(caught.value)
    assert "Traceback" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_comes_back_whole(send: Send, wire: Wire) -> None:
    said = text('{"a": 1}', model="named-by-provider", usage=Tokens(1000, 50, cached=400))
    with Loopback(said) as server:
        reply = send(request(wire, server))
    assert reply.text == '{"a": 1}'
    assert reply.finish_reason == "stop"
    assert reply.answered_by == "named-by-provider"
    assert reply.usage.model_dump() == {
        "calls": 1,
        "input_tokens": 1000,
        "output_tokens": 50,
        "cached_tokens": 400,
        "reasoning_tokens": 0,
        "estimated": False,
    }
    assert json.loads(json.dumps(reply.raw))["choices"][0]["message"]["content"] == '{"a": 1}'
    assert reply.cost_usd is None
    assert reply.dropped == ()


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_sent(send: Send, wire: Wire) -> None:
    with Loopback(text("x")) as server:
        send(request(wire, server, schema=SCHEMA))
        (seen,) = server.requests
    assert seen.wire == wire
    assert seen.model == MODELS[wire].partition("/")[2]
    assert seen.system == "You judge."
    assert seen.messages == (("user", "Judge this: ü"),)
    assert seen.max_tokens == 77
    assert seen.schema is not None
    assert list(seen.schema["properties"]) == ["score"]
    assert any(KEY in value for value in seen.headers.values())


@pytest.mark.parametrize("wire", ["openai", "gemini"])
def test_reasoning_tokens_are_part_of_the_output(send: Send, wire: Wire) -> None:
    with Loopback(text("x", usage=Tokens(10, 50, reasoning=30))) as server:
        usage = send(request(wire, server)).usage
    assert (usage.output_tokens, usage.reasoning_tokens) == (50, 30)


STATUSES = [
    (400, "bad_request"),
    (401, "auth"),
    (403, "auth"),
    (404, "not_found"),
    (408, "timeout"),
    (409, "bad_request"),
    (422, "bad_request"),
    (429, "rate_limited"),
    (500, "overloaded"),
    (502, "overloaded"),
    (503, "overloaded"),
    (529, "overloaded"),
]


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_status_says_its_kind_after_exactly_one_request(send: Send, wire: Wire) -> None:
    for status, kind in STATUSES:
        with Loopback(error(status, f"the words of the provider, and {KEY}")) as server:
            problem = failed(send, request(wire, server))
            assert len(server.requests) == 1
        assert (problem.kind, problem.billed, problem.retry_after_s) == (kind, False, None), status
        assert str(problem) == f"{status}: the words of the provider, and [API key]"


@pytest.mark.parametrize("wire", WIRES)
def test_retry_after_is_read_in_seconds_and_as_a_date(send: Send, wire: Wire) -> None:
    with Loopback(error(429, retry_after=7)) as server:
        assert failed(send, request(wire, server)).retry_after_s == 7
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    with Loopback(error(503, retry_after=date)) as server:
        wait = failed(send, request(wire, server)).retry_after_s
    assert wait is not None
    assert 80 < wait <= 100


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (hang(), "timeout"),
        (trickle(text("x" * 1000), 30), "timeout"),
        (reset(), "connection"),
        (garbage(), "garbage"),
        (garbage(b"{}"), "garbage"),
        (garbage(b'{"choices": [], "content": [], "candidates": 3}'), "garbage"),
        (garbage(b"\xff\xfe"), "garbage"),
    ],
    ids=["hang", "trickle", "reset", "html", "empty", "shape", "bytes"],
)
def test_what_breaks_after_sending_may_have_been_billed(
    send: Send, wire: Wire, reply: Reply, kind: str
) -> None:
    with Loopback(reply) as server:
        problem = failed(send, request(wire, server, timeout_s=0.4))
        assert len(server.requests) == 1
    assert (problem.kind, problem.billed) == (kind, True)
    assert len(str(problem)) <= 320


@pytest.mark.parametrize("wire", WIRES)
def test_a_refused_connection_costs_nothing(send: Send, wire: Wire) -> None:
    with Loopback() as server:
        asked = request(wire, server, api_base=refusing_url())
        problem = failed(send, asked)
    assert (problem.kind, problem.billed) == ("connection", False)


@pytest.mark.parametrize("wire", WIRES)
def test_finish_reasons(send: Send, wire: Wire) -> None:
    for reply, reason in [(cut("x"), "length"), (text("x", finish="content_filter"), "content_filter")]:
        with Loopback(reply) as server:
            assert send(request(wire, server)).finish_reason == reason


@pytest.mark.parametrize("wire", ["openai", "gemini"])
@pytest.mark.parametrize("word", ["error", "never_heard_of"])
def test_litellm_calls_what_it_does_not_know_a_stop_and_we_do_not(send: Send, wire: Wire, word: str) -> None:
    with Loopback(text("x", finish=word)) as server:
        assert send(request(wire, server)).finish_reason == word


def test_usage_that_is_not_reported_is_marked(send: Send) -> None:
    with Loopback(text("x", usage=None)) as server:
        usage = send(request("openai", server)).usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.estimated) == (1, 0, 0, True)


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_without_usage_these_two_replies_cannot_be_read(send: Send, wire: Wire) -> None:
    with Loopback(text("x", usage=None)) as server:
        problem = failed(send, request(wire, server))
    assert (problem.kind, problem.billed) == ("garbage", True)


def test_parameters_that_a_model_does_not_take_are_dropped_and_named(send: Send) -> None:
    params = {"temperature": 0, "top_p": 0.5, "seed": 1}
    with Loopback(text("x")) as server:
        claude = send(request("anthropic", server, params=params))
        openai = send(request("openai", server, params=params))
        gpt5 = send(request("openai", server, params=params, model="openai:gpt-5", route="openai/gpt-5"))
        bodies = [each.body for each in server.requests]
    assert claude.dropped == ("temperature", "top_p", "seed")
    assert not {"temperature", "top_p", "seed"} & bodies[0].keys()
    assert openai.dropped == ()
    assert {name: bodies[1][name] for name in params} == params
    assert gpt5.dropped == ("temperature", "top_p")
    assert bodies[2]["seed"] == 1


def test_a_schema_goes_to_models_that_take_one(send: Send) -> None:
    routes = {
        "openai/gpt-3.5-turbo": False,  # known not to
        "openai/of-my-own": True,  # unknown: its API takes one
        "hosted_vllm/of-my-own": True,
    }
    for route, takes in routes.items():
        with Loopback(text("x")) as server:
            send(request("openai", server, route=route, schema=SCHEMA))
            assert (server.requests[0].schema == SCHEMA) is takes, route
            assert "tools" not in server.requests[0].body


def test_an_older_claude_is_asked_without_a_schema_since_its_cut_replies_would_look_whole(send: Send) -> None:
    with Loopback(cut('{"score": 1')) as server:
        reply = send(request("anthropic", server, route="anthropic/claude-3-haiku-20240307", schema=SCHEMA))
        assert server.requests[0].schema is None
        assert "tools" not in server.requests[0].body
    assert reply.finish_reason == "length"


def test_a_missing_key_is_named_and_nothing_is_sent(send: Send) -> None:
    with Loopback(text("x")) as server:
        problem = failed(send, request("openai", server, key_env="EMPTY"))
        assert server.requests == []
    assert (problem.kind, problem.billed) == ("auth", False)
    assert "EMPTY" in str(problem)
    problem = failed(send, request("anthropic", server, key_env=None, api_base=None))
    assert problem.kind == "auth"
    assert "ANTHROPIC_API_KEY" in str(problem)


def test_an_endpoint_of_ones_own_gets_a_placeholder_and_never_the_providers_key(send: Send) -> None:
    with Loopback(text("x")) as server:
        send(request("openai", server, key_env=None))
        assert server.requests[0].headers["authorization"] == "Bearer no-key-needed"


def test_a_lone_surrogate_in_a_reply_does_not_get_further(send: Send) -> None:
    with Loopback(Reply(text="a\ud800b")) as server:
        reply = send(request("openai", server))
    assert reply.text == "a\ufffdb"
    json.dumps(reply.raw, ensure_ascii=False).encode()


def test_an_account_without_quota_is_not_worth_waiting_for(send: Send) -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with Loopback(Reply(status=429, body=json.dumps(body).encode())) as server:
        assert failed(send, request("openai", server)).kind == "auth"


def test_gemini_names_the_wait_in_the_body(send: Send) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}]
    body = {"error": {"code": 429, "message": "slow down", "status": "X", "details": details}}
    with Loopback(Reply(status=429, body=json.dumps(body).encode())) as server:
        problem = failed(send, request("gemini", server))
    assert (problem.kind, problem.retry_after_s) == ("rate_limited", 13.5)


def test_an_earlier_failure_does_not_colour_the_next(client: LitellmClient) -> None:
    async def twice() -> CallFailed:
        with Loopback(error(429)) as server:
            asked = request("openai", server)
            try:
                await client.send(asked)
            except CallFailed:
                try:
                    await client.send(replace(asked, api_base=refusing_url()))
                except CallFailed as second:
                    return second
        raise AssertionError

    try:
        assert run_async(twice()).kind == "connection"
    finally:
        run_async(client.close())


def test_calls_run_side_by_side_and_a_closed_client_can_be_used_again(client: LitellmClient) -> None:
    async def many(server: Loopback) -> list[CallReply]:
        made = [request(wire, server) for wire in WIRES for _ in range(4)]
        return await asyncio.gather(*(client.send(each) for each in made))

    with Loopback(scores(accuracy=8), latency=0.2) as server:
        for round_ in (1, 2):
            replies = run_async(many(server))
            assert {each.text for each in replies} == {'{"scores": {"accuracy": 8}, "improvements": []}'}
            assert len(server.requests) == 12 * round_
            run_async(client.close())
        assert server.peak == 12


def test_cancelling_a_call_ends_it(client: LitellmClient) -> None:
    async def cancelled(server: Loopback) -> None:
        task = asyncio.create_task(client.send(request("openai", server)))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.close()

    with Loopback(hang()) as server:
        run_async(cancelled(server))
