"""Runs that end before they are done, and runs that take them up: nothing is paid for twice, nothing lost."""

import json
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Reply, Request, hang, score_all
from program import FAST, Done, environment, evalrunner, inside

from evalrunner.calls.loop import ONE_PRESS_S

CALLS = 12
PRICES = [
    f"pricing.models.{name}.{side}_usd_per_mtok=1000"
    for name in ("one", "two")
    for side in ("input", "output")
]
ONLY_TIMES = ("ts", "run_id", "resumed", "cost_usd", "budget", "usage")
"""The keys in which a resumed receipt may differ: times, ids, and what a killed call may have cost."""


def words(server: Loopback) -> list[str]:
    """Two models, six items each, two calls in flight a model."""
    seats = ",".join(
        f"{{id:{name},api_base:'{server.url('openai')}',concurrency:2}}" for name in ("one", "two")
    )
    return [f"panel.models=[{seats}]", "judge.chunk_size=1", "sampler.limit=6", *PRICES]


def started(folder: Path, *given: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*FAST, *given], cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def ended(process: subprocess.Popen[bytes]) -> Done:
    out, err = process.communicate(timeout=60)
    return Done(process.returncode, out.decode(), err.decode())


def killed(folder: Path, server: Loopback, number: int, at: int, given: Sequence[str] = ()) -> Done:
    """Runs until the server has answered `at` calls, then sends the signal."""
    before = len(server.answered)
    process = started(folder, "run", *words(server), *given)
    until(lambda: len(server.answered) - before >= at, process)
    process.send_signal(number)
    return ended(process)


def newest(folder: Path) -> Path:
    return max((folder / "outputs" / "run").iterdir(), key=lambda path: path.name)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answered(path: Path) -> list[str]:
    return [line["fingerprint"] for line in lines(path) if line.get("ok")]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    def rest(receipt: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in receipt.items() if key not in ONLY_TIMES}

    return rest(one) == rest(other)


def test_a_killed_run_is_taken_up_and_gives_the_undisturbed_receipt(tmp_path: Path) -> None:
    with Loopback(score_all(8), latency=0.1) as server:
        undisturbed = inside(tmp_path, "run", *words(server), "--json").json
        needed = len(server.requests)
        assert killed(tmp_path, server, signal.SIGKILL, 5).code == -signal.SIGKILL
        first = newest(tmp_path)
        kept = answered(first / "calls.jsonl")
        done = evalrunner(tmp_path, "run", "--resume", first.name, "--json")
        asked = len(server.requests) - needed
    assert done.code == 0
    receipt = done.json
    assert same(receipt, undisturbed)
    assert receipt["resumed"] == {"run": first.name, "replies": len(kept), "outcomes": 0, "dropped_lines": 0}
    assert f"goes on with run {first.name}: {len(kept)} replies" in done.err
    start = json.loads((first / "begun.json").read_text())["start"]
    assert receipt["ts"] == start[:23] + "Z", "it began when its first part did"

    counted = Counter(answered(newest(tmp_path) / "calls.jsonl"))
    assert set(counted.values()) == {1}, "no call was paid twice that had been journalled"
    assert len(counted) == CALLS
    under_way = asked - CALLS
    assert 0 <= under_way <= 4, "only what was in flight when it was killed is asked again"
    assert receipt["usage"]["judge"]["calls"] == CALLS
    lost = receipt["budget"]["estimated_usd"]
    assert receipt["cost_usd"] == pytest.approx(undisturbed["cost_usd"] + lost)
    assert lost > 0 or not under_way, "what may have been billed counts"
    assert receipt["budget"]["spent_usd"] == receipt["cost_usd"]
    assert not (newest(tmp_path) / "begun.json").exists()


