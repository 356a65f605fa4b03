"""What a seat of a panel is, and what the pipeline hands to components at run time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from evalrunner.errors import Problem
from evalrunner.records import Item, Judgement
from evalrunner.rubric import Rubric

if TYPE_CHECKING:
    from evalrunner.calls.desk import Desk
    from evalrunner.model.comparison import Comparison
    from evalrunner.model.prompts import Prompts

SeatKind = Literal["llm", "heuristic", "program"]


@dataclass(frozen=True)
class PlannedCall:
    """A model call that may be made, at its worst: what `validate` prices and the budget may hold.

    Attributes:
        model: the id as configured.
        prompt_bytes: UTF-8 bytes of everything counted as prompt. messages: how many of them.
        max_tokens: the longest reply.
        is_reask: only made when an earlier reply was rejected.
    """

    model: str
    prompt_bytes: int
    messages: int
    max_tokens: int
    is_reask: bool = False


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
        concurrency: how many runs of the subject the user lets go on at a time.
    """

    rubric: Rubric
    seats: Sequence["Seat"]
    prompts: "Prompts"
    desk: "Desk"
    folder: Path
    note: Callable[[str], None]
    concurrency: int = 1


@runtime_checkable
class Speaker(Protocol):
    """What speaks under a name of its own: a model, or rules."""

    @property
    def id(self) -> str:
        """The model id as configured, as it stands in the receipt."""
        ...

    @property
    def kind(self) -> SeatKind:
        """What speaks; a heuristic is never shown as an LLM."""
        ...

    def described(self) -> Mapping[str, Any]:
        """As configured, JSON-ready, for the receipt; names of key variables, never keys."""
        ...

    def asked(self) -> Mapping[str, Any]:
        """The call parameters that change what is asked; part of the prompt fingerprint."""
        ...

    def check_ready(self, environ: Mapping[str, str]) -> list[Problem]:
        """What is missing before it can be asked: a key, an extra. Empty when it is ready."""
        ...


@runtime_checkable
class Seat(Speaker, Protocol):
    """One place in a panel. An LLM with a prompt fills it, or rules, or a program.

    What a seat can be asked is one of the protocols below, or several; each judge says which it needs.
    """


@runtime_checkable
class RubricSeat(Seat, Protocol):
    """A seat that scores items on a rubric.

    One that waits for others may say, as a number `at_once`, how many chunks it is worth scoring at a time;
    the chunks of the others are scored one after another.
    """

    async def score(
        self, items: Sequence[Item], *, place: int, cycle: int, chunk: int, prompt: str, bench: Bench
    ) -> Judgement:
        """Scores the items on `bench.rubric`. `prompt` names the template; seats without one ignore it.

        Never raises for what a model or provider does: that is a Judgement whose status says it.
        """
        ...

    def planned(self, items: Sequence[Item], *, prompt: str, bench: Bench) -> list[tuple[int, int, int]]:
        """The calls that scoring the items may take, at their worst: the first ask, then each re-ask.

        Each is (UTF-8 bytes of prompt, messages, most tokens of reply). A seat that calls nothing gives [].
        """
        ...


@runtime_checkable
class VerdictSeat(Seat, Protocol):
    """A seat that says whether one change does what another one does."""

    async def compare(
        self, comparison: "Comparison", *, place: int, cycle: int, prompt: str, bench: Bench
    ) -> Judgement:
        """A judgement labelled `correct` or `defect`; `prompt` as for `RubricSeat.score`.

        Its detail holds `run`, and with a label `class` (None for correct) and `reason`. Never raises for
        what a model or provider does: that is a Judgement whose status says it.
        """
        ...

    def planned_comparison(
        self, comparison: "Comparison", *, prompt: str, bench: Bench
    ) -> list[tuple[int, int, int]]:
        """The calls that comparing may take, as in `RubricSeat.planned`."""
        ...
