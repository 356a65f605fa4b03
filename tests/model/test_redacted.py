"""A key that a gateway hands back stays out of replies, and so out of the journal and the receipt."""

import json

from evalrunner.calls.request import CallReply
from evalrunner.model.wire_errors import redacted
from evalrunner.records import Usage

KEY = "sk-canary-12345"


def reply(text: str) -> CallReply:
    raw = json.dumps({"choices": [{"text": text}]})
    return CallReply(text=text, finish_reason="stop", usage=Usage(), raw=raw, answered_by=f"named {text}")


def test_the_key_is_replaced_in_text_and_raw_reply() -> None:
    clean = redacted(reply(f'{{"improvements": ["your key is {KEY}"]}}'), KEY)
    assert clean.text == '{"improvements": ["your key is [API key]"]}'
    assert KEY not in str(clean)
    assert json.loads(str(clean.raw)) == {"choices": [{"text": clean.text}]}


def test_other_replies_stay_as_they_are() -> None:
    given = reply("all is well")
    assert redacted(given, KEY) is given
    assert redacted(given, None) is given
    assert redacted(given, "well") is given
