"""A folder for temporary files of a test's own, so that it can say what was left in it.

from own_scratch import own_scratch  # noqa: F401 - an autouse fixture
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalrunner.git import scratch


@pytest.fixture(autouse=True)
def own_scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder; scratch folders of earlier tests are given up."""
    folder = tmp_path_factory.mktemp("own")
    _forget()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    _forget()


def _forget() -> None:
    while scratch._own:
        scratch._own.pop().remove()
