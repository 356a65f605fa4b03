"""Any program as a reviewer: what it gets, what becomes of what it says, and every way in which it fails."""

import asyncio
import json
import sys
import textwrap
import time
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import pytest
from own_scratch import own_scratch  # noqa: F401 - an autouse fixture
from pydantic import ValidationError

from evalrunner.budget.budget import Budget, BudgetExhausted, Ledger
from evalrunner.budget.pricing import Pricing
from evalrunner.calls.desk import Desk
from evalrunner.errors import ConfigError
from evalrunner.git.scratch import scratch
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench
from evalrunner.paths import data_root
from evalrunner.records import Item
from evalrunner.rubric import read_rubric
from evalrunner.sandbox.bubblewrap import probe
from evalrunner.subject.base import Checked, Subject
from evalrunner.subject.command_reviewer import CommandReviewer

RUBRIC = read_rubric(data_root() / "rubrics" / "code_review.yaml")
DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
ONE = {"id": "F1", "file": "x.py", "line": 1, "title": "wrong", "body": "b", "severity": None}
ISOLATED = pytest.mark.skipif(probe(net=True).kind == "none", reason="bubblewrap does not work here")
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")


def case(name="the-case", diff=DIFF):
    return Item(id=name, content_sha="0" * 64, payload={"diff": diff}, truth={"expected": [{"secret": 1}]})


def bench(folder=Path(), notes=None, **budget):
    ledger = Ledger(Budget(**{"unpriced": "report", **budget}), Pricing(source="t", version="1", models={}))
    desk = Desk(ledger, journal=None, note=lambda _: None)
    return Bench(RUBRIC, (), Prompts(), desk, folder, (notes if notes is not None else []).append)


def review(script, at=None, item=None, run=1, **fields):
    """The outcome of a Python script as reviewer."""
    argv = [sys.executable, "-c", textwrap.dedent(script), *fields.pop("arguments", ())]
    reviewer = CommandReviewer(argv=argv, **{"timeout_s": 20.0, **fields})
    return asyncio.run(reviewer.produce(item or case(), run, at or bench()))


def left():
    """What lies in the scratch folder of this process."""
    return list(scratch().path.iterdir())


SAY = f"""
import json
print(json.dumps([{ONE!r}]))
"""


@pytest.mark.parametrize("isolate", [True, False])
def test_findings_on_stdout(isolate):
    made = review(SAY, isolate=isolate)
    assert (made.item_id, made.run, made.status, made.error) == ("the-case", 1, "ok", None)
    assert made.payload == {"findings": [ONE], "exit": 0}
    assert made.spend.cost_usd is None
    assert made.duration_s > 0
    assert left() == []


def test_it_runs_in_the_repository_with_the_diff_on_stdin():
    script = """
    import json, os, subprocess, sys
    git = lambda *words: subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout
    print(json.dumps([{"file": os.getcwd() + "/x.py", "line": None, "title": title, "body": body}
        for title, body in [("stdin", sys.stdin.read()), ("head", open("x.py").read()),
            ("base", git("show", "HEAD~1:x.py")), ("count", git("rev-list", "--count", "HEAD"))]]))
    """
    found = {each["title"]: each for each in review(script).payload["findings"]}
    assert {name: each["body"] for name, each in found.items()} == {
        "stdin": DIFF,
        "head": "a = 2\n",
        "base": "a = 1\n",
        "count": "2\n",
    }
    assert {each["file"] for each in found.values()} == {"x.py"}


def test_only_named_variables_reach_it(monkeypatch):
    monkeypatch.setenv("MY_KEY", "k")
    monkeypatch.setenv("OTHER_KEY", "o")
    script = """
    import json, os
    print(json.dumps([{"file": None, "line": None, "title": json.dumps(dict(os.environ))}]))
    """
    (found,) = review(script, env=["MY_KEY"]).payload["findings"]
    seen = json.loads(found["title"])
    assert seen["MY_KEY"] == "k"
    assert "OTHER_KEY" not in seen
    assert seen["HOME"] == seen["TMPDIR"]
    assert seen["HOME"].startswith(str(scratch().path.resolve()))


