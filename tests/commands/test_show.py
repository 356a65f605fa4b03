"""`show` and `explain` say why a run ended as it did, and where a difference sits."""

import json
from pathlib import Path

import pytest
from program import inside as evalrunner

from evalrunner.paths import demo


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs over single items: all of the demo's first ten, and its worst page."""
    folder = tmp_path_factory.mktemp("show")
    evalrunner(folder, "run", "judge.chunk_size=1", "--limit", "10")
    evalrunner(folder, "run", "judge.chunk_size=1", "--slug-prefix", "drafts/")
    return folder


def test_a_run_is_found_by_id_by_run_id_by_folder_and_by_file(folder: Path) -> None:
    [run] = [path.parent for path in (folder / "outputs" / "run").glob("*/receipt.json")][:1]
    names = [run.name, str(run), str(run / "receipt.json")]
    told = {evalrunner(folder, "show", name).out.split("What mattered")[1] for name in names}
    assert len(told) == 1
    assert evalrunner(folder, "show", "1").code == 0


def test_the_lowest_items_come_with_what_was_said_of_them(folder: Path) -> None:
    shown = evalrunner(folder, "show", "2").out
    lowest = shown.split("Lowest items")[1].splitlines()
    assert lowest[1].startswith("- demo-")
    assert "rules-v1, cycle 1: accuracy" in lowest[2]


def test_one_item_is_shown_alone(folder: Path) -> None:
    shown = evalrunner(folder, "show", "2", "--item", "demo-19")
    assert shown.code == 0
    assert "0.63 is off the 0.05 grid" in shown.out
    missing = evalrunner(folder, "show", "2", "--item", "demo-1999")
    assert missing.code == 3
    assert "did you mean" in missing.err


def test_explain_names_fingerprints_dimensions_and_seats(folder: Path) -> None:
    told = evalrunner(folder, "explain", "1", "2")
    assert told.code == 0
    assert "the corpus differs" in told.out
    assert "weight_calibration" in told.out
    assert "rules-v1" in told.out


def test_explaining_a_run_by_itself_finds_nothing(folder: Path) -> None:
    told = evalrunner(folder, "explain", "1", "1").out
    assert "nothing: the same corpus, prompt, panel and rubric" in told
    assert "Items that moved" not in told


def test_explain_says_which_items_moved(folder: Path) -> None:
    worse = (folder / "worse.jsonl", folder / "takes.jsonl")
    rows = demo("takes.jsonl").read_text().splitlines(keepends=True)[:6]
    worse[1].write_text("".join(rows))
    worse[0].write_text("".join([rows[0].replace('"kind": "fact"', '"kind": "hunch"'), *rows[1:]]))
    receipts = []
    for path in reversed(worse):
        receipt = f"{path.stem}.json"
        evalrunner(folder, "run", "judge.chunk_size=1", f"source.path={path.name}", "--out", receipt)
        receipts.append(receipt)
    told = evalrunner(folder, "explain", *receipts).out
    name = json.loads(rows[0])["id"]
    _, moved = told.split("what each moves the mean of 6 items\n")
    assert moved == f"- {name}: 10.00 to 8.20, -1.800; -0.300 of the mean\n"
    assert "one prompt" not in told


def test_where_items_have_no_figures_it_is_said_with_the_remedy(folder: Path) -> None:
    evalrunner(folder, "run", "--limit", "10", "--out", "whole.json")
    remedy = "such items have no figure of their own; with judge.chunk_size=1 each has."
    for words in (("show", "whole.json"), ("explain", "1", "whole.json"), ("explain", "whole.json", "1")):
        told = " ".join(evalrunner(folder, *words).out.split())
        assert told.count(remedy) == 1
        assert "Items that moved" not in told
    assert remedy not in " ".join(evalrunner(folder, "explain", "1", "2").out.split())


def test_doubts_about_a_foreign_receipt_are_said_once(folder: Path) -> None:
    evalrunner(folder, "run", "--limit", "10", "--out", "own.json")
    receipt = json.loads((folder / "own.json").read_text())
    receipt["scores"]["accuracy"]["mean"] = 9.5
    (folder / "foreign.json").write_text(json.dumps(receipt))
    doubt = "scores.accuracy.mean 9.5 does not follow from its scores"
    for words in (("explain", "foreign.json", "own.json"), ("regress", "--against", "foreign.json")):
        done = evalrunner(folder, *words)
        told = " ".join((done.out + done.err).split())
        assert told.count(doubt) == 1, told
        assert told.count("overall_score") == 1


@pytest.mark.parametrize("words", [("show", "99"), ("show", "nowhere"), ("explain", "1", "99"), ("show",)])
def test_what_cannot_be_found_is_exit_3(folder: Path, words: tuple[str, ...]) -> None:
    done = evalrunner(folder, *words)
    assert (done.code, done.out) == (3, "")
    assert "Traceback" not in done.err
