"""What the journal of an unfinished run tells: the calls that need not be paid for again, and their cost."""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from evalrunner.budget.pricing import ZERO
from evalrunner.calls.journal import VERSION
from evalrunner.calls.request import CallReply
from evalrunner.errors import InputError, Problem, show
from evalrunner.receipt.jsontext import fraction
from evalrunner.records import Spend, Usage


@dataclass
class Past:
    """What was done for one call.

    Attributes:
        attempts: how many were sent.
        cost_usd: what those without a reply may have cost; None where no price is known.
        unanswered: whether any of them may have been billed and gave nothing.
        reply: the reply, with what all attempts cost; None where there was none.
        reply_cost_usd, reply_bound_usd: of the answered attempt alone: its bill, and its bound.
    """

    attempts: int
    cost_usd: Decimal | None = ZERO
    unanswered: bool = False
    reply: CallReply | None = None
    reply_cost_usd: Decimal | None = None
    reply_bound_usd: Decimal | None = None


@dataclass(slots=True)
class _Call:
    """A call, without its reply: only where that stands in the file. There may be very many.

    `open` are the attempts of which nothing more is known than that they were sent: number and bound.
    """

    attempts: int = 0
    cost: Decimal | None = ZERO
    unanswered: bool = False
    open: tuple[tuple[int, Decimal | None], ...] = ()
    reply_at: int | None = None
    reply_bound: Decimal | None = None


class Earlier:
    """The calls in a journal, each to be taken once. Replies stay in the file until they are taken.

    An attempt that was sent and of which nothing more is known counts as billed at its bound: its provider
    may have answered after the process was killed.

    Attributes:
        spent_usd: what all of it cost; None when something without a known price was called.
        estimated_usd: the part of it that nobody has seen a bill for.
        overrun_usd: by how much bills passed their bounds.
        replies: how many calls have a reply.
        dropped: lines that could not be read, such as the torn last one of a process that was killed.

    Args:
        path: the journal; one that is not there holds nothing.

    Raises:
        InputError: it cannot be read, or a newer evalrunner wrote it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spent_usd: Decimal | None = ZERO
        self.estimated_usd = self.overrun_usd = ZERO
        self.replies = self.dropped = 0
        self._calls: dict[str, list[_Call]] = {}
        self._file: BinaryIO | None = None
        try:
            self._file = path.open("rb")
            self._read(self._file)
        except FileNotFoundError:
            pass
        except OSError as error:
            self.close()
            raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
        except InputError:
            self.close()
            raise
        for calls in self._calls.values():
            for call in calls:
                for _, bound in call.open:
                    self._lost(call, bound)

    def take(self, fingerprint: str) -> Past | None:
        """What was done for a call, which is forgotten then; None where nothing was."""
        calls = self._calls.get(fingerprint)
        if not calls:
            return None
        call = calls.pop(0)
        past = Past(call.attempts, call.cost, call.unanswered)
        if call.reply_at is not None:
            line = self._line(call.reply_at)
            past.reply_cost_usd, past.reply_bound_usd = _amount(line["cost_usd"]), call.reply_bound
            known = past.cost_usd is not None and past.reply_cost_usd is not None
            total = past.cost_usd + past.reply_cost_usd if known else None  # type: ignore[operator]
            past.reply = _reply(line, total)
        return past

    def untaken(self) -> Spend:
        """What the calls cost that were not taken: those that are not made any more."""
        left = [call for calls in self._calls.values() for call in calls]
        spend = Spend()
        for call in left:
            spend += Spend(usage=Usage(estimated=call.unanswered), cost_usd=call.cost)
            if call.reply_at is not None:
                line = self._line(call.reply_at)
                usage = Usage.model_validate(line["usage"])
                spend += Spend(usage=usage, cost_usd=_amount(line["cost_usd"]))
        return spend

    def close(self) -> None:
        """Closes the file; nothing can be taken then."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _line(self, at: int) -> dict[str, Any]:
        assert self._file is not None
        self._file.seek(at)
        return _parsed(self._file.readline())

    def _read(self, file: BinaryIO) -> None:
        at = 0
        for number, data in enumerate(file, start=1):
            try:
                line = _parsed(data)
                if line["v"] > VERSION:
                    what = "a newer evalrunner wrote it"
                    raise InputError(Problem(f"{self.path}:{number}", what, show(line["v"]), str(VERSION)))
                self._take_in(line, at)
            except (ValueError, KeyError, TypeError):
                self.dropped += bool(data.strip())
            at += len(data)

    def _take_in(self, line: dict[str, Any], at: int) -> None:
        calls = self._calls.setdefault(line["fingerprint"], [])
        if "sent" in line:
            bound = _amount(line["bound_usd"])
            if not calls or calls[-1].reply_at is not None:
                calls.append(_Call())
            calls[-1].open += ((line["sent"], bound),)
            calls[-1].attempts += 1
            return
        cost, number = _amount(line["cost_usd"]), line["attempts"]
        if line["ok"]:
            _reply(line, cost)  # refuses a line that could not be taken later, before anything counts it
        call = next((each for each in calls if number in dict(each.open)), None)
        if call is None:
            call = _Call(attempts=1)
            calls.append(call)
        bound = dict(call.open).get(number)
        call.open = tuple(each for each in call.open if each[0] != number)
        self._paid(cost, bound)
        if line["ok"]:
            call.reply_at, call.reply_bound = at, bound
            self.replies += 1
            if line["usage"]["estimated"] and cost is not None:
                self.estimated_usd += cost
        elif cost != 0:
            call.cost = _sum(call.cost, cost)
            call.unanswered = True
            self.estimated_usd += cost or ZERO

    def _lost(self, call: _Call, bound: Decimal | None) -> None:
        call.cost = _sum(call.cost, bound)
        call.unanswered = True
        self._paid(bound, bound)
        self.estimated_usd += bound or ZERO

    def _paid(self, cost: Decimal | None, bound: Decimal | None) -> None:
        self.spent_usd = _sum(self.spent_usd, cost)
        if cost is not None and bound is not None:
            self.overrun_usd += max(ZERO, cost - bound)


def _parsed(data: bytes) -> dict[str, Any]:
    line = json.loads(data, parse_float=fraction)
    if not isinstance(line, dict):
        raise TypeError("a line of the journal is an object")
    return line


def _amount(value: Any) -> Decimal | None:
    if value is None:
        return None
    try:
        amount = Decimal(value)
    except ArithmeticError:
        raise ValueError("no amount") from None
    if not amount.is_finite() or amount < 0:
        raise ValueError("no amount that anything can cost")
    return amount


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one + other


def _reply(line: dict[str, Any], cost: Decimal | None) -> CallReply:
    return CallReply(
        text=line["text"],
        finish_reason=line["finish_reason"],
        usage=Usage.model_validate(line["usage"]),
        answered_by=line["answered_by"],
        dropped=tuple(line["dropped"]),
        cost_usd=cost,
        latency_s=float(line["latency_s"]),
        attempts=line["attempts"],
        is_reused="saved_usd" in line,
        saved_usd=_amount(line.get("saved_usd")),
    )