def test_findings_in_a_file_and_arguments_from_where_we_started():
    script = """
    import json, sys
    assert sys.argv[2] == sys.argv[3], sys.argv
    print("noise on stdout")
    open(sys.argv[1], "w").write(json.dumps([{"file": "x.py", "line": 1, "title": "t"}]))
    """
    made = review(script, arguments=["{output}", "{here}/tool", str(Path.cwd() / "tool")])
    assert (made.status, len(made.payload["findings"])) == ("ok", 1)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("print('[]')", "the file of its findings cannot be read: No such file"),
        ("import os, sys; os.symlink('/etc/passwd', sys.argv[1])", "cannot be read: Too many levels"),
        ("import os, sys; os.mkdir(sys.argv[1])", "cannot be read: Is a directory"),
        ("import os, sys; os.mkfifo(sys.argv[1])", "the output is empty"),
        ("import sys; open(sys.argv[1], 'w').truncate(9_000_000)", "is larger than 8388608 bytes"),
    ],
)
def test_a_file_that_is_none_is_one_run_s_error(script, reason):
    made = review(script, arguments=["{output}"])
    assert made.status == "error"
    assert reason in made.error


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("raise SystemExit(3)", "it ended with exit code 3"),
        ("import sys; sys.stderr.write('no\\x1b[2Jkey'); sys.exit(1)", "stderr: no\ufffd[2Jkey"),
        ("import os; os.kill(os.getpid(), 9)", "it ended with "),
        ("1 / 0", "ZeroDivisionError"),
        ("print('[{')", "the output is no JSON"),
        ("print('{}')", "the output has no findings"),
        ("pass", "the output is empty"),
        ('print(\'[{"file": "x", "line": "1", "title": "t"}]\')', "line of finding 1 is '1'"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "the output is not UTF-8"),
    ],
)
def test_a_program_that_fails_or_prints_something_else_is_one_run_s_error(script, reason):
    made = review(script)
    assert (made.status, made.payload["findings"]) == ("error", [])
    assert reason in made.error
    assert left() == []


def test_a_flood_is_one_run_s_error():
    made = review("import sys\nwhile True: sys.stdout.write('x' * 65536)")
    assert made.status == "error"
    assert "too many" in made.error


def test_a_program_that_hangs_is_one_run_s_timeout():
    made = review("import time; time.sleep(60)", timeout_s=0.5)
    assert (made.status, made.error) == ("timeout", "it did not end within its time limit")
    assert made.duration_s < 30
    assert left() == []


@LINUX
@pytest.mark.parametrize("isolate", [pytest.param(True, marks=ISOLATED), False])
@pytest.mark.parametrize("hangs", [True, False])
def test_a_child_that_outlives_the_program_is_ended(isolate, hangs, tmp_path):
    """The child leaves the session, ignores signals and holds stdout; it would write for ever."""
    script = f"""
    import os, signal, sys, time
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            open("{{beat}}", "a").write("x")
            time.sleep(0.01)
    time.sleep(60 if {hangs} else 0.3)
    print("[]")
    """.replace("{beat}", "beat")
    at = bench(tmp_path)
    made = review(script, at=at, timeout_s=1.0 if hangs else 20.0, isolate=isolate, keep_repos=True)
    assert made.status == ("timeout" if hangs else "ok")
    (beat,) = tmp_path.glob("repositories/*/beat")
    size = beat.stat().st_size
    assert size > 0
    time.sleep(0.2)
    assert beat.stat().st_size == size


@ISOLATED
def test_a_program_cannot_write_outside_of_its_repository_and_home(tmp_path):
    script = f"""
    import json, os
    told = []
    for name in ["../beside", "{tmp_path}/outside", "inside", os.environ["HOME"] + "/mine", "/dev/null"]:
        try:
            open(name, "w").close()
            told.append({{"file": None, "line": None, "title": "wrote " + name.rpartition("/")[2]}})
        except OSError as error:
            told.append({{"file": None, "line": None, "title": error.strerror}})
    print(json.dumps(told))
    """
    made = review(script)
    assert [each["title"] for each in made.payload["findings"]] == [
        "Read-only file system",
        "Read-only file system",
        "wrote inside",
        "wrote mine",
        "wrote null",
    ]
    assert list(tmp_path.iterdir()) == []


@ISOLATED
def test_a_program_that_fails_as_it_may_not_write_outside_is_one_run_s_error(tmp_path):
    made = review(f"open('{tmp_path}/outside', 'w')")
    assert made.status == "error"
    assert "Read-only file system" in made.error


def test_without_isolation_what_is_written_beside_the_repository_is_seen():
    made = review("open('../beside', 'w'); print('[]')", isolate=False)
    assert (made.status, made.error) == ("error", "it wrote outside of its repository: ../beside")
    assert left() == []


def test_exit_codes_have_the_meaning_that_is_configured():
    assert review(SAY + "raise SystemExit(1)", ok_codes=[0, 1]).status == "ok"
    assert review(SAY + "raise SystemExit(1)", ok_codes=[1]).status == "ok"
    assert review(SAY, ok_codes=[1]).status == "error"
    blocked = review("raise SystemExit('no licence')", blocked_codes=[1])
    assert (blocked.status, blocked.error) == ("blocked", "exit code 1; stderr: no licence")


