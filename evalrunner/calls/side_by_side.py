"""Much work, some of it at a time: what has not begun takes no memory."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def side_by_side(work: Iterable[Coroutine[Any, Any, T]], most: int) -> list[T]:
    """Awaits coroutines, at most so many at a time, each made when its turn comes.

    They begin one after another, so that the first is under way before the last is made.

    Args:
        work: makes the coroutines.
        most: at least 1.

    Returns:
        Their results, in the order of `work`.

    Raises:
        BaseExceptionGroup: with what one of them raised; those under way are cancelled, and no more are made.
    """
    waiting = enumerate(work)
    results: dict[int, T] = {}
    all_begun = False

    async def worker() -> None:
        nonlocal all_begun
        for place, each in waiting:
            results[place] = await each
        all_begun = True

    async with asyncio.TaskGroup() as group:
        for _ in range(most):
            if all_begun:
                break
            group.create_task(worker())
            await asyncio.sleep(0)
    return [results[place] for place in range(len(results))]
