"""Selection from a local repository."""

import json
import random
from hashlib import sha256

import pytest
from blind_origin import NOW, UNTIL, Origin, plan, run_git
from pydantic import ValidationError

from evalrunner.errors import InputError, SourceFailedError
from evalrunner.records import Selection
from evalrunner.sampler.samplers import AllSampler, RandomSampler, StableHashSampler, StratifiedSampler
from evalrunner.source.git_history import GitHistory

ALL = AllSampler().plan()


@pytest.fixture
def origin(tmp_path):
    return Origin(tmp_path)


def source(origin: Origin, **fields) -> GitHistory:
    return GitHistory(
        **{"repository": str(origin.path), "issues": str(origin.issues_file), "until": UNTIL, **fields}
    )


def ids(items):
    return [item.id for item in items]


def test_the_item_of_a_merged_issue(origin, capsys):
    landed = origin.merge(11, 1, {"calc.py": "x = 1\n"}, size="m", model="opus")
    (item,) = source(origin).take(ALL)
    assert item.id == "issue-1"
    assert item.payload == {
        "issue": 1,
        "pr": 11,
        "parent_sha": landed.parent,
        "model": "opus",
        "size": "m",
        "issue_body": plan("m", "opus"),
        "repository": str(origin.path),
    }
    assert item.truth == {"squash_sha": landed.sha}
    assert item.groups == {"size": "m", "model": "opus", "cell": "m x opus"}
    assert item.text is None
    assert capsys.readouterr().err == ""


def test_what_is_left_out_and_why(origin, capsys):
    origin.merge(10, 1, {"a.py": "1\n"}, days_ago=8)
    origin.commit("No number", {"b.py": "1\n"})
    origin.commit("Closes nothing (#12)\n\nSee #1.", {"b.py": "2\n"})
    origin.merge(13, 2, {"notes.txt": "prose\n"})
    origin.commit("Issue is gone (#14)\n\nfixes #99", {"b.py": "3\n"})
    origin.issue(3, "body", pull_request={"url": "x"})
    origin.commit("Issue is a pull (#15)\n\nResolves #3", {"b.py": "4\n"})
    origin.issue(4, "no plan here")
    origin.commit("No plan (#16)\n\ncloses #4", {"b.py": "5\n"})
    origin.merge(17, 5, {"b.py": "6\n"}, model="unknown")
    origin.merge(18, 6, {"b.py": "7\n"})
    assert ids(source(origin).take(ALL)) == ["issue-6"]
    err = capsys.readouterr().err
    for line in (
        "its subject names no pull request (#N)",
        "#12 is left out: its body closes no issue (closes, fixes or resolves #N)",
        "#13 is left out: it touches no path that code_globs match",
        "#14 is left out: issue #99: it is not there",
        "#15 is left out: issue #3: it is a pull request",
        "#16 is left out: issue #4: its body has no headings `## Implementation plan`; exactly one is needed",
        "#17 is left out: issue #5: its implementation model 'unknown' is none of haiku, sonnet, opus",
    ):
        assert line in err
    assert "#10" not in err  # outside the window is no reason to speak
    assert len(err.splitlines()) == 7


def test_a_merge_commit_is_no_squash(origin, capsys):
    origin.issue(1, plan())
    run_git(origin.path, "checkout", "--quiet", "-b", "side")
    origin.commit("side", {"side.py": "1\n"})
    run_git(origin.path, "checkout", "--quiet", "main")
    date = {"GIT_COMMITTER_DATE": NOW.isoformat()}
    run_git(origin.path, "merge", "--quiet", "--no-ff", "-m", "Merge (#11)\n\nCloses #1", "side", env=date)
    assert source(origin).take(ALL) == []
    assert "#11 is left out: its commit has 2 parents, so it was not squashed" in capsys.readouterr().err


def test_an_issue_counts_once_with_the_pull_request_that_closed_it_last(origin, capsys):
    origin.merge(11, 1, {"a.py": "1\n"})
    again = origin.commit("Again (#12)\n\nFixes #1", {"a.py": "2\n"})
    (item,) = source(origin).take(ALL)
    assert item.payload["pr"] == 12
    assert item.truth["squash_sha"] == again.sha
    assert "#11 is left out: issue #1 counts once, and #12 closed it later" in capsys.readouterr().err


def test_the_first_eligible_issue_of_a_pull_request_is_taken(origin):
    origin.issue(1, "no plan")
    origin.issue(2, plan())
    origin.issue(3, plan())
    origin.commit("Three (#11)\n\nCloses #1, closes #2, closes #3", {"a.py": "1\n"})
    assert ids(source(origin).take(ALL)) == ["issue-2"]


def test_the_body_in_the_issues_file_wins_over_the_commits(origin):
    origin.issue(1, plan())
    origin.issue(2, plan())
    origin.issue(11, "Fixes #2", pull_request={"url": "x"})
    origin.commit("One (#11)\n\nCloses #1", {"a.py": "1\n"})
    assert ids(source(origin).take(ALL)) == ["issue-2"]


