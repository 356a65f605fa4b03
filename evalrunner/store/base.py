"""What every store is, and what it says of an attempt given to it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from evalrunner.store.attempt import Attempt
from evalrunner.store.reader import Reader

Note = Callable[[str], None]
"""Shows one line to the user on stderr."""


@dataclass(frozen=True)
class Put:
    """What became of an attempt that was given to a store.

    Attributes:
        kept: `stored`; `pending`: safe on disk, and taken in by the next command; `nowhere`: the store keeps
            nothing.
        warnings: one line each, for the user.
    """

    kept: Literal["stored", "pending", "nowhere"]
    warnings: tuple[str, ...] = ()


@runtime_checkable
class Store(Protocol):
    """Keeps attempts, and answers what was kept."""

    def stage(self, attempt: Attempt) -> None:
        """Writes an attempt down where the next command finds it, whatever becomes of this process.

        Raises:
            InputError: its receipt is none.
            ReceiptNotKeptError: it could not be written.
        """
        ...

    def put(self, attempt: Attempt) -> Put:
        """Keeps an attempt, once, however often it is given.

        Raises:
            InputError: its receipt is none.
            ReceiptNotKeptError: it could not be written down at all.
            StoreError: it is written down, but the store cannot take it in; names what has to be mended.
        """
        ...

    def reading(self, note: Note) -> AbstractContextManager[Reader]:
        """Opens the store for questions. Writers wait for as long as it is open, so keep it short.

        Args:
            note: is told what waits, what was taken in, and what was set aside.

        Raises:
            StoreError: the store cannot be read.
        """
        ...
