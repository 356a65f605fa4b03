"""What a KEEP/REJECT judge is shown, and which answers are taken."""

import json
from typing import Any

import pytest

from evalrunner.model.reply import ReplyRejected
from evalrunner.subject.keep_reject import Verdict, ids_of, question, read_verdicts, verdicts_schema

PAYLOAD = {
    "diff": "diff --git a/x b/x\n",
    "label": "real",
    "findings": [
        {"id": "f1", "file": "x", "line": 3, "title": "T", "body": "B", "label": "real", "notes": "spurious"},
        {"id": "f2", "file": "x", "line": None, "title": "T", "body": ""},
    ],
}


def answer(**words: str) -> str:
    return json.dumps(
        {"verdicts": [{"id": name, "verdict": word, "reason": "since"} for name, word in words.items()]}
    )


def test_a_judge_is_shown_the_diff_and_five_fields_of_a_finding_and_nothing_else() -> None:
    assert question(PAYLOAD) == {
        "diff": "diff --git a/x b/x\n",
        "findings": [
            {"id": "f1", "file": "x", "line": 3, "title": "T", "body": "B"},
            {"id": "f2", "file": "x", "line": None, "title": "T", "body": ""},
        ],
    }
    assert ids_of(PAYLOAD) == ("f1", "f2")


def test_a_complete_answer_comes_in_the_order_of_the_batch() -> None:
    read = read_verdicts(answer(f2="REJECT", f1="KEEP"), "stop", ("f1", "f2"))
    assert read.each == (Verdict("f1", "KEEP", "since"), Verdict("f2", "REJECT", "since"))
    assert read.how == "strict"
    fenced = read_verdicts(f"Here it is:\n```json\n{answer(f1='KEEP')}\n```", None, ("f1",))
    assert fenced.how == "extracted"


def test_a_reason_is_one_harmless_line() -> None:
    text = json.dumps({"verdicts": [{"id": "f1", "verdict": "KEEP", "reason": "a\n\x1b[31mb"}]})
    (verdict,) = read_verdicts(text, "stop", ("f1",)).each
    assert verdict.reason == "a \ufffd[31mb"


def one(**fields: Any) -> str:
    return json.dumps({"verdicts": [{"id": "f1", "verdict": "KEEP", "reason": "since", **fields}]})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the reply is empty"),
        ("All of them are fine.", "holds no JSON object"),
        (answer(f1="KEEP"), "1 of 2 findings have no verdict: 'f2'"),
        (answer(), "2 of 2 findings have no verdict: 'f1', 'f2'"),
        (answer(f1="KEEP", f2="KEEP", f3="KEEP"), "there is no finding 'f3'"),
        (answer(f1="KEEP", F2="KEEP"), "there is no finding 'F2'"),
        (answer(f1="KEEP", f2="keep"), "verdict 2 is 'keep', neither KEEP nor REJECT"),
        (answer(f1="KEEP", f2="UNSURE"), "neither KEEP nor REJECT"),
        (one(verdict=True), "verdict 1 is True, neither KEEP nor REJECT"),
        (one(verdict=["KEEP"]), "neither KEEP nor REJECT"),
        (one(reason=""), "verdict 1 has no reason"),
        (one(reason=" \n"), "verdict 1 has no reason"),
        (one(reason=7), "verdict 1 has no reason"),
        (one(id=1), "the id of verdict 1 is not a text"),
        (one(confidence=1), "verdict 1 has 'confidence', which was not asked for"),
        ('{"verdicts": [{"id": "f1", "verdict": "KEEP"}]}', "verdict 1 lacks reason"),
        ('{"verdicts": {"f1": "KEEP"}}', "verdicts is not a list"),
        ('{"verdicts": ["KEEP", "KEEP"]}', "verdict 1 is not an object"),
        ('{"verdict": []}', "the object lacks verdicts"),
        ('{"verdicts": [], "notes": ""}', "which was not asked for"),
        (answer(f1="KEEP", f2="KEEP")[:-3], "cut off"),
        (answer(f1="KEEP", f2="KEEP") + answer(f1="KEEP", f2="REJECT"), "more than one JSON object"),
    ],
)
def test_anything_else_is_no_answer(text: str, why: str) -> None:
    with pytest.raises(ReplyRejected, match=why):
        read_verdicts(text, "stop", ("f1", "f2"))


def test_two_verdicts_on_one_finding_are_none() -> None:
    entry = {"id": "f1", "verdict": "KEEP", "reason": "since"}
    for other in (entry, {**entry, "verdict": "REJECT"}):
        with pytest.raises(ReplyRejected, match="finding 'f1' has two verdicts"):
            read_verdicts(json.dumps({"verdicts": [entry, other]}), "stop", ("f1",))


@pytest.mark.parametrize("reason", ["length", "content_filter", "tool_calls"])
def test_a_whole_answer_that_did_not_end_cleanly_is_none(reason: str) -> None:
    with pytest.raises(ReplyRejected, match=reason):
        read_verdicts(answer(f1="KEEP"), reason, ("f1",))


def test_the_schema_names_the_ids_and_the_two_words() -> None:
    entry = verdicts_schema(("f1", "f2"))["properties"]["verdicts"]["items"]
    assert entry["properties"]["id"]["enum"] == ["f1", "f2"]
    assert entry["properties"]["verdict"]["enum"] == ["KEEP", "REJECT"]
    assert entry["required"] == ["id", "verdict", "reason"]
    assert entry["additionalProperties"] is False
