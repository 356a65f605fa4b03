"""Replies that were garbled: nothing but a rejection escapes, and no value that the text does not hold."""

import json
import re
from decimal import Decimal
from typing import Any

from hard_kit import broken, came_of, garbled, tries
from hypothesis import given
from hypothesis import strategies as st

from evalrunner.model.reply import ReplyRejected, read_object
from evalrunner.model.scores import read_scores
from evalrunner.rubric import Rubric
from evalrunner.subject.keep_reject import read_verdicts
from evalrunner.subject.review_prompt import read_review

RUBRIC = Rubric.model_validate(
    {
        "version": "t1",
        "scale": {"min": 1, "max": 10},
        "dimensions": [{"id": "style", "question": "?"}, {"id": "depth", "question": "?"}],
    }
)
SCORES = {"scores": {"style": 8, "depth": 7.25}, "improvements": ['Say "more".', "A\u00e9\n{b}"]}
REVIEW = {
    "status": "complete",
    "findings": [{"file": "a.py", "line": 3, "title": "T", "body": "B \\ {", "severity": "high"}],
}
VERDICTS = {
    "verdicts": [
        {"id": "f1", "verdict": "KEEP", "reason": "r"},
        {"id": "f2", "verdict": "REJECT", "reason": "s"},
    ]
}
SAID = [
    "Here it is:\n```json\n" + json.dumps(SCORES, indent=1) + "\n```\nDone.",
    '<think>{"style": 2}</think>' + json.dumps(REVIEW),
    json.dumps(VERDICTS) + "\n" + json.dumps(VERDICTS),
]
SIGNS = b'{}[]",:\\ \n0123456789.eE+-<>/`'
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)

TEXTS = st.sampled_from([each.encode() for each in SAID]).flatmap(lambda said: garbled(said, SIGNS))


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in (key, *leaves(each))]
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def said_strings(text: str) -> set[str]:
    """What every stretch between two quotes of the text says, wherever a string may be taken to begin."""
    found = set()
    for start in (match.start() for match in re.finditer('"', text)):
        match = STRING.match(text, start)
        if match is not None:
            try:
                found.add(json.loads(match[0], strict=False))
            except ValueError:
                continue
    return found


@given(TEXTS)
@tries(300)
def test_every_value_stands_in_the_text_as_it_is(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    value, rejected = came_of(lambda: read_object(text, "stop").value, ReplyRejected)
    if rejected is not None:
        assert rejected.reason
        return
    strings = said_strings(text)
    for leaf in leaves(value):
        if isinstance(leaf, Decimal):
            assert str(leaf) in {str(Decimal(each)) for each in NUMBER.findall(text)}
        elif isinstance(leaf, str):
            assert leaf in strings
        else:
            assert json.dumps(leaf) in text


@given(st.sampled_from([SCORES, REVIEW, VERDICTS]).flatmap(broken))
@tries(300)
def test_other_shapes_are_rejected_or_read_whole(document: Any) -> None:
    text = json.dumps(document)
    numbers = {
        leaf
        for leaf in leaves(json.loads(text, parse_float=Decimal, parse_int=Decimal))
        if isinstance(leaf, Decimal)
    }
    for read in (
        lambda: read_scores(text, "stop", RUBRIC),
        lambda: read_review(text, "stop", ("blocked",)),
        lambda: read_verdicts(text, "stop", ("f1", "f2")),
    ):
        made, rejected = came_of(read, ReplyRejected)
        if rejected is not None:
            assert "Decimal(" not in rejected.reason
            continue
        if hasattr(made, "values"):
            assert set(made.values) == {"style", "depth"}
            assert all(1 <= each <= 10 and each in numbers for each in made.values.values())
        elif hasattr(made, "each"):
            assert [each.id for each in made.each] == ["f1", "f2"]
        else:
            for finding in made.findings:
                assert finding.line is None or (finding.line >= 1 and Decimal(finding.line) in numbers)
                (finding.title + finding.body + finding.file).encode()
