import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from evalrunner.git.case_repository import build
from evalrunner.git.diff import added_lines, payload_diff
from evalrunner.git.diff_parser import parse
from evalrunner.paths import demo
from evalrunner.records import Item, Selection
from evalrunner.source.file import FileSource

ALL = Selection(order="source", sampler="all")
RUFF = Path(sys.executable).with_name("ruff")


def items(rows: str) -> list[Item]:
    return FileSource.model_validate({"path": f"demo:{rows}.jsonl", "rows": rows}).take(ALL)


CASES = {item.id: item for item in items("review_cases")}


def test_cases_are_of_both_kinds_several_languages_and_all_forms():
    kinds = Counter(item.groups["kind"] for item in CASES.values())
    assert kinds == {"positive": 18, "clean": 8}
    assert {item.groups["language"] for item in CASES.values()} == {"python", "javascript", "go", "rust", "c"}
    files = [parse(payload_diff(item.payload)) for item in CASES.values()]
    assert {file.change for each in files for file in each} == {"added", "modified", "renamed", "deleted"}
    assert any(file.change == "renamed" and file.hunks for each in files for file in each)
    assert max(len(each) for each in files) == 3
    assert {item.groups["kind"] for item in list(CASES.values())[:4]} == {"positive", "clean"}


def test_every_expected_line_is_near_a_change_and_has_its_anchor():
    for item in CASES.values():
        by_path = {file.path.decode(): file for file in parse(payload_diff(item.payload))}
        for each in item.truth["expected"]:
            added = added_lines(by_path[each["file"]])
            assert any(abs(line - each["line"]) <= 1 for line in added), item.id
            assert each["anchor"], item.id


def test_no_payload_tells_the_truth():
    for item in CASES.values():
        assert item.payload.keys() == {"id", "language", "diff"}
    for batch in items("judge_cases"):
        assert batch.payload.keys() == {"id", "diff", "findings"}
        assert all(
            each.keys() == {"id", "file", "line", "title", "body"} for each in batch.payload["findings"]
        )


@pytest.mark.skipif(not RUFF.is_file(), reason="ruff is not installed")
def test_a_linter_finds_some_defects_and_not_others():
    told: dict[str, list[tuple[str, int]]] = {}
    for name, item in CASES.items():
        with build(payload_diff(item.payload)) as case:
            whole = [
                path.decode()
                for path, blob in case.trees.head.items()
                if blob.whole and path.endswith(b".py")
            ]
            if item.groups["language"] == "python" and whole:
                told[name] = found(case.path, whole)
    covered = {
        name: sum((each["file"], each["line"]) in places for each in CASES[name].truth["expected"])
        for name, places in told.items()
    }
    assert sum(covered.values()) == 9
    assert {name for name in covered if not covered[name] and CASES[name].truth["expected"]} == {
        "py-export",
        "session",
    }
    assert [name for name in told if CASES[name].groups["kind"] == "clean" and told[name]] == ["py-etag"]


def found(folder: Path, files: list[str]) -> list[tuple[str, int]]:
    argv = [
        RUFF,
        "check",
        "--isolated",
        "--no-cache",
        "--output-format=json",
        "--select=F,B,E722,S324",
        *files,
    ]
    done = subprocess.run(argv, cwd=folder, capture_output=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    return [
        (str(Path(row["filename"]).relative_to(folder.resolve())), row["location"]["row"])
        for row in json.loads(done.stdout)
    ]


def test_batches_have_real_and_spurious_findings():
    batches = items("judge_cases")
    labels = Counter(label for batch in batches for label in batch.truth["labels"].values())
    assert len(batches) == 9
    assert labels == {"real": 10, "spurious": 15}
    clean = [batch.id for batch in batches if set(batch.truth["labels"].values()) == {"spurious"}]
    assert len(clean) == 2
    diffs = {item.payload["diff"] for item in CASES.values()}
    assert all(batch.payload["diff"] in diffs for batch in batches)


def test_the_readme_describes_both_files():
    text = demo("README.md").read_text("utf-8")
    for name in ("review_cases.jsonl", "judge_cases.jsonl"):
        assert f"## {name}" in text
