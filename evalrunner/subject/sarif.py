"""Findings of a SARIF 2.1.0 log, as linters and scanners write it."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from evalrunner.receipt.said import shown
from evalrunner.subject.findings import BrokenReview, Finding, finding

NO_FINDING = frozenset({"pass", "notApplicable", "informational"})
"""Kinds of results that report no problem."""


def sarif_findings(log: Any) -> list[Finding]:
    """The results of all runs of a log that report a problem and are not suppressed.

    The title is the rule's id, the body the message, the severity the level; file and line are those of the
    first location.

    Raises:
        BrokenReview: it is no SARIF log, or a result is not of its form.
    """
    runs = log.get("runs") if isinstance(log, Mapping) else None
    if not isinstance(runs, list) or not all(isinstance(run, Mapping) for run in runs):
        raise BrokenReview("the output is no SARIF log: it has no list of runs")
    found = []
    for number, run in enumerate(runs, start=1):
        results = run.get("results")
        if results is None:
            raise BrokenReview(f"run {number} of the log has no results: the tool did not come to report any")
        rules = _rules(run, f"the tool of run {number}")
        for place, result in enumerate(_list(results, f"results of run {number}"), start=1):
            where = f"result {place} of run {number}"
            each = _mapping(result, where)
            kind = each.get("kind")
            if not (isinstance(kind, str) and kind in NO_FINDING) and not _suppressed(each):
                found.append(_finding(each, rules, where))
    return found


def _finding(result: Mapping[str, Any], rules: Sequence[Mapping[str, Any]], where: str) -> Finding:
    rule = _rule(result, rules)
    name = result.get("ruleId") or _mapping(result.get("rule") or {}, where).get("id") or rule.get("id") or ""
    locations = _list(result.get("locations") or [], f"locations of {where}")
    place = _mapping(locations[0], where) if locations else {}
    physical = _mapping(place.get("physicalLocation") or {}, where)
    artifact = _mapping(physical.get("artifactLocation") or {}, where)
    region = _mapping(physical.get("region") or {}, where)
    uri = artifact.get("uri")
    return finding(
        {
            "file": _path(uri) if isinstance(uri, str) else uri,
            "line": region.get("startLine"),
            "title": name,
            "body": _message(result, rule, where),
            "severity": result.get("level", "warning"),
        },
        where,
    )


def _rules(run: Mapping[str, Any], where: str) -> list[Mapping[str, Any]]:
    driver = _mapping(_mapping(run.get("tool") or {}, where).get("driver") or {}, where)
    return [_mapping(rule, where) for rule in _list(driver.get("rules") or [], where)]


def _rule(result: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What the log says of the rule of a result; empty where it says nothing."""
    index = result.get("ruleIndex")
    if isinstance(index, int) and 0 <= index < len(rules):
        return rules[index]
    return next((rule for rule in rules if rule.get("id") == result.get("ruleId")), {})


def _message(result: Mapping[str, Any], rule: Mapping[str, Any], where: str) -> str:
    message = _mapping(result.get("message"), f"message of {where}")
    text = message.get("text", message.get("markdown"))
    if text is None and isinstance(rule.get("messageStrings"), Mapping):
        text = _mapping(rule["messageStrings"].get(str(message.get("id"))) or {}, where).get("text")
    if not isinstance(text, str):
        raise BrokenReview(f"the message of {where} has no text")
    arguments = message.get("arguments")
    for number, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        text = text.replace(f"{{{number}}}", str(argument))
    return text


def _suppressed(result: Mapping[str, Any]) -> bool:
    given = [
        _mapping(each, "a suppression") for each in _list(result.get("suppressions") or [], "suppressions")
    ]
    return any(each.get("status", "accepted") == "accepted" for each in given)


def _path(uri: str) -> str:
    """The file of a URI: its path, percent escapes undone."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    return unquote(parts.path if parts.scheme in {"", "file"} else uri)


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BrokenReview(f"{what} is {shown(value, 40)}, no object")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise BrokenReview(f"{what} is {shown(value, 40)}, no list")
    return value
