"""Reporters in the program: each on its stream, and none of them changes what the run comes to."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from program import Done
from program import evalrunner as process
from program import inside as evalrunner

BAD = ("--slug-prefix", "drafts/")
"""A part of the demo that fails."""


def cases(path: Path) -> dict[str, str]:
    return {str(each.get("name")): next(iter(each)).tag for each in ElementTree.parse(path).iter("testcase")}


def test_two_on_stdout_follow_one_another(tmp_path: Path) -> None:
    done = evalrunner(tmp_path, "run", *BAD, "reporter=[junit,pr_comment]")
    assert done.code == 1
    xml, _, comment = done.out.partition("</testsuites>\n")
    assert ElementTree.fromstring(f"{xml}</testsuites>".encode()).get("failures") == "6"
    assert comment.startswith("**FAIL** takes_quality")


def test_beside_annotations_no_other_text_acts_as_a_command(tmp_path: Path) -> None:
    shown = evalrunner(tmp_path, "select", "--limit", "1").out
    row = json.loads(shown)["payload"] | {"id": "x" * 95 + " ::error::injected", "weight": 0.631}
    (tmp_path / "takes.jsonl").write_text(json.dumps(row) + "\n")
    done = evalrunner(tmp_path, "run", "source.path=takes.jsonl", "reporter=[terminal,github]")
    assert done.code == 1
    assert "\n::error::injected" in done.out
    fenced, word, rest = re.split(r"^::([0-9a-f]{32})::\n", done.out, flags=re.MULTILINE)
    assert fenced.startswith(f"::stop-commands::{word}\n")
    assert "injected" in fenced
    assert rest.startswith("::error title=takes_quality%3A weight_calibration::mean 1.00")
    assert "injected" not in rest


def test_files_in_new_folders_and_the_terminal_on_stdout(tmp_path: Path) -> None:
    done = evalrunner(
        tmp_path,
        "run",
        "reporter=[terminal,junit,json,pr_comment]",
        "reporter.junit.path=new/report.xml",
        "reporter.json.path=new/receipt.json",
        "reporter.pr_comment.path=comment.md",
    )
    assert done.code == 0
    assert "PASS takes_quality" in done.out
    assert "<testsuite" not in done.out
    assert cases(tmp_path / "new" / "report.xml")["accuracy"] == "system-out"
    assert json.loads((tmp_path / "new" / "receipt.json").read_text())["verdict"] == "pass"
    assert (tmp_path / "comment.md").read_text().startswith("**PASS** ")
    assert not list(tmp_path.rglob("*.tmp"))


def test_json_has_stdout_to_itself_and_files_are_written_all_the_same(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    done = evalrunner(
        tmp_path,
        "run",
        *BAD,
        "reporter=[terminal,junit,github,pr_comment]",
        "reporter.junit.path=report.xml",
        "--json",
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )
    assert done.code == 1
    assert done.json["verdict"] == "fail"
    assert cases(tmp_path / "report.xml")["verdict"] == "failure"
    assert summary.read_text().startswith("**FAIL** ")
    assert "\n::error title=takes_quality%3A accuracy::" in done.err
    assert "**FAIL**" not in done.err


@pytest.mark.parametrize(("what", "code"), [((), 0), (BAD, 1)])
def test_reporters_that_fail_stop_no_other_and_change_no_exit_code(
    tmp_path: Path, what: tuple[str, ...], code: int
) -> None:
    done = evalrunner(
        tmp_path,
        "run",
        *what,
        "reporter=[junit,json,sarif,github,pr_comment,terminal]",
        "reporter.junit.path=/dev/full",
        "reporter.json.path=/proc/none/receipt.json",
        "reporter.github.path=comment.md",
        "reporter.pr_comment.path=./comment.md",
        env={"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "summary.md")},
    )
    assert done.code == code, done.err
    assert "takes_quality, rubric v1.0" in done.out
    for name, why in (
        ("junit", "/dev/full: cannot be written: No space left on device"),
        ("json", "/proc/none/receipt.json: cannot be written: "),
        ("sarif", "SARIF holds findings of code reviews, and this is takes_quality"),
        ("github", "FileNotFoundError: "),
        ("pr_comment", "reporter github writes to comment.md already"),
    ):
        assert f"warning: reporter {name} failed, and the verdict stands: {why}" in done.err


def test_a_device_is_written_through_and_not_replaced(tmp_path: Path) -> None:
    done = process(tmp_path, "run", "reporter=[junit]", "reporter.junit.path=/dev/stdout")
    assert done.out.startswith("<?xml")
    assert Path("/dev/stdout").is_symlink()


def sweep(folder: Path, *words: str, start: Callable[..., Done] = evalrunner) -> Done:
    return start(
        folder,
        "run",
        "-m",
        "source.slug_prefix='companies/','drafts/'",
        "reporter=[terminal,junit,github]",
        "reporter.junit.path=out/report.xml",
        *words,
        env={"GITHUB_STEP_SUMMARY": str(folder / "summary.md")},
    )


def test_in_a_sweep_each_job_writes_its_own_files(tmp_path: Path) -> None:
    done = sweep(tmp_path, "hydra/launcher=joblib", start=process)
    assert done.code == 1, done.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.0.xml", "report.1.xml"]
    assert cases(tmp_path / "out" / "report.0.xml")["verdict"] == "system-out"
    assert cases(tmp_path / "out" / "report.1.xml")["verdict"] == "failure"
    assert "::error" not in done.out
    assert (tmp_path / "summary.md").read_text().count("takes_quality, rubric v1.0") == 2


def test_a_sweep_with_json_prints_receipts_alone(tmp_path: Path) -> None:
    done = sweep(tmp_path, "--json")
    assert [json.loads(line)["verdict"] for line in done.out.splitlines()] == ["pass", "fail"]
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_replay_makes_a_report_of_any_receipt_without_a_run(tmp_path: Path) -> None:
    evalrunner(tmp_path, "run", *BAD, "--out", "receipt.json")
    done = evalrunner(
        tmp_path,
        "replay",
        "receipt.json",
        "reporter=[junit,pr_comment]",
        "reporter.junit.path=report.xml",
        env={"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")},
    )
    assert done.code == 1
    assert done.out.startswith("**FAIL** ")
    assert cases(tmp_path / "report.xml")["accuracy"] == "failure"
    assert not (tmp_path / "summary.md").exists()


def worsened(folder: Path) -> None:
    """A baseline of takes that are judged one by one, and then weights off the grid in some of them."""
    shown = evalrunner(folder, "select", "sampler=all", "--limit", "12")
    rows = [json.loads(line)["payload"] | {"id": json.loads(line)["id"]} for line in shown.out.splitlines()]
    path = folder / "takes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first = evalrunner(
        folder, "run", "source.path=takes.jsonl", "judge.chunk_size=1", "--out", "baseline.json"
    )
    assert first.code == 0, first.err
    for row in rows[:6]:
        row["weight"] = 0.631
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_regress_hands_its_comparison_to_the_reporters(tmp_path: Path) -> None:
    worsened(tmp_path)
    words = ("regress", "--against", "baseline.json", "reporter=[terminal,junit,pr_comment]")
    words += ("reporter.junit.path=report.xml", "reporter.pr_comment.path=comment.md")
    done = evalrunner(tmp_path, *words)
    assert done.code == 1, done.err
    assert done.out.startswith("REGRESSION\n")
    assert cases(tmp_path / "report.xml") == {
        "comparison": "failure",
        "accuracy": "system-out",
        "attribution": "system-out",
        "weight_calibration": "failure",
        "kind_classification": "system-out",
        "signal_density": "system-out",
        "overall": "failure",
    }
    comment = (tmp_path / "comment.md").read_text()
    assert comment.startswith("**REGRESSION** takes_quality, rubric v1.0: weight_calibration got worse by ")
    assert "| dimension | baseline | now | delta |  |" in comment
    assert comment.count("| weight_calibration | 10.00 → 1.00 |") == 3
    assert "weight 0.631 is off the 0.05 grid" in comment
    whole = evalrunner(tmp_path, *words, "--json")
    assert whole.json["outcome"] == "regression"
    assert whole.json["receipt"]["verdict"] == "fail"
