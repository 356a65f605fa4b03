import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from evalrunner.errors import InputError
from evalrunner.git.diff import payload_diff
from evalrunner.records import Item, Selection
from evalrunner.source.file import FileSource

SHARED = Path(__file__).resolve().parents[3] / "shared" / "cases" / "review"
DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -2,2 +2,3 @@\n a = 1\n-b = 2\n+b = 3\n+c = 4\n"
CASE: dict[str, Any] = {
    "id": "one",
    "kind": "positive",
    "language": "python",
    "diff": DIFF,
    "expected": [{"file": "x.py", "line": 3, "window": 5, "mechanism": ["three", "drei"], "anchor": "b = 3"}],
    "source": "here",
    "license": "MIT",
    "tags": ["t"],
}
FINDING: dict[str, Any] = {
    "id": "f1",
    "file": "x.py",
    "line": 3,
    "title": "Wrong",
    "body": "",
    "label": "real",
}
BATCH: dict[str, Any] = {
    "id": "b",
    "diff": DIFF,
    "findings": [FINDING, {**FINDING, "id": "f2", "label": "spurious"}],
}


def read(folder: Path, kind: str, *rows: Any) -> list[Item]:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    source = FileSource.model_validate({"path": str(path), "rows": kind})
    return source.take(Selection(order="source", sampler="all"))


