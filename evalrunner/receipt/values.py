"""The values that receipts are made of: exact numbers, hashes, moments."""

from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

_MOST_DIGITS = 1000
_LARGEST_POWER = 300
_QUOTIENT_DIGITS = 60


def as_decimal(value: int | float | Decimal | Fraction) -> Decimal:
    """The decimal equal to a number, for writing; a fraction without a short one gives its nearest float.

    Raises:
        ValueError: not finite, or with more digits or a larger power of ten than a receipt has use for.
    """
    if isinstance(value, Fraction):
        context = Context(prec=_QUOTIENT_DIGITS)
        quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
        exact = Decimal(repr(float(value))) if context.flags[Inexact] else quotient
    else:
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        raise ValueError("a finite number is needed")
    if len(exact.as_tuple().digits) > _MOST_DIGITS or abs(exact.adjusted()) > _LARGEST_POWER:
        raise ValueError(f"a number of at most {_MOST_DIGITS} digits and 1e±{_LARGEST_POWER} is needed")
    return exact


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        raise ValueError("a number is needed")
    return as_decimal(value)


def _moment(value: str) -> str:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("no such moment in the calendar") from None
    return value


Number = Annotated[Decimal, BeforeValidator(_number)]
"""A finite number, kept as the decimal that was written."""

ExactFraction = Annotated[str, Field(pattern=r"^-?[0-9]+(/[1-9][0-9]*)?$", max_length=4000)]
"""A fraction as text, such as `22/3`."""

Sha8 = Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
EvalName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Timestamp = Annotated[
    str,
    Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$"),
    AfterValidator(_moment),
]


def timestamp(moment: datetime) -> str:
    """A moment as `ts` holds it: UTC, with milliseconds and `Z`. Moments without a zone are refused."""
    if moment.tzinfo is None:
        raise ValueError("a moment needs its zone")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
