"""Baselines in a team's repository: saved, committed, held to, and not to be talked out of."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hydra.core.hydra_config import HydraConfig
from program import Done, environment
from program import evalrunner as process
from program import inside as evalrunner

from evalrunner import cli
from evalrunner.paths import data_root, demo

Main = Callable[..., Done]


def git(folder: Path, *words: str) -> str:
    env = environment(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    who = ("-c", "user.name=Ann Other", "-c", "user.email=ann@example.invalid")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(folder: Path, message: str = "a change") -> None:
    git(folder, "add", "-A", "--", ".", ":!outputs")
    git(folder, "commit", "-qm", message)


def worsen(folder: Path) -> None:
    """Takes that the rules find much worse: sure of everything, and held by topics."""
    path = folder / "takes.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row | {"weight": 0.99, "holder": "topics/x"}) + "\n" for row in rows))


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose main branch has takes, a rubric and a baseline of its own; the store beside it."""
    folder = tmp_path_factory.mktemp("team")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ann Other")
    shutil.copy(demo("takes.jsonl"), folder / "takes.jsonl")
    (folder / "rubrics").mkdir()
    shutil.copy(data_root() / "rubrics" / "takes_quality.yaml", folder / "rubrics" / "takes_quality.yaml")
    assert (
        evalrunner(folder, "run", "source.path=takes.jsonl", "--limit", "12", "judge.chunk_size=1").code == 0
    )
    done = evalrunner(folder, "baseline", "save", "takes", "--reason", "The first: ${x}")
    assert (done.code, done.out) == (0, "conf/baseline/takes.yaml\nconf/baseline/takes.jsonl\n"), done.err
    assert "evalrunner regress baseline=takes" in done.err
    commit(folder, "a bar")
    return folder


@pytest.fixture
def team(committed: Path, tmp_path: Path) -> Path:
    """A copy of the repository, on a branch of its own."""
    folder = tmp_path / "team"
    shutil.copytree(committed, folder)
    git(folder, "checkout", "-qb", "work")
    return folder


