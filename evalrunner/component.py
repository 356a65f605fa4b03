"""The base of all configured components, and the types that YAML cannot say but their fields need.

A component is a strict pydantic model that Hydra instantiates from `_target_`: its fields are its config.
Strict mode refuses what YAML can only write as list, string or number for tuple, Path, Decimal and Fraction;
the aliases below take exactly the YAML spelling and nothing looser.
"""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

T = TypeVar("T")


class Component(BaseModel):
    """A configured part of the pipeline: strict, frozen, unknown keys forbidden, no NaN or infinity."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        revalidate_instances="never",
        defer_build=True,  # most components that are imported are never made
    )


def _path(value: Any) -> Any:
    if isinstance(value, str):
        if not value or "\0" in value:
            raise ValueError("a path must not be empty or hold a NUL character")
        return Path(value).expanduser()
    return value


def _decimal(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a number is needed, not true or false")
    if isinstance(value, int | float):
        return Decimal(repr(value))
    return value


def _fraction(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a number or a fraction such as 2/3 is needed, not true or false")
    if isinstance(value, int | float | str):
        try:
            return Fraction(str(value))
        except (ValueError, ZeroDivisionError):
            raise ValueError("a number or a fraction such as 2/3 is needed") from None
    return value


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


FilePath = Annotated[Path, BeforeValidator(_path)]
"""A path written as a string; `~` is expanded; relative ones stay relative to the working directory."""

ExactDecimal = Annotated[Decimal, BeforeValidator(_decimal)]
"""A decimal equal to the number as written: 0.1 is one tenth, not the nearest binary float."""

ExactFraction = Annotated[Fraction, BeforeValidator(_fraction)]
"""A fraction written as a number or as a string such as `2/3`."""

Many = Annotated[tuple[T, ...], BeforeValidator(_tuple)]
"""A tuple written as a YAML list; its elements stay strict."""

__all__ = ["Component", "ExactDecimal", "ExactFraction", "FilePath", "Many"]
