"""What a seat of a panel is, and what the pipeline hands to components at run time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from evalrunner.records import Item, Judgement
from evalrunner.rubric import Rubric

if TYPE_CHECKING:
    from evalrunner.calls.desk import Desk
    from evalrunner.model.prompts import Prompts

SeatKind = Literal["llm", "heuristic", "program"]


@dataclass(frozen=True)
class Bench:
    """What a subject or a judge works with while a run is under way. No component reads the global config.

    Attributes:
        rubric: the eval's rubric.
        seats: the panel, in order; empty where no model judges.
        prompts: renders prompt templates; knows their hash.
        desk: every model call goes through it.
        folder: the run folder; whoever writes there uses a name of its own.
        note: shows one line to the user on stderr.
    """

    rubric: Rubric
    seats: Sequence["Seat"]
    prompts: "Prompts"
    desk: "Desk"
    folder: Path
    note: Callable[[str], None]


@runtime_checkable
class Seat(Protocol):
    """One place in a panel. An LLM with a prompt fills it, or rules, or a program.

    Attributes:
        id: the model id as configured, as it stands in the receipt.
        kind: whether an LLM speaks; a heuristic is never shown as one.
    """

    id: str

    @property
    def kind(self) -> SeatKind:
        """What fills the seat."""
        ...

    async def score(
        self, items: Sequence[Item], *, place: int, cycle: int, chunk: int, prompt: str, bench: Bench
    ) -> Judgement:
        """Scores the items on `bench.rubric`. `prompt` names the template; seats without one ignore it.

        Never raises for what a model or provider does: that is a Judgement whose status says it.
        """
        ...
