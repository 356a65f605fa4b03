"""The cap on what a run may spend: reserved before each call, settled after it, and never passed.

The bound of a call is what its request can cost at most: one input token a UTF-8 byte of the prompt, since no
tokenizer's token stands for less, some tokens for what providers wrap around messages, and `max_tokens` of
output, all at the dearest rate that can apply. So the sum of what was spent and what is reserved never passes
the cap, unless a provider bills more than that bound; then it is settled at the bill, and the excess is kept
apart as the overrun.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import Field

from evalrunner.budget.pricing import ZERO, Pricing, canonical
from evalrunner.budget.reservation import (
    BudgetExhausted,
    HeldRun,
    Reservation,
    dollars,
    most_input_tokens,
)
from evalrunner.component import Component, ExactDecimal
from evalrunner.errors import PricingNotFoundError, Problem, nearest

if TYPE_CHECKING:
    from evalrunner.budget.sweep import SweepLedger

__all__ = ["Budget", "BudgetExhausted", "Ledger", "Reservation"]


_LOOK_AGAIN_S = 0.05


class Budget(Component):
    """What may be spent.

    Attributes:
        cap_usd: US dollars, at least 0; None sets no limit.
        unpriced: what a cap makes of a model without a known price: `refuse` it before the first call, or
            `report` that the cap is not enforced for it.
        unit: what is reserved as a whole, and so never stopped inside: a `call`, or a `run` of the subject.
        scope: what the cap is for: an `attempt`, or all jobs of a `sweep` together. A run that is no job of a
            sweep is an attempt either way.
    """

    cap_usd: ExactDecimal | None = Field(default=None, ge=0)
    unpriced: Literal["refuse", "report"] = "refuse"
    unit: Literal["call", "run"] = "call"
    scope: Literal["attempt", "sweep"] = "attempt"


class PlannedLike(Protocol):
    """A call that may be made, at its worst."""

    @property
    def model(self) -> str:
        """The id as configured."""
        ...

    @property
    def prompt_bytes(self) -> int:
        """UTF-8 bytes of everything counted as prompt."""
        ...

    @property
    def messages(self) -> int:
        """How many messages."""
        ...

    @property
    def max_tokens(self) -> int:
        """The longest reply."""
        ...


_RUN: ContextVar[tuple["Ledger", HeldRun] | None] = ContextVar("run", default=None)
"""The run that the current task works for; tasks started inside a run belong to it."""


class Ledger:
    """What was spent and what is reserved, against the cap. Safe to use from several tasks and threads.

    Args:
        budget: the cap.
        pricing: what calls cost.
        sweep: where the jobs of the sweep note what they spend; None where the cap is for this one alone.
    """

    def __init__(self, budget: Budget, pricing: Pricing, sweep: "SweepLedger | None" = None) -> None:
        self.budget = budget
        self.pricing = pricing
        self._sweep = sweep if budget.cap_usd is not None else None
        self._lock = Lock()
        self._spent = self._reserved = self._overrun = self._estimated = ZERO
        self._attempts = 0  # under way
        self._runs = 0  # under way, and holding money
        self._refused = 0
        self._unpriced_bills = 0
        self._unknown: dict[str, None] = {}
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def spent(self) -> Decimal | None:
        """US dollars so far; None when something was called that has no known price."""
        return None if self._unpriced_bills else self._spent

    def carry(self, spent: Decimal | None, *, estimated: Decimal, overrun: Decimal) -> None:
        """Counts what an earlier part of the run has spent; None where no price is known of some of it."""
        with self._lock:
            if spent is None:
                self._unpriced_bills += 1
            else:
                self._spent += spent
                if self._sweep is not None:
                    self._sweep.carry(spent)
            self._estimated += estimated
            self._overrun += overrun

    def check(self, models: Sequence[str]) -> None:
        """Looks up the models of a run before its first call.

        Raises:
            PricingNotFoundError: there is a cap, and models that it refuses for want of a price; all of them.
        """
        unknown = [model for model in dict.fromkeys(models) if self.pricing.price(model) is None]
        self._unknown.update(dict.fromkeys(unknown))
        if unknown and self._refuses_unpriced:
            raise PricingNotFoundError([self._no_price(model) for model in unknown])

    def bound(self, model: str, prompt_bytes: int, messages: int, max_tokens: int) -> Decimal | None:
        """The most that one attempt of a call can cost, in US dollars; None where no price is known."""
        price = self.pricing.price(model)
        if price is None:
            self._unknown[model] = None
            return None
        return price.bound(most_input_tokens(prompt_bytes, messages), max_tokens)

    def project(self, calls: Iterable[PlannedLike]) -> Decimal | None:
        """The most that all these calls can cost, each made once; None where the price of any is unknown.

        An attempt that timed out or broke off may be billed beside the one that replaces it; that is not in.
        """
        bounds = [self.bound(each.model, each.prompt_bytes, each.messages, each.max_tokens) for each in calls]
        known = [bound for bound in bounds if bound is not None]
        return sum(known, ZERO) if len(known) == len(bounds) else None

    def reserve(self, model: str, bound: Decimal | None) -> Reservation:
        """Sets money aside for one attempt, at once or not at all. Inside a run it comes out of the run's.

        Raises:
            BudgetExhausted: it does not fit under the cap now, or the cap refuses models without a price.
        """
        with self._lock:
            reservation = self._take(model, bound)
            if reservation is None:
                raise self._refusal(model, bound)
        return reservation

    async def reserve_in_turn(self, model: str, bound: Decimal | None) -> Reservation:
        """As `reserve`, but waits for attempts under way while what they give back may make room.

        Most attempts cost much less than their bound, so a cap should not refuse at eight calls at a time
        what it would allow one after another.

        Raises:
            BudgetExhausted: it does not fit under the cap, whatever the attempts under way give back.
        """
        while True:
            with self._lock:
                reservation = self._take(model, bound)
                if reservation is not None:
                    return reservation
                if bound is None or not (self._attempts or self._sweep) or not self._could_fit(bound):
                    raise self._refusal(model, bound)
                freed = self._wait()
            await self._freed(freed)

    @asynccontextmanager
    async def run(self, bound: Decimal | None) -> AsyncIterator[None]:
        """One run of the subject. Under `unit: run` its worst case is reserved first; its calls draw on it.

        It waits while other runs or calls under way may make room. Under `unit: call`, or without a known
        price, nothing is reserved here, and calls reserve for themselves. What the calls of a run need beyond
        its bound (an attempt that timed out is paid beside its retry) comes out of what the cap leaves.

        Raises:
            BudgetExhausted: the run does not fit under the cap; nothing of it was done.
        """
        if self.budget.unit != "run" or bound is None:
            yield
            return
        run = await self._start(bound)
        token = _RUN.set((self, run))
        try:
            yield
        finally:
            _RUN.reset(token)
            with self._lock:
                run.open = False
                self._runs -= 1
                self._give_back(run.left, ZERO)
            self._wake()

    def unseen(self, what: str) -> None:
        """Something is about to run whose bill nobody sees, such as a program: the cost is unknown from here.

        Raises:
            BudgetExhausted: there is a cap, and it refuses what has no known price.
        """
        with self._lock:
            self._unknown[what] = None
            if self._refuses_unpriced:
                raise self._refusal(what, None)
            self._unpriced_bills += 1

    def block(self) -> dict[str, Any]:
        """The receipt's `budget`, amounts as exact decimals; docs/receipt.md explains the keys."""
        told: dict[str, Any] = {
            "cap_usd": self.budget.cap_usd,
            "spent_usd": self.spent,
            "reserved_usd": self._reserved,
            "overrun": self._overrun,
            "estimated_usd": self._estimated,
            "enforced": self.budget.cap_usd is not None and not self._unknown,
            "unit": self.budget.unit,
            "unpriced": self.budget.unpriced,
            "refused_calls": self._refused,
            "unknown_models": list(self._unknown),
        }
        if self._sweep is not None:
            told |= {"scope": "sweep", "sweep_usd": self._sweep.committed()}
        return told

    @property
    def _refuses_unpriced(self) -> bool:
        return self.budget.cap_usd is not None and self.budget.unpriced == "refuse"

    def _no_price(self, model: str) -> Problem:
        return Problem(
            model,
            "has no known price, so the cap cannot hold",
            allowed="a price or `free: true` in the group pricing, budget.unpriced=report, or no cap",
            nearest=nearest(canonical(model), map(canonical, self.pricing.models)),
        )

    # With the lock held:

    def _take(self, model: str, bound: Decimal | None) -> Reservation | None:
        if bound is None and self._refuses_unpriced:
            return None
        held = _RUN.get()
        run = held[1] if held is not None and held[0] is self and held[1].open else None
        amount = bound if bound is not None else ZERO
        drawn = min(run.left, amount) if run is not None else ZERO
        if not self._set_aside(amount - drawn):
            return None
        if run is not None:
            run.left -= drawn
        self._attempts += 1
        return Reservation(self.pricing.price(model), bound, run, self._ended)

    def _set_aside(self, amount: Decimal) -> bool:
        """Whether it fits under the cap; then it is reserved."""
        cap = self.budget.cap_usd
        if cap is not None and amount:
            if self._sweep is not None:
                fits = self._sweep.take(amount, cap)
            else:
                fits = self._spent + self._reserved + amount <= cap
            if not fits:
                return False
        self._reserved += amount
        return True

    def _give_back(self, amount: Decimal, spent: Decimal) -> None:
        """Ends a reservation of so much, of which so much was spent."""
        self._reserved -= amount
        self._spent += spent
        if self._sweep is not None and (amount or spent):
            self._sweep.settle(amount, spent)

    def _could_fit(self, amount: Decimal) -> bool:
        """Whether it would fit if everything under way turned out to cost nothing."""
        cap = self.budget.cap_usd
        if cap is not None and self._sweep is not None:
            return self._sweep.could_fit(amount, cap)
        return cap is None or self._spent + amount <= cap

    def _refusal(self, what: str, bound: Decimal | None) -> BudgetExhausted:
        self._refused += 1
        cap = self.budget.cap_usd if self.budget.cap_usd is not None else ZERO
        if bound is None:
            return BudgetExhausted(f"{what} has no known price, so the cap of {dollars(cap)} refuses it")
        used = self._spent + self._reserved if self._sweep is None else self._sweep.committed()
        whose = "the" if self._sweep is None else "the sweep's"
        left = max(ZERO, cap - used)
        return BudgetExhausted(
            f"{what} may cost up to {dollars(bound)};"
            f" {dollars(left)} of {whose} cap of {dollars(cap)} is left"
        )

    def _wait(self) -> "asyncio.Future[None]":
        freed = asyncio.get_running_loop().create_future()
        self._waiting.append(freed)
        return freed

    # Without it:

    async def _freed(self, freed: "asyncio.Future[None]") -> None:
        """Waits until something under way has ended; of other processes nobody tells, so one looks again."""
        if self._sweep is None:
            await freed
        else:
            await asyncio.wait({freed}, timeout=_LOOK_AGAIN_S)

    async def _start(self, bound: Decimal) -> HeldRun:
        while True:
            with self._lock:
                if self._set_aside(bound):
                    self._runs += 1
                    return HeldRun(bound)
                if not (self._attempts or self._runs or self._sweep) or not self._could_fit(bound):
                    raise self._refusal("the run", bound)
                freed = self._wait()
            await self._freed(freed)

    def _ended(self, reservation: Reservation, cost: Decimal | None, billed: bool, estimated: bool) -> None:
        run = reservation.run
        with self._lock:
            self._attempts -= 1
            if run is not None and run.open and not billed:
                run.left += reservation.amount
            else:
                self._give_back(reservation.amount, ZERO if cost is None else cost)
            if billed and cost is None:
                self._unpriced_bills += 1
            elif cost is not None:
                self._overrun += max(ZERO, cost - reservation.amount)
                self._estimated += cost if estimated else ZERO
        self._wake()

    def _wake(self) -> None:
        if not self._waiting:
            return
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for freed in waiting:
            freed.get_loop().call_soon_threadsafe(_set, freed)


def _set(freed: "asyncio.Future[None]") -> None:
    if not freed.done():
        freed.set_result(None)
