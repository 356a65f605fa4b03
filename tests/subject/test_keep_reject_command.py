"""Real programs under test: what they are given, how they answer, and every way in which they do not."""

import asyncio
import json
import os
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalrunner.budget.budget import Budget, BudgetExhausted, Ledger
from evalrunner.budget.pricing import Pricing
from evalrunner.calls.desk import Desk
from evalrunner.errors import ConfigError
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench
from evalrunner.paths import data_root
from evalrunner.records import Item, Outcome
from evalrunner.rubric import read_rubric
from evalrunner.subject.base import Subject
from evalrunner.subject.keep_reject_command import KeepRejectCommand

RUBRIC = read_rubric(data_root() / "rubrics" / "review_judge.yaml")
FINDINGS = [
    {"id": "f1", "file": "x", "line": 1, "title": "b is wröng", "body": "a was right"},
    {"id": "f2", "file": "x", "line": 1, "title": "b is slow", "body": ""},
]
ITEM = Item(
    id="the-batch",
    content_sha="0" * 64,
    payload={"id": "the-batch", "diff": "diff --git a/x b/x\n", "findings": FINDINGS},
    truth={"labels": {"f1": "real", "f2": "spurious"}},
)
KEEP_ALL = """
import json, sys
batch = json.load(sys.stdin)
print(json.dumps({"verdicts": [
    {"id": each["id"], "verdict": "KEEP", "reason": f"title has {len(each['title'])} letters"}
    for each in batch["findings"]
]}))
"""


def ledger(cap: str | None = None, unpriced: Any = "report") -> Ledger:
    budget = Budget(cap_usd=None if cap is None else Decimal(cap), unpriced=unpriced)
    return Ledger(budget, Pricing.model_validate({"source": "the test", "version": "1", "models": {}}))


def run(code: str, *arguments: str, at: Ledger | None = None, item: Item = ITEM, **fields: Any) -> Outcome:
    """One run of a Python program under test."""
    judge = KeepRejectCommand(argv=(sys.executable, "-c", code, *arguments), **{"timeout_s": 20.0, **fields})
    desk = Desk(at or ledger(), journal=None, note=lambda line: None)
    bench = Bench(RUBRIC, (), Prompts(), desk, Path(), lambda line: None)
    return asyncio.run(judge.produce(item, 3, bench))


def test_a_program_answers_on_stdout() -> None:
    made = run(KEEP_ALL)
    assert (made.item_id, made.run, made.status, made.error) == ("the-batch", 3, "ok", None)
    assert made.payload["verdicts"] == [
        {"id": "f1", "verdict": "KEEP", "reason": "title has 10 letters"},
        {"id": "f2", "verdict": "KEEP", "reason": "title has 9 letters"},
    ]
    assert made.payload["seat"] == f"program {sys.executable}"
    assert made.spend.cost_usd is None
    assert made.duration_s > 0


def test_it_is_given_the_diff_and_the_findings_and_nothing_else(tmp_path: Path) -> None:
    """No label, batch id or origin stands on stdin, in an argument, in a variable or in a file of its own."""
    spy = f"""
import json, os, sys
home = os.listdir(os.environ["HOME"])
seen = {{"stdin": sys.stdin.read(), "argv": sys.argv, "env": dict(os.environ), "home": home}}
open({str(tmp_path / "seen.json")!r}, "w").write(json.dumps(seen))
"""
    findings = [{**finding, "label": "spurious"} for finding in FINDINGS]
    stray = ITEM.model_copy(update={"payload": {**ITEM.payload, "findings": findings, "truth": "spurious"}})
    assert run(spy, item=stray).status == "error"
    text = (tmp_path / "seen.json").read_text()
    seen = json.loads(text)
    assert json.loads(seen["stdin"]) == {"diff": "diff --git a/x b/x\n", "findings": FINDINGS}
    assert seen["home"] == []
    for secret in ("label", "spurious", "the-batch"):
        assert secret not in text


def test_batch_and_answer_may_be_files(tmp_path: Path) -> None:
    code = """
import json, os, sys
assert sys.stdin.read() == ""
name, answer = sys.argv[1].removeprefix("--in="), sys.argv[2]
batch = json.load(open(name, encoding="utf-8"))
assert sorted(os.listdir(os.path.dirname(name))) == ["batch.json"]
print("a log line {that is no answer}")
open(answer, "w").write(json.dumps({"verdicts": [
    {"id": each["id"], "verdict": "REJECT", "reason": name} for each in batch["findings"]
]}))
"""
    made = run(code, "--in={batch}", "{answer}")
    assert made.status == "ok", made.error
    assert [each["verdict"] for each in made.payload["verdicts"]] == ["REJECT", "REJECT"]
    assert not Path(made.payload["verdicts"][0]["reason"]).parent.exists()


