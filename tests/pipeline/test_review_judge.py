"""`eval=review_judge` end to end: real processes, real HTTP, real files, one receipt whatever judges."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Reply, Request, Tokens, cut, text
from program import Done
from program import inside as evalrunner

from evalrunner.stats.rounding import shown as rounded

RULES = "keep-reject-rules-v1"
METRICS = ["real_keep_rate", "fp_rejection_rate", "balanced_accuracy", "kappa", "failed_call_rate"]
DIFF = """\
diff --git a/{name}.py b/{name}.py
--- a/{name}.py
+++ b/{name}.py
@@ -1,3 +1,3 @@
 def {name}(entries):
-    return sum(entries)
+    return max(entries)
 # end
"""


def row(name: str, **labels: str) -> dict[str, Any]:
    """A batch of the shared form; a finding for each label."""
    findings = [
        {
            "id": f"{name}-{place}",
            "file": f"{name}.py",
            "line": 2,
            "title": f"Finding {place} on entries",
            "body": "Looks odd.",
            "label": label,
        }
        for place, label in labels.items()
    ]
    return {"id": name, "diff": DIFF.format(name=name), "findings": findings}


ROWS = [
    row("alpha", f1="real", f2="spurious"),
    row("beta", f1="real", f2="spurious", f3="spurious"),
    row("gamma", f1="real"),
]
LABELS = {each["id"]: each["label"] for batch in ROWS for each in batch["findings"]}


def written(folder: Path) -> str:
    """The batches as a file of the folder; the override that names it."""
    (folder / "cases.jsonl").write_text("".join(json.dumps(each) + "\n" for each in ROWS))
    return "source.path=cases.jsonl"


@pytest.fixture
def cases(tmp_path: Path) -> str:
    return written(tmp_path)


def judged(folder: Path, *words: str, command: str = "run", **more: Any) -> Done:
    return evalrunner(folder, command, "eval=review_judge", *words, **more)


def seat(server: Loopback, name: str = "openai:gpt-4o", **fields: Any) -> str:
    """The model under test at the server, as an override; no subject is named."""
    told = {"id": name, "api_base": server.url("openai"), "timeout_s": 10, **fields}
    inside = ",".join(f"{key}:{json.dumps(value)}" for key, value in told.items())
    return f"subject.model={{{inside}}}"


def ids(request: Request) -> list[str]:
    found = request.schema["properties"]["verdicts"]["items"]["properties"]["id"]["enum"]
    return [str(each) for each in found]


def verdicts(given: dict[str, str]) -> str:
    listed = [{"id": name, "verdict": word, "reason": f"about {name}"} for name, word in given.items()]
    return json.dumps({"verdicts": listed})


def keep_all(request: Request) -> str:
    return verdicts(dict.fromkeys(ids(request), "KEEP"))


def oracle(request: Request) -> str:
    words = {"real": "KEEP", "spurious": "REJECT"}
    return verdicts({name: words[LABELS[name]] for name in ids(request)})


def values(receipt: Any) -> dict[str, float]:
    return {name: metric["value"] for name, metric in receipt["metrics"].items()}


# the keyless default ---------------------------------------------------------------------------------------


def test_the_default_judges_the_demo_by_rules_and_says_so(tmp_path: Path) -> None:
    shown = judged(tmp_path)
    assert shown.code == 0, shown.err
    assert "A rule-based judge spoke; no LLM was asked." in shown.out
    assert f"{RULES} is a rule-based judge: no LLM speaks for it" in shown.err
    [path] = (tmp_path / "outputs" / "receipts").glob("review-judge-*.json")
    receipt = json.loads(path.read_text())
    assert list(receipt["metrics"]) == METRICS
    assert (receipt["verdict"], receipt["judge_kind"], receipt["models"]) == (None, "heuristic", [RULES])
    assert receipt["subject"]["id"] == RULES
    assert receipt["judge"] == {"name": "label_match"}
    assert receipt["headline"] == {
        "metric": "balanced_accuracy",
        "value": receipt["metrics"]["balanced_accuracy"]["value"],
    }
    assert receipt["cost_usd"] == 0
    assert receipt["scores"] == {}
    assert receipt["cycles_run"] == 1
    assert _row_of_the_page(receipt) in (Path(__file__).parents[2] / "docs" / "review-judge.md").read_text()
    assert receipt["denominator"]["scored"] == len(receipt["items"]) == receipt["corpus"]["n_takes"] > 0
    for item in receipt["items"]:
        for finding in item["findings"]:
            (ruled,) = finding["verdicts"]
            assert finding["label"] in {"real", "spurious"}
            assert ruled["verdict"] in {"KEEP", "REJECT"}
            assert ruled["reason"]
            assert ruled["right"] is ((finding["label"] == "real") == (ruled["verdict"] == "KEEP"))


def _row_of_the_page(receipt: Any) -> str:
    """The figures as docs/review-judge.md shows them for the demo."""
    cells = [
        "{} [{}, {}]".format(*(rounded(figure[name]) for name in ("value", "ci_low", "ci_high")))
        for figure in (receipt["metrics"][name] for name in METRICS[:4])
    ]
    kept, rejected = (receipt["metrics"][name]["n"] for name in METRICS[:2])
    items = len(receipt["items"])
    return f"| demo, {items} (written against) | {kept} real, {rejected} spurious | {' | '.join(cells)} |"


def test_a_run_repeats_to_the_letter(tmp_path: Path, cases: str) -> None:
    first, second = (judged(tmp_path, cases, "--json").json for _ in range(2))
    for name in ("ts", "run_id"):
        first.pop(name), second.pop(name)
    assert first == second


def test_one_batch_is_shown_in_full(tmp_path: Path, cases: str) -> None:
    shown = judged(tmp_path, cases, "--explain", "alpha")
    assert "alpha-f2 is spurious: alpha.py:2" in shown.out
    assert "run 1: KEEP, wrong: alpha.py: line 2 is changed" in shown.out


# an LLM under test ------------------------------------------------------------------------------------------


class Scripted:
    """What the model under test says; a test may change its mind."""

    def __init__(self) -> None:
        self.says: Callable[[Request], str] = oracle

    def __call__(self, request: Request) -> Reply:
        return text(self.says(request), usage=Tokens(1000, 100))


@dataclass(frozen=True)
class Scored:
    """A model that was judged twice on every batch, and its server, which still answers."""

    folder: Path
    done: Done
    server: Loopback
    script: Scripted

    @property
    def path(self) -> Path:
        [first] = (self.folder / "outputs" / "receipts").glob("review-judge-*.json")
        return first


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scored]:
    folder, script = tmp_path_factory.mktemp("scored"), Scripted()
    with Loopback(script) as server:
        words = [written(folder), seat(server, temperature=0.2), "--runs", "2", "--json"]
        yield Scored(folder, judged(folder, *words), server, script)


def test_a_model_is_scored_and_its_labels_stay_here(scored: Scored) -> None:
    assert scored.done.code == 0, scored.done.err
    assert scored.server.errors == []
    assert scored.server.peak == 1
    asked = scored.server.requests[:6]
    assert [ids(request)[0] for request in asked] == [
        f"{name}-f1" for name in ("alpha", "beta", "gamma") for _ in "12"
    ]
    for request in asked:
        sent = json.dumps(request.body) + json.dumps(dict(request.headers))
        assert "label" not in sent
        assert "spurious" not in sent
    receipt = scored.done.json
    assert (receipt["models"], receipt["judge_kind"]) == (["openai:gpt-4o"], "llm")
    assert values(receipt) == dict(zip(METRICS, [1, 1, 1, 1, 0], strict=True))
    assert receipt["metrics"]["real_keep_rate"]["n"] == 6
    assert [each["run"] for each in receipt["items"][0]["findings"][0]["verdicts"]] == [1, 2]
    assert receipt["subject"]["seat"] == "llm"
    assert receipt["subject"]["composed"]["option"] == "keep_reject_llm"
    assert receipt["subject"]["composed"]["runs"] == 2
    assert receipt["answered_by"] == {"openai:gpt-4o": ["gpt-4o"]}
    assert receipt["improvements"] == []


def test_the_bill_of_the_subject_stands_apart(scored: Scored) -> None:
    receipt = scored.done.json
    assert receipt["cost_usd"] == pytest.approx(6 * (1000 * 2.5 + 100 * 10) / 1e6)
    assert receipt["usage"]["subject"]["calls"] == 6
    assert receipt["usage"]["subject"]["cost_usd"] == receipt["cost_usd"] == receipt["budget"]["spent_usd"]
    assert receipt["usage"]["judge"]["calls"] == 0


def test_replay_and_trend_show_the_receipt(scored: Scored) -> None:
    replayed = evalrunner(scored.folder, "replay", str(scored.path), "--json")
    assert (replayed.code, replayed.json) == (0, scored.done.json)
    rows = evalrunner(scored.folder, "trend", "--eval", "review_judge", "--json").json["rows"]
    assert rows[-1]["overall_score"] == 1


def test_regress_asks_the_same_model_again_and_tolerates_five_hundredths(scored: Scored) -> None:
    baseline = scored.folder / "baseline.json"
    baseline.write_bytes(scored.path.read_bytes())
    held = evalrunner(scored.folder, "regress", "--against", str(baseline))
    assert (held.code, "NO REGRESSION" in held.out) == (0, True), held.err
    assert "0.05" in held.out
    assert "differs" not in held.err
    assert len(scored.server.requests) == 12
    assert scored.server.requests[-1].body["temperature"] == 0.2
    scored.script.says = keep_all
    worse = evalrunner(scored.folder, "regress", "--against", str(baseline), "--json")
    assert worse.code == 1
    assert worse.json["regressed"] == ["fp_rejection_rate", "balanced_accuracy", "kappa"]


def test_a_model_is_named_with_its_flag_and_needs_its_key(tmp_path: Path, cases: str) -> None:
    done = judged(tmp_path, cases, "--model", "openai:gpt-4o")
    assert (done.code, done.out) == (3, "")
    assert "OPENAI_API_KEY" in done.err


def test_incomplete_and_cut_answers_fail_open_and_show(tmp_path: Path, cases: str) -> None:
    """alpha lacks a verdict twice, beta is cut twice, gamma answers: 2 of 3 calls failed, all is kept."""

    def script(request: Request) -> Any:
        names = ids(request)
        if names[0].startswith("alpha"):
            return verdicts({names[0]: "REJECT"})
        return cut(oracle(request)) if names[0].startswith("beta") else oracle(request)

    with Loopback(script) as server:
        done = judged(tmp_path, cases, seat(server), "--json")
        assert len(server.requests) == 5
    assert done.code == 0
    receipt = done.json
    assert values(receipt) == {
        "real_keep_rate": 1,
        "fp_rejection_rate": 0,
        "balanced_accuracy": 0.5,
        "kappa": 0,
        "failed_call_rate": pytest.approx(2 / 3),
    }
    answered = receipt["groups"]["calls"]["answered"]
    assert (answered["real_keep_rate"]["value"], answered["real_keep_rate"]["n"]) == (1, 1)
    assert answered["fp_rejection_rate"]["value"] is None
    assert receipt["denominator"] == {"planned": 3, "scored": 1, "unscored": {"error": 2}, "skipped": 0}
    first, second = receipt["errors"]
    assert first["modelId"] == second["modelId"] == "openai:gpt-4o"
    assert "alpha, run 1: no usable reply" in first["error"]
    assert "1 of 2 findings have no verdict: 'alpha-f2'" in first["error"]
    assert "'length'" in second["error"]
    assert "2 of 3 calls failed; their findings count as kept (fail open)" in done.err
    assert receipt["items"][0]["findings"][1]["verdicts"] == [
        {"run": 1, "verdict": "KEEP", "reason": None, "right": False, "failed_call": True}
    ]


def test_a_cap_leaves_whole_runs_out_and_the_verdict_open(tmp_path: Path, cases: str) -> None:
    """The worst case of one run fits under the cap; a second one beside what the first cost does not."""
    with Loopback(lambda request: text(oracle(request), usage=Tokens(4000, 2000))) as server:
        model = seat(server, max_tokens=2000, reasks=1)
        rule = ["threshold=metric", "threshold.at_least.balanced_accuracy=0.1"]
        done = judged(tmp_path, cases, model, "--max-cost", "0.07", *rule, "--json")
        assert len(server.requests) == 1
    receipt = done.json
    assert (done.code, receipt["verdict"]) == (2, "inconclusive")
    assert "not complete" in receipt["verdictMessage"]
    assert receipt["denominator"] == {"planned": 3, "scored": 1, "unscored": {}, "skipped": 2}
    assert receipt["budget"]["unit"] == "run"
    assert receipt["budget"]["enforced"] is True
    assert receipt["budget"]["spent_usd"] == pytest.approx(0.03)
    assert receipt["metrics"]["failed_call_rate"]["n"] == 1
    assert "the budget does not allow the run" in receipt["errors"][0]["error"]


# a program under test ---------------------------------------------------------------------------------------


PROGRAM = """
import json, sys, time
batch = json.load(sys.stdin)
name = batch["findings"][0]["id"]
if name.startswith("alpha"):
    sys.exit("no judge today")