@pytest.mark.parametrize(
    ("days", "taken"), [(0.5, True), (6.99, True), (7, False), (7.01, False), (-0.1, False)]
)
def test_the_window(origin, days, taken):
    origin.merge(11, 1, {"a.py": "1\n"}, days_ago=days)
    assert bool(source(origin).take(ALL)) is taken


def test_window_days_and_globs(origin):
    origin.merge(11, 1, {"a.py": "1\n"}, days_ago=20)
    origin.merge(12, 2, {"deep/down/a.txt": "1\n"}, days_ago=3)
    assert ids(source(origin, window_days=30).take(ALL)) == ["issue-1"]
    assert ids(source(origin, window_days=30, code_globs=["deep/**"]).take(ALL)) == ["issue-2"]
    assert ids(source(origin, window_days=30, code_globs=["*.py", "*.txt", "!deep/"]).take(ALL)) == [
        "issue-1"
    ]


def test_a_deleted_and_a_renamed_file_are_touched(origin):
    origin.merge(11, 1, {"calc.py": None, "calc.txt": "def add(a, b):\n    return a - b\n"})
    assert ids(source(origin).take(ALL)) == ["issue-1"]


def test_the_sample_is_in_the_order_of_sha256_of_the_squash_sha(origin):
    landed = {f"issue-{n}": origin.merge(10 + n, n, {"a.py": f"{n}\n"}).sha for n in range(1, 9)}
    expected = sorted(landed, key=lambda name: sha256(landed[name].encode()).hexdigest())
    five = source(origin).take(StableHashSampler(limit=5).plan())
    assert ids(five) == expected[:5]
    random.Random(3).shuffle(origin.issues)
    origin.save()
    assert source(origin).take(StableHashSampler(limit=5).plan()) == five
    assert ids(source(origin).take(ALL)) == [f"issue-{n}" for n in range(8, 0, -1)]
    assert ids(source(origin).take(StableHashSampler(limit=None).plan())) == expected
    seeded = ids(source(origin).take(RandomSampler(seed=1, limit=8).plan()))
    assert sorted(seeded) == sorted(expected)
    assert seeded != expected


def test_strata(origin):
    for n in range(1, 9):
        origin.merge(10 + n, n, {"a.py": f"{n}\n"}, size="s" if n < 7 else "l")
    items = source(origin).take(StratifiedSampler(by="size", limit=4).plan())
    assert sorted(item.payload["size"] for item in items) == ["l", "s", "s", "s"]
    with pytest.raises(InputError, match="size, model, cell"):
        source(origin).take(Selection(order="sha256", sampler="stratified", seed=0, limit=4, stratify="sise"))


def test_an_object_from_number_to_body_will_do(origin, tmp_path):
    origin.merge(11, 1, {"a.py": "1\n"})
    origin.merge(12, 2, {"a.py": "2\n"})
    for content in ({"1": plan(), "2": {"body": plan()}},):
        origin.issues_file.write_text(json.dumps(content))
        assert ids(source(origin).take(ALL)) == ["issue-2", "issue-1"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("{", "is no JSON"),
        ('{"1": "a", "1": "b"}', "is no JSON"),
        ("3", "neither a list nor an object"),
        ("[3]", "is no object"),
        ('[{"body": "x"}]', "0.number: is no number of an issue"),
        ('[{"number": true, "body": "x"}]', "0.number: is no number of an issue"),
        ('[{"number": 1, "body": 3}]', "0.body: is no text"),
        ('[{"number": 1}, {"number": 1}]', "1.number: stands in the file already"),
        ('{"one": "x"}', "one.number: is no number of an issue"),
    ],
)
def test_issue_files_that_are_refused(origin, content, what):
    origin.issues_file.write_text(content)
    with pytest.raises(InputError, match=what):
        source(origin).take(ALL)


def test_what_is_not_there_is_bad_input(origin, tmp_path):
    with pytest.raises(InputError, match=r"source\.issues"):
        source(origin, issues=str(tmp_path / "none.json")).take(ALL)
    with pytest.raises(InputError, match=r"source\.repository"):
        source(origin, repository=str(tmp_path / "none")).take(ALL)
    with pytest.raises(InputError, match=r"source\.trunk"):
        source(origin, trunk="--output=x").take(ALL)


def test_what_fails_as_a_whole_is_no_empty_sample(origin, tmp_path):
    origin.merge(11, 1, {"a.py": "1\n"})
    (tmp_path / "plain").mkdir()
    with pytest.raises(SourceFailedError):
        source(origin, repository=str(tmp_path / "plain")).take(ALL)
    run_git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin.path}", "shallow")
    with pytest.raises(SourceFailedError, match="shallow clone"):
        source(origin, repository=str(tmp_path / "shallow")).take(ALL)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"window_days": 0}, "window_days"),
        ({"until": "yesterday"}, "such as 2026-01-31"),
        ({"until": "2026-01-31T12:00:00"}, "time zone"),
        ({"code_globs": []}, "code_globs"),
        ({"models": []}, "models"),
        ({"trunk": ""}, "trunk"),
        ({"sample_size": 5}, "sample_size"),
    ],
)
def test_fields_that_are_refused(origin, fields, what):
    with pytest.raises(ValidationError, match=what):
        source(origin, **fields)