@pytest.fixture
def main(team: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Main]:
    """Runs a command line in this process, in the repository."""
    for name in list(os.environ):
        if name.startswith("EVALRUNNER_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(team)

    def run(*words: str) -> Done:
        capsys.readouterr()
        code = cli.main(words)
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    yield run
    HydraConfig.instance().cfg = None


# the gate -----------------------------------------------------------------------------------------


def test_an_empty_folder_to_a_gate_in_four_commands(tmp_path: Path) -> None:
    """Outside of git as well, and without a receipt's file."""
    shutil.copy(demo("takes.jsonl"), tmp_path / "takes.jsonl")
    assert evalrunner(tmp_path, "run", "source.path=takes.jsonl").code == 0
    assert evalrunner(tmp_path, "baseline", "save", "takes").code == 0
    shutil.rmtree(tmp_path / "outputs")
    held = evalrunner(tmp_path, "regress", "baseline=takes")
    assert (held.code, "NO REGRESSION" in held.out) == (0, True), held.err
    assert "baseline takes: measured 20" in held.err
    assert "warning" not in held.err
    worsen(tmp_path)
    red = evalrunner(tmp_path, "regress", "baseline=takes")
    assert (red.code, "attribution got worse by" in red.out) == (1, True), red.err
    assert "the corpus differs" in red.err


def test_the_file_reads_well_and_tells_who_and_why(committed: Path) -> None:
    lines = (committed / "conf" / "baseline" / "takes.yaml").read_text().splitlines()
    assert lines[0] == "# @package _global_"
    assert "  author: Ann Other" in lines
    assert "  previous: null" in lines
    assert "  - override /panel: rules" in [f"  {line}" for line in lines]
    assert max(map(len, lines)) < 120
    tops = [line.split(":")[0] for line in lines if line and line[0].isalpha()]
    assert tops == [
        "defaults", "eval", "source", "sampler", "subject", "judge", "panel", "rubric", "threshold", "budget",
        "cycles", "runs", "regress", "baseline",
    ]  # fmt: skip


def test_a_branch_that_lowers_its_bar_is_named_and_with_the_ref_it_is_red(team: Path, main: Main) -> None:
    worsen(team)
    path = team / "conf" / "baseline" / "takes.yaml"
    text = path.read_text()
    for key in ("mean", "min", "max", "overall_score"):
        text = "\n".join(
            f"{line.split(key)[0]}{key}: 1" if line.strip().startswith(f"{key}:") else line
            for line in text.split("\n")
        )
    path.write_text(text.replace("mean_min: 7", "mean_min: 2"))
    commit(team, "nothing to see")
    green = main("regress", "baseline=takes", "--json")
    assert green.code == 0
    line = next(line for line in green.err.splitlines() if "takes.yaml differs from the merge base" in line)
    assert "threshold.mean_min 7 → 2" in line
    assert "baseline.receipt.scores.attribution.mean" in line
    assert any("takes.yaml differs from" in warning for warning in green.json["warnings"])
    red = main("regress", "baseline=takes", "--against-ref", "main", "--json")
    assert red.code == 1
    assert red.json["outcome"] == "regression"
    assert "attribution" in red.json["regressed"]
    assert any("takes.yaml differs from main" in warning for warning in red.json["warnings"])
    assert red.json["receipt"]["threshold"]["mean_min"] == 7
    assert len(red.json["baseline"]["judgements"]) == 12


def test_the_same_in_a_process_of_its_own(team: Path) -> None:
    worsen(team)
    path = team / "conf" / "baseline" / "takes.yaml"
    path.write_text(path.read_text().replace("threshold: 0.5", "threshold: 9"))
    commit(team)
    red = process(team, "regress", "baseline=takes", "--against-ref", "main")
    assert (red.code, "REGRESSION" in red.out) == (1, True)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "conf/regress.yaml",
            "defaults: [run, _self_]\nagainst: null\nagainst_ref: null\nregress: {threshold: 9}\n",
            "regress.threshold 0.5 → 9",
        ),
        (
            "conf/regress.yaml",
            "defaults: [run, _self_]\nagainst: null\nagainst_ref: null\n"
            "hydra: {mode: MULTIRUN, sweeper: {params: {regress.threshold: '9'}}}\n",
            "hydra.sweeper.params",
        ),
        (
            "conf/regress.yaml",
            "defaults: [run, _self_]\nagainst: null\nagainst_ref: null\nsource: {path: 'demo:takes.jsonl'}\n",
            "source.path 'takes.jsonl' → 'demo:takes.jsonl'",
        ),
    ],
)
def test_other_files_of_the_branch_cannot_overrule_the_ref(
    team: Path, main: Main, file: str, text: str, said: str
) -> None:
    worsen(team)
    (team / file).write_text(text)
    done = main("regress", "baseline=takes", "--against-ref", "main")
    assert done.code == 3
    assert said in done.err


def test_without_a_ref_what_overrules_the_baseline_is_named(team: Path, main: Main) -> None:
    (team / "conf" / "regress.yaml").write_text(
        "defaults: [run, _self_]\nagainst: null\nagainst_ref: null\nregress: {threshold: 9}\n"
    )
    done = main("regress", "baseline=takes")
    assert done.code == 0
    assert "overrule baseline takes: regress.threshold 0.5 → 9" in done.err
    told = main("regress", "baseline=takes", "--threshold", "2")
    assert "overrule" not in told.err


def test_a_ref_names_no_code_that_the_registry_does_not_know(team: Path, main: Main) -> None:
    path = team / "conf" / "baseline" / "takes.yaml"
    good = path.read_text()
    path.write_text(good.replace("evalrunner.subject.identity.Identity", "os.getcwd"))
    commit(team)
    git(team, "checkout", "-qb", "evil")
    path.write_text(good)
    done = main("regress", "baseline=takes", "--against-ref", "work")
    assert (done.code, done.out) == (3, "")
    assert "subject._target_: is no registered component (found 'os.getcwd')" in done.err
    assert "[E-CONFIG-TARGET]" in done.err


