"""Sampled items: some in memory, many in a file, the same to whoever uses them."""

import json
import tempfile
from pathlib import Path

import pytest

from evalrunner.errors import SourceFailedError
from evalrunner.records import Item, Selection
from evalrunner.source import shelf
from evalrunner.source.file import FileSource
from evalrunner.source.shelf import HELD, Shelf


def item(number: int) -> Item:
    return Item(
        id=f"i{number}",
        content_sha=f"{number:064x}",
        payload={"n": number, "text": "ü\ud800\n\0", "deep": [{"weight": 0.25}]},
        truth={"label": None},
        groups={"kind": "odd" if number % 2 else "even"},
        text=f"text {number}",
    )


def test_few_items_are_a_list() -> None:
    few = Shelf()
    assert [few.put(item(number)) for number in range(3)] == [0, 1, 2]
    assert few.ordered() == [item(0), item(1), item(2)]
    assert few.ordered([2, 0]) == [item(2), item(0)]
    assert Shelf().ordered() == []


def test_many_items_come_back_as_they_were_put_in_any_order_and_more_than_once() -> None:
    many, count = Shelf(), HELD + 30
    for number in range(count):
        assert many.put(item(number)) == number
    backwards = many.ordered(reversed(range(count)))
    many.put(item(count))
    assert len(many) == count + 1
    assert len(backwards) == count
    for _ in range(2):
        assert list(backwards) == [item(number) for number in reversed(range(count))]
    assert backwards[0] == item(count - 1)
    assert backwards[-1] == item(0)
    assert backwards[1:4] == [item(count - 2), item(count - 3), item(count - 4)]
    assert backwards[count:] == []
    assert many.ordered([0, count])[1].id == f"i{count}"
    with pytest.raises(IndexError):
        backwards[count]


def test_a_large_sample_of_a_file_is_in_the_order_of_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"id": f"t{number}", "page_slug": "p", "page_text": "A page.", "claim": "A.", "kind": "fact",
         "holder": "world", "weight": 0.5, "since_date": "2026-01", "source": "s"}
        for number in range(300)
    ]  # fmt: skip
    path = tmp_path / "takes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    wanted = Selection(order="sha256", sampler="random", seed=3, limit=200)
    small = FileSource(path=path).take(wanted)
    monkeypatch.setattr(shelf, "HELD", 7)
    large = FileSource(path=path).take(wanted)
    assert isinstance(small, list)
    assert not isinstance(large, list)
    assert list(large) == small


def test_a_full_temporary_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "HELD", 0)
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null")
    with pytest.raises(SourceFailedError, match="/dev/null: cannot take the sampled items: Not a directory"):
        Shelf().put(item(1))
