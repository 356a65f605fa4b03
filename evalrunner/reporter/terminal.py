"""The receipt for a person at a terminal: verdict first, then the figures that led to it."""

import os
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any, TextIO

from pydantic import Field

from evalrunner.reporter.base import FiledReporter, Report
from evalrunner.reporter.batches import batch_lines, has_batches
from evalrunner.reporter.review import case_lines, defect_lines, unmatched_lines
from evalrunner.reporter.text import plain
from evalrunner.stats.rounding import shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


class TerminalReporter(FiledReporter):
    """Verdict, dimensions or metrics, improvements, errors, spend; of code reviews what was found and missed.

    Attributes:
        improvements: how many improvements are listed.
        errors: how many errors are listed.
        defects: how many expected defects are listed, each with the finding that covered it.
        unmatched: how many findings that matched no defect are listed.
        explain: the id of a case, or of a judge batch, that is shown in full instead of these lists.
    """

    improvements: int = Field(default=5, ge=0)
    errors: int = Field(default=5, ge=0)
    defects: int = Field(default=10, ge=0)
    unmatched: int = Field(default=10, ge=0)
    explain: str | None = Field(default=None, min_length=1)

    def report(self, report: Report, stream: TextIO) -> None:
        """Plain text where the stream is no terminal or NO_COLOR is set; never wider than the terminal.

        Where there is a comparison, it is shown instead of the receipt.
        """
        if report.against is not None:
            from evalrunner.reporter.comparison import print_comparison

            print_comparison(report.against.comparison, report.against.baseline, stream)
            return
        console = console_on(stream)
        receipt = report.receipt
        _verdict(console, receipt)
        if receipt.get("scores"):
            console.print(_dimensions(receipt))
        if receipt.get("metrics"):
            console.print(_metrics(receipt["metrics"]))
        if receipt.get("groups"):
            console.print(_groups(receipt["groups"], list(receipt["metrics"])))
        if self.explain is None:
            self._lists(console, receipt)
        else:
            _explained(console, receipt, self.explain)
        console.print(_footer(receipt, report.kept), style="dim", markup=False, highlight=False)

    def _lists(self, console: "Console", receipt: Mapping[str, Any]) -> None:
        _listed(console, "Defects", defect_lines(receipt), self.defects)
        _listed(console, "Findings that match no defect", unmatched_lines(receipt), self.unmatched)
        _listed(console, "Improvements", [plain(each) for each in receipt["improvements"]], self.improvements)
        problems = [f"{plain(each['modelId'])}: {plain(each['error'])}" for each in receipt["errors"]]
        _listed(console, "Errors", problems, self.errors)


def _explained(console: "Console", receipt: Mapping[str, Any], case: str) -> None:
    from rich.text import Text

    lines = batch_lines if has_batches(receipt) else case_lines
    for text, style in lines(receipt, case):
        console.print(Text(text, style=style))


def console_on(stream: TextIO) -> "Console":
    """A rich console on the stream. It honours NO_COLOR and COLUMNS; what is no terminal is 100 wide."""
    from rich.console import Console

    wide = None if stream.isatty() or "COLUMNS" in os.environ else 100
    tall = None if wide is None else 100  # with both set, no guess about a dumb terminal narrows it
    return Console(file=stream, width=wide, height=tall, highlight=False, emoji=False)


def _verdict(console: "Console", receipt: Mapping[str, Any]) -> None:
    from rich.box import ROUNDED
    from rich.panel import Panel
    from rich.text import Text

    verdict = receipt["verdict"]
    style = STYLES.get(verdict or "", "")
    title = Text(verdict.upper() if verdict else "NO VERDICT", style=f"bold {style}".strip())
    title.append(
        f" {receipt.get('eval', 'takes_quality')}, rubric {plain(receipt['rubric_version'])}", "default"
    )
    body = Text(plain(receipt["verdictMessage"]))
    if receipt.get("judge_kind") == "heuristic":
        body.append("\nA rule-based judge spoke; no LLM was asked.", style="yellow")
    console.print(Panel(body, title=title, title_align="left", border_style=style, box=ROUNDED, expand=False))


def _dimensions(receipt: Mapping[str, Any]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    bars = receipt.get("threshold") or {}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("dimension", "mean", "min"):
        table.add_column(heading, justify="left" if heading == "dimension" else "right")
    seats = list(dict.fromkeys(seat for score in receipt["scores"].values() for seat in score["per_model"]))
    for seat in seats:
        table.add_column(Text(plain(seat)), justify="right", overflow="fold")
    for name, score in receipt["scores"].items():
        low = _below(score["mean"], bars.get("mean_min")) or _below(score["min"], bars.get("min_min"))
        table.add_row(
            Text(plain(name)),
            shown(score["mean"], bars.get("mean_min")),
            shown(score["min"], bars.get("min_min")),
            *(shown(score["per_model"][seat], None) if seat in score["per_model"] else "" for seat in seats),
            style="red" if low else None,
        )
    if receipt["overall_score"] is not None:
        table.add_row("overall", shown(receipt["overall_score"], None), style="bold")
    return table


def _below(value: float, bar: float | None) -> bool:
    return bar is not None and value < bar


def _metrics(metrics: Mapping[str, Any]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("metric", "value", "95 % interval", "n"):
        table.add_column(heading, justify="left" if heading == "metric" else "right")
    for name, metric in metrics.items():
        low, high = metric.get("ci_low"), metric.get("ci_high")
        interval = "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
        value = "undefined" if metric["value"] is None else f"{metric['value']:.3f}"
        table.add_row(Text(plain(name)), value, interval, str(metric["n"]))
    return table


def _groups(groups: Mapping[str, Any], names: Sequence[str]) -> "Table":
    """A line a cell, with each metric and, in brackets, what it stands on."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("group")
    for name in names:
        table.add_column(Text(plain(name.replace("_", " "))), justify="right")
    for group, cells in groups.items():
        for cell, metrics in cells.items():
            figures = [_brief(metrics[name]) if name in metrics else "" for name in names]
            table.add_row(Text(plain(f"{group} {cell}")), *figures)
    return table


def _brief(metric: Mapping[str, Any]) -> str:
    return "-" if metric["value"] is None else f"{metric['value']:.2f} ({metric['n']})"


def _listed(console: "Console", title: str, lines: list[str], limit: int) -> None:
    from rich.text import Text

    if not lines or not limit:
        return
    console.print(Text(title, style="bold"))
    for line in lines[:limit]:
        console.print(Text(f"- {line}"))
    if len(lines) > limit:
        console.print(Text(f"  and {len(lines) - limit} more in the receipt", style="dim"))


def _footer(receipt: Mapping[str, Any], kept: str | None) -> str:
    cost = receipt["cost_usd"]
    parts = [
        f"{receipt['corpus']['n_takes']} items",
        f"{receipt['cycles_run']} cycle{'s' if receipt['cycles_run'] != 1 else ''}",
        "cost unknown" if cost is None else f"cost {money(cost)}",
        f"corpus {receipt['corpus']['corpus_sha8']}",
    ]
    if kept:
        parts.append(f"receipt {kept}")
    return " · ".join(parts)


def at_most(usd: Decimal) -> str:
    """US dollars rounded up, so that what is shown bounds what is meant: 1.50181 reads $1.5019."""
    return f"${usd.quantize(Decimal('0.0001'), ROUND_CEILING)}"


def money(usd: float) -> str:
    """US dollars with as many digits as a small amount needs: $0, $0.0042, $1.23."""
    if usd == 0:
        return "$0"
    return f"${usd:.4f}" if usd < 1 else f"${usd:.2f}"
