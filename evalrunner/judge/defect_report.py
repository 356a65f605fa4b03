"""What a person needs to check a keyword match: the receipt's `cases`, `defects` and `unmatched`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evalrunner.judge.review_rows import Reported
from evalrunner.records import Item, Outcome
from evalrunner.stats.review import Case, ReviewFigures, Run, match

MOST_TITLE = 300
MOST_BODY = 4000
"""Longer texts of findings are cut in the receipt; matching has read all of them."""


@dataclass(frozen=True)
class Reviewed:
    """One run with everything about it.

    Attributes:
        hits: for each finding, the defects that it matches: (place in the case, keyword).
    """

    outcome: Outcome
    run: Run
    findings: tuple[Reported, ...]
    hits: tuple[tuple[tuple[int, str], ...], ...]


def reviewed(case: Case, outcome: Outcome, run: Run, findings: tuple[Reported, ...]) -> Reviewed:
    """The run with its matches; those of a run that is not usable are not looked for."""
    hits = tuple(
        tuple(
            (place, keyword)
            for place, defect in enumerate(case.defects)
            if (keyword := match(defect, finding)) is not None
        )
        for finding in run.findings
    )
    return Reviewed(outcome, run, findings, hits if run.usable else tuple(() for _ in hits))


def blocks(
    items: Sequence[Item], cases: Sequence[Case], reviews: Iterable[Reviewed], figures: ReviewFigures
) -> dict[str, list[dict[str, Any]]]:
    """The three blocks, JSON-ready: every case in full, every defect, and every finding that matches none."""
    by_case: dict[str, list[Reviewed]] = {case.id: [] for case in cases}
    for each in reviews:
        by_case[each.outcome.item_id].append(each)
    return {
        "cases": [
            _case(item, case, by_case[case.id], figures) for item, case in zip(items, cases, strict=True)
        ],
        "defects": [row for case in cases for row in _defects(case, by_case[case.id])],
        "unmatched": [row for case in cases for row in _unmatched(case, by_case[case.id])],
    }


def _case(item: Item, case: Case, reviews: Sequence[Reviewed], figures: ReviewFigures) -> dict[str, Any]:
    own = figures.per_case[case.id]
    return {
        "id": case.id,
        **item.groups,
        "defects": len(case.defects),
        "covered": sum(own.covered),
        "usable": own.usable,
        "determinism": None if own.determinism is None else float(own.determinism),
        "runs": [_run(each) for each in reviews],
    }


def _run(each: Reviewed) -> dict[str, Any]:
    outcome = each.outcome
    told = {"error": outcome.error, "marker": outcome.payload.get("marker")}
    return {
        "run": outcome.run,
        "status": outcome.status,
        "usable": each.run.usable,
        **{name: value for name, value in told.items() if value is not None},
        "duration_s": round(outcome.duration_s, 3),
        "cost_usd": outcome.spend.cost_usd,
        "findings": [
            {
                **_shown(each, place),
                "body": _cut(each.run.findings[place].body, MOST_BODY),
                "matches": [{"defect": number, "keyword": keyword} for number, keyword in hits],
            }
            for place, hits in enumerate(each.hits)
        ],
    }


def _shown(each: Reviewed, place: int) -> dict[str, Any]:
    finding = each.run.findings[place]
    return {
        "id": _cut(finding.id, MOST_TITLE),
        "file": finding.file,
        "line": finding.line,
        "title": _cut(finding.title, MOST_TITLE),
        "severity": each.findings[place].severity,
    }


def _defects(case: Case, reviews: Sequence[Reviewed]) -> Iterator[dict[str, Any]]:
    for place, defect in enumerate(case.defects):
        found = list(_matching(place, reviews))
        first = found[0] if found else {}
        yield {
            "case": case.id,
            "file": defect.file,
            "line": defect.line,
            "window": defect.window,
            "mechanism": list(defect.mechanism),
            "covered": bool(found),
            "covered_by": first.get("id"),
            "title": first.get("title"),
            "found_line": first.get("line"),
            "keyword": first.get("keyword"),
            "runs": sorted({row["run"] for row in found}),
        }


def _matching(defect: int, reviews: Sequence[Reviewed]) -> Iterator[dict[str, Any]]:
    for each in reviews:
        for place, hits in enumerate(each.hits):
            for number, keyword in hits:
                if number == defect:
                    title = each.run.findings[place].title or each.run.findings[place].body
                    shown = {**_shown(each, place), "title": _cut(title, MOST_TITLE)}
                    yield {**shown, "keyword": keyword, "run": each.outcome.run}


def _unmatched(case: Case, reviews: Sequence[Reviewed]) -> list[dict[str, Any]]:
    """One row a finding, with the runs that reported it."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in reviews:
        for place, hits in enumerate(each.hits):
            if hits or not each.run.usable:
                continue
            finding = each.run.findings[place]
            shown = {**_shown(each, place), "title": _cut(finding.title or finding.body, MOST_TITLE)}
            row = rows.setdefault(tuple(shown.values()), {"case": case.id, **shown, "runs": []})
            if each.outcome.run not in row["runs"]:
                row["runs"].append(each.outcome.run)
    return list(rows.values())


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
