"""`eval=code_review` end to end: real processes, real repositories, real HTTP."""

import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Request, Tokens, text
from program import FAST, Done, environment, evalrunner

from evalrunner.calls.loop import ONE_PRESS_S

SHARED = Path(__file__).parents[3] / "shared" / "cases" / "review" / "cases.jsonl"
METRICS = ["effective_recall", "precision", "determinism", "availability"]
ONE = {"file": "x.py", "line": 1, "title": "Off by one", "body": "It starts at 2.", "severity": "high"}


def diff(path: str) -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"


def row(name: str, *, clean: bool = False, path: str = "x.py") -> dict[str, Any]:
    """A case that changes line 1 of a file; an off-by-one there unless it is clean."""
    expected = [] if clean else [{"file": path, "line": 1, "mechanism": ["off by one"]}]
    kind = "clean" if clean else "positive"
    return {"id": name, "kind": kind, "language": "python", "diff": diff(path), "expected": expected}


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    """The cases as a file of the folder."""
    path = folder / "cases.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """An empty folder for temporary files, beside the folder that commands run in."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def reviewed(folder: Path, *words: str, command: str = "run", **more: Any) -> Done:
    return evalrunner(folder, command, "eval=code_review", *words, **more)


def program(folder: Path, script: str, name: str = "reviewer.py") -> str:
    """A Python program as reviewer; the override that names it."""
    (folder / name).write_text(textwrap.dedent(script))
    return f'subject.argv=["{sys.executable}","{{here}}/{name}"]'


def command(folder: Path, script: str) -> list[str]:
    return ["subject=command_reviewer", program(folder, script)]


def model(server: Loopback, **fields: Any) -> str:
    """A model behind the server, as the override that `--model` spells."""
    told = {"id": "openai:gpt-4o", "api_base": server.url("openai"), "timeout_s": 10, **fields}
    return "subject.model={" + ",".join(f"{key}:{json.dumps(value)}" for key, value in told.items()) + "}"


def reply(*findings: dict[str, Any], status: str = "complete", **more: Any) -> Any:
    return text(json.dumps({"status": status, "findings": list(findings)}), **more)


SAY = f"print('''{json.dumps([ONE])}''')"


def test_the_keyless_default_on_the_demo_leaves_nothing_behind(work: Path, temporary: Path) -> None:
    done = reviewed(work, "--json", env={"TMPDIR": str(temporary)})
    assert done.code == 0
    receipt = done.json
    assert (receipt["eval"], receipt["verdict"], receipt["judge_kind"]) == ("code_review", None, "code")
    assert list(receipt["metrics"]) == METRICS
    assert receipt["subject"]["subject"] == "ruff_reviewer"
    assert (receipt["models"], receipt["cost_usd"], receipt["budget"]["spent_usd"]) == ([], 0, 0)
    assert receipt["denominator"]["planned"] == 3 * receipt["corpus"]["n_takes"] >= 45
    recall = receipt["metrics"]["effective_recall"]
    assert 0.2 < recall["value"] < 0.8, "a linter finds some of the defects, and some it cannot find"
    assert receipt["headline"] == {"metric": "effective_recall", "value": recall["value"]}
    assert receipt["metrics"]["determinism"]["value"] == 1
    assert {"python", "go"} <= set(receipt["groups"]["language"])
    assert set(receipt["groups"]["kind"]) == {"clean", "positive"}
    assert list(temporary.iterdir()) == []


def test_one_case_is_explained_at_once_and_later(work: Path) -> None:
    words = [*command(work, SAY), f"source.path={written(work, row('loop'), row('other'))}", "--runs", "2"]
    done = reviewed(work, *words, "--explain", "loop")
    assert done.code == 0
    assert "Case loop (kind positive, language python)" in done.out
    assert '    matches defect 1 by "off by one"' in done.out
    (receipt,) = work.glob("outputs/run/*/receipt.json")
    again = evalrunner(work, "replay", str(receipt), "--explain", "loop")
    assert (
        again.out.split("Case loop")[1].split("items")[0] == done.out.split("Case loop")[1].split("items")[0]
    )
    wrong = evalrunner(work, "replay", str(receipt), "--explain", "lop")
    assert "did you mean 'loop'?" in wrong.out


