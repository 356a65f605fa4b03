"""A receipt as a table for notebooks. Every text in it is escaped."""

from collections.abc import Mapping
from decimal import ROUND_FLOOR, Decimal
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalrunner.receipt.schema import Receipt


_LONG = 20
"""Numbers with more digits than this before the point are written with an exponent."""


def table(receipt: "Receipt") -> str:
    """HTML: verdict, dimensions by seat, metrics, and what did not contribute."""
    verdict = (receipt.verdict or "no verdict").upper()
    head = f"{verdict} {receipt.eval or ''}, rubric {receipt.rubric_version}"
    parts = [f"<p><strong>{escape(head)}</strong><br>{escape(receipt.verdictMessage)}</p>"]
    if receipt.judge_kind == "heuristic":
        parts.append("<p>A rule-based judge spoke; no LLM was asked.</p>")
    if receipt.scores:
        seats = list(dict.fromkeys(seat for each in receipt.scores.values() for seat in each.per_model))
        rows: dict[str, list[Decimal | int | None]] = {
            name: [each.mean, each.min, *(each.per_model.get(seat) for seat in seats)]
            for name, each in receipt.scores.items()
        }
        parts.append(_table(["dimension", "mean", "min", *seats], rows))
    if receipt.metrics:
        parts.append(
            _table(
                ["metric", "value", "n", "ci_low", "ci_high"],
                {name: [one.value, one.n, one.ci_low, one.ci_high] for name, one in receipt.metrics.items()},
            )
        )
    parts += [f"<p>{escape(each.modelId)}: {escape(each.error)}</p>" for each in receipt.errors]
    return "".join(parts)


def _table(head: list[str], rows: Mapping[str, list[Decimal | int | None]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{_figure(value)}</td>' for value in values)}</tr>"
        for name, values in rows.items()
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _figure(value: Decimal | int | None) -> str:
    """Two decimals, rounded down: a 6.996 that fails never reads 7.00."""
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    exact = Decimal(str(value))
    if exact.adjusted() >= _LONG:
        return f"{exact:.3e}"
    return str(exact.quantize(Decimal("0.01"), ROUND_FLOOR))
