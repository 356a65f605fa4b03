"""Files of takes and cases that were garbled: items, or one error of ours with a place for every problem."""

import json
from pathlib import Path
from typing import Any

from hard_kit import ODD, broken, came_of, garbled, tries
from hypothesis import given
from hypothesis import strategies as st

from evalrunner.errors import InputError, SourceFailedError
from evalrunner.paths import demo
from evalrunner.records import Selection
from evalrunner.source.cases import batch_item, case_item
from evalrunner.source.file import FileSource
from evalrunner.source.jsontext import read_object
from evalrunner.source.rows import RowRefused
from evalrunner.source.takes import take_item

ALL = Selection(order="source", sampler="all", seed=None, limit=None)
TAKES = [json.loads(line) for line in demo("takes.jsonl").read_text().splitlines()[:2]]
CASES = [json.loads(demo("review_cases.jsonl").read_text().splitlines()[0])]
BATCHES = [json.loads(demo("judge_cases.jsonl").read_text().splitlines()[0])]
READERS = [(TAKES, take_item), (CASES, case_item), (BATCHES, batch_item)]
RAW = ("set_int_max_str_digits", "Input should", "Decimal(", "pydantic", "instance of", "Traceback")


def lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def readable(problems: Any) -> None:
    for problem in problems:
        assert problem.what
        assert not any(raw in str(problem) for raw in RAW), str(problem)
        assert "\n" not in str(problem)
        assert len(str(problem)) < 2000


def told(path: Path, rows: str) -> None:
    """Reads a file as the program does."""
    source = FileSource(path=str(path), rows=rows)
    items, refused = came_of(lambda: source.take(ALL), (InputError, SourceFailedError))
    if refused is not None:
        readable(refused.problems)
        assert all(str(path) in problem.where for problem in refused.problems)
        return
    assert len({item.id for item in items}) == len(items)


@given(st.sampled_from(READERS).flatmap(lambda each: st.tuples(broken(each[0][0]), st.just(each[1]))))
@tries(250)
def test_a_row_with_other_values_is_an_item_or_is_refused(given_row: Any) -> None:
    row, read = given_row
    try:
        value = read_object(json.dumps(row))
        item = read(value)
        (item.text or "").encode()
    except RowRefused as refused:
        readable(refused.problems)
        return
    json.dumps(item.payload, default=str).encode()


@given(st.dictionaries(st.text(max_size=9) | st.sampled_from(sorted(TAKES[0])), ODD, max_size=9))
@tries(60)
def test_any_object_is_an_item_or_is_refused(row: Any) -> None:
    for _, read in READERS:
        try:
            read(read_object(json.dumps(row)))
        except RowRefused as refused:
            readable(refused.problems)


@given(st.data())
@tries(25)
def test_garbled_files_give_items_or_places(tmp_path: Path, data: st.DataObject) -> None:
    rows, kind = data.draw(
        st.sampled_from([(TAKES, "takes"), (CASES, "review_cases"), (BATCHES, "judge_cases")])
    )
    path = tmp_path / data.draw(st.sampled_from(["f.jsonl", "f.csv", "f.parquet"]))
    path.write_bytes(data.draw(garbled(lines(rows)) | st.binary(max_size=60)))
    told(path, kind)