MISBEHAVING = """
    import os, pathlib, subprocess, sys, time
    (name,) = [each for each in os.listdir(".") if each.endswith(".py")]
    if name == "crash.py":
        raise SystemExit("boom")
    if name == "hang.py":
        time.sleep(60)
    if name == "orphan.py":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(61)"], start_new_session=True)
        time.sleep(60)
    if name == "flood.py":
        while True:
            sys.stdout.write("x" * 65536)
    if name == "broken.py":
        print('[{"file": "broken.py", "line": 1')
    elif name == "outside.py":
        pathlib.Path("../outside").write_text("x")
        print("[]")
    elif name == "marker.py":
        print("BLOCKED")
    else:
        print('[{"file": "%s", "line": 1, "title": "off by one"}]' % name)
"""


def test_whatever_a_program_does_is_one_run_s_status(work: Path, temporary: Path) -> None:
    names = ["crash", "hang", "orphan", "flood", "broken", "outside", "marker", "good"]
    cases = written(work, *(row(name, path=f"{name}.py") for name in names))
    words = [*command(work, MISBEHAVING), f"source.path={cases}", "subject.timeout_s=3", "--runs=1", "--json"]
    done = reviewed(work, *words, env={"TMPDIR": str(temporary)})
    assert done.code == 0
    receipt = done.json
    told = {case["id"]: case["runs"][0] for case in receipt["cases"]}
    assert {name: each["status"] for name, each in told.items()} == {
        "crash": "error",
        "hang": "timeout",
        "orphan": "timeout",
        "flood": "error",
        "broken": "error",
        "outside": "error",
        "marker": "marker",
        "good": "ok",
    }
    assert "boom" in told["crash"]["error"]
    assert "too many" in told["flood"]["error"]
    assert "no JSON" in told["broken"]["error"]
    assert receipt["metrics"]["effective_recall"]["value"] == 1 / 8
    assert receipt["metrics"]["availability"]["value"] == 1 / 8
    unscored = {"error": 4, "timeout": 2, "marker": 1}
    assert receipt["denominator"] == {"planned": 8, "scored": 1, "unscored": unscored, "skipped": 0}
    assert (receipt["cost_usd"], receipt["budget"]["spent_usd"]) == (None, None)
    assert "is not seen: the cost stays unknown" in done.err
    assert list(temporary.iterdir()) == []
    assert not (work / "outside").exists()


