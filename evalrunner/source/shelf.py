"""Where items lie until they are asked for: some in memory, and a large sample in a temporary file."""

import pickle
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from sys import intern
from typing import IO, overload

from evalrunner.errors import Problem, SourceFailedError
from evalrunner.records import Item

HELD = 2000
"""So many items stay in memory; reading them from a file would cost more than it saves."""


class Shelf:
    """Takes items one by one, and hands them out in any order.

    The file has no name that another program could open, and is gone when nobody needs it.

    Raises:
        SourceFailedError: by `put`, when the temporary folder takes no more.
    """

    def __init__(self) -> None:
        self._held: list[Item] = []
        self._places = array("Q")
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return len(self._held) + len(self._places)

    def put(self, item: Item) -> int:
        """Keeps an item, and returns its position."""
        if len(self._held) < HELD:
            self._held.append(item)
            return len(self._held) - 1
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the shelf is forgotten
                weakref.finalize(self, self._file.close)
            self._places.append(self._file.tell())
            pickle.dump(vars(item), self._file, pickle.HIGHEST_PROTOCOL)
        except OSError as error:
            what = f"cannot take the sampled items: {error.strerror or error}"
            raise SourceFailedError(Problem(tempfile.gettempdir(), what)) from None
        return len(self) - 1

    def get(self, position: int) -> Item:
        """The item at a position."""
        if position < HELD:
            return self._held[position]
        assert self._file is not None
        end = self._file.seek(0, 2)
        self._file.seek(self._places[position - HELD])
        values = pickle.load(self._file)
        item = Item.model_construct(**{**values, "id": intern(values["id"])})
        self._file.seek(end)
        return item

    def ordered(self, positions: Iterable[int] | None = None) -> Sequence[Item]:
        """The items at these positions, or all: a list where they fit, else one that reads as it is used."""
        order = array("Q", range(len(self)) if positions is None else positions)
        if self._file is None:
            return [self._held[position] for position in order]
        return _Shelved(self, order)


class _Shelved(Sequence[Item]):
    """Items of a shelf in an order of their own."""

    def __init__(self, shelf: Shelf, order: "array[int]") -> None:
        self._shelf = shelf
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return [self._shelf.get(position) for position in self._order[index]]
        return self._shelf.get(self._order[index])

    def __iter__(self) -> Iterator[Item]:
        return map(self._shelf.get, self._order)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_same, self, other))

    __hash__ = None  # type: ignore[assignment]


def _same(one: object, other: object) -> bool:
    return one == other
