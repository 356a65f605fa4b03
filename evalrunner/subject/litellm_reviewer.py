"""An LLM that reviews a diff: the system under test of the eval `code_review`."""

from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any, ClassVar

from pydantic import Field, field_validator

from evalrunner.calls.request import Message, Slot
from evalrunner.component import Component, Many
from evalrunner.git.diff import payload_diff
from evalrunner.git.trees import rebuild
from evalrunner.model.asking import Asked
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench, PlannedCall, Speaker
from evalrunner.records import Item, Outcome
from evalrunner.subject.findings import Review
from evalrunner.subject.gateway import in_turn
from evalrunner.subject.reading import valid_markers
from evalrunner.subject.review_prompt import messages, read_review, review_schema


class LitellmReviewer(Component):
    """Asks one LLM for a review, in one prompt.

    Runs never overlap, not even with those of other processes that ask the same endpoint with the same key
    variable, unless the user raised `concurrency`.

    Attributes:
        model: the LLM; `--model ID`.
        prompt: the prompt template, in prompts/, that it is asked with.
        diff_bytes: the most UTF-8 bytes of the diff; a longer one is cut, and the prompt says so.
        context_bytes: the most UTF-8 bytes of the head's files that are shown beside it.
        markers: words that say that a review did not come to its end; see `Reading.markers`.
    """

    judged_itself: ClassVar[bool] = False

    model: LitellmModel
    prompt: str = Field(default="code_review", pattern=r"^[a-z][a-z0-9_]*$")
    diff_bytes: int = Field(default=400_000, ge=1)
    context_bytes: int = Field(default=60_000, ge=0)
    markers: Many[str] = ("blocked",)

    @field_validator("markers", mode="after")
    @classmethod
    def _markers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return valid_markers(value)

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """One review, re-asks included. What model or provider do wrong is the outcome's status."""
        asking = self._messages(item, bench.prompts)
        async with in_turn(self.model, bench):
            return await self._asked(asking, item, run, bench)

    async def _asked(self, asking: Sequence[Message], item: Item, run: int, bench: Bench) -> Outcome:
        start = monotonic()
        asked = await self.model.ask(
            asking,
            review_schema(),
            partial(read_review, markers=self.markers),
            Slot("review", item=item.id, run=run),
            bench.desk,
        )
        review = _review(asked)
        told = {"asks": asked.asks, "answered_by": asked.answered_by, "dropped": list(asked.dropped)}
        return Outcome(
            item_id=item.id,
            run=run,
            status=review.status,
            payload={**review.payload(), **{name: value for name, value in told.items() if value}},
            spend=asked.spend,
            duration_s=monotonic() - start,
            error=review.error,
        )

    def _messages(self, item: Item, prompts: Prompts) -> tuple[Message, ...]:
        return messages(
            prompts,
            self.prompt,
            str(item.payload["diff"]),
            rebuild(payload_diff(item.payload)),
            diff_bytes=self.diff_bytes,
            context_bytes=self.context_bytes,
        )

    def described(self) -> Mapping[str, Any]:
        """The model with its call parameters, the template's name, how much is shown, and the markers."""
        return {
            "subject": "litellm_reviewer",
            "model": self.model.id,
            "params": dict(self.model.asked()),
            "prompt": self.prompt,
            "diff_bytes": self.diff_bytes,
            "context_bytes": self.context_bytes,
            "markers": list(self.markers),
        }

    def prompts(self) -> Sequence[str]:
        """The one template."""
        return (self.prompt,)

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """One call a case, each with its re-asks.

        Raises:
            InputError: the template is missing or wrong, or an item holds no diff that can be read.
        """
        return [
            PlannedCall(self.model.id, *bound, is_reask=ask > 0)
            for item in items
            for ask, bound in enumerate(
                self.model.worst_case(self._messages(item, bench.prompts), review_schema())
            )
        ]

    def models(self) -> Sequence[Speaker]:
        """The one model."""
        return (self.model,)


def _review(asked: Asked[Review]) -> Review:
    if asked.value is not None:
        return asked.value
    if asked.status == "skipped":
        return Review(status="skipped", error=asked.error)
    return Review(status="timeout" if asked.failure == "timeout" else "error", error=asked.error)