def test_a_rubric_or_threshold_that_moved_is_named(team: Path, main: Main) -> None:
    rubric = team / "rubrics" / "takes_quality.yaml"
    rubric.write_text(rubric.read_text().replace('version: "v1.0"', 'version: "v1.0"\n# nothing', 1))
    (team / "conf" / "threshold").mkdir()
    (team / "conf" / "threshold" / "panel.yaml").write_text(
        "_target_: evalrunner.threshold.panel.PanelThreshold\nmean_min: 2\n"
    )
    done = main("regress", "baseline=takes")
    assert done.code == 0
    assert "rubrics/takes_quality.yaml differs from the merge base with main" in done.err
    assert "conf/threshold/panel.yaml is not in the merge base with main" in done.err
    again = main("regress", "baseline=takes", "--against-ref", "main")
    assert "rubrics/takes_quality.yaml differs from main" in again.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--against", "r.json"), "excludes baseline=takes"),
        (("--against-ref", "nope"), "git knows no such commit"),
        (("panel=frontier",), "cannot be overridden here"),
        (("source.path=other.jsonl",), "cannot be overridden here"),
        (("eval=code_review",), "baseline takes pins another eval"),
    ],
)
def test_what_does_not_go_together_is_exit_3(main: Main, words: tuple[str, ...], said: str) -> None:
    done = main("regress", "baseline=takes", *words)
    assert (done.code, done.out) == (3, "")
    assert said in done.err


def test_a_ref_without_the_baseline_is_nothing_to_compare_with(team: Path, main: Main) -> None:
    git(team, "branch", "-m", "main", "newer")
    git(team, "checkout", "-q", "--orphan", "older")
    git(team, "commit", "-q", "--allow-empty", "-m", "nothing")
    done = main("regress", "baseline=takes", "--against-ref", "HEAD~0")
    assert done.code == 0  # all of the index was committed
    git(team, "rm", "-rq", "--cached", "conf")
    git(team, "commit", "-qm", "less")
    done = main("regress", "baseline=takes", "--against-ref", "older")
    assert (done.code, done.out) == (3, "")
    assert "has no conf/baseline/takes.yaml: there is nothing to compare with" in done.err


def test_an_old_baseline_is_warned_about(team: Path, main: Main) -> None:
    path = team / "conf" / "baseline" / "takes.yaml"
    ts = next(line for line in path.read_text().splitlines() if line.startswith("    ts:"))
    path.write_text(path.read_text().replace(ts, "    ts: '2020-01-01T00:00:00.000Z'"))
    done = main("regress", "baseline=takes")
    assert done.code == 0
    assert "measured 2020-01-01" in done.err
    assert "more than regress.max_age_days=90" in done.err


# locked -------------------------------------------------------------------------------------------


