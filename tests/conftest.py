"""What holds for every test."""

import logging
import os
from collections.abc import Iterator

import pytest

# pytest's parallel workers are given a width; what is compared line by line has the width of no terminal.
os.environ.pop("COLUMNS", None)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Hydra sets up logging for a process; a command that ran inside a test leaves its handlers behind."""
    root = logging.getLogger()
    before = list(root.handlers)
    yield
    for handler in [each for each in root.handlers if each not in before]:
        root.removeHandler(handler)
        handler.close()