@pytest.mark.parametrize(
    ("code", "status", "why"),
    [
        (
            "import sys; sys.exit('no model today')",
            "error",
            "it ended with exit code 1; stderr: no model today",
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "error", "it ended with signal 9"),
        ("pass", "error", "no usable answer: the reply is empty"),
        ("print('{\"verdicts\": [')", "error", "no usable answer: the JSON object is cut off"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "error", "its answer is not UTF-8"),
        (KEEP_ALL.replace('"KEEP"', '"Keep"'), "error", "neither KEEP nor REJECT"),
        (
            KEEP_ALL.replace('batch["findings"]', 'batch["findings"][:1]'),
            "error",
            "1 of 2 findings have no verdict",
        ),
        (KEEP_ALL + "sys.exit(3)", "error", "it ended with exit code 3"),
        ("print('x' * 5_000_000)", "error", "it wrote 5000001 bytes to stdout and 0 to stderr, too many"),
    ],
)
def test_what_is_no_answer_is_a_failed_call(code: str, status: str, why: str) -> None:
    made = run(code)
    assert (made.status, "verdicts" in made.payload) == (status, False)
    assert made.error is not None
    assert made.error.startswith(why) or why in made.error


def test_a_program_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    """A child that leaves the session and would outlive its parent is ended as well."""
    code = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
open({str(tmp_path / "child")!r}, "w").write(str(child.pid))
print("thinking", file=sys.stderr, flush=True)
time.sleep(300)
"""
    start = time.monotonic()
    made = run(code, timeout_s=1.0)
    assert time.monotonic() - start < 20
    assert made.status == "timeout"
    assert made.error == "it did not end within its time limit; stderr: thinking"
    child = int((tmp_path / "child").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_an_answer_file_that_is_missing_or_a_link_is_none(tmp_path: Path) -> None:
    assert "there is no file with its answer" in str(run("pass", "{answer}").error)
    (tmp_path / "secret").write_text("{}")
    link = f"import os, sys; os.symlink({str(tmp_path / 'secret')!r}, sys.argv[1])"
    assert "there is no file with its answer" in str(run(link, "{answer}").error)


def test_a_program_that_goes_away_is_a_failed_call() -> None:
    judge = KeepRejectCommand(argv=("no-such-judge",))
    desk = Desk(ledger(), journal=None, note=lambda line: None)
    bench = Bench(RUBRIC, (), Prompts(), desk, Path(), lambda line: None)
    made = asyncio.run(judge.produce(ITEM, 1, bench))
    assert made.status == "error"
    assert "it could not be started: No such file or directory" in str(made.error)


def test_a_program_that_is_not_there_is_refused_before_anything_runs() -> None:
    with pytest.raises(
        ConfigError, match=r"subject.argv.0: there is no such program \(found 'no-such-judge'\)"
    ):
        KeepRejectCommand(argv=("no-such-judge",)).check_installed()
    KeepRejectCommand(argv=(sys.executable,)).check_installed()


def test_it_sees_no_variable_but_those_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hush")
    monkeypatch.setenv("JUDGE_KEY", "for the judge")
    code = """
import json, os, sys
told = f"{os.environ.get('SECRET_KEY')} {os.environ.get('JUDGE_KEY')} {os.getcwd()}"
print(json.dumps({"verdicts": [
    {"id": each["id"], "verdict": "KEEP", "reason": told} for each in json.load(sys.stdin)["findings"]
]}))
"""
    made = run(code, env=("JUDGE_KEY",))
    assert made.payload["verdicts"][0]["reason"] == f"None for the judge {Path.cwd()}"


def test_what_it_spends_is_not_known_and_no_cap_holds_for_it() -> None:
    at = ledger("1")
    run(KEEP_ALL, at=at)
    block = at.block()
    assert (block["spent_usd"], block["enforced"]) == (None, False)
    assert block["unknown_models"] == [f"program {sys.executable}"]
    with pytest.raises(BudgetExhausted, match="has no known price, so the cap of \\$1 refuses it"):
        run(KEEP_ALL, at=ledger("1", unpriced="refuse"))


def test_its_config_is_checked() -> None:
    judge = KeepRejectCommand(argv=("judge", "--fast"), env=("KEY",), timeout_s=3.0)
    assert isinstance(judge, Subject)
    assert judge.described() == {
        "subject": "keep_reject_command",
        "seat": "program",
        "argv": ["judge", "--fast"],
    }
    assert (judge.models(), judge.prompts()) == ((), ())
    for fields in ({"argv": ()}, {"argv": (" ",)}, {"argv": ("a\0",)}, {"argv": "judge"}):
        with pytest.raises(ValidationError):
            KeepRejectCommand(**fields)
    with pytest.raises(ValidationError, match="without values, not 'KEY=1'"):
        KeepRejectCommand(argv=("judge",), env=("KEY=1",))