def test_locked_runs_what_the_baseline_was_measured_with(team: Path, main: Main) -> None:
    assert main("run", "--locked", "baseline=takes").code == 0
    assert main("validate", "--locked", "baseline=takes").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("threshold.mean_min=6.5",), ["rubric fingerprint", "threshold mean_min: 7 then, 6.5 now"]),
        (("sampler.limit=11",), ["corpus fingerprint", "12 items then, 11 now"]),
        (
            ("panel.models=['openai:gpt-4o']",),
            [
                "models fingerprint",
                "rules-v1 then, openai:gpt-4o now",
                "prompt fingerprint",
                "prompts/takes_quality.j2",
            ],
        ),
    ],
)
def test_locked_names_every_fingerprint_that_differs(
    main: Main, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    done = main("run", "--locked", "baseline=takes", *words)
    assert (done.code, done.out) == (3, "")
    assert "[E-BASELINE-DRIFT]" in done.err
    for each in said:
        assert each in done.err


def test_locked_names_the_rubrics_file(team: Path, main: Main) -> None:
    rubric = team / "rubrics" / "takes_quality.yaml"
    rubric.write_text(rubric.read_text().replace("max: 10", "max: 10.5", 1))
    done = main("run", "--locked", "baseline=takes")
    assert done.code == 3
    assert "rubrics/takes_quality.yaml changed" in done.err


def test_regress_needs_something_to_compare_with(main: Main) -> None:
    done = main("regress")
    assert (done.code, done.out) == (3, "")
    assert "against: the receipt to compare with is not given: --against FILE, or baseline=NAME [" in done.err


def test_locked_needs_something_to_lock_to(main: Main) -> None:
    done = main("run", "--locked")
    assert (done.code, "baseline=NAME" in done.err) == (3, True)


# saving -------------------------------------------------------------------------------------------


def test_where_rows_hold_no_figures_of_items_it_is_said_with_the_remedy(team: Path, main: Main) -> None:
    assert "judge.chunk_size=1" not in main("baseline", "save", "single").err
    assert main("run", "source.path=takes.jsonl", "--limit", "12").code == 0
    done = main("baseline", "save", "whole")
    assert done.code == 0
    remedy = "such items have no figure of their own; with judge.chunk_size=1 each has."
    assert remedy in done.err
    for words in (("show", "whole"), ("diff", "takes", "whole")):
        assert remedy in " ".join(main("baseline", *words).out.split())


def test_a_receipt_alone_is_enough_where_it_tells_all(team: Path, main: Main) -> None:
    [receipt] = (team / "outputs" / "receipts").iterdir()
    shutil.copy(receipt, team / "alone.json")
    shutil.rmtree(team / "outputs")
    assert main("baseline", "save", "other", "--from", "alone.json").code == 0
    assert main("regress", "baseline=other").code == 0
    first, other = (
        (team / "conf" / "baseline" / f"{name}.yaml").read_text().split("baseline:")[0]
        for name in ("takes", "other")
    )
    assert first == other
    worsen(team)
    done = main("baseline", "save", "third", "--from", "alone.json")
    assert (done.code, done.out) == (3, "")
    assert "corpus fingerprint" in done.err
    assert not (team / "conf" / "baseline" / "third.yaml").exists()


def test_what_the_run_was_measured_with_must_still_be_here(team: Path, main: Main) -> None:
    rubric = team / "rubrics" / "takes_quality.yaml"
    rubric.write_text(rubric.read_text().replace("max: 10", "max: 10.5", 1))
    done = main("baseline", "save", "other")
    assert (done.code, done.out) == (3, "")
    assert "rubric fingerprint: what the run was measured with is not here any more" in done.err


def test_it_is_saved_from_any_name_of_a_run(team: Path, main: Main) -> None:
    [run] = (team / "outputs" / "run").iterdir()
    texts = set()
    for place, name in enumerate(["1", run.name, str(run)]):
        assert main("baseline", "save", f"b{place}", "--from", name).code == 0
        text = (team / "conf" / "baseline" / f"b{place}.yaml").read_text()
        texts.add("\n".join(line for line in text.splitlines() if not line.startswith("  saved:")))
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["save", "takes"], "evalrunner baseline bless takes --reason TEXT"),
        (["save", "../x"], "is no name for a baseline"),
        (["save", "null"], "is no name for a baseline"),
        (["save"], "required: name"),
        (["save", "x", "--from", "nowhere"], "is no receipt that can be found"),
        (["sav", "x"], "did you mean 'save'?"),
        (["show", "tkes"], "did you mean 'takes'?"),
        (["bless", "takes"], "required: --reason"),
        (["bless", "other", "--reason", "x"], "no such baseline"),
        (["diff", "takes"], "required: b"),
        (["save", "x", "--form", "1"], "did you mean '--from'?"),
        ([], "required: action"),
    ],
)
def test_what_it_cannot_do_is_exit_3(main: Main, words: list[str], said: str) -> None:
    done = main("baseline", *words)
    assert (done.code, done.out) == (3, "")
    assert said in done.err


def test_an_inconclusive_run_is_no_bar(team: Path, main: Main) -> None:
    assert main("run", "--slug-prefix", "nothing-starts-so/").code == 2
    done = main("baseline", "save", "other")
    assert (done.code, "is inconclusive" in done.err) == (3, True)


