"""The desk that every model call goes through: limits, reservation, retries, settlement, journal."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from time import monotonic
from weakref import WeakKeyDictionary

from evalrunner.budget.budget import BudgetExhausted, Ledger, Reservation
from evalrunner.budget.pricing import ZERO
from evalrunner.budget.reservation import dollars, most_input_tokens, reported
from evalrunner.calls.cache import Cache
from evalrunner.calls.earlier import Earlier, Past
from evalrunner.calls.halt import Halt, Halted
from evalrunner.calls.journal import Journal
from evalrunner.calls.limits import Gate
from evalrunner.calls.request import CallFailed, CallReply, CallRequest, Client, Limits
from evalrunner.calls.retry import Retry, again
from evalrunner.errors import EvalrunnerError
from evalrunner.records import Spend, Usage

BYTES_A_TOKEN = 3
"""How a prompt is counted against tokens a minute before it is sent; a usual tokenizer makes fewer of it."""


_GATES: WeakKeyDictionary[
    asyncio.AbstractEventLoop, dict[tuple[str, str | None, str | None, Limits], Gate]
] = WeakKeyDictionary()
"""By route, endpoint and key. All desks of a loop share them, so that the stages of a run and the jobs of a
sweep keep one limit, and the next remembers what a provider asked of the last."""


@dataclass(frozen=True)
class Progress:
    """How far the calls of a desk are.

    Attributes:
        done: calls that came to an end, whatever end.
        planned: calls announced or begun.
        spent_usd: spent under the ledger; None when something without a known price was called.
    """

    done: int
    planned: int
    spent_usd: Decimal | None


class Desk:
    """Takes calls, makes them as its limits and the ledger allow, and returns replies that are paid and kept.

    Used on one event loop. `close` it when the last call is done.

    Args:
        ledger: what every attempt is reserved in and settled with.
        journal: keeps every attempt, before it is sent and after it ended; the desk closes it. None keeps
            nothing.
        earlier: the calls of an unfinished run, which are not made again.
        cache: the replies of earlier runs, which are not paid for again, and where new ones are kept.
        halt: breaks calls off when the user asks to stop.
        note: shows one line to the user; each only once.
        progress: told after every call.
        retry: when a failure is tried again.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        journal: Journal | None,
        earlier: Earlier | None = None,
        cache: Cache | None = None,
        halt: Halt | None = None,
        note: Callable[[str], None],
        progress: Callable[[Progress], None] | None = None,
        retry: Retry | None = None,
    ) -> None:
        self.ledger = ledger
        self.journal = journal
        self.earlier = earlier
        self.cache = cache
        self.halt = halt or Halt()
        self.retry = retry or Retry()
        self._note = note
        self._noted: set[str] = set()
        self._progress = progress
        self._clients: dict[int, Client] = {}
        self._announced = self._begun = self._done = 0
        self._tally = _Tally()

    async def call(self, request: CallRequest, client: Client, limits: Limits) -> CallReply:
        """Asks a model, and tries again where that may help. Every attempt is reserved, settled and kept.

        Args:
            request: the question.
            client: speaks to the provider, once an attempt.
            limits: shared by all calls with the same route, endpoint and key.

        Raises:
            CallFailed: there is no reply; kind `budget` when the cap did not allow the attempt, `interrupted`
                when it was asked to stop. A journal or cache that cannot be written asks for that.
        """
        self._clients[id(client)] = client
        self._begun += 1
        try:
            return await _Call(self, request, client, self._gate(request, limits)).answer()
        finally:
            self._done += 1
            if self._progress is not None:
                planned = max(self._announced, self._begun)
                self._progress(Progress(self._done, planned, self.ledger.spent))

    def expect(self, calls: int) -> None:
        """Announces so many further calls, for the progress."""
        self._announced = max(self._announced, self._begun) + calls

    def spend(self) -> Spend:
        """What all calls so far used and cost, attempts that may have been billed included.

        Tokens are those of replies; `estimated` when some are our bound, or some attempts gave none to count.
        """
        return self._tally.spend()

    async def close(self) -> None:
        """Closes every client that was used, and the journal.

        A journal that cannot be synced to the disk asks to stop, as in `call`.
        """
        clients, self._clients = list(self._clients.values()), {}
        try:
            for client in clients:
                try:
                    await client.close()
                except Exception as error:
                    self.note(f"a connection could not be closed: {type(error).__name__}: {error}")
        finally:
            try:
                if self.journal is not None:
                    self.journal.close()
            except EvalrunnerError as full:
                self.halt.ask(full)

    def note(self, line: str) -> None:
        """Shows a line to the user, once."""
        if line not in self._noted:
            self._noted.add(line)
            self._note(line)

    @staticmethod
    def _gate(request: CallRequest, limits: Limits) -> Gate:
        gates = _GATES.setdefault(asyncio.get_running_loop(), {})
        key = (request.route, request.api_base, request.key_env, limits)
        if key not in gates:
            gates[key] = Gate(limits)
        return gates[key]


