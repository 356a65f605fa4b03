"""Code reviews for a person who checks the matches: defects, what covered them, and what matched none.

Receipts of other programs may tell less of a case; what they leave out is left out here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalrunner.errors import nearest
from evalrunner.reporter.text import plain
from evalrunner.stats.rounding import shown

Row = Mapping[str, Any]
Line = tuple[str, str]
"""A text and its style."""


def defect_lines(receipt: Row) -> list[str]:
    """A line a defect, with the first finding that covered it."""
    return [f"{_text(row, 'case')}: {_place(row)} {_fate(row)}" for row in receipt.get("defects") or ()]


def unmatched_lines(receipt: Row) -> list[str]:
    """A line a finding that matched no defect."""
    return [
        f'{_text(row, "case")}: {_place(row)} "{_text(row, "title")}"{_runs(row)}'
        for row in receipt.get("unmatched") or ()
    ]


def case_lines(receipt: Row, name: str) -> Iterator[Line]:
    """One case in full; where there is no such case, a line that says so."""
    cases = {str(case.get("id")): case for case in receipt.get("cases") or ()}
    if name not in cases:
        close = nearest(name, cases)
        hint = f"; did you mean {plain(close)!r}?" if close else ""
        told = f"there is no case {plain(name)!r} in it{hint}" if cases else "it has no cases to explain"
        yield f"The receipt: {told}", "yellow"
        return
    case = cases[name]
    groups = [f"{group} {_text(case, group)}" for group in ("kind", "language") if case.get(group)]
    yield f"Case {plain(name)}" + (f" ({', '.join(groups)})" if groups else ""), "bold"
    yield _counts(case), ""
    defects = [row for row in receipt.get("defects") or () if row.get("case") == name]
    for number, row in enumerate(defects, start=1):
        around = f", {row['window']} lines around" if "window" in row else ""
        yield f"defect {number}: {_place(row)}{around}; keywords: {_words(row)}", "bold"
        yield f"  {_fate(row)}", "green" if _covered(row) else "red"
    for run in _rows(case, "runs"):
        yield from _run(run)


def _counts(case: Row) -> str:
    told = f"{case.get('covered', '?')} of {case.get('defects', '?')} defects covered"
    told += f", {case.get('usable', '?')} of {len(_rows(case, 'runs'))} runs usable"
    determinism = case.get("determinism")
    return told + ("" if determinism is None else f", determinism {shown(determinism)}")


def _run(run: Row) -> Iterator[Line]:
    findings = _rows(run, "findings")
    told = [_text(run, name) for name in ("status", "marker", "error") if run.get(name)]
    told.append(f"{len(findings)} finding{'s' if len(findings) != 1 else ''}")
    told += [f"{run['duration_s']} s"] if "duration_s" in run else []
    told += [] if run.get("usable", True) else ["not scored"]
    yield f"run {run.get('run', '?')}: {', '.join(told)}", "bold"
    for finding in findings:
        severity = f" [{_text(finding, 'severity')}]" if finding.get("severity") else ""
        yield f'  {_place(finding)}{severity} "{_text(finding, "title")}" (id {_text(finding, "id")})', ""
        if finding.get("body"):
            yield f"    {_text(finding, 'body')}", "dim"
        if run.get("usable", True):
            yield f"    matches {_matches(_rows(finding, 'matches'))}", ""


def _matches(rows: Iterable[Row]) -> str:
    told = [f'defect {row["defect"] + 1} by "{_text(row, "keyword")}"' for row in rows]
    return ", ".join(told) or "no defect"


def _covered(row: Row) -> bool:
    return bool(row.get("covered", row.get("covered_by") is not None))


def _fate(row: Row) -> str:
    if not _covered(row):
        return f"missed (keywords: {_words(row)})"
    line = "" if row.get("found_line") is None else f" at line {row['found_line']}"
    title = f'"{_text(row, "title")}"' if row.get("title") else f"finding {_text(row, 'covered_by')}"
    return f'found{line} by {title}, keyword "{_text(row, "keyword")}"{_runs(row)}'


def _words(row: Row) -> str:
    return ", ".join(plain(str(word)) for word in row.get("mechanism") or ()) or "not told"


def _place(row: Row) -> str:
    file = _text(row, "file") or "(no file)"
    return file if row.get("line") is None else f"{file}:{row['line']}"


def _runs(row: Row) -> str:
    runs = row.get("runs") or ()
    return f" (run{'s' if len(runs) != 1 else ''} {', '.join(map(str, runs))})" if runs else ""


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return "" if value is None else plain(str(value))


def _rows(row: Row, name: str) -> list[Row]:
    rows = row.get(name)
    return list(rows) if isinstance(rows, list | tuple) else []
