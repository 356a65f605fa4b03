"""Two receipts side by side: which fingerprints differ, and where the difference of the figures sits."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TextIO

from evalrunner.receipt.compare import Comparison
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.comparison import figure, signed
from evalrunner.reporter.items import Changed, measured, most_changed, untold
from evalrunner.reporter.terminal import console_on
from evalrunner.reporter.text import plain
from evalrunner.stats.rounding import shown

MOST_ITEMS = 5


def print_difference(comparison: Comparison, old: Receipt, new: Receipt, stream: TextIO) -> None:
    """What differs besides the figures, then deltas by figure, by seat and by item.

    Where items have no figures of their own it says why, and what mends that.
    """
    from rich.table import Table
    from rich.text import Text

    before, after = old.to_json(), new.to_json()
    console = console_on(stream)
    console.print(Text("What differs", style="bold"))
    for line in comparison.warnings or ("nothing: the same corpus, prompt, panel and rubric",):
        console.print(Text(f"- {plain(line)}"))
    for reason in comparison.reasons:
        if "inconclusive" in reason or "nothing was compared" in reason:
            console.print(Text(f"- {plain(reason)}"))
    seats = list(dict.fromkeys([*_seats(before), *_seats(after)]))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("figure", "before", "after", "delta", *map(plain, seats)):
        table.add_column(heading, justify="left" if heading == "figure" else "right", overflow="fold")
    for change in comparison.changes:
        table.add_row(
            Text(plain(change.name)),
            figure(change.baseline),
            figure(change.now),
            signed(change.delta),
            *(_seat_delta(before, after, change.name, seat) for seat in seats),
        )
    if comparison.changes:
        console.print(table)
    moved = [each for each in most_changed(old, new, MOST_ITEMS) if each.delta]
    if moved:
        count = measured(old, new)
        console.print(
            Text(f"Items that moved most, and what each moves the mean of {count} items", style="bold")
        )
        for each in moved:
            console.print(Text(f"- {plain(each.item)}: {_move(each, count)}"))
    for line in dict.fromkeys(filter(None, map(untold, (old, new)))):
        console.print(Text(line, style="dim"))


def _move(change: Changed, count: int) -> str:
    """An item's figures, its delta, and its share in the delta of the mean over all items of both sides."""
    assert change.before is not None
    words = [each.words.removeprefix("mean ") for each in (change.before, change.now)]
    return f"{words[0]} to {words[1]}, {signed(change.delta)}; {signed(change.delta / count)} of the mean"


def _seats(receipt: Mapping[str, Any]) -> list[str]:
    for score in (receipt.get("scores") or {}).values():
        return list(score["per_model"])
    return []


def _seat_delta(before: Mapping[str, Any], after: Mapping[str, Any], dimension: str, seat: str) -> str:
    """How much a seat's score of a dimension moved; a dash where it scored on one side only."""
    sides = [
        (each.get("scores") or {}).get(dimension, {}).get("per_model", {}).get(seat)
        for each in (before, after)
    ]
    if None in sides:
        return "-"
    delta = Decimal(str(sides[1])) - Decimal(str(sides[0]))
    return f"{'+' if delta > 0 else ''}{shown(delta)}"
