"""What a reviewer reports: findings, and how the review ended."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from evalrunner.receipt.jsontext import clean
from evalrunner.receipt.said import shown
from evalrunner.records import OutcomeStatus
from evalrunner.stats.review import finding_id

MOST_FINDINGS = 1000
"""A review with more findings than this is none."""

MOST_CHARS = 100_000
"""The most characters of one text of a finding."""

Field = Literal["id", "file", "line", "title", "body", "severity"]
FIELDS: tuple[Field, ...] = ("id", "file", "line", "title", "body", "severity")


class BrokenReview(Exception):  # noqa: N818 - it is an outcome of a run, not a programming error
    """What a reviewer wrote cannot be used. The reason is one clause."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Finding(BaseModel):
    """One finding.

    Attributes:
        id: the reviewer's own, else made from file, line and title.
        file: as the reviewer names it; empty where it names none.
        line: from 1, in the head; None where it names none.
        severity: in the reviewer's own words.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    id: str
    file: str
    line: int | None
    title: str
    body: str
    severity: str | None = None


class Review(BaseModel):
    """What became of one run of a reviewer.

    Attributes:
        status: `marker` when it ended with a marker such as "blocked", `blocked` when it could not review,
            `error` and `timeout` when it gave nothing that can be used.
        findings: in the reviewer's order, markers left out; empty for `error` and `timeout`.
        marker: the marker, as written.
        error: one line for people, where the status is neither `ok` nor `marker`.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    status: OutcomeStatus = "ok"
    findings: tuple[Finding, ...] = ()
    marker: str | None = None
    error: str | None = None

    def payload(self) -> dict[str, Any]:
        """The outcome's payload: `findings`, and `marker` where there is one."""
        marked = {} if self.marker is None else {"marker": self.marker}
        return {"findings": [each.model_dump() for each in self.findings], **marked}


def finding(values: Mapping[Field, Any], where: str) -> Finding:
    """A finding from the values that a reviewer gave.

    `file` and `line` must be there, though they may be null: a misspelt key would else turn every finding
    into one that matches nothing. A title or a body is needed; the others may be missing or null.

    Args:
        values: by field; a field that the reviewer did not write is not in it.
        where: names the finding in messages.

    Raises:
        BrokenReview: something is missing, of another type, or out of range.
    """
    for name in ("file", "line"):
        if name not in values:
            raise BrokenReview(f"{where} has no {name}; null is needed where there is none")
    texts = {name: _text(values.get(name), f"{name} of {where}") for name in FIELDS if name != "line"}
    title, body = texts["title"] or "", texts["body"] or ""
    if not title.strip() and not body.strip():
        raise BrokenReview(f"{where} has neither title nor body")
    line = values["line"]
    if line is not None and (isinstance(line, bool) or not isinstance(line, int) or not 1 <= line < 2**31):
        raise BrokenReview(f"line of {where} is {shown(line, 40)}, no whole number from 1, and not null")
    file = texts["file"] or ""
    return Finding(
        id=texts["id"] or finding_id(file, line, title, body),
        file=file,
        line=line,
        title=title,
        body=body,
        severity=texts["severity"],
    )


def _text(value: Any, what: str) -> str | None:
    """A text; an id may be a whole number as well."""
    if isinstance(value, int) and not isinstance(value, bool) and what.startswith("id "):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise BrokenReview(f"{what} is {shown(value, 40)}, no text")
    if value is not None and len(value) > MOST_CHARS:
        raise BrokenReview(f"{what} is longer than {MOST_CHARS} characters")
    if value is not None and clean(value) != value:
        raise BrokenReview(f"{what} is no valid Unicode: it holds half of a surrogate pair")
    return value


def review(findings: Sequence[Finding], marker: str | None, markers: Sequence[str]) -> Review:
    """A review that was read: findings that are nothing but a marker are taken out and mark it.

    Args:
        findings: all that was reported.
        marker: the marker that the review ended with, where one was found elsewhere.
        markers: the texts that are markers.

    Raises:
        BrokenReview: there are too many findings.
    """
    if len(findings) > MOST_FINDINGS:
        raise BrokenReview(f"{len(findings)} findings; at most {MOST_FINDINGS} are read")
    real = []
    for each in findings:
        found = marker_in((each.id, each.title or each.body), markers)
        if found is None:
            real.append(each)
        else:
            marker = marker or found
    return Review(status="ok" if marker is None else "marker", findings=tuple(real), marker=marker)


AROUND = " \t\r\n.:!*_#`\"'()[]{}<>-=~"
"""What may stand around a marker: blanks, and how people set a word off."""


def marker_in(texts: Iterable[str], markers: Sequence[str]) -> str | None:
    """The first of the texts that is a marker, in any case, as written; None when none is."""
    known = {marker.strip(AROUND).casefold() for marker in markers}
    return next((text for text in texts if text.strip(AROUND).casefold() in known), None)


def last_line_marker(text: str, markers: Sequence[str]) -> tuple[str, str | None]:
    """A text without its last line where that is a marker, and the marker."""
    rest, _, last = text.rstrip().rpartition("\n")
    found = marker_in((last,), markers)
    return (text, None) if found is None else (rest, found.strip())