def test_a_run_that_was_taken_up_and_killed_again_is_taken_up_again(tmp_path: Path) -> None:
    with Loopback(score_all(8), latency=0.1) as server:
        killed(tmp_path, server, signal.SIGKILL, 2)
        before = len(server.answered)
        process = started(tmp_path, "run", "--resume", newest(tmp_path).name)
        until(lambda: len(server.answered) - before >= 2, process)
        process.kill()
        ended(process)
        second = newest(tmp_path)
        done = inside(tmp_path, "run", "--resume", second.name, "--json")
    assert done.code == 0
    assert done.json["resumed"]["run"] == second.name
    assert Counter(answered(newest(tmp_path) / "calls.jsonl")).most_common(1)[0][1] == 1
    assert done.json["usage"]["judge"]["calls"] == CALLS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_in_order_and_is_taken_up(tmp_path: Path, number: int) -> None:
    with Loopback(score_all(8), latency=0.2) as server:
        done = killed(tmp_path, server, number, 3)
        assert done.code == 130
        first = newest(tmp_path)
        receipt = json.loads((first / "receipt.json").read_text())
        asked = len(server.requests)
        assert len(answered(first / "calls.jsonl")) == asked, "what was in flight was let end"
        assert (receipt["verdict"], receipt["interrupted"], receipt["scores"]) == ("inconclusive", True, {})
        assert receipt["denominator"] == {
            "planned": CALLS,
            "scored": asked,
            "unscored": {},
            "skipped": CALLS - asked,
        }
        assert receipt["budget"]["estimated_usd"] == 0
        assert "INCONCLUSIVE" in done.out
        assert done.err.splitlines()[-2:] == [
            "evalrunner: stopping: what is under way gets up to 20 s to end; ^C again stops at once",
            f"evalrunner: interrupted; what was paid for is kept: evalrunner run --resume {first.name}",
        ]
        after = inside(tmp_path, "run", "--resume", "auto", *words(server), "--json")
        assert len(server.requests) == CALLS, after.err
    assert after.code == 0
    assert after.json["resumed"]["run"] == first.name
    assert after.json["budget"]["estimated_usd"] == 0
    rows = inside(tmp_path, "trend", "--json").json["rows"]
    assert [(row["verdict"], row["cost_usd"]) for row in rows] == [("pass", after.json["cost_usd"])]
    assert len(inside(tmp_path, "trend", "--attempts", "--json").json["rows"]) == 2


def test_a_second_interrupt_stops_at_once(tmp_path: Path) -> None:
    with Loopback(hang()) as server:
        process = started(tmp_path, "run", *words(server))
        until(lambda: len(server.requests) >= 4, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        process.send_signal(signal.SIGINT)  # as `timeout` and other wrappers send it twice
        assert b"stopping" in process.stderr.readline()
        time.sleep(ONE_PRESS_S + 0.1)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        done = ended(process)
    assert done.code == 130
    assert done.err == "evalrunner: interrupted\n"
    assert not (newest(tmp_path) / "receipt.json").exists()
    assert sum("sent" in line for line in lines(newest(tmp_path) / "calls.jsonl")) == 4


TAKES = "".join(
    json.dumps(
        {"id": f"t{n}", "page_slug": "p", "holder": "A", "claim": f"Claim {n}.", "kind": "fact", "weight": 1}
    )
    + "\n"
    for n in range(9)
)


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Loopback, str]:
    """A folder with a run that was killed, the server that its models had, and its id."""
    folder = tmp_path_factory.mktemp("unfinished")
    (folder / "takes.jsonl").write_text(TAKES)
    with Loopback(score_all(8), latency=0.1) as server:
        killed(folder, server, signal.SIGKILL, 2, ["source.path=takes.jsonl"])
    return folder, server, newest(folder).name


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--limit", "5"], "--limit (sampler.limit): differs from run"),
        (["judge.chunk_size=2"], "judge.chunk_size: differs from run"),
        (["threshold.mean_min=9"], "threshold.mean_min: differs from run"),
    ],
)
def test_a_changed_config_is_refused_and_named(
    unfinished: tuple[Path, Loopback, str], more: list[str], message: str
) -> None:
    folder, server, run = unfinished
    asked = len(server.requests)
    done = inside(folder, "run", "--resume", run, *more)
    assert done.code == 3
    assert (
        message.removeprefix("evalrunner: --limit (sampler.limit)").strip() in done.err or message in done.err
    )
    assert "or a new run without --resume" in done.err
    assert len(server.requests) == asked


