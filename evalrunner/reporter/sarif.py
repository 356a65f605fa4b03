"""SARIF 2.1.0: what code reviews found, missed and made up, for code scanning and editors."""

from collections.abc import Mapping
from typing import Any, TextIO
from urllib.parse import quote

from evalrunner import __version__
from evalrunner.errors import EvalrunnerError, Problem
from evalrunner.receipt.jsontext import readable_json
from evalrunner.reporter.base import FiledReporter, Report
from evalrunner.reporter.checks import of_eval
from evalrunner.reporter.findings import Kind, Place, is_review, places

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

RULES: Mapping[Kind, tuple[str, str, str, str]] = {
    "missed": (
        "missed-defect",
        "MissedDefect",
        "error",
        "An expected defect that no run of the reviewer found.",
    ),
    "unmatched": (
        "unmatched-finding",
        "UnmatchedFinding",
        "warning",
        "A finding of the reviewer that matches none of the expected defects.",
    ),
    "found": ("found-defect", "FoundDefect", "note", "An expected defect that the reviewer found."),
}
"""By kind: id, name, level, and what it means."""


class SarifReporter(FiledReporter):
    """One run with a result for each missed defect, each finding that matches nothing, each defect found.

    Files are those of the review cases, as the reviewer or the case names them; every result carries its
    case. Receipts of other evals hold no findings and are refused: an empty log would read as a clean one.
    """

    def report(self, report: Report, stream: TextIO) -> None:
        """One JSON document with a line end.

        Raises:
            EvalrunnerError: the receipt tells of no code review.
        """
        if not is_review(report.receipt):
            raise EvalrunnerError(
                Problem("", f"SARIF holds findings of code reviews, and this is {of_eval(report.receipt)}")
            )
        run = {
            "tool": {"driver": {"name": "evalrunner", "version": __version__, "rules": _rules()}},
            "columnKind": "unicodeCodePoints",
            "results": [_result(place) for place in places(report.receipt)],
            "properties": {
                key: report.receipt[key] for key in ("run_id", "verdict", "eval") if key in report.receipt
            },
        }
        log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
        stream.write(readable_json(log, indent=True) + "\n")


def _rules() -> list[dict[str, Any]]:
    return [
        {
            "id": name,
            "name": title,
            "shortDescription": {"text": meaning},
            "defaultConfiguration": {"level": level},
        }
        for name, title, level, meaning in RULES.values()
    ]


def _result(place: Place) -> dict[str, Any]:
    name, _, level, _ = RULES[place.kind]
    told = {"case": place.case, "severity": place.severity, "runs": list(place.runs) or None}
    return {
        "ruleId": name,
        "ruleIndex": list(RULES).index(place.kind),
        "level": level,
        "message": {"text": _no_link(place.told)},
        "locations": [_location(place)],
        "properties": {key: value for key, value in told.items() if value is not None},
    }


def _location(place: Place) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": place.case}]}
    if place.file is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(place.file)}}
        if place.line is not None:
            location["physicalLocation"]["region"] = {"startLine": place.line}
    return location


def _uri(file: str) -> str:
    """The file as a relative reference: what a reviewer wrote can name no host and no scheme."""
    return quote(file.replace("\\", "/").lstrip("/"), safe="/") or "."


def _no_link(text: str) -> str:
    """The text with what viewers would take for a link, `[text](target)`, taken apart."""
    return text.replace("](", "] (")