def test_a_marker_and_other_formats():
    assert review("print('BLOCKED')").status == "marker"
    made = review(SAY + "print('blocked')")
    assert (made.status, len(made.payload["findings"]), made.payload["marker"]) == ("marker", 1, "blocked")
    assert review("pass", reading={"format": "ndjson"}).status == "ok"


def test_a_repository_can_be_taken_apart_and_is_removed_all_the_same():
    script = """
    import os
    os.makedirs("deep/er"); open("deep/er/file", "w").close(); os.chmod("deep/er", 0); os.chmod("deep", 0)
    os.chmod(".", 0o500)
    print("[]")
    """
    assert review(script).status == "ok"
    assert left() == []


def test_repositories_are_kept_on_demand_and_that_is_said(tmp_path):
    notes = []
    script = """
    import json, os
    print(json.dumps([{"file": os.getcwd(), "line": None, "title": json.dumps(dict(os.environ))}]))
    """
    for name, run in (("the-case", 1), ("the-case", 2), ("the case/..", 1)):
        made = review(script, at=bench(tmp_path, notes), item=case(name), run=run, keep_repos=True)
        assert made.status == "ok"
        assert "case" not in made.payload["findings"][0]["file"], "an id may give away what is to be found"
    kept = sorted(each.name for each in (tmp_path / "repositories").iterdir())
    digest = sha256(b"the case/..").hexdigest()[:8]
    assert kept == sorted(["the-case-1", "the-case-2", f"the-case--{digest}-1"])
    assert all((tmp_path / "repositories" / each / ".git").is_dir() for each in kept)
    assert f"the repositories of the cases are kept in {tmp_path}/repositories" in notes
    assert left() == []


def test_a_diff_of_another_program_that_cannot_be_used_is_one_run_s_error():
    made = review(SAY, item=case(diff="no diff"))
    assert made.status == "error"
    assert "there is no file in the diff" in made.error


def test_a_cancelled_run_leaves_nothing():
    async def main():
        argv = [sys.executable, "-c", "import time; time.sleep(60)"]
        task = asyncio.create_task(CommandReviewer(argv=argv).produce(case(), 1, bench()))
        while not left() and not task.done():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert left() == []


def test_what_it_spends_is_not_known_and_a_strict_cap_refuses_it():
    notes = []
    at = bench(notes=notes, cap_usd=Decimal(1))
    review(SAY, at=at)
    block = at.desk.ledger.block()
    assert (block["spent_usd"], block["enforced"]) == (None, False)
    assert any("the cost stays unknown, and no cap holds" in line for line in notes)
    with pytest.raises(BudgetExhausted):
        review(SAY, at=bench(cap_usd=Decimal(1), unpriced="refuse"))


def test_a_program_that_is_not_there_is_said_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("no-such-program", "./no-such-file", "{here}/nothing"):
        with pytest.raises(ConfigError, match="there is no such program"):
            CommandReviewer(argv=[name]).check_installed()
    Path("tool").write_text("#!/bin/sh\necho '[]'\n")
    with pytest.raises(ConfigError, match="may be executed"):
        CommandReviewer(argv=["./tool"]).check_installed()
    Path("tool").chmod(0o755)
    reviewer = CommandReviewer(argv=["./tool"])
    reviewer.check_installed()
    assert asyncio.run(reviewer.produce(case(), 1, bench())).status == "ok"


def test_it_is_a_subject_that_names_what_tells_it_from_another():
    reviewer = CommandReviewer(argv=["{here}/tool", "-x"], env=["KEY"], timeout_s=3.0)
    assert isinstance(reviewer, Subject)
    assert isinstance(reviewer, Checked)
    told = reviewer.described()
    assert told["argv"] == ["{here}/tool", "-x"]
    assert "KEY" not in json.dumps(dict(told))
    assert (reviewer.models(), reviewer.planned([case()], bench())) == ((), [])


@pytest.mark.parametrize(
    "fields",
    [
        {"argv": []},
        {"argv": [" "]},
        {"argv": ["x", "\0"]},
        {"argv": ["x"], "env": ["KEY=value"]},
        {"argv": ["x"], "timeout_s": 0},
        {"argv": ["x"], "ok_codes": []},
        {"argv": ["x"], "reading": {"format": "xml"}},
    ],
)
def test_what_could_not_work_is_refused(fields):
    with pytest.raises(ValidationError):
        CommandReviewer(**fields)