def test_a_changed_corpus_is_refused_and_named(unfinished: tuple[Path, Loopback, str]) -> None:
    folder, _, run = unfinished
    path = folder / "takes.jsonl"
    before = path.read_text()
    path.write_text(before.replace("Claim", "Another claim"))
    done = inside(folder, "run", "--resume", run)
    path.write_text(before)
    assert done.code == 3
    assert "corpus fingerprint: differs from that of run" in done.err


def test_auto_begins_anew_where_the_corpus_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "takes.jsonl"
    path.write_text(TAKES)
    with Loopback(score_all(8), latency=0.1) as server:
        killed(tmp_path, server, signal.SIGKILL, 2, ["source.path=takes.jsonl"])
        first = newest(tmp_path)
        path.write_text(TAKES.replace("Claim", "Another claim"))
        done = inside(tmp_path, "run", "--resume", "auto", *words(server), "source.path=takes.jsonl")
    assert done.code == 0
    told = f"run {first.name} is unfinished, but its corpus fingerprint differs: begins a new one"
    assert told in done.err
    assert (first / "begun.json").is_file()
    assert len(answered(newest(tmp_path) / "calls.jsonl")) == CALLS


@pytest.mark.parametrize("name", ["20200101T000000-000-00000000", "nowhere", "''"])
def test_a_run_that_is_none_is_named(unfinished: tuple[Path, Loopback, str], name: str) -> None:
    folder, _, _ = unfinished
    done = inside(folder, "run", f"resume={name}")
    assert done.code == 3
    assert "resume" in done.err


def test_what_other_commands_make_of_it(unfinished: tuple[Path, Loopback, str]) -> None:
    folder, _, _ = unfinished
    for command in ("judge", "produce", "regress"):
        done = inside(folder, command, "resume=auto", stdin="")
        assert done.code == 3
        assert "resume: is for evalrunner run" in done.err


def test_auto_begins_anew_where_nothing_fits(unfinished: tuple[Path, Loopback, str]) -> None:
    folder, _, _ = unfinished
    done = inside(folder, "run", "resume=auto", "--limit", "3")
    assert done.code in {0, 1}
    assert "no unfinished run with this configuration: begins a new one" in done.err


def test_a_finished_run_and_one_that_goes_on_are_refused(tmp_path: Path) -> None:
    assert inside(tmp_path, "run", "--limit", "3").code in {0, 1}
    done = inside(tmp_path, "run", "--resume", newest(tmp_path).name)
    assert done.code == 3
    assert "is finished: there is nothing to resume" in done.err
    with Loopback(hang()) as server:
        process = started(tmp_path, "run", *words(server))
        until(lambda: len(server.requests) >= 1, process)
        done = inside(tmp_path, "run", "--resume", newest(tmp_path).name)
        assert done.code == 3
        assert "still goes on" in done.err
        process.kill()
        ended(process)


REVIEWER = """
import json, time, uuid
time.sleep(0.3)
title = f"Off by one {uuid.uuid4().hex}"
print(json.dumps([{"file": "x.py", "line": 1, "title": title, "body": "", "severity": "high"}]))
"""


