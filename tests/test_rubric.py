"""Rubric files: read strictly, and what is wrong is told with its place."""

from pathlib import Path

import pytest

from evalrunner.errors import InputError
from evalrunner.rubric import read_rubric

WHOLE = """\
version: v1
scale: {min: 1, max: 10}
dimensions:
  - {id: wit, question: Is it witty}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max: 10", f"max: {'9' * 5000}", "a whole number has 5000 digits; at most 1000 are read"),
        ("max: 10", f"max: 0x{'f' * 5000}", "a whole number has 5002 digits; at most 1000 are read"),
        ("v1", "2026-13-45", "cannot be read as YAML: month must be in 1..12"),
        ("v1", "v1\nversion: v2", "key 'version' is written twice"),
        ("{min: 1, max: 10}", "{min: 1", "cannot be read as YAML"),
        ("v1", "\udcff", "cannot be read as YAML"),
        ("max: 10", "max: 1", "scale.min must be below scale.max"),
        ("max: 10", "max: .inf", "scale.max"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_file(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(WHOLE.replace(old, new).encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_rubric(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_whole_numbers_are_read_however_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(WHOLE.replace("max: 10", "max: 0x1_0"))
    assert read_rubric(path).allows(read_rubric(path).scale.max)  # type: ignore[union-attr]
    assert int(read_rubric(path).scale.max) == 16  # type: ignore[union-attr]
