"""The scripted server itself, spoken to without any client library."""

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from loopback import Loopback, Reply, error, score_all, scores

OPENAI = "/v1/chat/completions"


def post(server: Loopback | int, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", server if isinstance(server, int) else server.port)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def asked(model: str = "m", words: str = "hi") -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": words}]}


def said(answer: tuple[int, dict[str, Any]]) -> str:
    return str(answer[1]["choices"][0]["message"]["content"])


def test_a_list_is_answered_in_order_and_then_complains() -> None:
    with Loopback([error(429), "one", Reply(text="two")]) as server:
        assert post(server, OPENAI, asked())[0] == 429
        assert said(post(server, OPENAI, asked())) == "one"
        assert said(post(server, OPENAI, asked())) == "two"
        status, body = post(server, OPENAI, asked())
    assert status == 400
    assert "no reply left for request 4" in body["error"]["message"]


def test_each_model_has_a_script_of_its_own() -> None:
    with Loopback({"a": ["a1", "a2"], "*": "other"}) as server:
        assert [said(post(server, OPENAI, asked(model))) for model in ("a", "b", "a")] == [
            "a1",
            "other",
            "a2",
        ]
        assert [request.number for request in server.of("a")] == [0, 2]
        assert server.peak == 1
    with Loopback({"a": "x"}) as server:
        assert post(server, OPENAI, asked("b"))[0] == 404


def test_a_function_that_fails_is_seen_on_both_sides() -> None:
    with Loopback(lambda request: 1 / 0) as server:
        status, body = post(server, OPENAI, asked())
        assert status == 500
        assert "ZeroDivisionError" in body["error"]["message"]
        assert [type(each) for each in server.errors] == [ZeroDivisionError]


def test_every_dimension_that_is_asked_for_gets_the_score() -> None:
    schema: dict[str, Any] = {"properties": {"scores": {"properties": {"wit": {}, "depth": {}}}}}
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    with Loopback(score_all("7.50", "Say more.")) as server:
        by_schema = said(post(server, OPENAI, asked() | {"response_format": form}))
        by_prompt = said(post(server, OPENAI, asked(words='{"scores": {"wit": <number from 1 to 10>}}')))
    assert by_schema == '{"scores": {"wit": 7.50, "depth": 7.50}, "improvements": ["Say more."]}'
    assert by_prompt == '{"scores": {"wit": 7.50}, "improvements": ["Say more."]}'


def test_three_wire_formats_on_one_port() -> None:
    with Loopback(scores(wit=8)) as server:
        text = '{"scores": {"wit": 8}, "improvements": []}'
        assert said(post(server, OPENAI, asked())) == text
        claude = post(server, "/v1/messages", {"system": "s", "max_tokens": 9, **asked()})[1]
        assert claude["content"] == [{"type": "text", "text": text}]
        assert claude["stop_reason"] == "end_turn"
        contents = [{"role": "user", "parts": [{"text": "hi"}]}]
        gemini = post(server, "/models/m:generateContent?key=k", {"contents": contents})[1]
        assert gemini["candidates"][0]["content"]["parts"] == [{"text": text}]
        assert gemini["candidates"][0]["finishReason"] == "STOP"
        assert [request.wire for request in server.requests] == ["openai", "anthropic", "gemini"]
        assert {request.model for request in server.requests} == {"m"}
        assert {request.messages for request in server.requests} == {(("user", "hi"),)}


def test_as_a_program_it_prints_its_port() -> None:
    command = [sys.executable, str(Path(__file__).with_name("loopback.py")), "--score", "9"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            port = int(program.stdout.readline())
            answer = said(post(port, OPENAI, asked(words='"wit": <number')))
        finally:
            program.terminate()
    assert json.loads(answer)["scores"] == {"wit": 9}
