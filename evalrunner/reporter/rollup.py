"""Blind re-implementation for a person, in Markdown: the rollup by size and model, then each defect."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from evalrunner.receipt.schema import parse
from evalrunner.reporter.base import Against, FiledReporter, Report
from evalrunner.reporter.checks import delta, side
from evalrunner.reporter.markdown import escaped
from evalrunner.reporter.page import OUTCOMES
from evalrunner.reporter.terminal import money
from evalrunner.stats.rounding import shown

Row = Mapping[str, Any]

SIZES = ("s", "m", "l")
ENOUGH = 20
"""A rate over fewer scored samples is noise until it is repeated."""


class RollupReporter(FiledReporter):
    """Totals and defect rates by size x model and over all, then defects, unknowns, and what is odd."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Markdown, in columns that can be read as they are; of another eval's receipt only what it has."""
        stream.write("\n".join(_lines(report)) + "\n")


def _lines(report: Report) -> Iterator[str]:
    receipt = report.receipt
    rows: Sequence[Row] = receipt.get("items") or ()
    yield "# Blind re-implementation"
    yield ""
    yield _headline(receipt)
    if receipt["verdict"] is not None:
        yield ""
        yield f"**{receipt['verdict'].upper()}** {escaped(receipt['verdictMessage'])}"
    yield ""
    yield from _contaminated(rows)
    yield from _table(receipt, rows)
    yield from _section("Defects", [_defect(row) for row in rows if row.get("verdict") == "defect"])
    undecided = [row for row in rows if row.get("verdict") in {"unknown", "skipped"}]
    yield from _section("Unknown", [f"{_name(row)}: {escaped(row['reason'])}" for row in undecided])
    flagged = [row for row in rows if row.get("flags")]
    yield from _section(
        "For a person to look at",
        [f"{_name(row)}: {'; '.join(escaped(_flag(each)) for each in row['flags'])}" for row in flagged],
    )
    if report.against is not None:
        yield from _compared(report.against)
    yield from _footer(report)


def _headline(receipt: Mapping[str, Any]) -> str:
    metric = (receipt.get("metrics") or {}).get("defect_rate") or {"value": None, "n": 0}
    if metric["value"] is None:
        return "**Defect rate undefined**: nothing was scored."
    n = metric["n"]
    line = (
        f"**Defect rate {_percent(metric['value'])} %**: {round(metric['value'] * n)} of {n} scored samples, "
        f"95 % interval {_interval(metric)}."
    )
    if n < ENOUGH:
        few = f"Fewer than {ENOUGH} samples were scored"
        line += f"\n\n{few}: **the figure is noise until it is repeated.**"
    return line


def _contaminated(rows: Sequence[Row]) -> Iterator[str]:
    tainted = [row for row in rows if row.get("verdict") == "contaminated"]
    if tainted:
        yield f"> **CONTAMINATED: {len(tainted)} of {len(rows)} samples.** Not judged, and counted nowhere:"
        for row in tainted:
            yield f"> - {_name(row)}: {escaped(row['reason'])}"
        yield ""


