"""The sealed repository: what is in it, and above all what is not."""

import subprocess
from pathlib import Path

import pytest
from blind_origin import FIX, Origin, run_git, small

from evalrunner.git import sealed
from evalrunner.git.run import GitError
from evalrunner.git.sealed import clean_origin, fill_vault, seal


@pytest.fixture
def origin(tmp_path):
    return small(tmp_path)


def there(repository: Path, oid: str) -> bool:
    done = subprocess.run(
        ["git", "-C", str(repository), "cat-file", "-e", oid], capture_output=True, check=False
    )
    return done.returncode == 0


def test_a_sealed_repository_holds_the_parent_and_nothing_else(tmp_path, origin):
    made, landed = origin
    vault = fill_vault(tmp_path / "vault", sealed.Origin(str(made.path)), landed.parent, landed.sha)
    scratch = tmp_path / "scratch"
    seal(vault, scratch)

    assert run_git(scratch, "rev-list", "--all").split() == [landed.parent]
    assert run_git(scratch, "status", "--porcelain") == ""
    assert run_git(scratch, "rev-parse", "HEAD").strip() == landed.parent
    assert run_git(scratch, "remote") == ""
    assert run_git(scratch, "reflog") == ""
    assert (scratch / "calc.py").read_text() == "def add(a, b):\n    return a - b\n"
    objects = run_git(scratch, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    assert len(objects) == 4  # a commit, its tree and two blobs
    for name in ("packed-refs", "FETCH_HEAD", "ORIG_HEAD", "logs", "hooks", "objects/info/alternates"):
        assert not (scratch / ".git" / name).exists()
    assert (
        set(run_git(scratch, "config", "--local", "--name-only", "--list").split()) <= sealed.ALLOWED_CONFIG
    )


def test_nothing_that_landed_is_in_it(tmp_path, origin):
    made, landed = origin
    vault = fill_vault(tmp_path / "vault", sealed.Origin(str(made.path)), landed.parent, landed.sha)
    seal(vault, tmp_path / "scratch")

    fixed = run_git(made.path, "rev-parse", f"{landed.sha}:calc.py").strip()
    test = run_git(made.path, "rev-parse", f"{landed.sha}:tests/test_calc.py").strip()
    folder = run_git(made.path, "rev-parse", f"{landed.sha}:tests").strip()
    assert vault.introduced == tuple(sorted([fixed, test]))
    assert vault.introduced_trees == (vault.landed_tree, folder)
    assert run_git(made.path, "rev-parse", f"{landed.sha}^{{tree}}").strip() == vault.landed_tree
    for oid in (landed.sha, vault.landed_tree, folder, fixed, test):
        assert there(made.path, oid)
        assert not there(tmp_path / "scratch", oid)
        assert not there(vault.path, oid)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["issues.json", "origin", "scratch", "vault"]


def test_a_blob_that_the_parent_has_elsewhere_is_not_introduced(tmp_path):
    made = Origin(tmp_path)
    landed = made.merge(11, 1, {"copy.py": "def add(a, b):\n    return a - b\n", "new.py": "new = 1\n"})
    vault = fill_vault(tmp_path / "vault", sealed.Origin(str(made.path)), landed.parent, landed.sha)
    assert vault.introduced == (run_git(made.path, "rev-parse", f"{landed.sha}:new.py").strip(),)


def test_a_first_commit_can_be_the_parent(tmp_path):
    made = Origin(tmp_path)
    landed = made.merge(11, 1, {"calc.py": FIX})
    vault = fill_vault(tmp_path / "vault", sealed.Origin(str(made.path)), landed.parent, landed.sha)
    seal(vault, tmp_path / "scratch")
    assert run_git(tmp_path / "scratch", "rev-list", "--all").split() == [landed.parent]


def test_a_path_that_looks_like_an_option_is_no_option(tmp_path, origin):
    _, landed = origin
    pwned = tmp_path / "pwned"
    with pytest.raises(GitError):
        fill_vault(
            tmp_path / "vault", sealed.Origin(f"--upload-pack=touch {pwned}"), landed.parent, landed.sha
        )
    with pytest.raises(GitError):
        fill_vault(tmp_path / "other", sealed.Origin(f"ext::touch {pwned}"), landed.parent, landed.sha)
    assert not pwned.exists()


@pytest.mark.parametrize("sha", ["HEAD", "--all", "main", "a" * 39, "A" * 40, "refs/heads/main"])
def test_only_a_full_object_id_is_fetched(tmp_path, origin, sha):
    made, landed = origin
    with pytest.raises(GitError, match="no full object id"):
        fill_vault(tmp_path / "vault", sealed.Origin(str(made.path)), landed.parent, sha)


def test_a_parent_that_is_none_is_refused(tmp_path, origin):
    made, landed = origin
    with pytest.raises(GitError, match="has not the one parent"):
        fill_vault(tmp_path / "vault", sealed.Origin(str(made.path)), "0" * 40, landed.sha)


def test_a_commit_that_is_gone_is_an_error(tmp_path, origin):
    made, landed = origin
    with pytest.raises(GitError, match="fetch"):
        fill_vault(tmp_path / "vault", sealed.Origin(str(made.path)), landed.parent, "1" * 40)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://user:secret@example.invalid/r.git", "credentials"),
        ("https://secret@example.invalid/r.git", "credentials"),
        ("http://example.invalid/r.git", "https://"),
        ("ssh://example.invalid/r.git", "https://"),
        ("ext::sh -c id", "remote helper"),
        ("--upload-pack=id", "a path or a URL"),
        ("", "a path or a URL"),
    ],
)
def test_origins_that_are_refused(url, why):
    with pytest.raises(ValueError, match=why):
        clean_origin(url)


@pytest.mark.parametrize(
    "url", ["/srv/r.git", "r", "file:///srv/r.git", "https://example.invalid/r.git", "http://127.0.0.1:8/r"]
)
def test_origins_that_are_taken(url):
    assert clean_origin(url) == url


def test_the_users_own_git_configuration_does_not_act(tmp_path, origin, monkeypatch):
    made, landed = origin
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {home}\n[init]\n\ttemplateDir = {home}\n"
        f'[filter "x"]\n\tsmudge = touch {home}/ran\n'
    )
    (home / "post-checkout").write_text(f"#!/bin/sh\ntouch {home}/ran\n")
    (home / "post-checkout").chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    vault = fill_vault(tmp_path / "vault", sealed.Origin(str(made.path)), landed.parent, landed.sha)
    seal(vault, tmp_path / "scratch")
    assert not (home / "ran").exists()
    assert not (tmp_path / "scratch" / ".git" / "post-checkout").exists()
