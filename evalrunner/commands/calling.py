"""Asking models one small question, to see whether they answer; the most that it can cost is said first."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from evalrunner.budget.budget import Ledger
from evalrunner.calls.desk import Desk
from evalrunner.calls.loop import run_async
from evalrunner.calls.request import Message, Slot
from evalrunner.calls.retry import Retry
from evalrunner.config.tree import RunConfig
from evalrunner.model.asking import Asked
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.reporter.terminal import at_most, money

QUESTION = (Message("user", "Answer with the one word: ready"),)
MOST_TOKENS = 1024
"""Of a reply: enough for models that think before the one word."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Told:
    """Whether a model answered, and one line on it."""

    ok: bool
    text: str


def llms(config: RunConfig) -> list[LitellmModel]:
    """The models of a configuration that are called, the one under test first, each once."""
    found = [
        each for each in (*config.subject.models(), *config.panel.models) if isinstance(each, LitellmModel)
    ]
    small = [
        each.model_copy(update={"max_tokens": min(each.max_tokens, MOST_TOKENS), "reasks": 0})
        for each in found
    ]
    return list({each.id: each for each in reversed(small)}.values())[::-1]


def announce(models: Sequence[LitellmModel], config: RunConfig, say: Say) -> None:
    """Says who is asked, and the most that it can cost.

    Raises:
        PricingNotFoundError: a cap is set, and models have no known price.
    """
    ledger = Ledger(config.budget, config.pricing)
    ledger.check([model.id for model in models])
    costs = [ledger.bound(model.id, *each) for model in models for each in model.worst_case(QUESTION, None)]
    known = [cost for cost in costs if cost is not None]
    who = ", ".join(model.id for model in models)
    if not models:
        say("no model is called here: there is none to ask")
    elif len(known) < len(costs):
        say(f"asks {who} once each; what that can cost is unknown: prices are missing")
    else:
        say(f"asks {who} once each, for {at_most(sum(known, Decimal()))} at most")


def answers(models: Sequence[LitellmModel], config: RunConfig, say: Say) -> list[tuple[LitellmModel, Told]]:
    """What came of asking each model, all at once; nothing is tried again."""
    return run_async(_asked(models, config, say))


async def _asked(
    models: Sequence[LitellmModel], config: RunConfig, say: Say
) -> list[tuple[LitellmModel, Told]]:
    retry = Retry(faults=1, throttled=1, garbage=1)
    desk = Desk(Ledger(config.budget, config.pricing), journal=None, note=say, retry=retry)
    try:
        found = await asyncio.gather(
            *(model.ask(QUESTION, None, lambda text, _: text, Slot("doctor"), desk) for model in models)
        )
    finally:
        await desk.close()
    return [(model, _told(asked)) for model, asked in zip(models, found, strict=True)]


def _told(asked: Asked[str]) -> Told:
    if asked.status != "answered":
        return Told(False, f"does not answer: {asked.error}")
    cost = asked.spend.cost_usd
    name = f" as {asked.answered_by}" if asked.answered_by else ""
    return Told(True, f"answers{name}, for {'an unknown price' if cost is None else money(float(cost))}")
