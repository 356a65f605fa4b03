"""What the loopback server can be told to answer."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from loopback_wire import Reply, Request


def text(words: str, **fields: Any) -> Reply:
    """A reply with these words."""
    return Reply(text=words, **fields)


def scores(improvements: Sequence[str] = (), /, **dimensions: float | int | str) -> Reply:
    """A judge's reply. A score given as a string is put into the JSON as written: "7.50"."""
    inside = ", ".join(f"{json.dumps(name)}: {value}" for name, value in dimensions.items())
    return Reply(text=f'{{"scores": {{{inside}}}, "improvements": {json.dumps(list(improvements))}}}')


def score_all(value: float | int | str, *improvements: str) -> Callable[[Request], Reply]:
    """A script: `value` for every dimension that the request asks for."""
    return lambda request: scores(improvements, **dict.fromkeys(request.dimensions, value))


def cut(words: str) -> Reply:
    """A reply that ran into the token limit."""
    return Reply(text=words, finish="length")


def error(status: int, message: str = "scripted error", *, retry_after: float | str | None = None) -> Reply:
    """An error in the provider's own form; `retry_after` in seconds, or an HTTP date."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Reply(text=message, status=status, headers=headers)


def garbage(body: bytes = b"<html>502 but not really</html>") -> Reply:
    """Status 200 with a body that is not what was asked for."""
    return Reply(body=body)


def hang() -> Reply:
    """No answer, ever; until the client goes away."""
    return Reply(how="hang")


def reset() -> Reply:
    """The connection is reset once the request was read."""
    return Reply(how="reset")


def trickle(reply: Reply, seconds: float) -> Reply:
    """The reply in pieces, over so many seconds."""
    return replace(reply, how="trickle", over=seconds)


def flood(size: int, *, told: bool = True) -> Reply:
    """So many blanks; without `told` their number is not in the headers."""
    return Reply(how="flood", over=size, headers={} if told else {"Transfer-Encoding": "chunked"})