def test_where_the_overlay_is_elsewhere_or_off(
    team: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALRUNNER_CONF", "evals/conf")
    (team / "evals" / "conf").mkdir(parents=True)
    shutil.copytree(team / "rubrics", team / "evals" / "rubrics")
    assert main("baseline", "save", "there").code == 0
    assert (team / "evals" / "conf" / "baseline" / "there.yaml").is_file()
    assert main("regress", "baseline=there").code == 0
    monkeypatch.setenv("EVALRUNNER_CONF", "none")
    done = main("baseline", "save", "there")
    assert (done.code, "EVALRUNNER_CONF" in done.err) == (3, True)


# list, show, diff, bless --------------------------------------------------------------------------


def test_list_and_show(team: Path, main: Main) -> None:
    listed = main("baseline", "list")
    assert listed.code == 0
    assert listed.out.split()[:3] == ["takes", "takes_quality", "pass"]
    assert listed.out.rstrip().endswith("Ann Other: The first: ${x}")
    shown = main("baseline", "show", "takes")
    assert shown.code == 0
    assert "reason       The first: ${x}" in shown.out
    assert "attribution" in shown.out
    (team / "conf" / "baseline" / "broken.yaml").write_text("a: [\n")
    listed = main("baseline", "list")
    assert (listed.code, listed.out.split()[0]) == (3, "takes")
    assert "conf/baseline/broken.yaml: is no YAML" in listed.err
    shutil.rmtree(team / "conf")
    empty = main("baseline", "list")
    assert (empty.code, empty.out, "no baselines yet" in empty.err) == (0, "", True)


def test_diff_attributes_and_shows_the_texts(team: Path, main: Main) -> None:
    same = main("baseline", "diff", "takes", "1")
    assert "nothing: the same corpus, prompt, panel and rubric" in same.out
    rubric = team / "rubrics" / "takes_quality.yaml"
    old = rubric.read_text()
    rubric.write_text(
        old.replace('version: "v1.0"', 'version: "v1.1"').replace("Does the claim", "May the claim")
    )
    words = ("source.path=takes.jsonl", "--limit", "12", "judge.chunk_size=1")
    main("run", *words, "threshold.min_min=4", "--seed", "3")
    told = main("baseline", "diff", "takes", "2")
    assert told.code == 0
    lines = told.out.splitlines()
    assert any("corpus " in line and "sampler.seed 0 → 3" in line for line in lines)
    assert any("rubrics/takes_quality.yaml differs, version v1.0 → v1.1" in line for line in lines)
    assert any("threshold: min_min 5 → 4" in line for line in lines)
    assert "-    question: Does the claim say what the page says?" in lines
    assert "+    question: May the claim say what the page says?" in lines
    main("run", *words, "threshold.min_min=4")
    rubric.write_text(old)
    lost = main("baseline", "diff", "takes", "3")
    assert "the threshold differs, and its text may" in lost.out
    assert "+    question" not in lost.out


def test_bless_renews_keeps_the_chain_and_shows_what_changed(team: Path, main: Main) -> None:
    before = main("baseline", "show", "takes").out.split("fingerprint  ")[1].split()[0]
    worsen(team)
    red = main("regress", "baseline=takes", "--threshold", "1")
    assert red.code == 1
    done = main("baseline", "bless", "takes", "--reason", "Worse takes, on purpose.")
    assert done.code == 0
    assert "corpus " in done.out
    assert "the same sample of the same place: its items differ" in done.out
    text = (team / "conf" / "baseline" / "takes.yaml").read_text()
    assert f"  previous: {before}\n" in text.replace("'", "")
    assert "  reason: Worse takes, on purpose.\n" in text
    assert "  threshold: 0.5\n" in text  # the bar of regress is not what that run was given
    assert main("regress", "baseline=takes").code == 0
    assert (team / "conf" / "baseline" / "takes.jsonl").is_file()


def test_bless_takes_the_newest_run_of_its_own_eval(team: Path, main: Main) -> None:
    assert main("run", "eval=review_judge", "--max-cases", "2").code == 0
    assert main("baseline", "bless", "takes", "--reason", "again").code == 0
    done = main("baseline", "bless", "takes", "--reason", "again", "--from", "2")
    assert (done.code, "is of review_judge, and baseline takes of takes_quality" in done.err) == (3, True)


def test_what_regress_ran_after_a_receipt_is_what_its_folder_says(team: Path, main: Main) -> None:
    """The run folder of a comparison with a receipt holds what ran, so a baseline can be saved from it."""
    [receipt] = (team / "outputs" / "receipts").iterdir()
    assert main("regress", "--against", str(receipt)).code == 0
    assert main("baseline", "save", "other").code == 0
    first, other = (
        (team / "conf" / "baseline" / f"{name}.yaml").read_text().split("\nbaseline:")[0].split("\n", 2)[2]
        for name in ("takes", "other")
    )
    assert first == other


def test_a_pinned_run_without_figures_says_so(team: Path, main: Main) -> None:
    path = team / "conf" / "baseline" / "pin.yaml"
    path.write_text("# @package _global_\nsampler: {limit: 3}\n")
    done = main("regress", "baseline=pin")
    assert (done.code, "baseline pin pins a run but holds no figures" in done.err) == (3, True)
    assert main("run", "baseline=pin").code == 0
    assert main("baseline", "bless", "pin", "--reason", "figures").code == 0
    assert main("regress", "baseline=pin").code == 0