def test_an_interrupted_run_leaves_no_repository(work: Path, temporary: Path) -> None:
    words = [*command(work, "import time; time.sleep(60)"), f"source.path={written(work, row('a'))}"]
    process = subprocess.Popen(
        [*FAST, "run", "eval=code_review", *words],
        cwd=work,
        env=environment(TMPDIR=str(temporary)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not list(temporary.glob("*/*/*/home")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    said = [b""]
    while b"stopping" not in said[-1]:  # it would let the program end
        said.append(process.stderr.readline())
        assert said[-1], said
    time.sleep(ONE_PRESS_S + 0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert list(temporary.iterdir()) == []


def test_a_run_that_was_killed_is_tidied_up_by_the_next(work: Path, temporary: Path) -> None:
    path = written(work, row("a"))
    words = [*command(work, "import os; os.kill(os.getppid(), 9)\nimport time; time.sleep(60)")]
    process = subprocess.Popen(
        [*FAST, "run", "eval=code_review", *words, f"source.path={path}", "subject.isolate=false"],
        cwd=work,
        env=environment(TMPDIR=str(temporary)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not list(temporary.glob("*/*/*/home")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait(timeout=60)
    assert list(temporary.iterdir()) != []
    done = reviewed(work, *command(work, SAY), f"source.path={path}", env={"TMPDIR": str(temporary)})
    assert done.code == 0
    assert list(temporary.iterdir()) == []


def test_repositories_can_be_kept(work: Path, temporary: Path) -> None:
    words = [*command(work, SAY), f"source.path={written(work, row('a'))}", "subject.keep_repos=true"]
    done = reviewed(work, *words, "--runs=2", env={"TMPDIR": str(temporary)})
    kept = sorted(work.glob("outputs/run/*/repositories/*"))
    assert [each.name for each in kept] == ["a-1", "a-2"]
    assert str(kept[0].parent) in done.err
    count = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=kept[0], capture_output=True, text=True, check=True
    )
    assert count.stdout == "2\n"
    assert list(temporary.iterdir()) == []


def test_a_threshold_over_metrics_gives_verdict_and_exit_code(work: Path) -> None:
    path = written(work, row("a"), row("q", clean=True, path="q.py"))
    words = [*command(work, SAY), f"source.path={path}", "--runs=1", "threshold=metric"]
    passed = reviewed(work, *words, "threshold.at_least={effective_recall: 1, availability: 1}")
    assert (passed.code, "PASS" in passed.out) == (0, True)
    failed = reviewed(work, *words, "threshold.at_least={effective_recall: 0.6, precision: 0.6}", "--json")
    assert (failed.code, failed.json["verdict"]) == (1, "fail")
    assert "precision 0.50" in failed.json["verdictMessage"]
    unknown = reviewed(work, *words, "threshold.at_least={effective_recal: 0.6}")
    assert unknown.code == 3
    assert "did you mean 'effective_recall'?" in unknown.err


def test_nothing_usable_is_inconclusive_whatever_the_threshold(work: Path) -> None:
    path = written(work, row("a"))
    words = [*command(work, "print('BLOCKED')"), f"source.path={path}"]
    assert reviewed(work, *words).code == 2
    judged = reviewed(work, *words, "threshold=metric", "threshold.at_least={effective_recall: 0}", "--json")
    assert (judged.code, judged.json["verdict"]) == (2, "inconclusive")


def test_two_reviewers_in_one_table_then_trend_and_regress(work: Path) -> None:
    path = written(work, row("a"), row("b"), row("q", clean=True))
    (work / "conf" / "subject").mkdir(parents=True)
    for name, script in (("good", SAY), ("quiet", "print('[]')")):
        argv = program(work, script, f"{name}.py").removeprefix("subject.argv=")
        option = f"_target_: evalrunner.subject.command_reviewer.CommandReviewer\nargv: {argv}\n"
        (work / "conf" / "subject" / f"{name}.yaml").write_text(option)
    swept = reviewed(work, "-m", "subject=good,quiet", f"source.path={path}", "--runs=2")
    assert swept.code == 0
    lines = swept.out.splitlines()
    good = next(line for line in lines if "subject=good" in line).split()
    quiet = next(line for line in lines if "subject=quiet" in line).split()
    assert good[-6:] == ["1.00", "0.67", "1.00", "1.00", "unknown", "0"]
    assert quiet[-6:] == ["0.00", "-", "1.00", "1.00", "unknown", "0"]
    trend = evalrunner(work, "trend", "--eval", "code_review", "--json").json["rows"]
    assert sorted(row["overall_score"] for row in trend) == [0, 1]
    receipts = {
        json.loads(file.read_text())["subject"]["composed"]["option"]: file
        for file in work.glob("outputs/run/*/*/receipt.json")
    }
    same = evalrunner(work, "regress", "--against", str(receipts["good"]))
    assert same.code == 0
    assert "NO REGRESSION" in same.out
    worse = evalrunner(work, "regress", "--against", str(receipts["good"]), "subject=quiet")
    assert worse.code == 1
    assert "effective_recall got worse by 1" in worse.out
    assert "the subject differs" in worse.err
    replayed = evalrunner(work, "replay", str(receipts["quiet"]))
    assert (replayed.code, "missed (keywords: off by one)" in replayed.out) == (0, True)


def test_the_stages_in_a_pipe_say_the_same_as_one_run(work: Path) -> None:
    path = written(work, row("a"), row("b", path="y.py"))
    words = [*command(work, SAY), "--runs=2"]
    whole = reviewed(work, *words, f"source.path={path}", "--json").json
    items = reviewed(work, f"source.path={path}", command="select").out
    assert "off by one" in items, "what only code may see travels, too"
    produced = reviewed(work, *words, command="produce", stdin=items).out
    judged = reviewed(work, *words[:2], "--json", command="judge", stdin=produced)
    assert judged.code == 0
    same = [
        "metrics",
        "groups",
        "defects",
        "unmatched",
        "denominator",
        "corpus",
        "subject_sha8",
        "rubric_sha8",
    ]
    assert {name: judged.json[name] for name in same} == {name: whole[name] for name in same}


def test_rows_that_cannot_be_used_are_refused_before_anything_runs(work: Path) -> None:
    good = row("a")
    bad = [
        {**row("b"), "diff": good["diff"].replace("@@ -1 +1 @@", "@@ -1,2 +1 @@")},
        {**row("c"), "diff": diff(".git/hooks/x")},
        {**row("d"), "expected": [{"file": "x.py", "line": 9, "mechanism": []}]},
        {**row("e"), "knd": "clean"},
        row("a"),
    ]
    script = "open('ran', 'w')"
    done = reviewed(work, *command(work, script), f"source.path={written(work, good, *bad)}")
    assert done.code == 3
    for line, field in ((2, "diff"), (3, "diff"), (4, "mechanism"), (5, "knd"), (6, "id")):
        assert any(f"cases.jsonl:{line}" in each and field in each for each in done.err.splitlines()), line
    assert not list(work.glob("outputs/run/*/receipt.json"))


def test_a_model_finds_defects_at_a_known_price_and_one_call_at_a_time(work: Path, temporary: Path) -> None:
    path = written(work, row("a"), row("b", path="y.py"), row("q", clean=True, path="q.py"))

    def answer(request: Request) -> Any:
        file = next(name for name in ("x.py", "y.py", "q.py") if f"b/{name}" in request.prompt)
        found = [{**ONE, "file": file}] if file != "q.py" else []
        return reply(*found, usage=Tokens(1000, 100), model="gpt-4o-2024-08-06")

    with Loopback(answer, latency=0.02) as server:
        words = [model(server), f"source.path={path}", "--json"]
        done = reviewed(work, *words, env={"TMPDIR": str(temporary)})
        assert (len(server.requests), server.peak, server.errors) == (9, 1, [])
        for request in server.requests:
            assert "off by one" not in request.prompt.casefold()
        (kept,) = work.glob("outputs/run/*/receipt.json")
        again = evalrunner(work, "regress", "--against", str(kept), env={"TMPDIR": str(temporary)})
        assert (again.code, len(server.requests)) == (0, 18), "the same model is asked again"
    receipt = done.json
    assert done.code == 0
    assert receipt["subject"]["subject"] == "litellm_reviewer", "naming a model chooses the LLM subject"
    assert receipt["models"] == ["openai:gpt-4o"]
    assert [receipt["metrics"][name]["value"] for name in METRICS] == [1, 1, 1, 1]
    assert receipt["cost_usd"] == pytest.approx(9 * (1000 * 2.5 + 100 * 10) / 1e6)
    assert receipt["usage"]["subject"]["calls"] == 9
    assert receipt["usage"]["judge"]["cost_usd"] == 0
    assert receipt["prompt_sha8"] != "e3b0c442", "an LLM was asked"
    assert list(temporary.iterdir()) == []


def test_flags_a_marker_and_an_unknown_price(work: Path) -> None:
    path = written(work, row("a"), row("b"), row("c"))
    script = [reply(status="blocked"), reply(ONE, status="blocked"), text("BLOCKED"), reply(ONE)]
    with Loopback(script) as server:
        words = [
            "--cases",
            str(path),
            "--max-cases",
            "2",
            "--runs",
            "2",
            "--max-cost",
            "5",
            "--out",
            "r.json",
        ]
        told = model(server, id="my-model")
        done = reviewed(work, *words, told)
        assert len(server.requests) == 4
    assert done.code == 0
    receipt = json.loads((work / "r.json").read_text())
    assert [[run["status"] for run in case["runs"]] for case in receipt["cases"]] == [
        ["marker", "marker"],
        ["marker", "ok"],
    ]
    assert receipt["denominator"]["unscored"] == {"marker": 2}
    assert receipt["metrics"]["availability"]["value"] == 0.5
    budget = receipt["budget"]
    assert (budget["cap_usd"], budget["spent_usd"], budget["enforced"]) == (5, None, False)
    assert "no price is known of my-model" in done.err
    assert "the cap does not hold" in done.err


def test_a_cap_stops_between_runs_and_never_inside_one(work: Path) -> None:
    path = written(work, row("a"), row("b", path="y.py"))
    with Loopback([reply(ONE, usage=Tokens(100, 10))] * 8) as server:
        at = model(server, max_tokens=1000)
        whole = evalrunner(work, "validate", "eval=code_review", f"source.path={path}", at, "--json").json
        (each,) = whole["models"]
        assert (each["calls"], each["reasks"], whole["runs"]) == (6, 6, 6)
        one_run = float(each["cost_usd"]) / 6
        words = [f"source.path={path}", at, "--max-cost", f"{one_run + 0.0002:.6f}", "--runs", "1"]
        gate = ["threshold=metric", "threshold.at_least={effective_recall: 0}"]
        done = reviewed(work, *words, *gate, "--json")
        assert len(server.requests) == 1
    receipt = done.json
    assert [case["runs"][0]["status"] for case in receipt["cases"]] == ["ok", "skipped"]
    assert (receipt["denominator"]["skipped"], receipt["budget"]["enforced"]) == (1, True)
    assert receipt["metrics"]["effective_recall"]["value"] == 0.5, "the case without a run is missed"
    assert receipt["metrics"]["availability"]["n"] == 1
    assert (done.code, receipt["verdict"]) == (2, "inconclusive")
    assert "skipped" in receipt["verdictMessage"]


def test_runs_of_several_processes_never_overlap(work: Path, temporary: Path) -> None:
    path = written(work, row("a"), row("b"))
    with Loopback(lambda _: reply(ONE), latency=0.1) as server:
        words = ["run", "eval=code_review", model(server), f"source.path={path}", "--runs=2", "store=none"]
        started = [
            subprocess.Popen(
                [*FAST, *words],
                cwd=work,
                env=environment(TMPDIR=str(temporary)),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            for _ in range(2)
        ]
        told = [each.communicate(timeout=120)[1].decode() for each in started]
        assert [each.returncode for each in started] == [0, 0], told
        assert (len(server.requests), server.peak) == (8, 1)
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(not SHARED.is_file(), reason="the shared rows are not beside this checkout")
def test_the_shared_rows(work: Path, temporary: Path) -> None:
    done = reviewed(work, f"source.path={SHARED}", "--runs=1", "--json", env={"TMPDIR": str(temporary)})
    assert done.code == 0
    receipt = done.json
    assert receipt["corpus"]["n_takes"] == 49
    assert receipt["denominator"]["planned"] == 49
    assert receipt["metrics"]["effective_recall"]["n"] == 41
    assert receipt["metrics"]["effective_recall"]["value"] < 0.1, "a linter covers about none of these"
    assert set(receipt["denominator"]["unscored"]) == {"blocked"}
    assert receipt["unmatched"] == [], "what cannot be parsed gives no findings"
    assert list(temporary.iterdir()) == []
