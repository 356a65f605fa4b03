"""The ledger: bounds, reservations and their three ends, runs, and what the receipt says of it."""

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from evalrunner.budget.budget import Budget, BudgetExhausted, Ledger
from evalrunner.budget.pricing import Pricing
from evalrunner.budget.reservation import MESSAGE_TOKENS, REQUEST_TOKENS
from evalrunner.errors import EXIT_USAGE, PricingNotFoundError
from evalrunner.paths import data_root
from evalrunner.records import Usage

PRICES = Pricing(
    source="a test",
    version="1",
    models={
        "openai/one": {"input_usd_per_mtok": 1000000, "output_usd_per_mtok": 1000000},  # a dollar a token
        "gemini/gemini-2.5-pro": {"input_usd_per_mtok": 1.25, "output_usd_per_mtok": 10},
        "local": {"free": True},
    },
)
ONE = "openai:one"


def ledger(cap: float | None = None, **budget: Any) -> Ledger:
    return Ledger(Budget(cap_usd=cap, **budget), PRICES)


def tokens(count: int) -> Usage:
    return Usage(calls=1, input_tokens=count, output_tokens=0)


def shows(book: Ledger, **expected: object) -> None:
    block = book.block()
    assert {key: block[key] for key in expected} == expected


def test_a_bound_counts_bytes_messages_and_the_longest_reply() -> None:
    bound = ledger().bound(ONE, 1000, 3, 500)
    assert bound == 1000 + 3 * MESSAGE_TOKENS + REQUEST_TOKENS + 500
    assert ledger().bound("local", 1000, 3, 500) == 0
    assert ledger().bound("who:knows", 1000, 3, 500) is None


def test_a_settled_reservation_costs_the_bill() -> None:
    book = ledger(10)
    reservation = book.reserve(ONE, Decimal(6))
    shows(book, reserved_usd=6, spent_usd=0)
    assert reservation.settle(tokens(2)) == 2
    assert book.spent == 2
    assert (
        book.block() | {"reserved_usd": 0, "spent_usd": 2, "overrun": 0, "estimated_usd": 0} == book.block()
    )


def test_a_released_reservation_costs_nothing() -> None:
    book = ledger(10)
    book.reserve(ONE, Decimal(10)).release()
    assert book.spent == 0
    book.reserve(ONE, Decimal(10)).release()


def test_a_forfeited_reservation_costs_its_bound() -> None:
    book = ledger(10)
    assert book.reserve(ONE, Decimal(6)).forfeit() == 6
    shows(book, spent_usd=6, estimated_usd=6, reserved_usd=0)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(calls=1, estimated=True),
        Usage(calls=1),
        Usage(calls=1, input_tokens=3, estimated=True),
        Usage(calls=1, output_tokens=3),
        Usage(calls=1, input_tokens=3, output_tokens=-5),
    ],
)
def test_a_reply_without_usage_costs_its_bound(usage: Usage) -> None:
    book = ledger(10)
    assert book.reserve(ONE, Decimal(6)).settle(usage) == 6
    assert book.block()["estimated_usd"] == 6


def test_a_bill_above_the_bound_is_paid_and_stands_apart() -> None:
    book = ledger(10)
    assert book.reserve(ONE, Decimal(6)).settle(tokens(11)) == 11
    shows(book, spent_usd=11, overrun=5, reserved_usd=0)
    with pytest.raises(BudgetExhausted):
        book.reserve(ONE, Decimal(1))
    book.reserve("local", Decimal(0)).release()


def test_a_reservation_ends_once() -> None:
    reservation = ledger(10).reserve(ONE, Decimal(6))
    reservation.release()
    with pytest.raises(RuntimeError, match="already ended"):
        reservation.forfeit()


