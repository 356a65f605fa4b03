"""Findings as a reviewer gives them: what is taken, what is refused, and how a review ended."""

import pytest

from evalrunner.stats.review import finding_id
from evalrunner.subject.findings import (
    MOST_FINDINGS,
    BrokenReview,
    Finding,
    finding,
    last_line_marker,
    review,
)

GIVEN = {"file": "src/app.py", "line": 7, "title": "Off by one", "body": "The last is skipped."}


def test_a_finding_with_everything_and_one_with_the_least():
    whole = finding({**GIVEN, "id": "F1", "severity": "high"}, "finding 1")
    assert whole.model_dump() == {**GIVEN, "id": "F1", "severity": "high"}
    least = finding({"file": None, "line": None, "title": "Too slow"}, "finding 1")
    assert (least.file, least.line, least.body, least.severity) == ("", None, "", None)


def test_an_id_is_made_from_file_line_and_title():
    made = finding(GIVEN, "finding 1").id
    assert made == finding_id("src/app.py", 7, "Off by one", "The last is skipped.")
    assert len(made) == 16
    same = [
        {**GIVEN, "body": "worded anew"},
        {**GIVEN, "title": "  off  BY one "},
        {**GIVEN, "file": "./a/src/app.py"},
        {**GIVEN, "severity": "low"},
        {**GIVEN, "id": None},
        {**GIVEN, "id": ""},
    ]
    assert {finding(each, "finding").id for each in same} == {made}
    other = [{**GIVEN, "line": 8}, {**GIVEN, "file": "b.py"}, {**GIVEN, "title": "Off by two"}]
    assert made not in {finding(each, "finding").id for each in other}
    untitled = [{**GIVEN, "title": "", "body": body} for body in ("one", "two")]
    assert len({finding(each, "finding").id for each in untitled}) == 2


def test_a_number_may_be_an_id_and_nothing_else():
    assert finding({**GIVEN, "id": 12}, "finding 1").id == "12"
    with pytest.raises(BrokenReview, match="title of finding 1 is 12, no text"):
        finding({**GIVEN, "title": 12}, "finding 1")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"line": 0}, "line of finding 3 is 0, no whole number from 1"),
        ({"line": True}, "line of finding 3 is True"),
        ({"line": "7"}, "line of finding 3 is '7'"),
        ({"line": 7.0}, "line of finding 3 is 7.0"),
        ({"line": 2**31}, "no whole number from 1"),
        ({"file": ["a"]}, r"file of finding 3 is \['a'\], no text"),
        ({"body": {}}, "body of finding 3 is {}, no text"),
        ({"title": "", "body": " "}, "finding 3 has neither title nor body"),
        ({"body": "x" * 100_001}, "body of finding 3 is longer than 100000 characters"),
        ({"id": True}, "id of finding 3 is True, no text"),
    ],
)
def test_what_is_no_finding_is_refused_by_name(change, reason):
    with pytest.raises(BrokenReview, match=reason):
        finding({**GIVEN, **change}, "finding 3")


@pytest.mark.parametrize("name", ["file", "line"])
def test_a_place_must_be_there_even_if_null(name):
    with pytest.raises(BrokenReview, match=f"finding 1 has no {name}"):
        finding({key: value for key, value in GIVEN.items() if key != name}, "finding 1")


def made(**fields):
    return Finding(**{"id": "x", "file": "a.py", "line": 1, "title": "t", "body": "", **fields})


def test_a_finding_that_is_nothing_but_a_marker_marks_the_review():
    real = made(title="The queue is blocked for ever")
    ended = review([real, made(title="** BLOCKED **", line=None)], None, ["blocked"])
    assert (ended.status, ended.findings, ended.marker) == ("marker", (real,), "** BLOCKED **")
    assert review([made(id="blocked")], None, ["blocked"]).findings == ()
    assert review([made(title="", body="blocked")], None, ["blocked"]).status == "marker"
    assert review([made(title="blocked")], None, []).status == "ok"
    assert review([], "REVIEW BLOCKED", ["blocked"]).marker == "REVIEW BLOCKED"


def test_too_many_findings_are_no_review():
    assert len(review([made()] * MOST_FINDINGS, None, []).findings) == MOST_FINDINGS
    with pytest.raises(BrokenReview, match="1001 findings; at most 1000"):
        review([made()] * (MOST_FINDINGS + 1), None, [])


@pytest.mark.parametrize(
    ("text", "rest", "marker"),
    [
        ("[]\nBLOCKED\n", "[]", "BLOCKED"),
        ("[]\n  **Blocked.**  \n\n", "[]", "**Blocked.**"),
        ("blocked", "", "blocked"),
        ("[]", "[]", None),
        ("blocked\n[]", "blocked\n[]", None),
        ("it is blocked", "it is blocked", None),
        ("", "", None),
    ],
)
def test_a_marker_as_the_last_line(text, rest, marker):
    assert last_line_marker(text, ["blocked"]) == (rest, marker)


def test_the_payload_holds_findings_and_marker():
    assert review([made()], None, []).payload() == {
        "findings": [{"id": "x", "file": "a.py", "line": 1, "title": "t", "body": "", "severity": None}]
    }
    assert review([], "blocked", []).payload() == {"findings": [], "marker": "blocked"}
