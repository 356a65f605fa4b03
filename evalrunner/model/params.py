"""What the configuration of a model may say about its requests and its endpoint."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from evalrunner.errors import nearest

PARAMS = frozenset(
    {
        "extra_body",
        "frequency_penalty",
        "logit_bias",
        "min_p",
        "presence_penalty",
        "reasoning_effort",
        "repetition_penalty",
        "safety_settings",
        "stop",
        "thinking",
        "top_k",
        "verbosity",
    }
)
"""What `params` may hold: it changes what is asked, and nothing about where, how often or with which key."""

BOUND = frozenset(
    {
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "n",
        "response_format",
        "service_tier",
        "stream",
        "tools",
    }
)
"""What `params.extra_body` must leave alone: the budget's bound and the reading of the reply stand on it."""


def check_endpoint(value: str) -> None:
    """Refuses what is no http address, and one that holds credentials.

    Raises:
        ValueError: says what is needed.
    """
    try:
        parts = urlsplit(value)
    except ValueError as error:
        raise ValueError(f"not an address: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an address such as http://127.0.0.1:8000/v1 is needed")
    if parts.username is not None or parts.password is not None:
        raise ValueError("credentials in an address are refused; name a variable in api_key_env")


def check_params(params: Mapping[str, Any], own: Collection[str]) -> None:
    """Refuses parameters that are none of PARAMS; `own` are the names of the model's fields.

    Raises:
        ValueError: names all of them, and what is allowed.
    """
    wrong = []
    for name in params:
        if name in own:
            wrong.append(f"{name} is a key of the model itself")
        elif name not in PARAMS:
            meant = nearest(name, PARAMS)
            wrong.append(f"{name} is not one of them" + (f" (did you mean {meant}?)" if meant else ""))
    if wrong:
        raise ValueError(f"{'; '.join(wrong)}; allowed: {', '.join(sorted(PARAMS))}")
    body = params.get("extra_body", {})
    if not isinstance(body, dict):
        raise ValueError("extra_body is a mapping")
    if touched := sorted(BOUND & body.keys()):
        raise ValueError(f"extra_body must leave {', '.join(touched)} alone")
