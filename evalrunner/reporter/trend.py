"""Trend tables and the summary of a sweep, for a person at a terminal."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TextIO

from evalrunner.reporter.terminal import STYLES, console_on, money
from evalrunner.reporter.text import plain
from evalrunner.stats.rounding import shown


class Row(Protocol):
    """What a line of a trend shows; the store's rows are such."""

    @property
    def id(self) -> int:
        """Local to the store."""

    @property
    def ts(self) -> str:
        """Start of the attempt, UTC."""

    @property
    def eval(self) -> str:
        """The eval's name."""

    @property
    def rubric_version(self) -> str:
        """What people call the rubric."""

    @property
    def rubric_sha8(self) -> str:
        """What the rubric is."""

    @property
    def verdict(self) -> str | None:
        """None without a threshold."""

    @property
    def overall_score(self) -> float | None:
        """Overall score, or the headline metric."""

    @property
    def cost_usd(self) -> float | None:
        """None where a price was unknown."""

    @property
    def corpus_sha8(self) -> str:
        """What was judged."""


def print_trend(rows: Sequence[Row], ambiguous: Collection[tuple[str, str]], stream: TextIO) -> None:
    """The rows as given, with a rule where the rubric's fingerprint changes.

    Args:
        rows: newest first.
        ambiguous: (eval, rubric version) that several fingerprints carry; they are shown with their sha.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    several = len({row.eval for row in rows}) > 1
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for heading in (
        "id",
        "ts",
        *(["eval"] if several else []),
        "rubric",
        "verdict",
        "overall",
        "cost",
        "corpus",
    ):
        table.add_column(heading, justify="right" if heading in {"id", "overall", "cost"} else "left")
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        rubric = plain(row.rubric_version)
        if (row.eval, row.rubric_version) in ambiguous:
            rubric += f" ({row.rubric_sha8})"
        table.add_row(
            str(row.id),
            row.ts,
            *([row.eval] if several else []),
            Text(rubric),
            Text(row.verdict or "none", style=STYLES.get(row.verdict or "", "")),
            "-" if row.overall_score is None else shown(row.overall_score),
            "unknown" if row.cost_usd is None else money(row.cost_usd),
            row.corpus_sha8,
            end_section=following is not None and following.rubric_sha8 != row.rubric_sha8,
        )
    console_on(stream).print(table)


def print_jobs(jobs: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    """The summary of a sweep: a line a job, in job order.

    Args:
        jobs: number, code, overrides (text), receipt (its JSON object, or None) and its place of each.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("job", "overrides", "verdict", "overall", "cost", "exit"):
        table.add_column(heading, justify="right" if heading in {"overall", "cost", "exit"} else "left")
    for job in jobs:
        receipt = job["receipt"] or {}
        verdict = receipt.get("verdict")
        overall = receipt.get("overall_score", (receipt.get("headline") or {}).get("value"))
        cost = receipt.get("cost_usd")
        table.add_row(
            str(job["number"]),
            Text(plain(job["overrides"])),
            Text(verdict or ("none" if receipt else "no receipt"), style=STYLES.get(verdict or "", "")),
            "-" if overall is None else shown(overall),
            "-" if not receipt else "unknown" if cost is None else money(float(cost)),
            str(job["code"]),
        )
    console = console_on(stream)
    console.print(table)
    for job in jobs:
        if job["place"] is not None:
            line = f"job {job['number']}: receipt {plain(job['place'])}"
            console.print(Text(line, style="dim"), soft_wrap=True)
