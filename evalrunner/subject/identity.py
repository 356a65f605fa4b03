"""The subject of evals that judge the item itself."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from evalrunner.component import Component
from evalrunner.model.seat import Bench, PlannedCall, Seat
from evalrunner.records import Item, Outcome


class Identity(Component):
    """Produces nothing: the outcome is the item."""

    judged_itself: ClassVar[bool] = True

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """An empty, free outcome."""
        return Outcome(item_id=item.id, run=run)

    def described(self) -> Mapping[str, Any]:
        """The same for every identity, so that takes_quality's receipts keep their four-sha key."""
        return {"subject": "identity"}

    def prompts(self) -> Sequence[str]:
        """None: nothing is asked."""
        return ()

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """None."""
        return []

    def models(self) -> Sequence[Seat]:
        """None."""
        return ()
