"""An LLM that answers KEEP or REJECT for each finding on a diff."""

from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any, ClassVar

from pydantic import Field

from evalrunner.calls.request import Message, Slot
from evalrunner.component import Component
from evalrunner.model.fence import fence
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench, PlannedCall, Speaker
from evalrunner.receipt.jsontext import readable_json
from evalrunner.records import Item, Outcome, OutcomeStatus
from evalrunner.subject.gateway import in_turn
from evalrunner.subject.keep_reject import (
    described,
    ids_of,
    outcome,
    question,
    read_verdicts,
    verdicts_schema,
)

_STATUS: Mapping[str, OutcomeStatus] = {
    "answered": "ok",
    "rejected": "error",
    "failed": "error",
    "skipped": "skipped",
}


class KeepRejectLlm(Component):
    """An LLM under test: the whole batch stands in one prompt, and one answer must cover it.

    Calls at one gateway never overlap, not even those of other processes, unless `concurrency` was raised.

    Attributes:
        model: the LLM; `--model ID`.
        prompt: the prompt template, in prompts/, that it is asked with.
    """

    judged_itself: ClassVar[bool] = False

    model: LitellmModel
    prompt: str = Field(default="keep_reject", pattern=r"^[a-z][a-z0-9_]*$")

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """The verdicts of one call, re-asks included. A reply that is not complete and valid is no answer."""
        ids = ids_of(item.payload)
        asking = messages(bench.prompts, self.prompt, item.payload)
        async with in_turn(self.model, bench):
            start = monotonic()
            asked = await self.model.ask(
                asking,
                verdicts_schema(ids),
                partial(read_verdicts, ids=ids),
                Slot("keep_reject", item=item.id, run=run),
                bench.desk,
            )
            took = monotonic() - start
        detail: dict[str, Any] = {"asks": asked.asks}
        if asked.answered_by is not None:
            detail["answered_by"] = asked.answered_by
        if asked.dropped:
            detail["dropped"] = list(asked.dropped)
        return outcome(
            item,
            run,
            seat=self.model.id,
            status="timeout" if asked.failure == "timeout" else _STATUS[asked.status],
            verdicts=asked.value,
            error=asked.error,
            detail=detail,
            spend=asked.spend,
            duration_s=took,
        )

    def described(self) -> Mapping[str, Any]:
        """The model with its call parameters, and the name of the template."""
        asked = dict(self.model.asked())
        return described("keep_reject_llm", "llm", model=self.model.id, params=asked, prompt=self.prompt)

    def prompts(self) -> Sequence[str]:
        """The one template."""
        return (self.prompt,)

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """One call a batch, each with its re-asks."""
        return [
            PlannedCall(self.model.id, *bound, is_reask=ask > 0)
            for item in items
            for ask, bound in enumerate(
                self.model.worst_case(
                    messages(bench.prompts, self.prompt, item.payload),
                    verdicts_schema(ids_of(item.payload)),
                )
            )
        ]

    def models(self) -> Sequence[Speaker]:
        """The one model."""
        return (self.model,)


def messages(prompts: Prompts, name: str, payload: Mapping[str, Any]) -> tuple[Message, ...]:
    """Renders the prompt `name` for a batch.

    A template gets `diff`, `findings` (a list of JSON objects as texts, one line each), and `fence_open` and
    `fence_close`: lines that stand neither in the diff nor in any finding.

    Raises:
        InputError: the template is missing, wrong, or shows nothing of the batch; with its file.
    """
    asked = question(payload)
    diff = str(asked["diff"])
    findings = [readable_json(finding) for finding in asked["findings"]]
    fence_open, fence_close = fence("\n".join([diff, *findings]))
    return prompts.messages(
        name,
        ("diff", "findings"),
        diff=diff,
        findings=findings,
        fence_open=fence_open,
        fence_close=fence_close,
    )
