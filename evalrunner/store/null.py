"""The store that keeps nothing, for throwaway runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from evalrunner.component import Component
from evalrunner.store.attempt import Attempt
from evalrunner.store.base import Note, Put
from evalrunner.store.reader import Reader


class NullStore(Component):
    """Keeps nothing: an attempt stays in its run folder alone, and no trend shows it."""

    def stage(self, attempt: Attempt) -> None:
        """Does nothing."""

    def put(self, attempt: Attempt) -> Put:
        """Does nothing."""
        return Put("nowhere")

    @contextmanager
    def reading(self, note: Note) -> Iterator[Reader]:
        """A store without runs."""
        yield Reader(None)
