import json
from itertools import combinations
from pathlib import Path

import pytest

from evalrunner.config.jobs import Job, collect, keep, summarise, worst


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([], 0),
        ([0, 0], 0),
        ([0, 2], 2),
        ([2, 1, 0], 1),
        ([1, 3, 2], 3),
        ([3, 4, 1], 4),
        ([4, 130, 0], 130),
        ([0, 9], 4),
        ([0, -9], 4),
        ([1, 120], 4),
    ],
)
def test_the_worst_of_a_sweep(codes: list[int], code: int) -> None:
    assert worst(codes) == code


def test_the_order_is_total() -> None:
    order = (130, 4, 3, 1, 2, 0)
    assert all(worst([right, left]) == left for left, right in combinations(order, 2))


def job(folder: Path, number: int, code: int, **more: object) -> Job:
    folder.mkdir(parents=True, exist_ok=True)
    return Job(number, code, (f"x={number}",), str(folder), **more)  # type: ignore[arg-type]


def test_jobs_come_back_in_their_order(tmp_path: Path) -> None:
    jobs = [job(tmp_path / f"id.{number}", number, code) for number, code in enumerate([0, 1, 2, 0] * 3)]
    for each in reversed(jobs):
        keep(each)
    assert collect(tmp_path) == jobs
    assert not list(tmp_path.rglob("*.partial"))


def test_a_job_that_left_no_result_counts_as_a_crash(tmp_path: Path) -> None:
    keep(job(tmp_path / "id.0", 0, 0))
    begun = tmp_path / "id.1" / ".hydra"
    begun.mkdir(parents=True)
    (begun / "overrides.yaml").write_text("- x=1\n")
    torn = tmp_path / "id.2" / "result.json"
    torn.parent.mkdir()
    torn.write_text('{"number": 2')
    lost = collect(tmp_path, expected=4)
    assert [(each.number, each.code) for each in lost if each.code] == [(0, 4), (1, 4), (3, 4)]
    assert lost[2].overrides == ("x=1",) or lost[1].overrides == ("x=1",)
    assert worst(each.code for each in lost) == 4


def test_summaries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = tmp_path / "receipt.json"
    receipt.write_text(json.dumps({"verdict": "fail", "text": "é\n"}), encoding="utf-8")
    jobs = [job(tmp_path, 0, 1, receipt=str(receipt)), job(tmp_path, 1, 4, error="boom")]
    summarise(jobs, as_json=True)
    assert capsys.readouterr().out == '{"verdict":"fail","text":"é\\n"}\n'
    summarise(jobs, as_json=False)
    assert capsys.readouterr().out == f"0  exit 1  x=0  {receipt}\n1  exit 4  x=1\n"
