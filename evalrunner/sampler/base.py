"""What every sampler is."""

from typing import Protocol, runtime_checkable

from evalrunner.records import Selection


@runtime_checkable
class Sampler(Protocol):
    """Says which items are taken; the source carries it out, so that large files need not be loaded."""

    def plan(self) -> Selection:
        """The selection. A seed that has to be drawn is drawn here, once, and stands in the result."""
        ...
