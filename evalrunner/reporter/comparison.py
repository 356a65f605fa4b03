"""A comparison of two receipts, for people and for programs."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TextIO

from evalrunner.receipt.compare import Change, Comparison
from evalrunner.receipt.schema import as_decimal
from evalrunner.reporter.terminal import console_on
from evalrunner.reporter.text import plain
from evalrunner.stats.rounding import shown

_WORDS = {"ok": "NO REGRESSION", "regression": "REGRESSION", "inconclusive": "INCONCLUSIVE"}
_STYLES = {"ok": "green", "regression": "red", "inconclusive": "yellow"}


def print_comparison(comparison: Comparison, baseline: Mapping[str, Any], stream: TextIO) -> None:
    """The outcome, why, and each figure before and now."""
    from rich.table import Table
    from rich.text import Text

    console = console_on(stream)
    console.print(Text(_WORDS[comparison.outcome], style=f"bold {_STYLES[comparison.outcome]}"))
    console.print(
        Text(
            f"against {plain(str(baseline.get('ts')))}, a drop of more than {comparison.threshold} regresses"
        )
    )
    for reason in comparison.reasons:
        console.print(Text(f"- {plain(reason)}"))
    if not comparison.changes:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("figure", "baseline", "now", "delta"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    table.add_column("")
    for change in comparison.changes:
        table.add_row(
            Text(plain(change.name)),
            figure(change.baseline),
            figure(change.now),
            signed(change.delta),
            _mark(change),
            style="red" if change.regressed else None,
        )
    console.print(table)


def figure(value: Fraction | None) -> str:
    """A figure with three decimals; a dash where a side has none."""
    return "-" if value is None else shown(value, places=3)


def signed(value: Fraction | None) -> str:
    """A delta with its sign; a drop never reads as none."""
    if value is None:
        return "-"
    return ("+" if value > 0 else "") + shown(value, 0, places=3)


def _mark(change: Change) -> str:
    if change.regressed:
        return "regressed"
    if change.baseline is None:
        return "new"
    return "missing" if change.now is None else ""


def comparison_json(
    comparison: Comparison, baseline: Mapping[str, Any], now: Mapping[str, Any]
) -> dict[str, Any]:
    """The comparison as a JSON object; exact figures as decimals, deltas included."""
    return {
        "schema_version": 1,
        "outcome": comparison.outcome,
        "threshold": comparison.threshold,
        "changes": [
            {
                "name": change.name,
                "kind": change.kind,
                "baseline": _number(change.baseline),
                "now": _number(change.now),
                "delta": _number(change.delta),
                "higher_is_better": change.higher_is_better,
                "regressed": change.regressed,
            }
            for change in comparison.changes
        ],
        "regressed": list(comparison.regressed),
        "missing": list(comparison.missing),
        "new": list(comparison.new),
        "reasons": list(comparison.reasons),
        "warnings": list(comparison.warnings),
        "baseline": dict(baseline),
        "receipt": dict(now),
    }


def _number(value: Fraction | None) -> Any:
    return None if value is None else as_decimal(value)
