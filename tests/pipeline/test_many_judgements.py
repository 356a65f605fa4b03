"""A run of very many judgements: they lie beside the receipt, and nothing that shows them misses any."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from program import inside as evalrunner

from evalrunner.receipt.rows import FILE, MOST_INSIDE

ITEMS, CYCLES = 20, 26
MANY = [
    "judge.chunk_size=1",
    f"--limit={ITEMS}",
    f"--cycles={CYCLES}",
    "cycles.stop=never",
]


def newest(folder: Path) -> Path:
    return max((folder / "outputs" / "run").iterdir())


def receipt_of(run: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((run / "receipt.json").read_text(encoding="utf-8"))
    return told


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run with 520 judgements, then one with 500."""
    assert ITEMS * CYCLES > MOST_INSIDE == ITEMS * (CYCLES - 1)
    folder = tmp_path_factory.mktemp("many")
    assert evalrunner(folder, "run", *MANY).code == 0
    assert evalrunner(folder, "run", *MANY, f"--cycles={CYCLES - 1}").code == 0
    return folder


@pytest.fixture(scope="module")
def many(folder: Path) -> Path:
    return min((folder / "outputs" / "run").iterdir())


def test_they_lie_beside_the_receipt_which_says_so(many: Path) -> None:
    told, data = receipt_of(many), (many / FILE).read_bytes()
    assert "judgements" not in told
    assert told["judgements_file"] == {
        "file": FILE,
        "rows": ITEMS * CYCLES,
        "sha256": sha256(data).hexdigest(),
    }
    rows = [json.loads(line) for line in data.splitlines()]
    assert [(row["cycle"], row["chunk"]) for row in rows] == [
        (cycle, chunk) for cycle in range(1, CYCLES + 1) for chunk in range(1, ITEMS + 1)
    ]
    assert {len(row["values"]) for row in rows} == {5}


def test_as_many_as_fit_stand_in_it(folder: Path) -> None:
    told = receipt_of(newest(folder))
    assert len(told["judgements"]) == MOST_INSIDE
    assert "judgements_file" not in told
    assert not (newest(folder) / FILE).exists()


def test_both_say_the_same_of_items(folder: Path, many: Path) -> None:
    few = receipt_of(newest(folder))["judgements"]
    lines = (many / FILE).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines[: len(few)]] == few
    for name in (str(many), str(many / "receipt.json"), many.name, "1"):
        shown = evalrunner(folder, "show", name)
        assert shown.code == 0
        assert "Lowest items" in shown.out
        assert shown.err == ""
    one = evalrunner(folder, "show", "1", "--item", few[0]["item_ids"][0]).out
    assert f"rules-v1, cycle {CYCLES}: accuracy" in one
    explained = evalrunner(folder, "explain", "1", "2")
    assert (explained.code, explained.err) == (0, "")
    assert "nothing: the same corpus" in explained.out


def test_the_store_has_every_score_and_takes_the_run_in_elsewhere(folder: Path, many: Path) -> None:
    export = ["store", "export", "all.csv", "--table", "scores"]
    assert evalrunner(folder, *export).code == 0
    own = [line for line in (folder / "all.csv").read_text().splitlines() if many.name in line]
    assert len(own) == ITEMS * CYCLES * 5
    elsewhere = folder / "elsewhere"
    shutil.copytree(many, elsewhere / "runs" / many.name)
    assert evalrunner(elsewhere, "store", "import", "runs").code == 0
    assert evalrunner(elsewhere, *export).code == 0

    def scores(lines: list[str]) -> list[str]:
        return sorted(line.rpartition(",")[0] for line in lines)

    assert scores((elsewhere / "all.csv").read_text().splitlines()[1:]) == scores(own)


@pytest.mark.parametrize("spoilt", ["gone", "other"])
def test_a_file_that_is_not_the_receipts_is_said_and_never_shown(
    folder: Path, many: Path, tmp_path: Path, spoilt: str
) -> None:
    run = tmp_path / many.name
    shutil.copytree(many, run)
    if spoilt == "gone":
        (run / FILE).unlink()
    else:
        data = (run / FILE).read_bytes()
        (run / FILE).write_bytes(data.replace(b'"values": {"accuracy": ', b'"values": {"accuracy": 1', 1))
    reason = "no such file" if spoilt == "gone" else "is not the file that the receipt was made with"
    shown = evalrunner(tmp_path, "show", str(run))
    assert shown.code == 0
    assert f"what was said of single items is not shown: {run / FILE}: {reason}" in shown.err
    assert "Lowest items" not in shown.out
    taken = evalrunner(tmp_path, "store", "import", str(run))
    assert taken.code == 3
    assert reason in taken.err


def test_a_baseline_holds_them_and_a_comment_lists_items(folder: Path, many: Path) -> None:
    saved = evalrunner(folder, "baseline", "save", "many", "--from", many.name)
    assert (saved.code, "single items" in saved.err) == (0, False)
    rows = (folder / "conf" / "baseline" / "many.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == ITEMS * CYCLES
    comment = ["reporter=[terminal,pr_comment]", "reporter.pr_comment.path=comment.md"]
    done = evalrunner(folder, "regress", "baseline=many", *comment)
    assert (done.code, "not shown" in done.err) == (0, False)
    assert "No item changed." in (folder / "comment.md").read_text(encoding="utf-8")
    assert evalrunner(folder, "run", *MANY, *comment).code == 0
    assert "Lowest items" in (folder / "comment.md").read_text(encoding="utf-8")


def test_where_no_file_can_be_made_they_stand_in_the_receipt(tmp_path: Path) -> None:
    run = tmp_path / "here"
    (run / FILE / "in the way").mkdir(parents=True)
    done = evalrunner(tmp_path, "run", *MANY, "hydra.run.dir=here")
    assert done.code == 0
    assert f"{FILE}: cannot be written: Is a directory: the 520 judgements stand in the receipt" in done.err
    assert len(receipt_of(run)["judgements"]) == ITEMS * CYCLES
