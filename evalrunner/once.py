"""What is worked out of an object once, for as long as it is the same object."""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST = 64


class Once(Generic[K, V]):
    """A function of objects that nobody changes, such as a rubric or a schema: remembers its last results.

    Objects are told apart by identity, so that they need not be hashable, nor be compared.
    """

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make
        self._made: dict[int, tuple[K, V]] = {}

    def __call__(self, thing: K) -> V:
        """The result for this object, made at most once while it is remembered."""
        found = self._made.get(id(thing))
        if found is not None:  # it is kept alive here, so that no other object has its identity
            return found[1]
        made = self._make(thing)
        if len(self._made) >= MOST:
            self._made.clear()
        self._made[id(thing)] = (thing, made)
        return made