def test_the_cap_is_reached_exactly_and_not_passed() -> None:
    book = ledger(0.3)
    for _ in range(3):
        book.reserve(ONE, Decimal("0.1"))
    with pytest.raises(
        BudgetExhausted, match=r"openai:one may cost up to \$0\.000001; \$0 of the cap of \$0\.3"
    ):
        book.reserve(ONE, Decimal("0.000001"))
    assert book.block()["refused_calls"] == 1


def test_a_cap_of_zero_lets_free_models_speak() -> None:
    book = ledger(0)
    book.reserve("local", book.bound("local", 1000, 1, 100)).settle(tokens(9))
    assert book.spent == 0
    with pytest.raises(BudgetExhausted):
        book.reserve(ONE, Decimal(1))


def test_without_a_cap_nothing_is_refused_and_everything_is_counted() -> None:
    book = ledger()
    book.reserve(ONE, Decimal(10**9)).settle(tokens(3))
    book.reserve("who:knows", None).settle(tokens(3))
    assert book.spent is None
    block = book.block()
    assert block["cap_usd"] is None
    assert block["spent_usd"] is None
    assert block["enforced"] is False


def test_all_unpriced_models_are_refused_at_once_with_the_nearest_priced() -> None:
    book = ledger(1)
    with pytest.raises(PricingNotFoundError) as caught:
        book.check([ONE, "google:gemini-1.5-pro", "who:knows", "google:gemini-1.5-pro", "local"])
    assert [problem.where for problem in caught.value.problems] == ["google:gemini-1.5-pro", "who:knows"]
    assert caught.value.problems[0].nearest == "gemini/gemini-2.5-pro"
    assert "budget.unpriced=report" in str(caught.value)
    assert caught.value.exit_code == EXIT_USAGE


def test_unpriced_models_pass_without_a_cap_or_when_they_are_only_reported() -> None:
    ledger().check(["who:knows"])
    book = ledger(1, unpriced="report")
    book.check(["who:knows", ONE])
    shows(book, enforced=False, unknown_models=["who:knows"], spent_usd=0)
    assert book.reserve("who:knows", None).settle(tokens(5)) is None
    assert book.spent is None
    with pytest.raises(BudgetExhausted):
        book.reserve(ONE, Decimal(2))


def test_an_unpriced_call_that_was_not_billed_leaves_the_sum_known() -> None:
    book = ledger(1, unpriced="report")
    book.reserve("who:knows", None).release()
    assert book.spent == 0


def test_an_unpriced_model_that_nobody_checked_is_refused_under_a_cap() -> None:
    with pytest.raises(BudgetExhausted, match="who:knows has no known price"):
        ledger(1).reserve("who:knows", None)


def test_enforced_needs_a_cap_and_only_known_prices() -> None:
    book = ledger(1)
    book.check([ONE, "local"])
    assert book.block()["enforced"] is True


@dataclass(frozen=True)
class Planned:
    model: str
    prompt_bytes: int = 100
    messages: int = 1
    max_tokens: int = 10


def test_a_projection_is_the_sum_of_bounds() -> None:
    each = 100 + MESSAGE_TOKENS + REQUEST_TOKENS + 10
    assert ledger().project([Planned(ONE), Planned(ONE), Planned("local")]) == 2 * each
    assert ledger().project([Planned(ONE), Planned("who:knows")]) is None
    assert ledger().project([]) == 0


def test_a_run_holds_its_worst_case_and_its_calls_draw_on_it() -> None:
    async def scene() -> None:
        book = ledger(10, unit="run")
        async with book.run(Decimal(8)):
            assert book.block()["reserved_usd"] == 8
            first = book.reserve(ONE, Decimal(5))
            assert book.block()["reserved_usd"] == 8
            first.settle(tokens(1))
            shows(book, reserved_usd=3, spent_usd=1)
            again = book.reserve(ONE, Decimal(3))
            again.release()
            assert book.block()["reserved_usd"] == 3, "the run keeps what was not billed, for the retry"
        shows(book, reserved_usd=0, spent_usd=1)

    asyncio.run(scene())


