"""Side by side: at most so many at a time, each made when its turn comes, results in order."""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from evalrunner.calls.side_by_side import side_by_side


class Work:
    """Coroutines that say how many are made, and under way."""

    def __init__(self) -> None:
        self.made = self.inside = self.peak = 0

    async def one(self, number: int, waits: int = 1) -> int:
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        for _ in range(waits):
            await asyncio.sleep(0)
        self.inside -= 1
        return number

    def all(self, count: int) -> Iterator[Coroutine[Any, Any, int]]:
        for number in range(count):
            self.made += 1
            yield self.one(number, waits=1 + number * 7 % 5)


@pytest.mark.parametrize("count", [0, 1, 3, 50])
@pytest.mark.parametrize("most", [1, 4, 100])
def test_results_come_in_order_and_never_more_than_most_are_under_way(count: int, most: int) -> None:
    work = Work()
    assert asyncio.run(side_by_side(work.all(count), most)) == list(range(count))
    assert work.peak <= most
    assert (work.made, work.inside) == (count, 0)


def test_what_has_not_begun_is_not_made() -> None:
    async def scene() -> None:
        work, gate = Work(), asyncio.Event()

        async def blocked(number: int) -> int:
            await gate.wait()
            return number

        def each() -> Iterator[Coroutine[Any, Any, int]]:
            for number in range(1000):
                work.made += 1
                yield blocked(number)

        task = asyncio.create_task(side_by_side(each(), 8))
        for _ in range(50):
            await asyncio.sleep(0)
        assert work.made == 8
        gate.set()
        assert await task == list(range(1000))

    asyncio.run(scene())


def test_the_first_is_under_way_before_the_last_is_made() -> None:
    seen: list[str] = []

    async def one(number: int) -> None:
        seen.append(f"begun {number}")
        await asyncio.sleep(0)

    def each() -> Iterator[Coroutine[Any, Any, None]]:
        for number in range(3):
            seen.append(f"made {number}")
            yield one(number)

    asyncio.run(side_by_side(each(), 3))
    assert seen.index("begun 0") < seen.index("made 2")


def test_a_failure_ends_the_others_and_no_more_are_made() -> None:
    ended: list[int] = []

    async def one(number: int) -> None:
        if number == 2:
            raise ZeroDivisionError
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    async def scene() -> None:
        made = 0

        def each() -> Iterator[Coroutine[Any, Any, None]]:
            nonlocal made
            for number in range(100):
                made += 1
                yield one(number)

        with pytest.raises(BaseExceptionGroup) as caught:
            await side_by_side(each(), 5)
        assert caught.group_contains(ZeroDivisionError)
        assert made <= 5

    asyncio.run(scene())
    assert set(ended) <= {0, 1, 3, 4}
    assert {0, 1} <= set(ended)
