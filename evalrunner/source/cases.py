"""Rows of the review evals: cases with expected defects, and batches of findings with labels.

A subject sees what stands in `payload`. Kind, expected defects, labels, tags and origin are truth. Ids may
give the kind away (`clean-...`), so they are for people and reports, and no prompt shows them.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from evalrunner.errors import Problem, nearest, show
from evalrunner.git.diff import DiffError, diff_payload
from evalrunner.git.diff_check import MAX_LINES
from evalrunner.git.paths import show_path, unsafe
from evalrunner.git.trees import Trees, rebuild
from evalrunner.receipt.fingerprint import content_sha
from evalrunner.receipt.said import shown
from evalrunner.records import Item
from evalrunner.source.rows import RowKind, RowRefused, is_blank


def _key(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _filled(value: str) -> str:
    if is_blank(value):
        raise ValueError("is blank")
    return value


def _one_line(value: str) -> str:
    if not value.isprintable():
        raise ValueError("holds a line break or another control character")
    return _filled(value)


def _path(value: str) -> str:
    why = unsafe(value.removeprefix("./").encode())
    if why is not None:
        raise ValueError(why)
    return value


Filled = Annotated[str, AfterValidator(_filled)]
OneLine = Annotated[str, AfterValidator(_one_line)]
Id = Annotated[OneLine, BeforeValidator(_key)]
InsidePath = Annotated[str, AfterValidator(_path)]
LineNumber = Annotated[int, Field(ge=1, le=MAX_LINES)]


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Expected(_Row):
    """A defect that the diff brings in.

    Attributes:
        file: its path in the head.
        line: its line in the head, from 1.
        window: a finding at most so many lines away counts; None takes the rubric's.
        mechanism: keywords; a finding that names one of them counts.
        anchor: the text of the line without outer blanks, to check that the number was read right.
    """

    file: InsidePath
    line: LineNumber
    window: Annotated[int, Field(ge=0, le=MAX_LINES)] | None = None
    mechanism: Annotated[list[Filled], Field(min_length=1)]
    anchor: str | None = None


class LabelledFinding(_Row):
    """A reviewer's finding, and whether people found it to be real.

    Its line need not be in the file: a spurious finding may well point outside.
    """

    id: Id
    file: InsidePath
    line: LineNumber
    title: Filled
    body: str
    label: Literal["real", "spurious"]


class _WithDiff(_Row):
    """What cases and batches share.

    Attributes:
        id: unique in the file.
        diff: the whole diff. diff_base64: instead, for one that is not UTF-8.
        source, license: where the diff comes from, and under which terms.
    """

    id: Id
    diff: str | None = None
    diff_base64: str | None = None
    source: str | None = None
    license: str | None = None


class ReviewCase(_WithDiff):
    """One review case: a diff and what a reviewer should find in it, which for a clean one is nothing."""

    kind: Literal["positive", "clean"]
    language: OneLine
    expected: list[Expected] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)


class JudgeBatch(_WithDiff):
    """One batch: a diff and the findings on it that go to a judge together."""

    findings: Annotated[list[LabelledFinding], Field(min_length=1)]


R = TypeVar("R", bound=_WithDiff)

ALLOWED: Mapping[str, str] = {
    "id": "a text on one line",
    "kind": "positive, clean",
    "language": "a text on one line",
    "diff": "the text of a git diff",
    "diff_base64": "a git diff in base64",
    "expected": "a list of {file, line, window?, mechanism, anchor?}",
    "findings": "a list of {id, file, line, title, body, label}, at least one",
    "file": "a path inside the repository, in the head",
    "line": f"a whole number from 1 to {MAX_LINES}",
    "window": "a whole number of lines from 0, or nothing",
    "mechanism": "a list of keywords, at least one, none blank",
    "anchor": "a text or nothing",
    "title": "a text that is not blank",
    "body": "a text",
    "label": "real, spurious",
    "tags": "a list of texts",
    "source": "a text or nothing",
    "license": "a text or nothing",
}
"""What each field may hold."""

LONGEST_NAME = 60
_MESSAGES = {
    "missing": "is missing",
    "string_type": "is not a text",
    "int_type": "is not a whole number",
    "list_type": "is not a list",
    "model_type": "is not an object",
    "literal_error": "is none of the known words",
    "too_short": "is empty",
    "greater_than_equal": "is too small",
    "less_than_equal": "is too large",
}


def case_item(row: Mapping[str, Any]) -> Item:
    """The item of a review case.

    Raises:
        RowRefused: a field is wrong or unknown, the diff cannot be rebuilt, an expected line is not in the
            head or does not hold its anchor, or kind and expected defects contradict each other.
    """
    case, diff, trees = _read(ReviewCase, row)
    problems = []
    if case.kind == "positive" and not case.expected:
        problems.append(
            Problem("expected", "is empty, and the case is positive", None, "at least one defect")
        )
    if case.kind == "clean" and case.expected:
        problems.append(Problem("expected", "is not empty, and the case is clean", None, "no defect"))
    for place, each in enumerate(case.expected):
        problems += _misplaced(f"expected.{place}", each, trees)
    if problems:
        raise RowRefused(problems)
    truth = case.model_dump(include={"kind", "expected", "tags", "source", "license"}, exclude_none=True)
    return _item(
        case.id,
        {"id": case.id, "language": case.language, **diff_payload(diff)},
        truth,
        {"language": case.language, "kind": case.kind},
    )


def batch_item(row: Mapping[str, Any]) -> Item:
    """The item of a judge batch.

    Raises:
        RowRefused: a field is wrong or unknown, the diff cannot be rebuilt, or two findings have one id.
    """
    batch, diff, _ = _read(JudgeBatch, row)
    places: dict[str, int] = {}
    problems = [
        Problem(f"findings.{place}.id", f"is also the id of findings.{first}", show(each.id), "each id once")
        for place, each in enumerate(batch.findings)
        if (first := places.setdefault(each.id, place)) != place
    ]
    if problems:
        raise RowRefused(problems)
    truth = batch.model_dump(include={"source", "license"}, exclude_none=True)
    return _item(
        batch.id,
        {
            "id": batch.id,
            **diff_payload(diff),
            "findings": [each.model_dump(exclude={"label"}) for each in batch.findings],
        },
        {"labels": {each.id: each.label for each in batch.findings}, **truth},
        {},
    )


def _item(name: str, payload: dict[str, Any], truth: dict[str, Any], groups: dict[str, str]) -> Item:
    return Item(id=name, content_sha=content_sha(payload, truth), payload=payload, truth=truth, groups=groups)


def _read(kind: type[R], row: Mapping[str, Any]) -> tuple[R, bytes, Trees]:
    """The row, the bytes of its diff, and the two versions that these tell of."""
    problems: list[Problem] = []
    value = None
    try:
        value = kind.model_validate(dict(row))
    except ValidationError as error:
        problems += [_problem(kind, each) for each in error.errors()]
    diff, wrong = _diff(row)
    trees = None
    if diff is not None:
        try:
            trees = rebuild(diff)
        except DiffError as error:
            field = "diff" if row.get("diff_base64") is None else "diff_base64"
            (told,) = error.problems
            place = f"{field}: {told.where}" if told.where else field
            problems.append(Problem(place, told.what, told.found, told.allowed))
    problems += wrong
    if problems or value is None or diff is None or trees is None:
        raise RowRefused(problems)
    return value, diff, trees


def _diff(row: Mapping[str, Any]) -> tuple[bytes | None, list[Problem]]:
    text, encoded = row.get("diff"), row.get("diff_base64")
    if text is None and encoded is None:
        return None, [Problem("diff", "is missing", None, ALLOWED["diff"], nearest("diff", row))]
    if text is not None and encoded is not None:
        return None, [Problem("diff_base64", "stands beside `diff`", None, "one of the two")]
    if encoded is None:
        return (text.encode(), []) if isinstance(text, str) else (None, [])
    try:
        return base64.b64decode(encoded, validate=True), []
    except (binascii.Error, ValueError, TypeError):
        return None, [Problem("diff_base64", "is not base64", shown(encoded), ALLOWED["diff_base64"])]


def _misplaced(place: str, expected: Expected, trees: Trees) -> list[Problem]:
    blob = trees.head.get(expected.file.removeprefix("./").encode())
    if blob is None:
        known = [show_path(path) for path in trees.head]
        near = nearest(expected.file, known)
        what = "is no file of the head"
        return [Problem(f"{place}.file", what, show(expected.file), ", ".join(known[:5]) or None, near)]
    if expected.line > blob.line_count:
        allowed = f"1 to {blob.line_count}, as far as the diff shows the file"
        return [Problem(f"{place}.line", "is outside of the file", str(expected.line), allowed)]
    stands = blob.data.split(b"\n")[expected.line - 1].strip().decode("utf-8", "replace")
    if expected.anchor is not None and expected.anchor.strip() != stands:
        what = f"does not stand on line {expected.line} of {expected.file}"
        return [Problem(f"{place}.anchor", what, show(expected.anchor), show(stands))]
    return []


def _problem(kind: type[_WithDiff], error: Any) -> Problem:
    """What pydantic found wrong, in our words."""
    place = ".".join(_step(each) for each in error["loc"])
    names = [each for each in error["loc"] if isinstance(each, str)]
    field = names[-1] if names else ""
    if error["type"] == "extra_forbidden":
        known = _fields(kind, names[:-1])
        return Problem(place, "is no known field", None, ", ".join(known), nearest(field, known))
    what = _MESSAGES.get(error["type"], str(error["msg"]).removeprefix("Value error, "))
    found = None if error["type"] == "missing" else shown(error["input"])
    allowed = ALLOWED.get(field)
    near = None
    if error["type"] == "literal_error" and allowed and isinstance(error["input"], str):
        near = nearest(error["input"], allowed.split(", "))
    return Problem(place, what, found, allowed, near)


def _step(name: str | int) -> str:
    """A name in a place; one that is no plain word is shown as a text, and cut."""
    text = str(name)
    return text if len(text) <= LONGEST_NAME and text.isprintable() else show(text)


def _fields(kind: type[_WithDiff], inside: Sequence[str]) -> list[str]:
    nested: dict[str, type[_Row]] = {"expected": Expected, "findings": LabelledFinding}
    model: type[_Row] = nested[inside[0]] if inside else kind
    return list(model.model_fields)


REVIEW_CASES = RowKind(
    name="review_cases",
    fields={"id": "key", "kind": "text", "language": "text", "diff": "text", "diff_base64": "text"},
    required=frozenset({"id", "kind", "language"}),
    read=case_item,
)
"""The row kind of review cases."""

JUDGE_CASES = RowKind(
    name="judge_cases",
    fields={"id": "key", "diff": "text", "diff_base64": "text"},
    required=frozenset({"id"}),
    read=batch_item,
)
"""The row kind of judge batches."""
