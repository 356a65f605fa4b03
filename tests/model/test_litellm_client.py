"""What is litellm's own: parameters and schemas by model, keys by provider, the other wire formats.

What it has in common with the other clients is in test_client_contract.py.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from loopback import (
    Loopback,
    Reply,
    Wire,
    cut,
    text,
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


def test_the_missing_key_of_a_provider_is_named_and_nothing_is_sent(send: Send) -> None:
    with Loopback(text("x")) as server:
        problem = failed(send, request("anthropic", server, key_env=None, api_base=None))
        assert server.requests == []
    assert (problem.kind, problem.billed) == ("auth", False)
    assert "ANTHROPIC_API_KEY" in str(problem)


def test_gemini_names_the_wait_in_the_body(send: Send) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}]
    body = {"error": {"code": 429, "message": "slow down", "status": "X", "details": details}}
    with Loopback(Reply(status=429, body=json.dumps(body).encode())) as server:
        problem = failed(send, request("gemini", server))
    assert (problem.kind, problem.retry_after_s) == ("rate_limited", 13.5)