def test_runs_of_a_reviewer_are_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "reviewer.py").write_text(textwrap.dedent(REVIEWER))
    diff = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
    cases = [
        {
            "id": name,
            "kind": "positive",
            "language": "python",
            "diff": diff,
            "expected": [{"file": "x.py", "line": 1, "mechanism": ["off by one"]}],
        }
        for name in ("one", "two", "three")
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(each) + "\n" for each in cases))
    argv = json.dumps([sys.executable, "{here}/reviewer.py"])
    given = [
        "run", "eval=code_review", "subject=command_reviewer", f"subject.argv={argv}",
        "--cases", "cases.jsonl", "runs=2",
    ]  # fmt: skip
    undisturbed = inside(tmp_path, *given, "--json").json
    assert undisturbed["metrics"]["effective_recall"]["value"] == 1
    known = {path.name for path in (tmp_path / "outputs" / "run").iterdir()}
    process = started(tmp_path, *given)

    def kept() -> list[str]:
        files = (tmp_path / "outputs" / "run").glob("*/outcomes.jsonl")
        return [
            line for path in files if path.parent.name not in known for line in path.read_text().splitlines()
        ]

    until(lambda: len(kept()) >= 3, process)
    process.kill()
    ended(process)
    first, before = newest(tmp_path), kept()
    done = evalrunner(tmp_path, "run", "--resume", first.name, "--json")
    receipt = done.json
    assert receipt["resumed"] == {
        "run": first.name,
        "replies": 0,
        "outcomes": len(before),
        "dropped_lines": 0,
    }
    titles = re.compile(r"Off by one ([0-9a-f]{32})")
    for line in before:
        assert titles.findall(line)[0] in done.out, "what it said then is what is judged now"
    after = [
        json.loads(line)["outcome"] for line in (newest(tmp_path) / "outcomes.jsonl").read_text().splitlines()
    ]
    assert Counter((each["item_id"], each["run"]) for each in after) == Counter(
        (name, run) for name in ("one", "two", "three") for run in (1, 2)
    )
    assert receipt["metrics"] == undisturbed["metrics"]
    assert receipt["warnings"] == undisturbed["warnings"] != []
    assert (receipt["cost_usd"], receipt["budget"]) == (undisturbed["cost_usd"], undisturbed["budget"])
    assert receipt["denominator"] == undisturbed["denominator"]


def test_a_sweep_that_is_interrupted_stops_and_its_jobs_are_taken_up(tmp_path: Path) -> None:
    with Loopback(score_all(8), latency=0.1) as server:
        given = ["run", "-m", *words(server), "sampler.seed=1,2"]
        process = started(tmp_path, *given)
        until(lambda: len(server.answered) >= 3, process)
        process.send_signal(signal.SIGINT)
        done = ended(process)
        assert done.code == 130
        assert len(list(tmp_path.rglob("receipt.json"))) == 1, "the second job does not begin"
        after = inside(tmp_path, *given, "resume=auto", "--json")
        assert after.code == 0
        assert len(server.requests) == 2 * CALLS
    receipts = [json.loads(line) for line in after.out.splitlines()]
    assert [receipt["verdict"] for receipt in receipts] == ["pass", "pass"]
    assert ["resumed" in receipt for receipt in receipts] == [True, False]


FULL = """
import resource, signal, sys
sys.dont_write_bytecode = True  # half a module would stay behind
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
from evalrunner.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_where_the_journal_is_full_nothing_more_is_asked_and_the_receipt_says_so(tmp_path: Path) -> None:
    """No file may grow beyond so many bytes, as on a disk that fills up during the calls."""

    def wordy(request: Request) -> Reply:
        reply = score_all(8)(request)
        return replace(reply, text=f"{reply.text}\n{'x' * 5000}")

    with Loopback(wordy) as server:
        process = subprocess.run(
            [sys.executable, "-c", FULL, "run", *words(server)],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        asked = len(server.requests)
    assert process.returncode == 4, process.stderr
    assert asked < CALLS
    assert "calls.jsonl: the journal of calls cannot be written: File too large" in process.stderr
    told = json.loads((newest(tmp_path) / "receipt.json").read_text())
    assert (told["verdict"], told["interrupted"]) == ("inconclusive", True)
    assert "the journal of calls cannot be written" in told["verdictMessage"]
    assert told["usage"]["judge"]["calls"] == asked, "what was paid is in the receipt, journalled or not"
    assert len(answered_whole(newest(tmp_path) / "calls.jsonl")) >= asked - 4


def answered_whole(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n")[:-1] if '"ok":true' in line]


def test_where_hydra_cannot_save_the_configuration_the_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("a file where a folder should be")
    done = inside(tmp_path, "run", "--limit", "3")
    assert done.code == 4
    assert "crashed" not in done.err
    assert "outputs" in done.err
    assert "cannot be written" in done.err
