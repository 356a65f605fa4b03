"""Who judges: the ordered set of seats, or nobody."""

from typing import ClassVar

from pydantic import ConfigDict, field_validator

from evalrunner.component import Component, Many
from evalrunner.model.ids import canonical
from evalrunner.model.seat import Seat


class Panel(Component):
    """The judging models, in the order in which they are shown.

    Attributes:
        models: the seats; at least one, and no model twice, however its id is spelled.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    models: Many[Seat]

    @field_validator("models", mode="after")
    @classmethod
    def _different(cls, seats: tuple[Seat, ...]) -> tuple[Seat, ...]:
        if not seats:
            raise ValueError("nobody sits in the panel; at least one model is needed")
        places: dict[str, list[str]] = {}
        for place, seat in enumerate(seats):
            places.setdefault(canonical(seat.id), []).append(f"{seat.id} at {place}")
        twice = [" and ".join(each) for each in places.values() if len(each) > 1]
        if twice:
            raise ValueError(f"the same model sits twice: {'; '.join(twice)}")
        return seats


class NoPanel(Component):
    """Nobody: for evals in which no model judges."""

    models: ClassVar[tuple[Seat, ...]] = ()
