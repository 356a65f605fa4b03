"""Two receipts side by side: which fingerprints differ, and where the difference of the figures sits."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TextIO

from evalrunner.receipt.compare import Comparison
from evalrunner.reporter.comparison import figure, signed
from evalrunner.reporter.terminal import console_on
from evalrunner.reporter.text import plain
from evalrunner.reporter.whole import items
from evalrunner.stats.rounding import shown

MOST_ITEMS = 5


def print_difference(
    comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any], stream: TextIO
) -> None:
    """What differs besides the figures, then deltas by figure, by seat and by item."""
    from rich.table import Table
    from rich.text import Text

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
    moved = _items(before, after)
    if moved:
        console.print(Text("Items that moved most", style="bold"))
        for name, delta, old, new in moved[:MOST_ITEMS]:
            console.print(
                Text(
                    f"- {plain(name)}: {shown(old)} to {shown(new)}, {'+' if delta > 0 else ''}{shown(delta)}"
                )
            )


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


def _items(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[tuple[str, Decimal, Decimal, Decimal]]:
    """Items scored by themselves on both sides: name, delta, before, after; the largest moves first."""
    old, new = dict(items(before)), dict(items(after))
    moves = [(name, new[name] - old[name], old[name], new[name]) for name in old if name in new]
    return sorted((move for move in moves if move[1]), key=lambda move: (-abs(move[1]), move[0]))