if name.startswith("beta"):
    time.sleep(300)
print(json.dumps({"verdicts": [
    {"id": each["id"], "verdict": "KEEP", "reason": "why not"} for each in batch["findings"]
]}))
"""


def test_a_program_that_crashes_and_hangs_is_two_failed_calls_and_not_the_end(
    tmp_path: Path, cases: str
) -> None:
    (tmp_path / "judge.py").write_text(PROGRAM)
    program = ["subject=keep_reject_command", f"subject.argv=[{sys.executable!r},judge.py]"]
    done = judged(tmp_path, cases, *program, "subject.timeout_s=3.0", "--json")
    assert done.code == 0, done.err
    receipt = done.json
    assert (receipt["judge_kind"], receipt["models"]) == ("program", [])
    assert values(receipt)["failed_call_rate"] == pytest.approx(2 / 3)
    assert receipt["denominator"]["unscored"] == {"error": 1, "timeout": 1}
    assert [each["error"] for each in receipt["errors"]] == [
        "alpha, run 1: it ended with exit code 1; stderr: no judge today",
        "beta, run 1: it did not end within its time limit",
    ]
    assert receipt["cost_usd"] is None
    assert receipt["budget"]["enforced"] is False
    assert f"what program {sys.executable} spends is not seen: the cost stays unknown" in done.err
    [path] = (tmp_path / "outputs" / "receipts").glob("review-judge-*.json")
    bare = evalrunner(tmp_path, "regress", "--against", str(path))
    assert (bare.code, "subject.argv" in bare.err) == (3, True)
    (tmp_path / "judge.py").write_text(
        PROGRAM.replace("sys.exit", "print").replace("time.sleep(300)", "pass")
    )
    better = evalrunner(tmp_path, "regress", "--against", str(path), *program, "--json")
    assert better.code == 0, better.err
    assert values(better.json["receipt"])["failed_call_rate"] == 0


# thresholds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "code", "verdict"),
    [
        (["threshold.at_least={balanced_accuracy: 0.5}"], 0, "pass"),
        (["threshold.at_least.balanced_accuracy=0.5", "threshold.at_most.failed_call_rate=0"], 0, "pass"),
        (["threshold.at_least={balanced_accuracy: 0.51}"], 1, "fail"),
        (["threshold.at_least.kappa=0.9", "threshold.at_most.failed_call_rate=0.1"], 1, "fail"),
    ],
)
def test_bars_over_metrics_give_verdict_and_exit_code(
    tmp_path: Path, cases: str, rule: list[str], code: int, verdict: str
) -> None:
    """The rules keep everything here: balanced accuracy 0.5, kappa 0."""
    done = judged(tmp_path, cases, "threshold=metric", *rule, "--json")
    assert (done.code, done.json["verdict"]) == (code, verdict), done.err


def test_a_bar_for_an_unknown_metric_is_refused(tmp_path: Path, cases: str) -> None:
    done = judged(tmp_path, cases, "threshold=metric", "threshold.at_least.real_kept_rate=0.5")
    assert done.code == 3
    assert "did you mean 'real_keep_rate'" in done.err


def test_the_default_judge_regresses_against_itself(tmp_path: Path, cases: str) -> None:
    judged(tmp_path, cases, "threshold=metric", "threshold.at_least.balanced_accuracy=0.5")
    [path] = (tmp_path / "outputs" / "receipts").glob("review-judge-*.json")
    held = evalrunner(tmp_path, "regress", "--against", str(path), "--json")
    assert held.code == 0, held.err
    assert held.json["receipt"]["verdict"] == "pass"
    assert "differs" not in held.err


# stages and sweeps -----------------------------------------------------------------------------------------


def test_the_three_stages_give_what_run_gives(tmp_path: Path, cases: str) -> None:
    whole = judged(tmp_path, cases, "--json").json
    selected = judged(tmp_path, cases, command="select")
    produced = judged(tmp_path, command="produce", stdin=selected.out)
    piped = judged(tmp_path, "--json", command="judge", stdin=produced.out)
    assert piped.code == 0, piped.err
    told = piped.json
    for name in ("ts", "run_id", "environment"):
        whole.pop(name), told.pop(name)
    assert told == whole


def test_the_outcomes_of_another_subject_are_refused(tmp_path: Path, cases: str) -> None:
    selected = judged(tmp_path, cases, command="select")
    produced = judged(tmp_path, command="produce", stdin=selected.out)
    with Loopback() as server:
        other = judged(tmp_path, seat(server), command="judge", stdin=produced.out)
    assert other.code == 3
    assert "another subject" in other.err


def test_calls_that_all_failed_score_nothing(tmp_path: Path, cases: str) -> None:
    """Records of another program: nobody says what produced them, and no verdict is there."""
    lines = [json.loads(line) for line in judged(tmp_path, cases, command="select").out.splitlines()]
    for line in lines:
        del line["via"]
        line["outcomes"] = [{"item_id": line["id"], "status": "timeout"}]
    told = "".join(json.dumps(line) + "\n" for line in lines)
    done = judged(tmp_path, "--json", command="judge", stdin=told)
    assert (done.code, done.json["verdict"]) == (2, None), done.err
    assert values(done.json)["failed_call_rate"] == 1
    assert done.json["denominator"] == {"planned": 3, "scored": 0, "unscored": {"timeout": 3}, "skipped": 0}
    assert (done.json["subject"], done.json["models"]) == ({"subject": "unknown"}, [])
    assert done.json["judge_kind"] == "code"


def test_a_sweep_over_two_judges_one_of_them_without_a_known_price(tmp_path: Path, cases: str) -> None:
    with Loopback(oracle) as server:
        own = tmp_path / "conf" / "subject" / "own.yaml"
        own.parent.mkdir(parents=True)
        model = {"id": "openai:nobody-knows", "api_base": server.url("openai")}
        own.write_text(f"defaults: [keep_reject_llm, _self_]\nmodel: {json.dumps(model)}\n")
        done = judged(tmp_path, cases, "-m", "subject=keep_reject,own", "--max-cost", "1", "--json")
    assert done.code == 0, done.err
    rules, llm = [json.loads(line) for line in done.out.splitlines()]
    assert (rules["judge_kind"], llm["judge_kind"]) == ("heuristic", "llm")
    assert [each["metrics"]["balanced_accuracy"]["value"] for each in (rules, llm)] == [0.5, 1]
    assert llm["subject"]["composed"]["option"] == "own"
    assert (llm["cost_usd"], llm["budget"]["spent_usd"], llm["budget"]["enforced"]) == (None, None, False)
    assert "no price is known of openai:nobody-knows" in done.err
    assert "the cap does not hold" in done.err
    rows = evalrunner(tmp_path, "trend", "--json").json["rows"]
    assert sorted(row["overall_score"] for row in rows) == [0.5, 1]
