"""What every subject is."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from evalrunner.model.seat import Bench, PlannedCall, Speaker
from evalrunner.records import Item, Outcome


@runtime_checkable
class Subject(Protocol):
    """The system under test: turns an item into an outcome.

    Attributes:
        judged_itself: the item itself is judged; nothing is produced (`identity`).
    """

    judged_itself: ClassVar[bool]

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """The outcome of one run (from 1) on one item. What goes wrong in it is the outcome's status."""
        ...

    def described(self) -> Mapping[str, Any]:
        """What tells this subject from another: class, argv, model, parameters; not paths, keys, limits."""
        ...

    def prompts(self) -> Sequence[str]:
        """The prompt templates that the subject asks with; none for programs."""
        ...

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """Every model call that one run over each of the items may make, re-asks included."""
        ...

    def models(self) -> Sequence[Speaker]:
        """The models that the subject asks, and rules that answer in the place of one; none for programs."""
        ...


@runtime_checkable
class Checked(Protocol):
    """A subject that knows, before anything runs, when it could not."""

    def check_installed(self) -> None:
        """Looks for what it needs.

        Raises:
            EvalrunnerError: something is missing; says what to do.
        """
        ...
