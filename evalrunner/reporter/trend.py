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

    @property
    def subject_sha8(self) -> str:
        """Who produced it; empty where the item itself was judged."""


def print_trend(rows: Sequence[Row], ambiguous: Collection[tuple[str, str]], stream: TextIO) -> None:
    """The rows as given, a rule where the rubric's fingerprint changes, the subject where there are several.

    Args:
        rows: newest first.
        ambiguous: (eval, rubric version) that several fingerprints carry; they are shown with their sha.
    """
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    several, subjects = len({row.eval for row in rows}) > 1, _subjects(rows)
    table = Table(box=HORIZONTALS, show_edge=False, pad_edge=False, header_style="bold")
    for heading in (
        "id",
        "ts",
        *(["eval"] if several else []),
        "rubric",
        "verdict",
        "overall",
        "cost",
        "corpus",
        *(["subject"] if subjects else []),
    ):
        table.add_column(heading, justify="right" if heading in {"id", "overall", "cost"} else "left")
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        table.add_row(
            str(row.id),
            row.ts,
            *([row.eval] if several else []),
            Text(_rubric(row, ambiguous)),
            Text(row.verdict or "none", style=STYLES.get(row.verdict or "", "")),
            "-" if row.overall_score is None else shown(row.overall_score),
            "unknown" if row.cost_usd is None else money(row.cost_usd),
            row.corpus_sha8,
            *([row.subject_sha8 or "-"] if subjects else []),
            end_section=following is not None and following.rubric_sha8 != row.rubric_sha8,
        )
    console_on(stream).print(table)


class Cell(Protocol):
    """One cell of a rollup in one line of a trend; the store's are such."""

    @property
    def row(self) -> Row:
        """The line."""

    @property
    def cell(self) -> str:
        """Its name."""

    @property
    def value(self) -> float | None:
        """The headline metric; None where there was nothing to count."""

    @property
    def n(self) -> int:
        """How many trials it stands on."""

    @property
    def ci_low(self) -> float | None:
        """Lower end of the 95 % interval."""

    @property
    def ci_high(self) -> float | None:
        """Upper end."""


def print_cells(cells: Sequence[Cell], ambiguous: Collection[tuple[str, str]], stream: TextIO) -> None:
    """A line a cell and attempt, with a rule where cell or rubric fingerprint change.

    Args:
        cells: by cell, the newest of each first.
        ambiguous: as in `print_trend`.
    """
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    table = Table(box=HORIZONTALS, show_edge=False, pad_edge=False, header_style="bold")
    several = len({each.row.eval for each in cells}) > 1
    subjects = _subjects([each.row for each in cells])
    told = [*(["eval"] if several else []), "rubric", *(["subject"] if subjects else [])]
    for heading in ("cell", "id", "ts", *told):
        table.add_column(heading, justify="right" if heading == "id" else "left")
    for heading in ("value", "n", "95 % interval"):
        table.add_column(heading, justify="right")
    for each, following in zip(cells, [*cells[1:], None], strict=True):
        row = each.row
        bounds = each.ci_low, each.ci_high
        table.add_row(
            Text(plain(each.cell)),
            str(row.id),
            row.ts,
            *([row.eval] if several else []),
            Text(_rubric(row, ambiguous)),
            *([row.subject_sha8 or "-"] if subjects else []),
            "-" if each.value is None else shown(each.value),
            str(each.n),
            "" if bounds[0] is None or bounds[1] is None else f"{shown(bounds[0])} to {shown(bounds[1])}",
            end_section=following is not None
            and (following.cell, following.row.rubric_sha8) != (each.cell, row.rubric_sha8),
        )
    console_on(stream).print(table)


def _subjects(rows: Sequence[Row]) -> bool:
    """Whether there are several, so that they must be told apart."""
    return len({row.subject_sha8 for row in rows} - {""}) > 1


def _rubric(row: Row, ambiguous: Collection[tuple[str, str]]) -> str:
    shas = f" ({row.rubric_sha8})" if (row.eval, row.rubric_version) in ambiguous else ""
    return plain(row.rubric_version) + shas


def print_jobs(jobs: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    """The summary of a sweep: a line a job, in job order. Metrics have a column each.

    Args:
        jobs: number, code, overrides (text), receipt (its JSON object, or None) and its place of each.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    measured = [(job["receipt"] or {}).get("metrics") or {} for job in jobs]
    figures = list(dict.fromkeys(name for metrics in measured for name in metrics)) or ["overall"]
    for heading in ("job", "overrides", "verdict"):
        table.add_column(heading)
    for heading in (*figures, "cost", "exit"):
        table.add_column(heading.replace("_", " "), justify="right")
    for job in jobs:
        receipt = job["receipt"] or {}
        verdict = receipt.get("verdict")
        cost = receipt.get("cost_usd")
        table.add_row(
            str(job["number"]),
            Text(plain(job["overrides"])),
            Text(verdict or ("none" if receipt else "no receipt"), style=STYLES.get(verdict or "", "")),
            *(_figure(receipt, name) for name in figures),
            "-" if not receipt else "unknown" if cost is None else money(float(cost)),
            str(job["code"]),
        )
    console = console_on(stream)
    console.print(table)
    for job in jobs:
        if job["place"] is not None:
            line = f"job {job['number']}: receipt {plain(job['place'])}"
            console.print(Text(line, style="dim"), soft_wrap=True)


def _figure(receipt: Mapping[str, Any], name: str) -> str:
    metric = (receipt.get("metrics") or {}).get(name) or {}
    value = metric.get("value", receipt.get("overall_score") if name == "overall" else None)
    return "-" if value is None else shown(value)
