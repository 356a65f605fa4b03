"""Stands in for a subject that nobody named: outcomes of another program, judged here."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from evalrunner.errors import InputError
from evalrunner.model.seat import Bench, PlannedCall, Speaker
from evalrunner.records import Item, Outcome


class UnknownSubject:
    """Somebody produced the outcomes; the receipt says no more of it. No option of the group subject."""

    judged_itself: ClassVar[bool] = False

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """Raises InputError: what is not known cannot run."""
        raise InputError("the subject is not known; its outcomes can only be judged")

    def described(self) -> Mapping[str, Any]:
        """That it is not known."""
        return {"subject": "unknown"}

    def prompts(self) -> Sequence[str]:
        """None that we know of."""
        return ()

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """None: it does not run here."""
        return []

    def models(self) -> Sequence[Speaker]:
        """None that we know of."""
        return ()
