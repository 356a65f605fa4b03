"""A reply is taken whole or rejected; no value ever comes out that the text does not hold."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalrunner.model.reply import (
    MAX_DEPTH,
    ReplyRejected,
    harmless,
    read_object,
)
from evalrunner.model.scores import read_scores, scores_schema
from evalrunner.rubric import Rubric

RUBRIC = Rubric.model_validate(
    {
        "version": "t1",
        "scale": {"min": 1, "max": 10},
        "dimensions": [{"id": "style", "question": "?"}, {"id": "depth", "question": "?"}],
    }
)
WHOLE = '{"scores": {"style": 8, "depth": 7.5}, "improvements": ["Say more."]}'
BOTH = {"style": Decimal("8"), "depth": Decimal("7.5")}

TAKEN = {
    "clean": (WHOLE, "strict"),
    "blanks around": (f"\n {WHOLE}\t\n", "strict"),
    "fenced": (f"```json\n{WHOLE}\n```", "extracted"),
    "fenced without language": (f"```\n{WHOLE}\n```", "extracted"),
    "prose before": (f"Here is my answer: {WHOLE}", "extracted"),
    "prose around": (f"Sure!\n\n{WHOLE}\n\nHope this helps.", "extracted"),
    "closed thinking": (f'<think>I would give {{"style": 2}}</think>{WHOLE}', "extracted"),
    "closed thinking in capitals": (f"<Thinking>hm {{</Thinking>\n{WHOLE}", "extracted"),
    "thinking inside thinking": (f"<think>a <think>b</think> {{c}}</think>{WHOLE}", "extracted"),
    "thinking whose start was in the prompt": (f"so it is fine</think>{WHOLE}", "extracted"),
    "trailing comma in the object": (WHOLE[:-1] + ",}", "trailing_comma"),
    "trailing comma in a list": (WHOLE.replace('."]', '.",\n]'), "trailing_comma"),
    "trailing commas in a fence": (f"```{WHOLE.replace('7.5}', '7.5 , }')[:-1]},}}```", "trailing_comma"),
    "said twice": (f"{WHOLE}\n{WHOLE}", "extracted"),
    "said twice, keys in another order": (
        WHOLE + '{"improvements": ["Say more."], "scores": {"depth": 7.50, "style": 8}}',
        "extracted",
    ),
}


@pytest.mark.parametrize(("said", "how"), TAKEN.values(), ids=TAKEN)
def test_taken(said: str, how: str) -> None:
    scores = read_scores(said, "stop", RUBRIC)
    assert scores.values == BOTH
    assert scores.improvements == ("Say more.",)
    assert scores.how == how


REJECTED = {
    "empty": ("", "empty"),
    "blank": (" \n", "empty"),
    "refusal": ("I'm sorry, but I can't help with that.", "no JSON object"),
    "only prose in braces": ("I looked at {style, depth} and they are fine.", "no valid JSON"),
    "null": ("null", "no JSON object"),
    "a number": ("8", "no JSON object"),
    "a list": ("[8, 7.5]", "no JSON object"),
    "the object in a list": (f"[{WHOLE}]", "in a list"),
    "JSON lines": (f"{WHOLE}\n{WHOLE.replace('8', '9')}", "differ"),
    "two fences": (f"```{WHOLE}```\n```{WHOLE.replace('8', '9')}```", "differ"),
    "an example first": ('Example: {"scores": {"style": 1}} Answer: ' + WHOLE, "differ"),
    "missing value": (WHOLE.replace("8,", ","), "follows no value|no valid JSON"),
    "missing colon": (WHOLE.replace('"style": 8', '"style" 8'), "no valid JSON"),
    "missing comma": (WHOLE.replace("8,", "8"), "no valid JSON"),
    "missing quote": (WHOLE.replace('style"', "style"), "no valid JSON|cut off|match"),
    "missing brace inside": (WHOLE.replace("7.5}", "7.5"), "cut off|no valid JSON"),
    "missing outer braces": (WHOLE[1:-1], "larger one"),
    "brace too many": (WHOLE + "}", "closing brace"),
    "brace too early": (WHOLE.replace("7.5}", "7.5}}"), "larger one|closing brace"),
    "mismatched brackets": (WHOLE.replace('."]', '."}'), "do not match"),
    "cut in a string": (WHOLE[:-5], "cut off inside a string"),
    "cut after a colon": ('{"scores": {"style":', "cut off"),
    "cut in a number that could go on": ('{"scores": {"style": 8, "depth": 1', "cut off"),
    "cut in a word": ('{"scores": {"style": 8}, "improvements": ["mo', "cut off"),
    "cut second copy": (WHOLE + WHOLE[:20], "cut off"),
    "unclosed thinking": (f"<think>I would give {WHOLE}", "not closed"),
    "unclosed thinking after": (f"{WHOLE}<think>or rather", "not closed"),
    "all of it was thinking": (f"{WHOLE}</think>", "thinking block"),
    "empty after thinking": (f"<think>{WHOLE}</think>", "no JSON object"),
    "duplicate key": (WHOLE.replace('"depth": 7.5', '"depth": 7.5, "style": 2'), "twice"),
    "duplicate key with the same value": (WHOLE.replace('"depth": 7.5', '"depth": 7, "depth": 7'), "twice"),
    "NaN": (WHOLE.replace("7.5", "NaN"), "NaN"),
    "Infinity": (WHOLE.replace("7.5", "Infinity"), "Infinity"),
    "minus Infinity": (WHOLE.replace("7.5", "-Infinity"), "Infinity"),
    "1e999": (WHOLE.replace("7.5", "1e999"), "out of range"),
    "an exponent beyond all decimals": (WHOLE.replace("7.5", "1e" + "9" * 30), "out of range"),
    "a number of 5000 digits": (WHOLE.replace("7.5", "7" * 5000), "5000 characters"),
    "1_0": (WHOLE.replace("7.5", "1_0"), "no valid JSON"),
    "leading zero": (WHOLE.replace("7.5", "07"), "no valid JSON"),
    "no digit after the point": (WHOLE.replace("7.5", "7."), "no valid JSON"),
    "hexadecimal": (WHOLE.replace("7.5", "0x7"), "no valid JSON"),
    "per cent": (WHOLE.replace("7.5", "75%"), "no valid JSON"),
    "8/10": (WHOLE.replace("7.5", "8/10"), "no valid JSON"),
    "single quotes": (WHOLE.replace('"', "'"), "no valid JSON"),
    "smart quotes": (WHOLE.replace('"style"', "“style”"), "no valid JSON"),
    "comments": (WHOLE.replace("8,", "8, // good"), "no valid JSON"),
    "Python words": (WHOLE.replace("7.5", "None"), "no valid JSON"),
    "a raw line end in a string": (WHOLE.replace("Say ", "Say\n"), "no valid JSON"),
    "two commas": (WHOLE.replace("8,", "8,,"), "follows no value"),
    "a leading comma": (WHOLE.replace('{"style"', '{,"style"'), "follows no value"),
    "a string that is JSON": (json.dumps(WHOLE), "no valid JSON|cut off"),
    "text as a score": (WHOLE.replace("7.5", '"7.5"'), "depth is not a number"),
    "true as a score": (WHOLE.replace("7.5", "true"), "depth is not a number"),
    "null as a score": (WHOLE.replace("7.5", "null"), "depth is not a number"),
    "a list as a score": (WHOLE.replace("7.5", "[7.5]"), "depth is not a number"),
    "above the scale": (WHOLE.replace("7.5", "10.01"), "depth is 10.01, outside the scale from 1 to 10"),
    "below the scale": (WHOLE.replace("7.5", "0.99"), "outside the scale"),
    "negative": (WHOLE.replace("7.5", "-7.5"), "outside the scale"),
    "a dimension missing": (WHOLE.replace(', "depth": 7.5', ""), "lacks depth"),
    "a dimension too many": (WHOLE.replace('"depth"', '"wit": 9, "depth"'), "'wit', which was not asked"),
    "a dimension misspelt": (WHOLE.replace('"depth": 7.5', '"depth": 7.5, "styl": 1'), "meant style"),
    "a dimension in capitals": (WHOLE.replace('"depth"', '"Depth"'), "lacks depth"),
    "scores without the frame": ('{"style": 8, "depth": 7.5}', "lacks scores"),
    "no improvements": ('{"scores": {"style": 8, "depth": 7.5}}', "lacks improvements"),
    "a key too many": (WHOLE[:-1] + ', "verdict": "pass"}', "'verdict', which was not asked"),
    "improvements as text": (WHOLE.replace('["Say more."]', '"Say more."'), "not a list"),
    "an improvement that is no text": (WHOLE.replace('"Say more."', "3"), "not a list of texts"),
    "scores as a list": ('{"scores": [8, 7.5], "improvements": []}', "scores is not an object"),
}


@pytest.mark.parametrize(("said", "reason"), REJECTED.values(), ids=REJECTED)
def test_rejected(said: str, reason: str) -> None:
    with pytest.raises(ReplyRejected, match=reason) as caught:
        read_scores(said, "stop", RUBRIC)
    assert "\n" not in caught.value.reason


@pytest.mark.parametrize("reason", ["length", "content_filter", "tool_calls", "error", "MAX_TOKENS", ""])
def test_a_reply_that_did_not_end_cleanly_is_rejected_though_it_looks_whole(reason: str) -> None:
    with pytest.raises(ReplyRejected, match="finish reason"):
        read_object(WHOLE, reason)


@pytest.mark.parametrize("reason", ["stop", "end_turn", "STOP", None])
def test_a_clean_stop_is_taken_and_so_is_none_where_a_provider_gives_none(reason: str | None) -> None:
    assert read_object('{"a": 1}', reason).value == {"a": 1}


def test_numbers_are_as_written_and_other_values_as_json_has_them() -> None:
    value = read_object(
        '{"a": 0.10, "b": 7.50, "c": 1e1, "d": true, "e": null, "f": ["x", {}]}', "stop"
    ).value
    assert [str(value[key]) for key in "abc"] == ["0.10", "7.50", "1E+1"]
    assert value["d"] is True
    assert value["e"] is None
    assert value["f"] == ["x", {}]


def test_what_looks_like_syntax_inside_strings_is_text() -> None:
    inside = '``` } ] ,} <think> {"a": 2} // \\" ```'
    said = "```" + json.dumps({"a": inside}) + "```"
    assert read_object(said, "stop").value == {"a": inside}
    mended = '{"a": ["x,]", ",}" , ] , }'
    assert read_object(mended, "stop").value == {"a": ["x,]", ",}"]}


def test_true_and_1_are_two_different_objects() -> None:
    with pytest.raises(ReplyRejected, match="differ"):
        read_object('{"a": true} {"a": 1}', "stop")


@pytest.mark.parametrize(
    "said",
    [
        "{" * 1_000_000,
        '{"a":' * 200_000,
        "{}" * 500_000,
        '{"a":' + "[" * 1_000_000,
        '"' * 1_000_000,
        '{"' + '\\"' * 500_000,
        '{"a": "' + "\\n" * 500_000,
        "<think>" * 150_000,
        "<think></think>" * 70_000,
        "}" * 1_000_000,
        "[" * 1_000_000,
        '{"a": [' + "1," * 400_000,
        '{"a": ' + '"b",' * 250_000,
        "{" + " " * 1_000_000,
        "x" * 5_000_000,
    ],
    ids=range(15),
)
def test_a_megabyte_of_anything_is_rejected_in_linear_time(said: str) -> None:
    with pytest.raises(ReplyRejected):
        read_object(said, "stop")  # anything quadratic would take hours


def test_depth_is_bounded() -> None:
    deep = MAX_DEPTH - 1
    assert read_object('{"a":' + "[" * deep + "]" * deep + "}", "stop").how == "strict"
    with pytest.raises(ReplyRejected, match="nested deeper"):
        read_object('{"a":' + "[" * (deep + 1) + "]" * (deep + 1) + "}", "stop")


@given(st.text(st.sampled_from('{}[]",:\\ \n\t0123456789.eE+-truefalsn<think>/ab`NI'), max_size=60))
@settings(max_examples=400)
def test_whatever_the_text_nothing_but_a_rejection_escapes(said: str) -> None:
    try:
        read = read_object(said, "stop")
    except ReplyRejected:
        return
    numbers = {token for token in re.findall(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", said) if len(token) < 9}
    for leaf in _leaves(read.value):
        if isinstance(leaf, Decimal):
            assert any(Decimal(token) == leaf for token in numbers)
        elif not isinstance(leaf, str):
            assert json.dumps(leaf) in said


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), JSON, max_size=4), st.booleans(), st.sampled_from([None, 2]))
def test_every_json_object_reads_back_as_itself(
    value: dict[str, Any], ascii_: bool, indent: int | None
) -> None:
    said = json.dumps(value, ensure_ascii=ascii_, indent=indent)
    assert read_object(said, "stop").value == value
    assert read_object(f"```json\n{said}\n```", "stop").value == value


@given(st.dictionaries(st.text(max_size=6), JSON, min_size=1, max_size=4), st.data())
def test_no_proper_beginning_of_an_object_is_ever_taken(value: dict[str, Any], data: st.DataObject) -> None:
    said = json.dumps(value)
    with pytest.raises(ReplyRejected):
        read_object(said[: data.draw(st.integers(0, len(said) - 1))], "stop")


@given(st.decimals(1, 10, places=3), st.decimals(1, 10, places=1))
def test_scores_are_exactly_the_decimals_written(style: Decimal, depth: Decimal) -> None:
    said = f'{{"scores": {{"depth": {depth}, "style": {style}}}, "improvements": []}}'
    scores = read_scores(said, "stop", RUBRIC)
    assert list(scores.values) == ["style", "depth"]
    assert [str(each) for each in scores.values.values()] == [str(style), str(depth)]


def test_improvements_are_made_harmless() -> None:
    texts = '["a\\nb\\u0000c", " ", "\\ud800x", "\\u202Ey"]'
    said = f'{{"scores": {{"style": 1, "depth": 10}}, "improvements": {texts}}}'
    improvements = read_scores(said, "stop", RUBRIC).improvements
    assert improvements == ("a b\ufffdc", "\ufffdx", "\ufffdy")
    "".join(improvements).encode()


@given(st.text(st.characters(codec=None)))
def test_harmless_text_is_one_printable_line_of_valid_unicode(said: str) -> None:
    line = harmless(said)
    line.encode()
    assert line == harmless(line)
    assert not any(each < " " or "\x7f" <= each <= "\x9f" for each in line)


def test_the_schema_says_what_the_reader_takes() -> None:
    assert scores_schema(RUBRIC) == {
        "type": "object",
        "properties": {
            "scores": {
                "type": "object",
                "properties": {
                    "style": {"type": "number", "minimum": 1, "maximum": 10},
                    "depth": {"type": "number", "minimum": 1, "maximum": 10},
                },
                "required": ["style", "depth"],
                "additionalProperties": False,
            },
            "improvements": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["scores", "improvements"],
        "additionalProperties": False,
    }
    half = Rubric.model_validate(
        {"version": "t2", "scale": {"min": 0.5, "max": 3}, "dimensions": [{"id": "a", "question": "?"}]}
    )
    score = scores_schema(half)["properties"]["scores"]["properties"]["a"]
    assert score == {"type": "number", "minimum": 0.5, "maximum": 3}
