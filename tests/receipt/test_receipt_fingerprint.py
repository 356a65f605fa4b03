import json
import os
import subprocess
import sys
from datetime import date
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalrunner.errors import InputError
from evalrunner.receipt.fingerprint import (
    Fingerprint,
    canonical_json,
    content_sha,
    corpus_sha,
    models_sha,
    prompt_sha,
    rubric_sha,
)
from evalrunner.receipt.jsontext import clean, number, readable_json


def sha(data: bytes) -> str:
    return sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (7.0, "7"),
        (Decimal("7.00"), "7"),
        (Decimal("7E0"), "7"),
        (0.1, "0.1"),
        (Decimal("0.10"), "0.1"),
        (-0.0, "0"),
        (0, "0"),
        (-12.5, "-12.5"),
        (Decimal("6.9999999999999999"), "6.9999999999999999"),
        (1e-6, "0.000001"),
        (Decimal("1.5e-7"), "1.5e-7"),
        (10**20, "100000000000000000000"),
        (1e22, "1e+22"),
        (10**22, "1e+22"),
        (Decimal("1e999999"), "1e+999999"),
    ],
)
def test_a_number_has_one_text(value, text):
    assert number(value) == text
    assert Decimal(text) == Decimal(str(value))


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_value_and_are_json(value):
    text = number(value)
    assert Decimal(text) == value
    assert json.loads(text, parse_float=Decimal, parse_int=Decimal) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back(value):
    assert float(number(value)) == value


def test_canonical_json_is_sorted_compact_and_keeps_characters():
    value = {"b": [1, 2.50, None, True], "a": {"é": "日本", "Z": "\n", "z": ""}}
    assert canonical_json(value) == '{"a":{"Z":"\\n","z":"","é":"日本"},"b":[1,2.5,null,true]}'


def test_keys_are_sorted_by_code_point_not_by_utf16_or_locale():
    assert canonical_json({"\U00010000": 1, "\uffff": 2, "ä": 3, "z": 4, "Z": 5}) == (
        '{"Z":5,"z":4,"ä":3,"\uffff":2,"\U00010000":1}'
    )


def test_yaml_keys_and_dates_have_a_text():
    value = {10: "ten", False: "no", None: "nothing", 2.50: "half", date(2026, 3, 1): date(2026, 3, 2)}
    assert canonical_json(value) == (
        '{"10":"ten","2.5":"half","2026-03-01":"2026-03-02","false":"no","null":"nothing"}'
    )


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [1, float("nan")]}, "a.1"),
        ({"a": {"b": float("inf")}}, "a.b"),
        ({"a": Decimal("sNaN")}, "a"),
        ({"a": b"bytes"}, "a"),
        ({"a": {1, 2}}, "a"),
        ({"a": Fraction(1, 3)}, "a"),
        ({"x": {1: "a", "1": "b"}}, "x"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(value, where):
    with pytest.raises(InputError) as caught:
        canonical_json(value)
    assert caught.value.problems[0].where == where


def test_nesting_without_end_is_refused():
    value: list = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InputError, match="nested too deeply"):
        canonical_json(value)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain ü", "plain ü"),
        ("\ud800", "\ufffd"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ufeff\ud800", "\ufeff\ufffd"),
    ],
)
def test_lone_surrogates_become_the_replacement_character(text, cleaned):
    assert clean(text) == cleaned
    assert canonical_json({text: text}) == f'{{"{cleaned}":"{cleaned}"}}'
    assert corpus_sha([text]).full == sha(cleaned.encode())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.characters(categories=["Cs"]),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_canonical_json_is_valid_utf8_json_and_stable(value):
    text = canonical_json(value)
    assert canonical_json(json.loads(text.encode(), parse_float=Decimal)) == text
    assert json.loads(readable_json(value)) == json.loads(text)
    assert json.loads(readable_json(value, indent=True)) == json.loads(text)


def test_readable_json_keeps_order_and_puts_plain_lists_on_one_line():
    value = {"b": [1, 2], "a": [{"x": []}], "c": {}}
    assert readable_json(value) == '{"b": [1, 2], "a": [{"x": []}], "c": {}}'
    assert readable_json(value, indent=True) == (
        '{\n  "b": [1, 2],\n  "a": [\n    {\n      "x": []\n    }\n  ],\n  "c": {}\n}'
    )


