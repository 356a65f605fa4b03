"""What programs print, read as findings: JSON with a mapping, NDJSON, SARIF; strictly."""

import json

import pytest
from pydantic import ValidationError

from evalrunner.subject.findings import BrokenReview
from evalrunner.subject.reading import Reading

ONE = {"id": "F1", "file": "src/app.py", "line": 7, "title": "Off by one", "body": "b", "severity": "high"}
ESLINT_LIKE = Reading(
    findings="report.issues",
    fields={"id": "key", "file": "where.path", "line": "where.span.0", "title": "rule", "body": "text"},
    status="report.state",
    markers=["aborted"],
)


def read(reading, output, root=""):
    text = output if isinstance(output, str) else json.dumps(output)
    return reading.read(text.encode(), root)


@pytest.mark.parametrize("document", [[ONE], {"findings": [ONE]}, {"findings": [ONE], "more": 1}])
def test_a_json_document_is_a_list_or_holds_one(document):
    review = read(Reading(), document)
    assert (review.status, [each.model_dump() for each in review.findings]) == ("ok", [ONE])


def test_a_mapping_says_where_the_parts_stand():
    issue = {
        "key": 4,
        "where": {"path": "a.py", "span": [3, 9]},
        "rule": "R1",
        "text": "wrong",
        "severity": 9,
    }
    with pytest.raises(BrokenReview, match="severity of finding 1 is 9, no text"):
        read(ESLINT_LIKE, {"report": {"issues": [issue], "state": "done"}})
    (found,) = read(ESLINT_LIKE, {"report": {"issues": [{**issue, "severity": None}]}}).findings
    assert (found.id, found.file, found.line, found.title, found.body) == ("4", "a.py", 3, "R1", "wrong")
    nowhere = {**issue, "where": None, "severity": None}
    assert read(ESLINT_LIKE, {"report": {"issues": [nowhere]}}).findings[0].line is None


def test_a_key_that_no_finding_has_is_refused_rather_than_read_as_null():
    with pytest.raises(BrokenReview, match="finding 1 has no file"):
        read(Reading(fields={"file": "path"}), [ONE])


def test_fields_that_are_not_read():
    reading = Reading(fields={"id": None, "title": None, "severity": None})
    (found,) = read(reading, [{**ONE, "severity": 3}]).findings
    assert (found.title, found.severity) == ("", None)
    assert found.id != "F1"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("", "the output is empty"),
        (" \n", "the output is empty"),
        ('[{"file": ', "the output is no JSON: Expecting value, character 10"),
        ("Traceback (most recent call last):", "the output is no JSON"),
        ('[{"file": "a", "file": "b"}]', "key 'file' is written twice"),
        ("[NaN]", "NaN is no number"),
        ('{"results": []}', "the output has no findings"),
        ('{"findings": {}}', "findings is no list"),
        ("7", "the output has no findings"),
        ('["x"]', "finding 1 is no object"),
        ("[" * 100_000, "nested too deeply"),
        (json.dumps([ONE, {**ONE, "line": 0}]), "line of finding 2 is 0"),
    ],
)
def test_broken_json_is_refused_whole(output, reason):
    with pytest.raises(BrokenReview, match=reason):
        read(Reading(), output)


def test_output_must_be_utf_8():
    with pytest.raises(BrokenReview, match=r"the output is not UTF-8 \(byte 2\)"):
        Reading().read(b'["\xff"]', "")
    assert Reading().read("\ufeff[]".encode(), "").status == "ok"


def test_ndjson_is_a_finding_a_line_and_may_be_empty():
    reading = Reading(format="ndjson")
    assert [each.id for each in read(reading, f"\n{json.dumps(ONE)}\r\n\n").findings] == ["F1"]
    assert read(reading, "").status == "ok"
    with pytest.raises(BrokenReview, match="line 2 is no JSON"):
        read(reading, f"{json.dumps(ONE)}\n{{")
    with pytest.raises(BrokenReview, match="line 1 is no object"):
        read(reading, "[]")
    with pytest.raises(BrokenReview, match="the finding of line 2 has no file"):
        read(reading, f"{json.dumps(ONE)}\n{{}}")


