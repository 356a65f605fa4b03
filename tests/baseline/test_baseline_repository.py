"""Files as they were in a commit, read from real repositories."""

import os
import subprocess
from pathlib import Path

import pytest

from evalrunner.baseline.changes import changed, listed, since, uncovered
from evalrunner.baseline.repository import Repository, author
from evalrunner.errors import UsageError


def git(folder: Path, *words: str) -> str:
    env = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    who = ("-c", "user.name=Ann Other", "-c", "user.email=ann@example.invalid")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with one commit on main."""
    folder = tmp_path / "a project"
    (folder / "rubrics").mkdir(parents=True)
    (folder / "rubrics" / "my rubric.yaml").write_bytes(b"one\r\n\xff\n")
    git(folder.parent, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def repository(folder: Path) -> Repository:
    found = Repository.around(folder)
    assert found is not None
    return found


def test_it_is_found_from_inside_and_from_folders_that_are_not_there(top: Path, tmp_path: Path) -> None:
    assert repository(top / "rubrics").top == top
    assert repository(top / "conf" / "baseline").top == top
    assert Repository.around(tmp_path) is None
    git(top, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert repository(tmp_path / "tree").top == tmp_path / "tree"
    assert repository(tmp_path / "tree").base() is not None


def test_files_are_texts_as_readers_see_them(top: Path) -> None:
    files = [top / "rubrics" / "my rubric.yaml", top / "rubrics", top / "nothing", top.parent / "outside"]
    assert repository(top).texts("HEAD", files) == ["one\n\ufffd\n", None, None, None]


def test_every_version_is_there_also_of_other_branches(top: Path) -> None:
    file = top / "rubrics" / "my rubric.yaml"
    git(top, "checkout", "-qb", "other")
    file.write_text("two\n")
    git(top, "commit", "-qam", "two")
    git(top, "checkout", "-q", "main")
    assert repository(top).versions(file) == ["two\n", "one\n\ufffd\n"]
    assert repository(top).versions(top / "nothing") == []


def test_the_base_is_where_head_left_the_default_branch(top: Path, tmp_path: Path) -> None:
    first = git(top, "rev-parse", "HEAD")
    git(top, "checkout", "-qb", "work")
    git(top, "commit", "-q", "--allow-empty", "-m", "mine")
    git(top, "checkout", "-q", "main")
    git(top, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(top, "checkout", "-q", "work")
    base = repository(top).base()
    assert base is not None
    assert str(base) == f"the merge base with main ({first[:8]})"
    git(tmp_path, "clone", "-q", "-b", "work", str(top), "clone")
    git(tmp_path / "clone", "remote", "set-head", "origin", "main")
    cloned = repository(tmp_path / "clone").base()
    assert cloned is not None
    assert (cloned.name, cloned.sha) == ("the merge base with origin/HEAD", first)


def test_where_git_cannot_tell_there_is_no_base(top: Path, tmp_path: Path) -> None:
    git(top, "branch", "-m", "main", "trunk")
    assert repository(top).base() is None
    git(tmp_path, "init", "-q", "-b", "main", "empty")
    assert repository(tmp_path / "empty").base() is None


@pytest.mark.parametrize("ref", ["nope", "--all", "-h", "", "HEAD:rubrics", "main..main"])
def test_refs_that_are_no_commits_are_refused(top: Path, ref: str) -> None:
    with pytest.raises(UsageError, match="no such commit"):
        repository(top).point(ref)


def test_refs_may_be_branches_tags_and_commits(top: Path) -> None:
    sha = git(top, "rev-parse", "HEAD")
    git(top, "tag", "-m", "a tag", "v1")
    assert {repository(top).point(ref).sha for ref in ("main", "v1", sha, "HEAD~0")} == {sha}


def test_files_that_differ_are_named_and_of_a_baseline_their_keys(top: Path) -> None:
    conf = top / "conf" / "baseline"
    conf.mkdir(parents=True)
    (conf / "a.yaml").write_text("threshold: {mean_min: 7}\nruns: 1\nx: 1\n")
    (conf / "b.yaml").write_text("x: 1\n")
    (conf / "c.yaml").write_text("x: 1\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "two")
    (conf / "a.yaml").write_text("runs: 1\nthreshold: {mean_min: 5}\ny: 1\n")
    (conf / "b.yaml").write_text("# a remark\nx: 1\n")
    (conf / "c.yaml").unlink()
    (conf / "d.yaml").write_text("x: 1\n")
    rubric = top / "rubrics" / "my rubric.yaml"
    files = [*(conf / f"{name}.yaml" for name in "abcd"), rubric, conf / "never.yaml"]
    found = repository(top)
    point = found.point("main")
    assert since(found, point, files) == [
        f"conf/baseline/a.yaml differs from main ({point.sha[:8]}):"
        " threshold.mean_min 7 → 5, x 1 → nothing, y nothing → 1",
        f"conf/baseline/b.yaml differs from main ({point.sha[:8]}) in comments or layout",
        f"conf/baseline/c.yaml is gone since main ({point.sha[:8]})",
        f"conf/baseline/d.yaml is not in main ({point.sha[:8]})",
    ]


def test_long_lists_of_differences_are_cut_behind_the_figures() -> None:
    scores = {f"d{place}": {"max": place, "mean": place} for place in range(6)}
    worse = {name: {"max": -1, "mean": -1} for name in scores}
    found = listed(
        changed({"baseline": {"receipt": {"scores": scores}}}, {"baseline": {"receipt": {"scores": worse}}})
    )
    assert found.startswith("baseline.receipt.scores.d0.mean 0 → -1, baseline.receipt.scores.d1.mean")
    assert found.endswith(", and 4 more")


def test_what_overrules_a_baseline_is_found_unless_the_command_line_says_it() -> None:
    pinned = {"regress": {"threshold": 0.5}, "panel": {"models": ["a", {"id": "b"}]}, "at_least": {}}
    seats = [{"id": "openai:a", "temperature": 0}, {"id": "b", "temperature": 0}]
    same = {"regress": {"threshold": 0.5, "more": 1}, "panel": {"models": seats}, "at_least": {}}
    assert uncovered(pinned, same, []) == []
    other = {"regress": {"threshold": 9}, "panel": {"models": [*seats, seats[0]]}, "at_least": {"x": 1}}
    assert [key for key, _ in uncovered(pinned, other, [])] == [
        "regress.threshold",
        "panel.models",
        "at_least",
    ]
    assert uncovered(pinned, other, ["regress.threshold", "panel", "at_least"]) == []


def test_the_author_is_whom_git_would_name(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "config").write_text("[user]\n\tname = Of XDG\n")
    assert author(tmp_path) == "Of XDG"
    (home / ".gitconfig").write_text("[user]\n\tname = Of Home\n")
    assert author(tmp_path) == "Of Home"
    git(top, "config", "user.name", "Ünï Of Repository")
    assert author(top / "rubrics") == "Ünï Of Repository"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert author(top) is None
