"""Does the weight lie on the grid, and inside what its kind and holder can bear?"""

from decimal import Decimal

from evalrunner.model.rules import attribution
from evalrunner.model.rules.reading import Reading
from evalrunner.model.rules.take import KINDS, Finding

GRID = Decimal("0.05")
BANDS: dict[str, tuple[Decimal, Decimal]] = {
    "settled fact": (Decimal("0.7"), Decimal(1)),
    "fact": (Decimal("0.5"), Decimal("0.9")),
    "take": (Decimal("0.3"), Decimal("0.85")),
    "bet": (Decimal("0.15"), Decimal("0.85")),
    "hunch": (Decimal("0.05"), Decimal("0.65")),
}
"""Lowest and highest weight. A `settled fact` is held by the world, a `fact` is reported by somebody."""

_ALL_BUT_SETTLED = Decimal("0.9")


def examine(reading: Reading) -> list[Finding]:
    """Evidence against the weight: out of range, off the grid, or outside every band that may apply.

    A take with a wrong kind or holder is measured against the right one too, so that one fault counts once.
    """
    weight = reading.take.weight
    if weight is None:
        return []
    if not 0 <= weight <= 1:
        return [Finding(f"weight {_shown(weight)} lies outside 0 to 1", 9)]
    if weight % GRID:
        below = weight // GRID * GRID
        return [
            Finding(f"weight {_shown(weight)} is off the {GRID} grid; {below} or {below + GRID} would fit", 8)
        ]
    bands = _bands(reading)
    if not bands or any(BANDS[band][0] <= weight <= BANDS[band][1] for band in bands):
        return []
    low, high = min(BANDS[band][0] for band in bands), max(BANDS[band][1] for band in bands)
    too = "unsure" if weight < low else "sure"
    what = " or ".join(sorted(bands))
    return [Finding(f"weight {_shown(weight)} is too {too} for a {what}; {low} to {high} would fit", 7)]


def _bands(reading: Reading) -> set[str]:
    """The bands that may apply; none where nothing can be held against the weight."""
    take = reading.take
    if take.kind not in KINDS:
        return set()
    if not reading.english:
        # The wording may show another kind, which cannot be read; but only what is settled nears 1.
        unsettled = take.kind != "fact" and take.holder != "world" and (take.weight or 0) > _ALL_BUT_SETTLED
        return {take.kind} if unsettled else set()
    kinds = {take.kind} | (reading.kinds.fitting if reading.kinds is not None else frozenset())
    bands = kinds - {"fact"}
    if "fact" in kinds:
        world = take.holder == "world" or take.holder.startswith("topics/")
        misheld = bool(attribution.examine(reading))
        bands |= {"settled fact"} if world or misheld else set()
        bands |= {"fact"} if not world or misheld else set()
    return bands


def _shown(weight: Decimal) -> str:
    text = str(weight)
    return text if len(text) <= 20 else f"{text[:19]}…"
