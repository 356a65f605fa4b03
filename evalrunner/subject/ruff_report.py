"""What ruff says of the changed Python files of a case, as findings on added lines."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalrunner.git.diff import EXECUTABLE, FILE, FileDiff, added_lines, head_lines
from evalrunner.git.trees import Blob, Trees
from evalrunner.subject.findings import BrokenReview, Finding, Review, finding, review

SUFFIXES = (b".py", b".pyi")
SYNTAX = "invalid-syntax"


@dataclass(frozen=True)
class PythonFile:
    """A Python file of the head that the diff changes.

    Attributes:
        name: its path as text.
        whole: the diff shows every line of it.
    """

    file: FileDiff
    path: bytes
    name: str
    whole: bool


def python_files(trees: Trees) -> list[PythonFile]:
    """The changed Python files of the head, in the diff's order; no links."""
    found = []
    for file in trees.files:
        path = file.new_path
        blob = trees.head.get(path) if path is not None else None
        if path is None or blob is None or blob.mode not in {FILE, EXECUTABLE} or not path.endswith(SUFFIXES):
            continue
        found.append(PythonFile(file, path, path.decode("utf-8", "replace"), _whole(file, blob)))
    return found


def _whole(file: FileDiff, blob: Blob) -> bool:
    """Whether the diff shows every line. A hash that fits is not enough: it may be one of blank lines."""
    if file.change == "added":
        return True
    count = blob.data.count(b"\n") + (not blob.data.endswith(b"\n"))
    return blob.whole and len(head_lines(file)) == count


def ruff_review(
    files: Sequence[PythonFile], output: bytes, root: str, whole_file_rules: Sequence[str]
) -> Review:
    """The review that ruff's JSON output amounts to.

    A file that the diff shows in part and that does not parse is unreviewable. When all files are, the
    review is blocked; when some are, it ended with that marker. Of other files shown in part, rules that need
    the rest are left out.

    Args:
        root: the folder that ruff ran in.
        whole_file_rules: prefixes of the codes of those rules.

    Raises:
        BrokenReview: the output is not ruff's.
    """
    by_name = {each.name: each for each in files}
    unparsed: dict[str, None] = {}
    found: list[Finding] = []
    for number, row in enumerate(_rows(output), start=1):
        name = str(row.get("filename", "")).removeprefix(f"{root}/")
        each = by_name.get(name)
        if each is None:
            raise BrokenReview(f"diagnostic {number} of ruff is of {name!r}, which it was not given")
        code = row.get("code") or SYNTAX
        if code == SYNTAX and not each.whole:
            unparsed[name] = None
        elif each.whole or not str(code).startswith(tuple(whole_file_rules)):
            made = _finding(row, str(code), name, f"diagnostic {number}")
            if made.line in added_lines(each.file):
                found.append(made)
    found = [each for each in found if each.file not in unparsed]
    if not unparsed:
        return review(found, None, ())
    told = f"unreviewable: {', '.join(unparsed)} cannot be parsed, as the diff does not show all of it"
    if len(unparsed) == len(files):
        return Review(status="blocked", error=told)
    return review(found, told, ())


def _rows(output: bytes) -> list[Mapping[str, Any]]:
    try:
        rows = json.loads(output)
    except ValueError as error:
        raise BrokenReview(f"ruff wrote no JSON: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BrokenReview("ruff wrote no list of diagnostics")
    return rows


def _finding(row: Mapping[str, Any], code: str, name: str, where: str) -> Finding:
    place = row.get("location")
    rule = str(row.get("url") or code).rstrip("/").rpartition("/")[2]
    return finding(
        {
            "file": name,
            "line": place.get("row") if isinstance(place, dict) else None,
            "title": f"{code} {row.get('message', '')}",
            "body": f"ruff rule {rule}",
        },
        where,
    )
