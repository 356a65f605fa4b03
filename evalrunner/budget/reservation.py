"""Money set aside for one attempt of a call, and the bound that says how much."""

from collections.abc import Callable
from decimal import Decimal

from evalrunner.budget.pricing import ZERO, Price
from evalrunner.records import Usage

REQUEST_TOKENS = 512
"""Input tokens that a provider may add to a request: its instructions for structured replies, its marks."""

MESSAGE_TOKENS = 16
"""Input tokens that a provider may add to each message: marks of its start, its end and its role."""


def most_input_tokens(prompt_bytes: int, messages: int) -> int:
    """The most input tokens that a prompt of so many UTF-8 bytes in so many messages can be counted as."""
    return prompt_bytes + MESSAGE_TOKENS * messages + REQUEST_TOKENS


def reported(usage: Usage) -> bool:
    """Whether a provider reported the tokens: libraries show unreported ones as zeros."""
    return not usage.estimated and usage.input_tokens > 0 and usage.output_tokens >= 0


def dollars(amount: Decimal) -> str:
    """An amount for messages, with every digit that it has."""
    return f"${amount.normalize():f}"


class BudgetExhausted(Exception):  # noqa: N818 - it is an outcome of a reservation, not a programming error
    """What the cap leaves does not cover a reservation. `str()` gives the amounts."""


class HeldRun:
    """What a run of the subject holds under `unit: run`.

    Attributes:
        left: the part of its bound that its calls have not drawn.
        open: whether the run still goes on.
    """

    __slots__ = ("left", "open")

    def __init__(self, bound: Decimal) -> None:
        self.left = bound
        self.open = True


class Reservation:
    """Money set aside for one attempt. It ends in exactly one of its three ways.

    Attributes:
        bound: the most that the attempt can cost; None where no price is known.
        run: the run whose money it draws on, if any.
    """

    __slots__ = ("_done", "_ended", "_price", "bound", "run")

    def __init__(
        self,
        price: Price | None,
        bound: Decimal | None,
        run: HeldRun | None,
        ended: Callable[["Reservation", Decimal | None, bool, bool], None],
    ) -> None:
        self.bound = bound
        self.run = run
        self._price = price
        self._ended = ended
        self._done = False

    @property
    def amount(self) -> Decimal:
        """What is set aside, in US dollars; 0 where no price is known."""
        return self.bound if self.bound is not None else ZERO

    def settle(self, usage: Usage) -> Decimal | None:
        """The provider answered: pays for the tokens that it reported.

        Usage that it did not report (`estimated`, or no input tokens) is paid at the bound.

        Returns:
            The cost, or None where no price is known.
        """
        if not reported(usage):
            return self.forfeit()
        return self._end(None if self._price is None else self._price.cost(usage), billed=True)

    def forfeit(self) -> Decimal | None:
        """Nobody knows whether the attempt was billed (it timed out, it broke off): pays the bound.

        Returns:
            The cost, or None where no price is known.
        """
        return self._end(self.bound, billed=True, estimated=True)

    def release(self) -> None:
        """The attempt was certainly not billed (429, 5xx, connection refused): gives the money back."""
        self._end(None, billed=False)

    def _end(self, cost: Decimal | None, *, billed: bool, estimated: bool = False) -> Decimal | None:
        if self._done:
            raise RuntimeError("this reservation has already ended")
        self._done = True
        self._ended(self, cost, billed, estimated)
        return cost