class _Tally:
    """A sum of usage and cost, in plain numbers."""

    def __init__(self) -> None:
        self.calls = self.input = self.output = self.cached = self.reasoning = 0
        self.estimated = False
        self.cost: Decimal | None = ZERO

    def paid(self, cost: Decimal | None) -> None:
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def used(self, usage: Usage) -> None:
        self.calls += usage.calls
        self.input += usage.input_tokens
        self.output += usage.output_tokens
        self.cached += usage.cached_tokens
        self.reasoning += usage.reasoning_tokens
        self.estimated = self.estimated or usage.estimated

    def spend(self) -> Spend:
        usage = Usage(
            calls=self.calls,
            input_tokens=self.input,
            output_tokens=self.output,
            cached_tokens=self.cached,
            reasoning_tokens=self.reasoning,
            estimated=self.estimated,
        )
        return Spend(usage=usage, cost_usd=self.cost)


class _Call:
    """One call on its way through the desk, over all its attempts."""

    def __init__(self, desk: Desk, request: CallRequest, client: Client, gate: Gate) -> None:
        self.desk = desk
        self.request = request
        self.client = client
        self.gate = gate
        keeps = desk.journal is not None or desk.earlier is not None or desk.cache is not None
        self.fingerprint = request.fingerprint() if keeps else ""
        size, messages = request.prompt_bytes(), len(request.messages)
        self.input_tokens = most_input_tokens(size, messages)
        self.counts_as = size // BYTES_A_TOKEN + request.max_tokens
        self.bound = desk.ledger.bound(request.model, size, messages, request.max_tokens)
        self.attempts = self.before = 0
        self.wait_s = 0.0
        self.last: CallFailed | None = None
        self.cost: Decimal | None = ZERO
        self.unanswered_bills = False

    async def answer(self) -> CallReply:
        past = self.desk.earlier.take(self.fingerprint) if self.desk.earlier is not None else None
        if past is not None and past.reply is not None:
            return self.taken(past, past.reply)
        if past is not None:
            self.before = past.attempts
            self.pay(past.cost_usd)
            self.unanswered_bills = past.unanswered
            self.desk._tally.estimated |= past.unanswered
        if (reused := self.reused()) is not None:
            return reused
        try:
            with self.desk.halt.work(grace=False):
                return await self.answered_at_last()
        except CallFailed as failed:
            raise self.final(failed) from None
        except Halted:
            raise self.final(CallFailed("interrupted", "interrupted before there was a reply")) from None

    def reused(self) -> CallReply | None:
        """The reply of an earlier run, which costs nothing more."""
        reply = self.desk.cache.get(self.fingerprint) if self.desk.cache is not None else None
        if reply is None:
            return None
        reply = replace(reply, cost_usd=self.cost)
        try:
            if self.desk.journal is not None:
                self.desk.journal.replied(self.request, self.fingerprint, reply, ZERO)
        except EvalrunnerError as full:
            self.desk.halt.ask(full)
        return reply

    def taken(self, past: Past, reply: CallReply) -> CallReply:
        """A reply that an earlier part of the run has paid for."""
        self.pay(past.cost_usd)
        self.pay(past.reply_cost_usd)
        self.desk._tally.used(reply.usage)
        self.desk._tally.estimated |= past.unanswered
        self.told(reply.usage, past.reply_cost_usd, past.reply_bound_usd)
        if reply.is_reused and self.desk.cache is not None:
            self.desk.cache.took(reply.saved_usd)
        return reply

    async def answered_at_last(self) -> CallReply:
        try:
            return await self.attempt()
        except CallFailed as first:
            if self.desk.retry.attempts(first.kind) == 1:
                raise
            failure = first
        return await again(self.desk.retry, failure, self.wait, self.attempt)

    async def attempt(self) -> CallReply:
        await self.gate.enter(self.counts_as)
        try:
            if self.desk.halt.asked:
                raise Halted
            reservation = await self.reserve()
            with self.desk.halt.work(grace=True):
                return await self.sent(reservation)
        finally:
            self.gate.leave()

    async def sent(self, reservation: Reservation) -> CallReply:
        self.attempts += 1
        self.keep_sent(reservation)
        sent_at = monotonic()
        try:
            async with asyncio.timeout(self.request.timeout_s + self.desk.retry.grace_s):
                reply = await self.client.send(self.request)
        except CallFailed as failure:
            self.failed(reservation, failure, sent_at)
            if self.desk.halt.asked:
                raise Halted from None
            raise
        except TimeoutError:
            late = CallFailed("timeout", f"no answer within {self.request.timeout_s:g} s", billed=True)
            self.failed(reservation, late, sent_at)
            raise late from None
        except BaseException as error:
            kind = "cancelled" if isinstance(error, asyncio.CancelledError) else "crashed"
            self.lost(reservation, kind, None, monotonic() - sent_at)
            raise
        return self.answered(reservation, reply, monotonic() - sent_at)

    def keep_sent(self, reservation: Reservation) -> None:
        if self.desk.journal is None:
            return
        try:
            self.desk.journal.sent(self.request, self.fingerprint, self.before + self.attempts, self.bound)
        except EvalrunnerError as full:
            reservation.release()
            self.desk.halt.ask(full)
            raise Halted from None

    def wait(self, failure: CallFailed) -> float:
        return max(self.wait_s, failure.retry_after_s or 0.0)

    async def reserve(self) -> Reservation:
        try:
            return await self.desk.ledger.reserve_in_turn(self.request.model, self.bound)
        except BudgetExhausted as refused:
            after = f", after {self.last.message}" if self.last is not None else ""
            raise CallFailed("budget", f"the budget does not allow the call: {refused}{after}") from None

    def answered(self, reservation: Reservation, reply: CallReply, latency_s: float) -> CallReply:
        cost = reservation.settle(reply.usage)
        usage = reply.usage
        if not reported(usage):
            usage = Usage(
                calls=1,
                input_tokens=self.input_tokens,
                output_tokens=self.request.max_tokens,
                estimated=True,
            )
        self.told(usage, cost, reservation.amount)
        self.pay(cost)
        self.desk._tally.used(usage)
        self.gate.succeeded()
        made = self.before + self.attempts
        reply = replace(reply, usage=usage, cost_usd=self.cost, latency_s=latency_s, attempts=made)
        try:
            if self.desk.journal is not None:
                self.desk.journal.replied(self.request, self.fingerprint, reply, cost)
            if self.desk.cache is not None:
                self.desk.cache.put(self.request, self.fingerprint, replace(reply, cost_usd=cost))
        except EvalrunnerError as full:  # the reply is paid for: what is kept of it is the receipt
            self.desk.halt.ask(full)
        return reply

    def told(self, usage: Usage, cost: Decimal | None, bound: Decimal | None) -> None:
        """Says what is out of the ordinary about a bill."""
        model = self.request.model
        if usage.estimated:
            self.desk.note(f"{model} reports no usage; its calls are counted at their upper bound")
        elif cost is not None and bound is not None and cost > bound:
            self.desk.note(f"{model} billed {dollars(cost)} for a call bounded at {dollars(bound)}")

    def failed(self, reservation: Reservation, failure: CallFailed, sent_at: float) -> None:
        """Ends the reservation of an attempt that gave no reply, and settles how long to wait for another."""
        self.last = failure
        self.wait_s = self.desk.retry.wait_s(failure, self.attempts)
        if failure.kind == "rate_limited":
            self.desk.note(f"{self.request.model} is throttled by its provider and asked more slowly")
            if self.wait_s > self.desk.retry.patience_s:
                self.gate.refuse(failure.message, self.wait_s)
            else:
                self.gate.throttled(sent_at, self.wait_s)
        latency_s = monotonic() - sent_at
        if failure.billed:
            self.lost(reservation, failure.kind, failure.message, latency_s)
        else:
            reservation.release()
            self.keep_failed(failure.kind, failure.message, ZERO, latency_s)

    def lost(self, reservation: Reservation, kind: str, message: str | None, latency_s: float) -> None:
        """Pays for an attempt that may have been billed and gave nothing."""
        cost = reservation.forfeit()
        self.pay(cost)
        self.unanswered_bills = self.desk._tally.estimated = True
        self.keep_failed(kind, message, cost, latency_s)

    def keep_failed(self, kind: str, message: str | None, cost: Decimal | None, latency_s: float) -> None:
        if self.desk.journal is None:
            return
        attempts = self.before + self.attempts
        told = (kind, message)
        try:
            self.desk.journal.failed(
                self.request, self.fingerprint, told, cost, attempts=attempts, latency_s=latency_s
            )
        except EvalrunnerError as full:
            self.desk.halt.ask(full)

    def pay(self, cost: Decimal | None) -> None:
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.desk._tally.paid(cost)

    def final(self, failure: CallFailed) -> CallFailed:
        """The failure as the caller gets it: with the number of attempts and what they may have cost."""
        asked, patience = failure.retry_after_s, self.desk.retry.patience_s
        told = failure.message
        if asked is not None and asked > patience:
            told += f"; it asks to wait {asked:.0f} s, longer than {patience:g} s"
        if self.attempts > 1 and failure.kind not in {"budget", "interrupted"}:
            told += f" ({self.attempts} attempts)"
        final = CallFailed(failure.kind, told, retry_after_s=asked, billed=failure.billed)
        final.spend = Spend(usage=Usage(estimated=self.unanswered_bills), cost_usd=self.cost)
        return final
