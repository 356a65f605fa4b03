"""The keyless reviewer over real repositories: isolated, on added lines, honest about what it cannot see."""

import asyncio
import json
from pathlib import Path

import pytest
import yaml
from own_scratch import own_scratch  # noqa: F401 - an autouse fixture

from evalrunner.errors import MissingExtraError
from evalrunner.git.scratch import scratch
from evalrunner.model.seat import Bench
from evalrunner.paths import data_root
from evalrunner.records import Item
from evalrunner.subject import ruff_reviewer
from evalrunner.subject.base import Checked, Subject
from evalrunner.subject.ruff_reviewer import RuffReviewer

OPTION = yaml.safe_load((data_root() / "conf" / "subject" / "ruff_reviewer.yaml").read_text(encoding="utf-8"))
FIELDS = {name: value for name, value in OPTION.items() if name != "_target_"}


def added(path, *lines):
    """A diff that adds a file."""
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return head + f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)


def changed(*lines):
    """A diff that changes x.py."""
    return "\n".join(["diff --git a/x.py b/x.py", "--- a/x.py", "+++ b/x.py", *lines, ""])


def review(diff, folder=Path(), notes=None, **fields):
    item = Item(id="c", content_sha="0" * 64, payload={"diff": diff})
    bench = Bench(None, (), None, None, folder, (notes if notes is not None else []).append)
    return asyncio.run(RuffReviewer(**{**FIELDS, **fields}).produce(item, 1, bench))


def test_findings_of_the_head():
    made = review(added("src/app.py", "def f(x=[]):", "    return y") + added("clean.py", "a = 1"))
    assert (made.status, made.error) == ("ok", None)
    assert [(each["file"], each["line"], each["title"][:4]) for each in made.payload["findings"]] == [
        ("src/app.py", 1, "B006"),
        ("src/app.py", 2, "F821"),
    ]
    assert made.spend.cost_usd == 0
    assert list(scratch().path.iterdir()) == []


def test_it_says_the_same_twice():
    diff = added("app.py", "import os", "x = undefined")
    assert review(diff).payload == review(diff).payload


def test_configuration_in_the_head_changes_nothing():
    config = added("pyproject.toml", "[tool.ruff.lint]", "select = []", "ignore = ['F']")
    config += added("ruff.toml", "exclude = ['*']") + added(".gitignore", "*.py")
    made = review(config + added("app.py", "x = undefined"))
    assert len(made.payload["findings"]) == 1


def test_what_stood_there_before_is_no_finding():
    diff = changed("@@ -1,2 +1,3 @@", " x = y == None", "+a = 1", " z = q == None")
    assert review(diff).payload["findings"] == []
    assert len(review(diff.replace("+a = 1", "+a = b == None")).payload["findings"]) == 1


@pytest.mark.parametrize(
    ("diff", "status", "told"),
    [
        (added("x.go", "package x"), "blocked", "no Python file is changed"),
        (
            changed("@@ -5,2 +5,2 @@", "     if a:", "-        b", "+        c"),
            "blocked",
            "x.py cannot be parsed, as the diff does not show all of it",
        ),
        ("no diff", "error", "there is no file in the diff"),
    ],
)
def test_what_cannot_be_reviewed(diff, status, told):
    made = review(diff)
    assert (made.status, made.payload["findings"]) == (status, [])
    assert told in made.error


def test_a_new_file_that_does_not_parse_is_a_finding():
    (found,) = review(added("x.py", "def f(:")).payload["findings"]
    assert found["title"].startswith("invalid-syntax")


def test_names_that_could_be_options_or_are_not_ascii():
    made = review(added("--fix.py", "x = undefined") + added("算法/排序.py", "x = undefined"))
    assert [each["file"] for each in made.payload["findings"]] == ["--fix.py", "算法/排序.py"]


def test_a_link_is_not_followed():
    link = "diff --git a/x.py b/x.py\nnew file mode 120000\n--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n"
    made = review(link + f"+{ruff_reviewer.__file__}\n\\ No newline at end of file\n")
    assert (made.status, made.error) == ("blocked", "unreviewable: no Python file is changed")


def test_rules_that_ruff_does_not_know_are_an_error_of_the_run():
    made = review(added("x.py", "a = 1"), select=["NOPE"])
    assert made.status == "error"
    assert "exit code 2" in made.error


def test_a_repository_can_be_kept(tmp_path):
    notes = []
    review(added("x.py", "a = 1"), tmp_path, notes, keep_repos=True)
    assert f"the repositories of the cases are kept in {tmp_path}/repositories" in notes
    assert any("ruff is a linter" in line for line in notes)
    assert (tmp_path / "repositories" / "c-1" / "x.py").read_text() == "a = 1\n"


def test_it_is_a_subject_whose_version_tells_it_from_another():
    reviewer = RuffReviewer(**FIELDS)
    assert isinstance(reviewer, Subject)
    assert isinstance(reviewer, Checked)
    told = json.loads(json.dumps(dict(reviewer.described())))
    assert told["ruff"].count(".") == 2
    assert "timeout_s" not in told


def test_without_ruff_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(ruff_reviewer.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match=r"ruff is not installed.*install evalrunner\[lint\]"):
        RuffReviewer(**FIELDS).check_installed()