def problems(folder: Path, kind: str, *rows: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(folder, kind, *rows)
    return [str(each).removeprefix(f"{folder}/rows.jsonl:") for each in caught.value.problems]


def changed(row: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A row with other fields; `__` leads into the first element, None takes the field away."""
    row = copy.deepcopy(row)
    for key, value in fields.items():
        *way, last = key.split("__")
        target = row
        for step in way:
            target = target[step][0]
        if value is None:
            del target[last]
        else:
            target[last] = value
    return row


def test_a_case_shows_its_diff_and_hides_the_rest(tmp_path):
    (item,) = read(tmp_path, "review_cases", CASE)
    assert item.payload == {"id": "one", "language": "python", "diff": DIFF}
    assert item.truth == {key: CASE[key] for key in ("kind", "expected", "source", "license", "tags")}
    assert item.groups == {"language": "python", "kind": "positive"}
    assert item.text is None
    assert len(item.content_sha) == 64


def test_a_batch_shows_its_findings_and_hides_the_labels(tmp_path):
    (item,) = read(tmp_path, "judge_cases", BATCH)
    shown = {key: value for key, value in FINDING.items() if key != "label"}
    assert item.payload == {"id": "b", "diff": DIFF, "findings": [shown, {**shown, "id": "f2"}]}
    assert item.truth == {"labels": {"f1": "real", "f2": "spurious"}}
    assert item.groups == {}


def test_optional_fields_may_be_absent(tmp_path):
    bare = {"id": 7, "kind": "clean", "language": "c", "diff": DIFF}
    (item,) = read(tmp_path, "review_cases", bare)
    assert item.id == "7"
    assert item.truth == {"kind": "clean", "expected": [], "tags": []}
    (item,) = read(tmp_path, "review_cases", changed(CASE, expected__window=None, expected__anchor=None))
    assert item.truth["expected"] == [{"file": "x.py", "line": 3, "mechanism": ["three", "drei"]}]


def test_a_diff_that_is_not_utf8_is_given_in_base64(tmp_path):
    diff = DIFF.encode().replace(b"b = 3", b"b = \xe9")
    row = changed(CASE, diff=None, diff_base64=base64.b64encode(diff).decode(), expected__anchor="b = \ufffd")
    (item,) = read(tmp_path, "review_cases", row)
    assert payload_diff(item.payload) == diff
    assert "b = \ufffd" in item.payload["diff"]


NEW_GIT = "diff --git a/.git/x b/.git/x\nnew file mode 100644\n"
WRONG = {
    "unknown key": ({"expcted": []}, ["expcted: is no known field", "did you mean 'expected'?"]),
    "unknown key inside": (
        {"expected__lines": 3},
        ["expected.0.lines: is no known field", "did you mean 'line'?"],
    ),
    "no id": ({"id": None}, ["id: is missing"]),
    "blank id": ({"id": " "}, ["id: is blank (found ' ')"]),
    "two-line id": ({"id": "a\nb"}, ["id: holds a line break"]),
    "kind": (
        {"kind": "positiv"},
        ["kind: is none of the known words (found 'positiv')", "did you mean 'positive'?"],
    ),
    "language": ({"language": 3}, ["language: is not a text (found 3)"]),
    "no diff": ({"diff": None}, ["diff: is missing"]),
    "diff of another type": ({"diff": 3}, ["diff: is not a text"]),
    "both diffs": ({"diff_base64": "eA=="}, ["diff_base64: stands beside `diff`"]),
    "empty diff": ({"diff": ""}, ["diff: there is no file in the diff"]),
    "bad hunk": ({"diff": DIFF.replace("+2,3", "+2,4")}, ["diff: line 4: the diff ends inside this hunk"]),
    "path outside": (
        {"diff": DIFF.replace("x.py", "../x.py")},
        ["diff: line 1: the path has a `..` part (found '../x.py'); allowed: a path inside the repository"],
    ),
    "git folder": (
        {"diff": NEW_GIT},
        ["diff: line 1: the path has a part that is, or can be taken for, `.git`"],
    ),
    "CRLF": (
        {"diff": DIFF.replace("\n", "\r\n")},
        ["diff: line 1: the lines of the diff itself end in CR LF"],
    ),
    "line behind the end": (
        {"expected__line": 5},
        [
            "expected.0.line: is outside of the file (found 5);"
            " allowed: 1 to 4, as far as the diff shows the file"
        ],
    ),
    "line 0": (
        {"expected__line": 0},
        ["expected.0.line: is too small (found 0); allowed: a whole number from 1"],
    ),
    "line as text": ({"expected__line": "3"}, ["expected.0.line: is not a whole number (found '3')"]),
    "half a line": ({"expected__line": 3.5}, ["expected.0.line: "]),
    "other file": (
        {"expected__file": "y.py"},
        ["expected.0.file: is no file of the head (found 'y.py'); allowed: x.py; did you mean 'x.py'?"],
    ),
    "file with a prefix": (
        {"expected__file": "b/x.py"},
        ["expected.0.file: is no file of the head", "'x.py'?"],
    ),
    "file outside": ({"expected__file": "../x.py"}, ["expected.0.file: has a `..` part (found '../x.py')"]),
    "no mechanism": ({"expected__mechanism": []}, ["expected.0.mechanism: is empty (found [])"]),
    "blank mechanism": ({"expected__mechanism": ["x", ""]}, ["expected.0.mechanism.1: is blank (found '')"]),
    "negative window": ({"expected__window": -1}, ["expected.0.window: is too small (found -1)"]),
    "anchor": (
        {"expected__anchor": "b = 2"},
        ["expected.0.anchor: does not stand on line 3 of x.py (found 'b = 2'); allowed: 'b = 3'"],
    ),
    "positive without": ({"expected": []}, ["expected: is empty, and the case is positive"]),
    "clean with": ({"kind": "clean"}, ["expected: is not empty, and the case is clean"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_case_is_refused_with_line_and_field(name, tmp_path):
    fields, wanted = WRONG[name]
    found = problems(tmp_path, "review_cases", changed(CASE, id="first"), changed(CASE, **fields))
    assert len(found) == 1, found
    assert found[0].startswith("2: ")
    assert all(each in found[0] for each in wanted), found


def test_all_problems_of_all_rows_are_told_at_once(tmp_path):
    first = changed(CASE, kind="x", diff=DIFF.replace("+c = 4\n", ""), more=1)
    second = changed(CASE, expected__line=99)
    found = problems(tmp_path, "review_cases", first, second, CASE, CASE)
    assert [each.split(" (found")[0].split("; ")[0] for each in found] == [
        "1: kind: is none of the known words",
        "1: more: is no known field",
        "1: diff: line 4: the diff ends inside this hunk",
        "2: expected.0.line: is outside of the file",
        f"4: id: is also the id of {tmp_path}/rows.jsonl:3",
    ]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"findings": []}, "findings: is empty"),
        ({"findings__label": "true"}, "findings.0.label: is none of the known words (found 'true')"),
        ({"findings__label": None}, "findings.0.label: is missing"),
        ({"findings__severity": "high"}, "findings.0.severity: is no known field"),
        ({"findings__title": ""}, "findings.0.title: is blank"),
        ({"findings__file": "/etc/passwd"}, "findings.0.file: is absolute"),
        ({"findings__line": 0}, "findings.0.line: is too small"),
        ({"findings__id": "f2"}, "findings.1.id: is also the id of findings.0 (found 'f2')"),
        ({"kind": "clean"}, "kind: is no known field"),
        ({"diff": "x"}, "diff: there is no file in the diff"),
    ],
)
def test_a_wrong_batch_is_refused_with_line_and_field(fields, wanted, tmp_path):
    (found,) = problems(tmp_path, "judge_cases", changed(BATCH, **fields))
    assert found.startswith(f"1: {wanted}")


def test_a_finding_may_point_outside_of_the_diff(tmp_path):
    row = changed(BATCH, findings__file="./other/y.py", findings__line=4000)
    assert len(read(tmp_path, "judge_cases", row)) == 1


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared cases are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "rows", "count"), [("cases", "review_cases", 49), ("judge-cases", "judge_cases", 12)]
)
def test_the_shared_rows_are_read(name, rows, count):
    source = FileSource.model_validate({"path": str(SHARED / f"{name}.jsonl"), "rows": rows})
    assert len(source.take(Selection(order="source", sampler="all"))) == count
