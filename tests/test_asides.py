"""The commands beside a run from Python: typed values, the errors of the command line, nothing printed."""

import json
from pathlib import Path

import pytest

import evalrunner
from evalrunner import errors
from evalrunner.paths import data_root, demo

SMALL = ["sampler.limit=5"]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def silent(line: str) -> None:
    """A note that nobody reads."""


def test_every_name_is_there_and_every_command_has_one() -> None:
    assert all(getattr(evalrunner, name) is not None for name in evalrunner.__all__)
    assert set(evalrunner.__all__) <= set(dir(evalrunner))
    with pytest.raises(AttributeError, match="has no attribute 'runn'"):
        _ = evalrunner.runn


def test_the_stages_give_the_receipt_that_a_run_gives(capfd: pytest.CaptureFixture[str]) -> None:
    piped = evalrunner.select(SMALL, note=silent)
    assert len(piped.items) == 5
    done = evalrunner.judge_items(evalrunner.produce(piped, note=silent), note=silent)
    whole = evalrunner.run(SMALL, note=silent)
    assert (done.verdict, done.overall_score) == (whole.verdict, whole.overall_score)
    assert done.fingerprints == whole.fingerprints
    assert capfd.readouterr() == ("", "")


def test_baselines_are_saved_renewed_and_told_apart(capfd: pytest.CaptureFixture[str]) -> None:
    Path("takes.jsonl").write_bytes(demo("takes.jsonl").read_bytes())
    told: list[str] = []
    evalrunner.run(["source.path=takes.jsonl", *SMALL], note=silent)
    saved = evalrunner.save_baseline("takes", reason="the first", note=told.append)
    assert told == [
        "Judges saw several items in one prompt, and such items have no figure of their own; "
        "with judge.chunk_size=1 each has."
    ]
    assert (saved.name, saved.block.reason) == ("takes", "the first")
    assert Path("conf/baseline/takes.yaml").is_file()
    with pytest.raises(errors.UsageError, match="is there already"):
        evalrunner.save_baseline("takes", note=silent)
    evalrunner.run(["source.path=takes.jsonl", *SMALL, "threshold.mean_min=6.5"], note=silent)
    difference = evalrunner.diff_baselines("takes", "2", note=silent)
    assert list(difference.warnings) == ["threshold: mean_min 7 → 6.5"]
    renewed = evalrunner.bless_baseline("takes", "a lower bar", note=silent)
    assert renewed.block.previous == saved.fingerprint
    assert {name: each.fingerprint for name, each in evalrunner.baselines().items()} == {
        "takes": renewed.fingerprint
    }
    assert evalrunner.regress(["baseline=takes"], note=silent).comparison.outcome == "ok"
    assert capfd.readouterr() == ("", "")


def test_receipts_are_shown_and_explained_by_any_name(capfd: pytest.CaptureFixture[str]) -> None:
    first = evalrunner.run(SMALL, note=silent)
    evalrunner.run([*SMALL, "sampler.seed=1"], note=silent)
    assert evalrunner.show("1", note=silent).run_id == first.run_id
    assert "<table" in evalrunner.show(first.run_id or "", note=silent)._repr_html_()
    comparison = evalrunner.explain("1", "2", note=silent)
    assert [line.split(":")[0] for line in comparison.warnings] == ["the corpus differs"]
    with pytest.raises(errors.InputError, match="is no receipt that can be found"):
        evalrunner.show("99", note=silent)
    with pytest.raises(errors.ConfigError, match=r"did you mean 'store\.path'"):
        evalrunner.show("1", ["store.pth=x"], note=silent)
    assert capfd.readouterr() == ("", "")


def test_a_folder_is_begun_and_its_options_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    written = evalrunner.init("team", note=silent)
    assert Path("team/conf/eval/my_takes.yaml") in written
    assert all(path.is_file() for path in written)
    with pytest.raises(errors.UsageError, match="is there already"):
        evalrunner.init("team", note=silent)
    assert evalrunner.options("panel")["panel"]["rules"] == data_root() / "conf" / "panel" / "rules.yaml"
    assert "mine" in evalrunner.options("panel", "team/conf")["panel"]
    with pytest.raises(errors.UsageError, match="did you mean 'panel'"):
        evalrunner.options("panle")
    assert json.dumps(evalrunner.schema("takes")).startswith("{")
    with pytest.raises(errors.UsageError, match="did you mean 'takes'"):
        evalrunner.schema("take")
    assert capfd.readouterr() == ("", "")


def test_the_doctor_tells_and_calls_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    told = dict(evalrunner.doctor(note=silent))
    assert told["model"] == "rules-v1: needs no key"
    assert "is not there yet" in told["store"]
    with pytest.raises(errors.ConfigError, match="did you mean 'frontier'"):
        evalrunner.doctor(["panel=frontear"], note=silent)
    assert list(Path().iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_the_store_is_checked_fed_and_rewritten(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert not evalrunner.check_store(note=silent).exists
    assert evalrunner.vacuum_store(note=silent) is None
    receipt = evalrunner.run([*SMALL, "store.path=there.duckdb"], note=silent)
    taken = evalrunner.import_runs([tmp_path / "outputs" / "run"], note=silent)
    assert (list(taken.taken), list(taken.known)) == ([receipt.run_id], [])
    again = evalrunner.import_runs([tmp_path / "outputs" / "run"], note=silent)
    assert (list(again.taken), list(again.known)) == ([], [receipt.run_id])
    found = evalrunner.check_store(note=silent)
    assert (found.attempts, found.problems) == (1, [])
    sizes = evalrunner.vacuum_store(note=silent)
    assert sizes is not None
    assert sizes.after > 0
    assert evalrunner.cached(note=silent) == []
    with pytest.raises(errors.InputError):
        evalrunner.import_runs(["nowhere"], note=silent)
    assert capfd.readouterr() == ("", "")
