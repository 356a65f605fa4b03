"""Reads what a program wrote as findings: JSON, NDJSON or SARIF, whole or not at all."""

import json
from collections.abc import Mapping
from typing import Any, Literal, NoReturn

from pydantic import Field, field_validator

from evalrunner.component import Component, Many
from evalrunner.receipt.jsontext import no_twice, whole_number
from evalrunner.subject.findings import (
    AROUND,
    FIELDS,
    BrokenReview,
    Finding,
    Review,
    finding,
    last_line_marker,
    marker_in,
    review,
)
from evalrunner.subject.sarif import sarif_findings

_ABSENT = object()


class Fields(Component):
    """Where the parts of a finding stand in the object of one: dotted paths, list places by number.

    None is not read. `title` and `body` may be one and the same.
    """

    id: str | None = "id"
    file: str = "file"
    line: str = "line"
    title: str | None = "title"
    body: str | None = "body"
    severity: str | None = "severity"

    @field_validator("*")
    @classmethod
    def _paths(cls, value: str | None) -> str | None:
        if value is not None and not all(value.split(".")):
            raise ValueError("a dotted path such as file or location.start.line is needed")
        return value


def valid_markers(markers: tuple[str, ...]) -> tuple[str, ...]:
    """The markers.

    Raises:
        ValueError: one of them says nothing once what may stand around it is gone.
    """
    if empty := [marker for marker in markers if not marker.strip(AROUND)]:
        raise ValueError(f"a marker needs letters or digits, not only {empty[0]!r}")
    return markers


class Reading(Component):
    """How a program's output becomes findings.

    Attributes:
        format: `json` is one document, `ndjson` one finding a line, `sarif` a SARIF 2.1.0 log.
        findings: dotted path to the list of findings in a JSON document; a document may be the list itself.
        fields: where the parts of a finding stand; SARIF has places of its own.
        status: dotted path to the word that says how the review ended, in a JSON document or in a line of
            NDJSON that names no file; None is not read.
        markers: words that say that the review did not come to its end. Any of them as the last line, as that
            status, or as the title or id of a finding marks the review; letters' case does not matter.
    """

    format: Literal["json", "ndjson", "sarif"] = "json"
    findings: str = "findings"
    fields: Fields = Field(default_factory=Fields)
    status: str | None = "status"
    markers: Many[str] = ("blocked",)

    @field_validator("markers", mode="after")
    @classmethod
    def _markers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return valid_markers(value)

    def read(self, output: bytes, root: str = "") -> Review:
        """The review that a program wrote.

        Args:
            output: all of it.
            root: the repository's path on disk; files that a program names by it become relative to it.

        Raises:
            BrokenReview: it is not in that form; says where.
        """
        try:
            text = output.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BrokenReview(f"the output is not UTF-8 (byte {error.start})") from None
        text, marker = last_line_marker(text, self.markers)
        if not text.strip() and marker is not None:
            return review((), marker, self.markers)
        if not text.strip() and self.format != "ndjson":
            raise BrokenReview("the output is empty")
        found, ended = self._lines(text) if self.format == "ndjson" else self._document(text)
        relative = [each.model_copy(update={"file": _relative(each.file, root)}) for each in found]
        return review(relative, marker or marker_in(ended, self.markers), self.markers)

    def _lines(self, text: str) -> tuple[list[Finding], list[str]]:
        found, ended = [], []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            value = _parsed(line, f"line {number}")
            if not isinstance(value, dict):
                raise BrokenReview(f"line {number} is no object")
            if at(value, self.fields.file) is _ABSENT and (said := self._status(value)):
                ended += said
            else:
                found.append(self._finding(value, f"the finding of line {number}"))
        return found, ended

    def _document(self, text: str) -> tuple[list[Finding], list[str]]:
        value = _parsed(text, "the output")
        if self.format == "sarif":
            return sarif_findings(value), []
        listed = value if isinstance(value, list) else at(value, self.findings)
        if listed is _ABSENT:
            raise BrokenReview(f"the output has no {self.findings}")
        if not isinstance(listed, list):
            raise BrokenReview(f"{self.findings} is no list")
        found = [self._finding(each, f"finding {number}") for number, each in enumerate(listed, start=1)]
        return found, self._status(value)

    def _status(self, value: Any) -> list[str]:
        said = at(value, self.status) if self.status is not None and isinstance(value, dict) else None
        return [said] if isinstance(said, str) else []

    def _finding(self, value: Any, where: str) -> Finding:
        if not isinstance(value, dict):
            raise BrokenReview(f"{where} is no object")
        given = {}
        for name in FIELDS:
            path = getattr(self.fields, name)
            part = _ABSENT if path is None else at(value, path)
            if part is not _ABSENT:
                given[name] = part
        return finding(given, where)


def at(value: Any, path: str) -> Any:
    """What stands at a dotted path; `_ABSENT` where nothing does. Below a null everything is null."""
    for step in path.split("."):
        if value is None:
            return None
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _ABSENT
    return value


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=no_twice, parse_int=whole_number, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise BrokenReview(f"{what} is no JSON: {error.msg}, character {error.pos}") from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BrokenReview(f"{what} is no strict JSON: {reason}") from None


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _relative(file: str, root: str) -> str:
    return file[len(root) :].lstrip("/") if root and file.startswith(f"{root}/") else file
