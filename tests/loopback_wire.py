"""What the loopback server says and hears: requests and replies in the wire formats of three providers."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Wire = Literal["openai", "anthropic", "gemini"]


@dataclass(frozen=True)
class Tokens:
    """What a reply says it used: all input (cached included) and all output (reasoning included)."""

    input: int = 100
    output: int = 20
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Reply:
    """One answer.

    Attributes:
        text: what the model says.
        finish: stop, length, content_filter, tool_calls (put into each provider's own word), anything else
            as it stands, or None for a reply without one.
        usage: None leaves it out of the reply.
        model: the name that the reply bears; the requested one when None.
        delay: seconds before the answer, on top of the server's latency.
        body: these bytes instead of the wire format.
        how: `answer`, or `hang`, `reset`, `trickle`, `flood`.
        over: seconds that a trickle takes, or bytes of a flood.
    """

    text: str = ""
    finish: str | None = "stop"
    usage: Tokens | None = Tokens()
    model: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    body: bytes | None = None
    how: Literal["answer", "hang", "reset", "trickle", "flood"] = "answer"
    over: float = 0.0


@dataclass(frozen=True)
class Request:
    """One request as it came in.

    Attributes:
        time: `time.monotonic()` when it was read whole. answered: when the answer was out, 0 until then.
        model: as on the wire, without the provider.
        system, messages: the system prompt, and (role, text) of the rest.
        schema: the JSON schema asked for, wherever the provider takes it; None when there is none.
        body: the whole JSON body. headers: names in lower case.
    """

    number: int
    time: float
    wire: Wire
    path: str
    model: str
    system: str
    messages: tuple[tuple[str, str], ...]
    schema: Mapping[str, Any] | None
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def prompt(self) -> str:
        """All text of the request."""
        return "\n".join([self.system, *(words for _, words in self.messages)])

    @property
    def max_tokens(self) -> int | None:
        """The bound on the reply, whatever the provider calls it."""
        settings = self.body.get("generationConfig", {})
        for value in (
            self.body.get("max_tokens"),
            self.body.get("max_completion_tokens"),
            settings.get("max_output_tokens"),
            settings.get("maxOutputTokens"),
        ):
            if value is not None:
                return int(value)
        return None

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions to score: from the schema, else from the reply form in the prompt."""
        if self.schema is not None:
            return tuple(self.schema.get("properties", {}).get("scores", {}).get("properties", {}))
        return tuple(re.findall(r'"([a-z][a-z0-9_]*)": <number', self.prompt))


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def understood(number: int, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Request:
    wire: Wire = "openai"
    model = str(body.get("model", ""))
    system = ""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    messages = [(each["role"], _text_of(each.get("content"))) for each in body.get("messages", [])]
    if ":generateContent" in path:
        wire = "gemini"
        model = path.partition("/models/")[2].partition(":generateContent")[0]
        given = body.get("systemInstruction") or body.get("system_instruction") or {}
        system = _text_of(given.get("parts", []))
        messages = [(each.get("role", "user"), _text_of(each["parts"])) for each in body.get("contents", [])]
        settings = body.get("generationConfig", {})
        schema = next(
            (settings[key] for key in settings if re.fullmatch(r"response_?(json_?)?schema", key, re.I)), None
        )
    elif path.partition("?")[0].endswith("/messages"):
        wire = "anthropic"
        system = _text_of(body.get("system"))
        given = body.get("output_format") or body.get("output_config", {}).get("format") or {}
        schema = given.get("schema")
    else:
        system = "\n".join(words for role, words in messages if role in {"system", "developer"})
        messages = [each for each in messages if each[0] not in {"system", "developer"}]
    return Request(
        number, time.monotonic(), wire, path, model, system, tuple(messages), schema, body, dict(headers)
    )


_FINISH: dict[str, dict[str, str]] = {
    "openai": {},
    "anthropic": {
        "stop": "end_turn",
        "length": "max_tokens",
        "content_filter": "refusal",
        "tool_calls": "tool_use",
    },
    "gemini": {
        "stop": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
        "tool_calls": "UNEXPECTED_TOOL_CALL",
    },
}


def body_of(request: Request, reply: Reply) -> bytes:
    if reply.body is not None:
        return reply.body
    if reply.status >= 400:
        return json.dumps(_error_body(request.wire, reply)).encode()
    finish = None if reply.finish is None else _FINISH[request.wire].get(reply.finish, reply.finish)
    make = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini}[request.wire]
    return json.dumps(make(request, reply, finish, reply.model or request.model)).encode()


def _error_body(wire: Wire, reply: Reply) -> dict[str, Any]:
    if wire == "anthropic":
        return {"type": "error", "error": {"type": f"scripted_{reply.status}", "message": reply.text}}
    if wire == "gemini":
        return {"error": {"code": reply.status, "message": reply.text, "status": f"SCRIPTED_{reply.status}"}}
    return {"error": {"message": reply.text, "type": f"scripted_{reply.status}", "param": None, "code": None}}


def _openai(request: Request, reply: Reply, finish: str | None, model: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text, "refusal": None}
    body: dict[str, Any] = {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
    }
    if (used := reply.usage) is not None:
        body["usage"] = {
            "prompt_tokens": used.input,
            "completion_tokens": used.output,
            "total_tokens": used.input + used.output,
            "prompt_tokens_details": {"cached_tokens": used.cached},
            "completion_tokens_details": {"reasoning_tokens": used.reasoning},
        }
    return body


def _anthropic(request: Request, reply: Reply, finish: str | None, model: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": f"msg_{request.number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": reply.text}],
        "stop_reason": finish,
        "stop_sequence": None,
    }
    if (used := reply.usage) is not None:
        body["usage"] = {
            "input_tokens": used.input - used.cached,
            "cache_read_input_tokens": used.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": used.output,
        }
    return body


def _gemini(request: Request, reply: Reply, finish: str | None, model: str) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": reply.text}]}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    body: dict[str, Any] = {
        "candidates": [candidate],
        "modelVersion": model,
        "responseId": f"r{request.number}",
    }
    if (used := reply.usage) is not None:
        body["usageMetadata"] = {
            "promptTokenCount": used.input,
            "cachedContentTokenCount": used.cached,
            "candidatesTokenCount": used.output - used.reasoning,
            "thoughtsTokenCount": used.reasoning,
            "totalTokenCount": used.input + used.output,
        }
    return body