@pytest.mark.parametrize(
    ("reading", "output", "found"),
    [
        (Reading(), {"findings": [], "status": "BLOCKED"}, 0),
        (Reading(), {"findings": [ONE], "status": "blocked"}, 1),
        (Reading(), {"findings": [ONE, {**ONE, "title": "[blocked]"}]}, 1),
        (Reading(), f"{json.dumps([ONE])}\nBLOCKED\n", 1),
        (Reading(), "BLOCKED\n", 0),
        (Reading(format="ndjson"), f'{json.dumps(ONE)}\n{{"status": "blocked"}}', 1),
        (Reading(format="ndjson"), "blocked", 0),
        (Reading(format="sarif"), "blocked", 0),
        (ESLINT_LIKE, {"report": {"issues": [], "state": "Aborted"}}, 0),
    ],
)
def test_a_review_that_ended_with_a_marker(reading, output, found):
    review = read(reading, output)
    assert (review.status, len(review.findings)) == ("marker", found)


@pytest.mark.parametrize(
    "output", [{"findings": [], "status": "complete"}, {"findings": [], "status": 3}, {"findings": []}]
)
def test_any_other_status_is_no_marker(output):
    assert read(Reading(), output).status == "ok"
    assert read(Reading(status=None), {"findings": [], "status": "blocked"}).status == "ok"


def test_files_named_by_the_repository_become_relative():
    rows = [{**ONE, "file": file} for file in ("/tmp/x/repo/a.py", "/tmp/x/repository/a.py", "a.py")]
    found = read(Reading(), rows, "/tmp/x/repo").findings
    assert [each.file for each in found] == ["a.py", "/tmp/x/repository/a.py", "a.py"]


@pytest.mark.parametrize(
    "fields",
    [{"markers": ["--"]}, {"fields": {"line": "a..b"}}, {"fields": {"file": None}}, {"format": "xml"}],
)
def test_a_reading_that_could_not_work_is_refused(fields):
    with pytest.raises(ValidationError):
        Reading(**fields)


def sarif(*results, rules=()):
    driver = {"name": "tool", "rules": list(rules)}
    return {"version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": list(results)}]}


def result(**fields):
    place = {"artifactLocation": {"uri": "src/a%20b.py"}, "region": {"startLine": 3}}
    return {
        "ruleId": "F841",
        "level": "error",
        "message": {"text": "unused"},
        "locations": [{"physicalLocation": place}],
        **fields,
    }


def test_a_sarif_log():
    review = read(Reading(format="sarif"), sarif(result()))
    (found,) = review.findings
    assert (found.file, found.line, found.title, found.body, found.severity) == (
        "src/a b.py",
        3,
        "F841",
        "unused",
        "error",
    )


def test_sarif_names_files_by_uri():
    place = {"artifactLocation": {"uri": "file:///tmp/repo/x.py"}}
    log = sarif(result(locations=[{"physicalLocation": place}]))
    (found,) = read(Reading(format="sarif"), log, "/tmp/repo").findings
    assert (found.file, found.line) == ("x.py", None)


def test_sarif_results_that_are_no_findings_are_left_out():
    log = sarif(
        result(kind="pass"),
        result(kind="informational"),
        result(suppressions=[{"kind": "inSource"}]),
        result(suppressions=[{"kind": "external", "status": "rejected"}]),
        result(kind="review", level="none"),
        result(locations=[]),
    )
    assert len(read(Reading(format="sarif"), log).findings) == 3


def test_sarif_takes_rule_and_message_from_the_rules():
    rule = {"id": "X1", "messageStrings": {"m": {"text": "{0} is never {1}"}}}
    given = result(ruleIndex=0, message={"id": "m", "arguments": ["x", "read"]})
    del given["ruleId"]
    (found,) = read(Reading(format="sarif"), sarif(given, rules=[rule])).findings
    assert (found.title, found.body) == ("X1", "x is never read")


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ([], "no SARIF log"),
        ({"runs": {}}, "no SARIF log"),
        ({"runs": [{"tool": {}}]}, "run 1 of the log has no results"),
        (sarif(result(message={})), "the message of result 1 of run 1 has no text"),
        (sarif(result(locations=[3])), "result 1 of run 1 is 3, no object"),
        (sarif("x"), "result 1 of run 1 is 'x', no object"),
        (sarif(result(locations=[{"physicalLocation": {"region": {"startLine": 0}}}])), "line of result 1"),
    ],
)
def test_a_log_that_is_not_sarif_is_refused(log, reason):
    with pytest.raises(BrokenReview, match=reason):
        read(Reading(format="sarif"), log)
