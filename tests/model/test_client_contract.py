"""What every client does with what a provider does: one suite for all of them, over real HTTP."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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
    flood,
    garbage,
    hang,
    refusing_url,
    reset,
    scores,
    text,
    trickle,
)

from evalrunner.calls.loop import close_loop, run_async
from evalrunner.calls.request import CallFailed, CallReply, CallRequest, Client, Message, Slot
from evalrunner.model.http_session import MAX_REPLY_BYTES
from evalrunner.model.litellm_client import LitellmClient
from evalrunner.model.openai_client import OpenAIClient

KEY = "opaque-0123456789abcdef"
ENVIRON = {"LOOPBACK_KEY": KEY, "OPENAI_API_KEY": "sk-own", "EMPTY": " "}
MESSAGES = (Message("system", "You judge."), Message("user", 'Judge this: ü "quoted"\n\u2028'))
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 1, "maximum": 10}},
    "required": ["score"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Case:
    """A client, and a wire format that it speaks."""

    make: Callable[[], Client]
    wire: Wire
    route: str

    def request(self, server: Loopback, **fields: Any) -> CallRequest:
        made = CallRequest(
            model=self.route,
            route=self.route,
            messages=MESSAGES,
            max_tokens=77,
            slot=Slot("judge"),
            api_base=server.url(self.wire),
            key_env="LOOPBACK_KEY",
            timeout_s=10,
        )
        return replace(made, **fields)


CASES = {
    "direct": Case(lambda: OpenAIClient(ENVIRON), "openai", "openai/gpt-4o"),
    "litellm-openai": Case(lambda: LitellmClient(ENVIRON), "openai", "openai/gpt-4o"),
    "litellm-anthropic": Case(lambda: LitellmClient(ENVIRON), "anthropic", "anthropic/claude-opus-4-7"),
    "litellm-gemini": Case(lambda: LitellmClient(ENVIRON), "gemini", "gemini/gemini-2.5-pro"),
}
OPENAI_FORMAT = ["direct", "litellm-openai"]
Send = Callable[[CallRequest], CallReply]


@pytest.fixture(scope="module", autouse=True)
def loop() -> Iterator[None]:
    yield
    close_loop()


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def client(case: Case) -> Iterator[Client]:
    made = case.make()
    yield made
    run_async(made.close())


@pytest.fixture
def send(client: Client) -> Send:
    return lambda request: run_async(client.send(request))


def only(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [CASES[name] for name in names], ids=names)


def failed(send: Send, asked: CallRequest) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        send(asked)
    assert KEY not in str(caught.value)
    assert "Traceback" not in str(caught.value)
    return caught.value


def test_a_reply_comes_back_whole(send: Send, case: Case) -> None:
    said = text('{"a": "ü\n"}', model="named-by-provider", usage=Tokens(1000, 50, cached=400))
    with Loopback(said) as server:
        reply = send(case.request(server))
    assert reply.text == '{"a": "ü\n"}'
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
    assert reply.raw is not None
    assert "\n" not in reply.raw
    assert json.loads(reply.raw)["choices"][0]["message"]["content"] == reply.text
    assert (reply.cost_usd, reply.dropped) == (None, ())


def test_what_is_sent(send: Send, case: Case) -> None:
    with Loopback(text("x")) as server:
        send(case.request(server, schema=SCHEMA))
        (seen,) = server.requests
    assert seen.wire == case.wire
    assert seen.model == case.route.partition("/")[2]
    assert seen.system == "You judge."
    assert seen.messages == (("user", 'Judge this: ü "quoted"\n\u2028'),)
    assert seen.max_tokens == 77
    assert seen.schema is not None
    assert list(seen.schema["properties"]) == ["score"]
    assert any(KEY in value for value in seen.headers.values())


@only("direct", "litellm-openai", "litellm-gemini")
def test_reasoning_tokens_are_part_of_the_output(send: Send, case: Case) -> None:
    with Loopback(text("x", usage=Tokens(10, 50, reasoning=30))) as server:
        usage = send(case.request(server)).usage
    assert (usage.output_tokens, usage.reasoning_tokens) == (50, 30)


@only(*OPENAI_FORMAT)
def test_usage_that_is_not_reported_is_marked(send: Send, case: Case) -> None:
    with Loopback(text("x", usage=None)) as server:
        usage = send(case.request(server)).usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.estimated) == (1, 0, 0, True)


@only(*OPENAI_FORMAT)
def test_a_schema_and_parameters_go_through_as_they_are(send: Send, case: Case) -> None:
    params = {"temperature": 0, "top_p": 0.5, "seed": 1, "stop": ["\n\n"]}
    extra = {"extra_body": {"guided": {"a": [1]}}}
    with Loopback(text("x")) as server:
        reply = send(case.request(server, params=params | extra, schema=SCHEMA))
        (body,) = [each.body for each in server.requests]
    assert reply.dropped == ()
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
    }
    assert {name: body[name] for name in params} == params
    assert body["guided"] == {"a": [1]}
    assert "extra_body" not in body


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


def test_an_error_status_says_its_kind_after_exactly_one_request(send: Send, case: Case) -> None:
    for status, kind in STATUSES:
        with Loopback(error(status, f"the words of the provider, and {KEY}")) as server:
            problem = failed(send, case.request(server))
            assert len(server.requests) == 1
        assert (problem.kind, problem.billed, problem.retry_after_s) == (kind, False, None), status
        assert str(problem) == f"{status}: the words of the provider, and [API key]"


def test_retry_after_is_read_in_seconds_and_as_a_date(send: Send, case: Case) -> None:
    with Loopback(error(429, retry_after=7)) as server:
        assert failed(send, case.request(server)).retry_after_s == 7
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    with Loopback(error(503, retry_after=date)) as server:
        wait = failed(send, case.request(server)).retry_after_s
    assert wait is not None
    assert 80 < wait <= 100


@only(*OPENAI_FORMAT)
def test_an_account_without_quota_is_not_worth_waiting_for(send: Send, case: Case) -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with Loopback(Reply(status=429, body=json.dumps(body).encode())) as server:
        assert failed(send, case.request(server)).kind == "auth"


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
    send: Send, case: Case, reply: Reply, kind: str
) -> None:
    with Loopback(reply) as server:
        problem = failed(send, case.request(server, timeout_s=0.4))
        assert len(server.requests) == 1
    assert (problem.kind, problem.billed) == (kind, True)
    assert len(str(problem)) <= 340


@only(*OPENAI_FORMAT)
@pytest.mark.parametrize("told", [True, False])
def test_a_reply_of_200_mib_is_broken_off(send: Send, case: Case, told: bool) -> None:
    with Loopback(flood(200 * 2**20, told=told)) as server:
        problem = failed(send, case.request(server, timeout_s=30))
        assert server.flooded < 2 * MAX_REPLY_BYTES
    assert (problem.kind, problem.billed) == ("garbage", True)
    assert "the reply is longer than 16 MiB" in str(problem)


def test_a_refused_connection_costs_nothing(send: Send, case: Case) -> None:
    with Loopback() as server:
        problem = failed(send, case.request(server, api_base=refusing_url()))
    assert (problem.kind, problem.billed) == ("connection", False)


def test_an_earlier_failure_does_not_colour_the_next(client: Client, case: Case) -> None:
    async def twice() -> CallFailed:
        with Loopback(error(429)) as server:
            asked = case.request(server)
            try:
                await client.send(asked)
            except CallFailed:
                try:
                    await client.send(replace(asked, api_base=refusing_url()))
                except CallFailed as second:
                    return second
        raise AssertionError

    assert run_async(twice()).kind == "connection"


def test_finish_reasons(send: Send, case: Case) -> None:
    for reply, reason in [(cut("x"), "length"), (text("x", finish="content_filter"), "content_filter")]:
        with Loopback(reply) as server:
            assert send(case.request(server)).finish_reason == reason


@only("direct", "litellm-openai", "litellm-gemini")
def test_a_reason_that_nobody_knows_is_no_stop(send: Send, case: Case) -> None:
    for word in ("error", "never_heard_of"):
        with Loopback(text("x", finish=word)) as server:
            assert send(case.request(server)).finish_reason == word


@only(*OPENAI_FORMAT)
def test_a_refusal_is_no_answer(send: Send, case: Case) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I would rather not."}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }
    with Loopback(Reply(body=json.dumps(body).encode())) as server:
        reply = send(case.request(server))
    assert (reply.text, reply.finish_reason) == ("I would rather not.", "refusal")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 4)


def test_a_missing_key_is_named_and_nothing_is_sent(send: Send, case: Case) -> None:
    with Loopback(text("x")) as server:
        problem = failed(send, case.request(server, key_env="EMPTY"))
        assert server.requests == []
    assert (problem.kind, problem.billed) == ("auth", False)
    assert "EMPTY" in str(problem)


def test_an_endpoint_of_ones_own_never_gets_the_providers_key(send: Send, case: Case) -> None:
    with Loopback(text("x")) as server:
        send(case.request(server, key_env=None))
        headers = server.requests[0].headers
    assert not any("sk-own" in value for value in headers.values())


def test_a_lone_surrogate_in_a_reply_does_not_get_further(send: Send, case: Case) -> None:
    with Loopback(Reply(text="a\ud800b")) as server:
        reply = send(case.request(server))
    assert reply.text == "a\ufffdb"
    assert reply.raw is not None
    reply.raw.encode()


def test_calls_run_side_by_side_and_a_closed_client_can_be_used_again(client: Client, case: Case) -> None:
    async def many(server: Loopback) -> list[CallReply]:
        return await asyncio.gather(*(client.send(case.request(server)) for _ in range(12)))

    with Loopback(scores(accuracy=8), latency=0.2) as server:
        for round_ in (1, 2):
            replies = run_async(many(server))
            assert {each.text for each in replies} == {'{"scores": {"accuracy": 8}, "improvements": []}'}
            assert len(server.requests) == 12 * round_
            run_async(client.close())
        assert server.peak == 12


def test_cancelling_a_call_ends_it(client: Client, case: Case) -> None:
    async def cancelled(server: Loopback) -> None:
        task = asyncio.create_task(client.send(case.request(server)))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.close()

    with Loopback(hang()) as server:
        run_async(cancelled(server))
