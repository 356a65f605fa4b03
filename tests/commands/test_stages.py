"""select | produce | judge gives the receipt that run gives; each stage can be repeated from a file."""

import json
from pathlib import Path
from typing import Any

from program import inside as evalrunner

OF_ONE_ATTEMPT = {"ts", "run_id"}


def settled(receipt: dict[str, Any]) -> dict[str, Any]:
    """A receipt without what differs between attempts."""
    return {name: value for name, value in receipt.items() if name not in OF_ONE_ATTEMPT}


def test_the_pipe_and_run_give_the_same_receipt(tmp_path: Path) -> None:
    words = ["--limit", "12", "--seed", "5", "--slug-prefix", "companies/"]
    whole = evalrunner(tmp_path, "run", *words, "--json")
    selected = evalrunner(tmp_path, "select", *words)
    assert selected.code == 0, selected.err
    produced = evalrunner(tmp_path, "produce", stdin=selected.out)
    assert produced.code == 0, produced.err
    judged = evalrunner(tmp_path, "judge", "--json", stdin=produced.out)
    assert judged.code == whole.code, judged.err
    assert settled(judged.json) == settled(whole.json)
    assert judged.json["sampler"] == {"name": "random", "seed": 5, "limit": 12, "stratify": None}


def test_a_stage_can_be_repeated_from_a_file(tmp_path: Path) -> None:
    evalrunner(tmp_path, "select", "--limit", "4", "--out", "items.jsonl")
    first = evalrunner(tmp_path, "judge", "--input", "items.jsonl", "--json")
    second = evalrunner(tmp_path, "judge", "--input", "items.jsonl", "--json")
    assert settled(first.json) == settled(second.json)
    assert first.json["corpus"]["n_takes"] == 4


def test_records_of_another_program_are_taken_and_what_they_do_not_tell_is_null(tmp_path: Path) -> None:
    evalrunner(tmp_path, "select", "--limit", "3", "--out", "items.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    foreign = "".join(
        json.dumps({name: value for name, value in line.items() if name != "via"}) + "\n" for line in lines
    )
    done = evalrunner(tmp_path, "judge", "--json", stdin=foreign)
    assert done.code in {0, 1}
    assert done.json["corpus"]["source"] is None
    assert "sampler" not in done.json


def test_disagreeing_lines_are_refused_by_number(tmp_path: Path) -> None:
    one = evalrunner(tmp_path, "select", "sampler=all", "--limit", "1").out
    two = evalrunner(tmp_path, "select", "sampler=all", "--limit", "2").out.splitlines()[1]
    done = evalrunner(tmp_path, "judge", stdin=one + two + "\n")
    assert done.code == 3
    assert "stdin:2" in done.err


def test_a_broken_line_is_refused_by_number(tmp_path: Path) -> None:
    done = evalrunner(tmp_path, "judge", stdin='{"id": "x", "payload": {}}\nnot json\n')
    assert done.code == 3
    assert "stdin:2" in done.err


def test_an_empty_pipe_is_inconclusive(tmp_path: Path) -> None:
    assert evalrunner(tmp_path, "judge", stdin="").code == 2