def test_corpus_is_joined_by_one_newline():
    assert corpus_sha(["Der Müll.", "b\nc", ""]).full == sha(b"Der M\xc3\xbcll.\nb\nc\n")
    assert corpus_sha([]).full == sha(b"")


def test_models_are_sorted_and_compact():
    expected = sha('["anthropic:claude","openai:gpt-4o","älter"]'.encode())
    assert models_sha(["openai:gpt-4o", "älter", "anthropic:claude"]).full == expected
    assert models_sha([]).full == sha(b"[]")


@given(st.lists(st.text(), unique=True), st.randoms())
def test_the_order_of_seats_never_changes_the_fingerprint(ids, random):
    shuffled = random.sample(ids, len(ids))
    assert models_sha(shuffled) == models_sha(ids)


def test_rubric_holds_content_and_rule():
    content = {"version": "v1.0", "scale": {"max": 10, "min": 1.0, "anchors": {1: "bad", 10: "good"}}}
    expected = sha(
        b'{"rubric":{"scale":{"anchors":{"1":"bad","10":"good"},"max":10,"min":1},"version":"v1.0"},'
        b'"threshold":{"mean_min":7}}'
    )
    assert rubric_sha(content, {"mean_min": Decimal("7.0")}).full == expected
    assert rubric_sha(content, {"mean_min": 7}).full == expected
    assert rubric_sha(content, {"mean_min": Decimal("7.1")}).full != expected
    assert rubric_sha(content | {"version": "v1.1"}, {"mean_min": 7}).full != expected


def test_prompt_holds_templates_and_what_is_asked():
    expected = sha(b'{"asked":{"chunk_size":null},"prompts":[["a.j2","one\\ntwo\\n"],["b.j2",""]]}')
    sources = [("b.j2", ""), ("a.j2", "one\r\ntwo\r")]
    assert prompt_sha(sources, {"chunk_size": None}).full == expected
    assert prompt_sha(reversed(sources), {"chunk_size": None}).full == expected
    assert prompt_sha([*sources, sources[0]], {"chunk_size": None}).full == expected
    assert prompt_sha(sources, {"chunk_size": 5}).full != expected


def test_nothing_asked_is_the_empty_text():
    assert prompt_sha([], {"chunk_size": 5}).full == sha(b"")
    assert prompt_sha([], {}).sha8 == "e3b0c442"


def test_content_is_payload_and_truth():
    assert content_sha({"b": 1.0, "a": "ü"}, {}) == sha('{"payload":{"a":"ü","b":1},"truth":{}}'.encode())
    assert content_sha({}, {"a": 1}) != content_sha({"a": 1}, {})


def test_sha8_is_the_first_eight_digits():
    assert Fingerprint("0123456789abcdef").sha8 == "01234567"


PROGRAM = """
import sys
from evalrunner.receipt.fingerprint import *
threshold = {name: 7 for name in {"mean_min", "min_min", "quorum"}}
print(corpus_sha(["Ärger İstanbul ı", "x"]).full, models_sha({"i:İ", "I:ı", "a"}).full,
      rubric_sha({"Ä": {name: 1.50 for name in {"x", "y", "z"}}}, threshold).full,
      prompt_sha({("a", "İ"), ("b", "ı")}, {"m": 0.10}).full, content_sha({"İ": "I"}, {}))
"""


def test_locale_and_hash_seed_never_change_a_fingerprint():
    locales = ["C", "C.UTF-8", "tr_TR.UTF-8", "de_DE.ISO-8859-1"]
    printed = set()
    for index, name in enumerate(locales):
        env = os.environ | {"LC_ALL": name, "LANG": name, "PYTHONHASHSEED": str(index), "PYTHONUTF8": "0"}
        done = subprocess.run(
            [sys.executable, "-X", "utf8=0", "-"],
            input=PROGRAM.encode(),
            env=env | {"PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        )
        printed.add(done.stdout)
    here = corpus_sha(["Ärger İstanbul ı", "x"]).full
    assert here == sha("Ärger İstanbul ı\nx".encode())
    assert len(printed) == 1
    assert printed.pop().decode().split()[0] == here