def _table(receipt: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[str]:
    """The rollup: a line a cell, then one over all."""
    words = ["correct", "defect", "unknown", "contaminated"]
    if any(row.get("verdict") == "skipped" for row in rows):
        words.append("skipped")
    by_cell: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_cell.setdefault((str(row.get("size")), str(row.get("model"))), []).append(row)
    known = (receipt.get("groups") or {}).get("cell") or {}
    lines = [["size x model", "total", *words, "defect rate", "95 % interval"]]
    for size, model in sorted(by_cell, key=lambda cell: (_rank(cell[0]), cell)):
        name = f"{size} x {model}"
        lines.append(_cells(name, by_cell[size, model], words, (known.get(name) or {}).get("defect_rate")))
    lines.append(_cells("all", rows, words, (receipt.get("metrics") or {}).get("defect_rate")))
    yield from _aligned(lines)


def _rank(size: str) -> int:
    return SIZES.index(size) if size in SIZES else len(SIZES)


def _cells(name: str, rows: Sequence[Row], words: Sequence[str], rate: Row | None) -> list[str]:
    counts = Counter(row.get("verdict") for row in rows)
    told = rate is not None and rate["value"] is not None
    return [
        escaped(name),
        str(len(rows)),
        *(str(counts[word]) for word in words),
        f"{_percent(rate['value'])} %" if rate is not None and told else "-",
        _interval(rate) if rate is not None and told else "-",
    ]


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table whose source reads as a table as well; all columns but the first are numbers."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    yield _line(lines[0], widths)
    yield "|" + "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]) + "|"
    for line in lines[1:]:
        yield _line(line, widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return f"| {first[0]:<{first[1]}} | " + " | ".join(f"{cell:>{width}}" for cell, width in others) + " |"


def _section(title: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        yield ""
        yield f"## {title}"
        yield ""
        for entry in entries:
            yield f"- {entry}"


def _defect(row: Row) -> str:
    said = [vote for vote in row.get("votes") or () if vote.get("verdict") == "defect"]
    seats = f" ({len(said)} of {len(row['votes'])} seats)" if len(row.get("votes") or ()) > 1 else ""
    return f"{_name(row)}: **{escaped(str(row['class']))}**{seats}: {escaped(row['reason'])}"


def _name(row: Row) -> str:
    """Which sample; the run only where it is not the first."""
    issue = row.get("issue")
    name = str(row["id"]) if issue is None else f"issue {issue}"
    run = f", run {row['run']}" if row.get("run", 1) != 1 else ""
    return f"{escaped(name)} ({escaped(str(row.get('size')))} x {escaped(str(row.get('model')))}{run})"


def _flag(flag: Any) -> str:
    if isinstance(flag, Mapping):
        return ", ".join(f"{name} {value}" for name, value in flag.items())
    return str(flag)


def _compared(against: Against) -> Iterator[str]:
    """What became of a baseline."""
    comparison = against.comparison
    yield ""
    yield "## Against the baseline"
    yield ""
    advisory = " (advisory)" if against.advisory and comparison.outcome == "regression" else ""
    yield f"**{OUTCOMES[comparison.outcome]}**{advisory}, baseline of {parse(against.baseline).ts}."
    for line in (*comparison.reasons, *comparison.warnings):
        yield f"- {escaped(line)}"
    yield ""
    yield from _aligned(
        [
            ["rate", "baseline", "now", "delta"],
            *(
                [
                    escaped(change.name),
                    side(change, change.baseline),
                    side(change, change.now),
                    delta(change, comparison),
                ]
                for change in comparison.changes
            ),
        ]
    )


def _footer(report: Report) -> Iterator[str]:
    receipt = report.receipt
    seats = ", ".join(escaped(name) for name in receipt["models"]) or "nobody"
    rule = " (a rule-based judge; no LLM was asked)" if receipt.get("judge_kind") == "heuristic" else ""
    cost = receipt["cost_usd"]
    yield ""
    yield f"Judged by {seats}{rule}, rubric {escaped(receipt['rubric_version'])}."
    agent = ((receipt.get("subject") or {}).get("composed") or {}).get("option")
    isolation = sorted(
        {_flag(row["isolation"]) for row in receipt.get("items") or () if row.get("isolation")}
    )
    told = [
        *([f"Agent {escaped(str(agent))}"] if agent else []),
        *([f"isolation {escaped(', '.join(isolation))}"] if isolation else []),
        "cost unknown" if cost is None else f"cost {money(cost)}",
        f"corpus {receipt['corpus']['corpus_sha8']}",
        *([f"receipt {escaped(report.kept)}"] if report.kept else []),
    ]
    yield " · ".join(told)


def _percent(share: float) -> str:
    return shown(share * 100, places=1)


def _interval(metric: Row) -> str:
    low, high = metric.get("ci_low"), metric.get("ci_high")
    return "-" if low is None or high is None else f"{_percent(low)} to {_percent(high)} %"
