"""Whatever becomes of reservations: within bounds, spent and reserved never pass the cap; nothing is lost."""

import asyncio
from decimal import Decimal
from threading import Thread

from hypothesis import given, settings
from hypothesis import strategies as st

from evalrunner.budget.budget import Budget, BudgetExhausted, Ledger, Reservation
from evalrunner.budget.pricing import Pricing
from evalrunner.records import Usage

PRICES = Pricing(
    source="a test",
    version="1",
    models={"openai/one": {"input_usd_per_mtok": 1000, "output_usd_per_mtok": 1000}},
)
ONE = "openai:one"
MILL = Decimal("0.001")

moves = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "forfeit", "release"]),
        st.integers(1, 500),
        st.integers(0, 10**6),
    ),
    max_size=60,
)


def holds(book: Ledger) -> None:
    block = book.block()
    assert block["spent_usd"] + block["reserved_usd"] <= block["cap_usd"]
    assert block["spent_usd"] >= 0
    assert block["reserved_usd"] >= 0
    assert block["overrun"] == 0


@given(st.integers(0, 2000), moves)
def test_the_sum_never_passes_the_cap(cap: int, script: list[tuple[str, int, int]]) -> None:
    book = Ledger(Budget(cap_usd=cap * MILL), PRICES)
    under_way: list[tuple[Reservation, int]] = []
    spent = Decimal(0)
    for move, size, pick in script:
        if move == "reserve":
            free = cap * MILL - spent - sum((r.amount for r, _ in under_way), Decimal(0))
            try:
                under_way.append((book.reserve(ONE, size * MILL), size))
                assert size * MILL <= free
            except BudgetExhausted:
                assert size * MILL > free
        elif under_way:
            reservation, bound = under_way.pop(pick % len(under_way))
            if move == "settle":
                bill = pick % bound + 1
                cost = reservation.settle(Usage(calls=1, input_tokens=bill))
                assert cost == bill * MILL
                spent += cost
            elif move == "forfeit":
                spent += reservation.forfeit() or 0
            else:
                reservation.release()
        holds(book)
        assert book.spent == spent
    for reservation, _ in under_way:
        reservation.release()
    assert book.block()["reserved_usd"] == 0


runs = st.lists(
    st.tuples(
        st.integers(1, 400),
        st.lists(
            st.tuples(
                st.integers(1, 200), st.sampled_from(["settle", "forfeit", "release"]), st.integers(0, 10**6)
            ),
            max_size=5,
        ),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60)
@given(st.integers(0, 1500), runs, st.sampled_from(["call", "run"]))
def test_the_sum_never_passes_the_cap_with_runs_side_by_side(
    cap: int, script: list[tuple[int, list[tuple[int, str, int]]]], unit: str
) -> None:
    async def scene() -> None:
        book = Ledger(Budget(cap_usd=cap * MILL, unit=unit), PRICES)

        async def call(bound: int, end: str, pick: int) -> None:
            try:
                reservation = await book.reserve_in_turn(ONE, bound * MILL)
            except BudgetExhausted:
                return
            holds(book)
            for _ in range(pick % 3):
                await asyncio.sleep(0)
            if end == "settle":
                reservation.settle(Usage(calls=1, input_tokens=pick % bound + 1))
            elif end == "forfeit":
                reservation.forfeit()
            else:
                reservation.release()
            holds(book)

        async def run(bound: int, calls: list[tuple[int, str, int]]) -> None:
            try:
                async with book.run(bound * MILL), asyncio.TaskGroup() as group:
                    for each in calls:
                        group.create_task(call(*each))
            except BudgetExhausted:
                pass
            holds(book)

        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            for bound, calls in script:
                group.create_task(run(bound, calls))
        assert book.block()["reserved_usd"] == 0

    asyncio.run(scene())


def test_threads_reserve_each_dollar_once() -> None:
    book = Ledger(Budget(cap_usd=100 * MILL), PRICES)
    taken: list[int] = []

    def work() -> None:
        for _ in range(50):
            try:
                book.reserve(ONE, MILL).settle(Usage(calls=1, input_tokens=1))
            except BudgetExhausted:
                continue
            taken.append(1)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 100
    assert book.spent == 100 * MILL
    assert book.block()["refused_calls"] == 100
