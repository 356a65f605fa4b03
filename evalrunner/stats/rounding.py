"""Numbers for people, rounded so that none reads as if it had passed a bar that it missed."""

from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

Value = Fraction | Decimal | float | int


def shown(value: Value, bar: Value | None = None, *, places: int = 2, higher_is_better: bool = True) -> str:
    """The value with `places` decimals, on its own side of the bar.

    It is rounded to nearest, half to even; where that would carry it over the bar, towards its own side
    instead. A mean of 6.996 under a bar of 7 reads 6.99.

    Args:
        value: finite; a float stands for its shortest decimal.
        bar: what it is held against; None where nothing is.
        places: decimals shown.
        higher_is_better: reaching the bar from below passes; else from above.
    """
    scaled = _exact(value) * 10**places
    rounded = round(scaled)
    if bar is not None:
        limit = _exact(bar) * 10**places
        if higher_is_better and (scaled < limit) != (rounded < limit):
            rounded = floor(scaled) if scaled < limit else ceil(scaled)
        elif not higher_is_better and (scaled > limit) != (rounded > limit):
            rounded = ceil(scaled) if scaled > limit else floor(scaled)
    digits = f"{abs(rounded):0{places + 1}d}"
    sign = "-" if rounded < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def _exact(value: Value) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
