"""A run in full, for a person who wants to know why it ended as it did."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, TextIO

from evalrunner.errors import InputError, Problem, nearest, show
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.base import Report
from evalrunner.reporter.items import untold
from evalrunner.reporter.terminal import TerminalReporter, console_on, money
from evalrunner.reporter.text import plain
from evalrunner.stats.rounding import shown

LOWEST = 5


def print_whole(whole: Receipt, stream: TextIO) -> None:
    """What decided, all improvements and errors, the settings that mattered, the spend, the lowest items."""
    from rich.text import Text

    receipt = whole.to_json()
    TerminalReporter(improvements=1000, errors=1000).report(Report(receipt), stream)
    console = console_on(stream)
    console.print(Text("What mattered", style="bold"))
    for line in settings(receipt):
        console.print(Text(f"- {plain(line)}"))
    console.print(Text("Spend", style="bold"))
    for line in spend(receipt):
        console.print(Text(f"- {plain(line)}"))
    lowest = items(receipt)[:LOWEST]
    if lowest:
        console.print(Text("Lowest items", style="bold"))
        for name, mean in lowest:
            console.print(Text(f"- {plain(name)}: {shown(mean)}"))
            for line in said(receipt, name):
                console.print(Text(f"    {plain(line)}"))
    if why := untold(whole):
        console.print(Text(why, style="dim"))


def print_item(receipt: Mapping[str, Any], item: str, stream: TextIO) -> None:
    """What each seat said of one item, alone or in a chunk with others.

    Raises:
        InputError: the receipt tells nothing of this item; with the nearest one that it does tell of.
    """
    from rich.text import Text

    console = console_on(stream)
    lines = said(receipt, item)
    if not lines:
        known = sorted({each for row in _rows(receipt) for each in row["item_ids"]})
        raise InputError(
            Problem("--item", "the receipt tells nothing of it", show(item), None, nearest(item, known))
        )
    for line in lines:
        console.print(Text(plain(line)))


def settings(receipt: Mapping[str, Any]) -> list[str]:
    """The settings that led to the verdict, one a line."""
    corpus = receipt["corpus"]
    place = corpus.get("location") or "unknown"
    lines = [
        f"eval {receipt.get('eval') or 'unknown'}, run {receipt.get('run_id') or 'unknown'}, {receipt['ts']}",
        f"corpus {corpus['corpus_sha8']}: {corpus['n_takes']} items from {place}"
        + (f", slugs starting {corpus['slug_prefix']}" if corpus.get("slug_prefix") else ""),
        f"rubric {receipt['rubric_version']} ({receipt['rubric_sha8']})",
        f"prompt {receipt['prompt_sha8']}, panel {receipt['models_sha8']}",
    ]
    for name in ("sampler", "judge", "threshold", "cycles"):
        block = receipt.get(name)
        if block:
            told = ", ".join(f"{key} {_value(value)}" for key, value in block.items() if value is not None)
            lines.append(f"{name}: {told}")
    for seat in (receipt.get("panel") or {}).get("seats", ()):
        told = ", ".join(
            f"{key} {_value(value)}" for key, value in seat.items() if key not in {"id", "_target_"}
        )
        lines.append(f"seat {seat.get('id')}: {told or 'defaults'}")
    return lines


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} {_value(each)}" for key, each in value.items()) + "}"
    return str(value)


def spend(receipt: Mapping[str, Any]) -> list[str]:
    """Calls, tokens and cost of subject and judge, and what became of the cap."""
    lines = []
    for side, used in (receipt.get("usage") or {}).items():
        cost = "cost unknown" if used["cost_usd"] is None else money(float(used["cost_usd"]))
        estimated = ", some of it estimated" if used["estimated"] else ""
        lines.append(
            f"{side}: {used['calls']} calls, {used['input_tokens']} tokens in, {used['output_tokens']} out, "
            f"{cost}{estimated}"
        )
    budget = receipt.get("budget") or {}
    if budget.get("cap_usd") is not None:
        held = "enforced" if budget.get("enforced") else "not enforced"
        lines.append(
            f"cap {money(float(budget['cap_usd']))}, {held}, {budget.get('refused_calls', 0)} calls refused"
        )
    return lines or ["not told"]


def items(receipt: Mapping[str, Any]) -> list[tuple[str, Decimal]]:
    """Items that were scored by themselves, with the mean over seats, cycles and dimensions; lowest first."""
    values: dict[str, list[Decimal]] = {}
    for row in _rows(receipt):
        if len(row["item_ids"]) == 1 and row["values"]:
            values.setdefault(row["item_ids"][0], []).extend(map(Decimal, map(str, row["values"].values())))
    means = {name: sum(each, Decimal(0)) / len(each) for name, each in values.items()}
    return sorted(means.items(), key=lambda each: (each[1], each[0]))


def said(receipt: Mapping[str, Any], item: str) -> list[str]:
    """What each seat said of the item: scores, label, evidence or error, a line each."""
    lines = []
    for row in _rows(receipt):
        if item not in row["item_ids"]:
            continue
        several = "" if len(row["item_ids"]) == 1 else f" (with {len(row['item_ids']) - 1} others)"
        head = f"{row['model']}, cycle {row['cycle']}{several}"
        scores = ", ".join(f"{name} {value}" for name, value in row["values"].items())
        lines.append(f"{head}: {scores or row.get('label') or row.get('error') or row['status']}")
        lines += [f"  {text}" for text in _about(row.get("evidence") or (), item, several)]
    return lines


def _about(evidence: Iterable[str], item: str, several: str) -> list[str]:
    """Of a chunk's evidence, what names the item; all of it where the item stands alone."""
    return [text for text in evidence if not several or item in text]


def _rows(receipt: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(receipt.get("judgements") or ())
