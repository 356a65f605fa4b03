"""SARIF 2.1.0 of code reviews, checked against models made from the standard's schema."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema
from reports import ANY_MACHINE, report, review, takes

from evalrunner.errors import EvalrunnerError
from evalrunner.reporter.sarif import SarifReporter
from evalrunner.subject.sarif import sarif_findings


def log(receipt: dict[str, Any]) -> dict[str, Any]:
    stream = io.StringIO()
    SarifReporter().report(report(receipt), stream)
    made = json.loads(stream.getvalue())
    StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(made)
    return dict(made)


def test_a_result_for_each_miss_each_stray_finding_and_each_hit() -> None:
    [run] = log(review())["runs"]
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("missed-defect", "error"),
        ("unmatched-finding", "warning"),
        ("found-defect", "note"),
    ]
    for each in run["results"]:
        assert run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] == each["ruleId"]
    missed, stray, found = run["results"]
    assert missed["locations"] == [
        {
            "logicalLocations": [{"fullyQualifiedName": "loop"}],
            "physicalLocation": {
                "artifactLocation": {"uri": "src/a%20b%2Cc.py"},
                "region": {"startLine": 7},
            },
        }
    ]
    assert missed["message"]["text"] == (
        "loop: no run found the defect here; a finding of it mentions 'race' or 'lock'"
    )
    assert stray["properties"] == {"case": "clean", "severity": "low", "runs": [1]}
    assert found["message"]["text"] == "loop: found: Off-by-one in the loop"


def test_our_own_reader_reads_it() -> None:
    found = sarif_findings(log(review()))
    assert [(each.file, each.line, each.title) for each in found] == [
        ("src/a b,c.py", 7, "missed-defect"),
        ("src/app.py", 3, "unmatched-finding"),
        ("src/app.py", 40, "found-defect"),
    ]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("http://evil.example/x", "http%3A//evil.example/x"),
        ("//evil.example/x", "evil.example/x"),
        ("/etc/passwd", "etc/passwd"),
        ("src\\win.py", "src/win.py"),
        ("a b.py", "a%20b.py"),
        ("/", "."),
    ],
)
def test_a_file_names_no_host_and_no_scheme(file: str, uri: str) -> None:
    row = {"case": "c", "file": file, "line": 1, "title": "t"}
    [result] = log(review(defects=[], unmatched=[row]))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_finding_without_a_place_has_none() -> None:
    row = {"case": "c", "file": "", "line": None, "title": "t"}
    [result] = log(review(defects=[], unmatched=[row]))["runs"][0]["results"]
    assert result["locations"] == [{"logicalLocations": [{"fullyQualifiedName": "c"}]}]


def test_links_in_messages_are_taken_apart() -> None:
    row = {"case": "c", "file": "a.py", "line": 1, "title": "see [this](https://evil.example)"}
    [result] = log(review(defects=[], unmatched=[row]))["runs"][0]["results"]
    assert "](" not in result["message"]["text"]


def test_a_receipt_of_another_eval_is_refused_rather_than_clean() -> None:
    with pytest.raises(EvalrunnerError, match="findings of code reviews, and this is takes_quality"):
        log(takes({"accuracy": [9, 9]}))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
KEYS = ("case", "file", "line", "title", "id", "severity", "covered", "covered_by", "mechanism", "runs")


@ANY_MACHINE
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), anything, max_size=6), max_size=2))
def test_blocks_of_any_shape_give_a_valid_log(block: list[dict[str, Any]]) -> None:
    log(review(defects=block, unmatched=block))
