"""What a run would call, how often, and the most that it could cost; nothing is called to find out."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from evalrunner.calls.desk import Desk
from evalrunner.model.seat import PlannedCall
from evalrunner.pipeline.session import Session
from evalrunner.records import Item


@dataclass(frozen=True)
class ModelForecast:
    """What one model would be asked.

    Attributes:
        calls: at most so many first asks, over all cycles and runs.
        reasks: at most so many more, if replies are rejected.
        prompt_bytes: UTF-8 bytes of all those prompts.
        cost_usd: the most that all of them could cost; None where no price is known.
    """

    model: str
    calls: int
    reasks: int
    prompt_bytes: int
    cost_usd: Decimal | None


@dataclass(frozen=True)
class Forecast:
    """What a run would call at most.

    Attributes:
        items: how many items the sample holds.
        cycles: how many cycles at most.
        runs: how many runs of the subject, over all items.
        models: in panel order, the subject's first; none where nothing is called.
        cost_usd: the sum; None where the price of any is unknown.
        cap_usd: the configured cap.
    """

    items: int
    cycles: int
    runs: int
    models: tuple[ModelForecast, ...]
    cost_usd: Decimal | None
    cap_usd: Decimal | None


def forecast(session: Session, items: Sequence[Item]) -> Forecast:
    """The worst case of a run over the items: every cycle, every re-ask, every reply at its longest."""
    config = session.config
    bench = session.bench(Desk(session.ledger, journal=None, note=session.say))
    cycles = config.cycles.max or config.cycles.default_max
    planned: list[tuple[PlannedCall, int]] = []
    if items:
        planned += [(call, config.runs) for call in config.subject.planned(items, bench)]
        outcomes = 1 if config.subject.judged_itself else config.runs
        planned += [(call, cycles * outcomes) for call in config.judge.planned(items, bench)]
    models = []
    for model in dict.fromkeys(call.model for call, _ in planned):
        own = [(call, times) for call, times in planned if call.model == model]
        costs = [
            None
            if (bound := session.ledger.bound(model, call.prompt_bytes, call.messages, call.max_tokens))
            is None
            else bound * times
            for call, times in own
        ]
        models.append(
            ModelForecast(
                model,
                sum(times for call, times in own if not call.is_reask),
                sum(times for call, times in own if call.is_reask),
                sum(call.prompt_bytes * times for call, times in own),
                _sum(costs),
            )
        )
    runs = 0 if config.subject.judged_itself else config.runs * len(items)
    return Forecast(
        len(items),
        cycles,
        runs,
        tuple(models),
        _sum([each.cost_usd for each in models]),
        config.budget.cap_usd,
    )


def _sum(costs: Sequence[Decimal | None]) -> Decimal | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None
