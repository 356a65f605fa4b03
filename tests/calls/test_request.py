"""What a request counts as, and what tells it from another."""

import pytest
from scripted_client import request

from evalrunner.calls.request import CallRequest, Message, Slot


def test_prompt_bytes_are_utf8_bytes_of_text_roles_and_schema() -> None:
    assert request(content="é€😀").prompt_bytes() == 2 + 3 + 4 + len("user")
    assert request(content="\ud800").prompt_bytes() == 3 + len("user"), "a lone surrogate"
    assert request(content="", schema={"a": 1}).prompt_bytes() == len("user") + len('{"a": 1}')


BASE = CallRequest("openai:one", "openai/one", (Message("user", "x"),), 100, Slot("judge"))


@pytest.mark.parametrize(
    "change",
    [
        {"model": "openai/one"},
        {"route": "openai/two"},
        {"messages": (Message("system", "x"),)},
        {"max_tokens": 101},
        {"slot": Slot("judge", ask=1)},
        {"params": {"temperature": 0}},
        {"schema": {}},
        {"api_base": "http://127.0.0.1:1"},
    ],
)
def test_everything_that_changes_the_reply_changes_the_fingerprint(change: dict[str, object]) -> None:
    assert CallRequest(**{**vars(BASE), **change}).fingerprint() != BASE.fingerprint()  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"key_env": "KEY"}, {"timeout_s": 1.0}])
def test_keys_and_time_limits_do_not(change: dict[str, object]) -> None:
    assert CallRequest(**{**vars(BASE), **change}).fingerprint() == BASE.fingerprint()  # type: ignore[arg-type]