def test_a_run_that_does_not_fit_is_refused_before_it_starts() -> None:
    async def scene() -> None:
        book = ledger(10, unit="run")
        with pytest.raises(BudgetExhausted, match="the run may cost up to"):
            async with book.run(Decimal(11)):
                raise AssertionError("it started")
        shows(book, reserved_usd=0, refused_calls=1)

    asyncio.run(scene())


def test_what_a_run_needs_beyond_its_bound_comes_out_of_what_is_left() -> None:
    async def scene() -> None:
        book = ledger(10, unit="run")
        async with book.run(Decimal(4)):
            book.reserve(ONE, Decimal(4)).forfeit()
            book.reserve(ONE, Decimal(4)).forfeit()
            with pytest.raises(BudgetExhausted):
                book.reserve(ONE, Decimal(4))
        shows(book, reserved_usd=0, spent_usd=8)

    asyncio.run(scene())


def test_runs_side_by_side_draw_each_on_its_own_and_wait_for_room() -> None:
    async def scene() -> None:
        book = ledger(10, unit="run")
        peak = Decimal(0)

        async def call() -> None:
            nonlocal peak
            reservation = await book.reserve_in_turn(ONE, Decimal(2))
            peak = max(peak, book.block()["spent_usd"] + book.block()["reserved_usd"])
            await asyncio.sleep(0)
            reservation.settle(tokens(1))

        async def run() -> None:
            async with book.run(Decimal(4)), asyncio.TaskGroup() as group:
                group.create_task(call())
                group.create_task(call())

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(run())
        assert peak <= 10
        shows(book, spent_usd=8, reserved_usd=0, refused_calls=0)

    asyncio.run(scene())


def test_with_the_unit_call_a_run_holds_nothing() -> None:
    async def scene() -> None:
        book = ledger(10)
        async with book.run(Decimal(100)):
            assert book.block()["reserved_usd"] == 0

    asyncio.run(scene())


def test_a_call_waits_for_money_that_calls_under_way_may_give_back() -> None:
    async def scene() -> None:
        book = ledger(10)
        first = book.reserve(ONE, Decimal(8))
        second = asyncio.create_task(book.reserve_in_turn(ONE, Decimal(8)))
        for _ in range(3):
            await asyncio.sleep(0)
        assert not second.done()
        first.settle(tokens(1))
        (await second).settle(tokens(1))
        shows(book, spent_usd=2, refused_calls=0)

    asyncio.run(scene())


def test_a_call_does_not_wait_for_money_that_cannot_come() -> None:
    async def scene() -> None:
        book = ledger(10)
        book.reserve(ONE, Decimal(3)).settle(tokens(3))
        book.reserve(ONE, Decimal(2))
        with pytest.raises(BudgetExhausted):
            await book.reserve_in_turn(ONE, Decimal(8))
        first = book.reserve(ONE, Decimal(5))
        second = asyncio.create_task(book.reserve_in_turn(ONE, Decimal(7)))
        await asyncio.sleep(0)
        first.settle(tokens(1))
        with pytest.raises(BudgetExhausted):
            await second

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("cap", "says"),
    [
        (-1, "greater than or equal to 0"),
        (float("nan"), "NaN|finite"),
        (float("inf"), "finite"),
        (True, "not true or false"),
        ("2", "Decimal"),
    ],
)
def test_wrong_caps_are_refused(cap: object, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Budget(cap_usd=cap)


@pytest.mark.parametrize(
    ("name", "unpriced", "unit"), [("default", "refuse", "call"), ("report", "report", "run")]
)
def test_the_packaged_options(name: str, unpriced: str, unit: str) -> None:
    path = data_root() / "conf" / "budget" / f"{name}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content.pop("_target_") == f"{Budget.__module__}.{Budget.__qualname__}"
    budget = Budget(**content)
    assert (budget.cap_usd, budget.unpriced, budget.unit) == (None, unpriced, unit)
