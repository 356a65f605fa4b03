import time

import pytest

from evalrunner.errors import EXIT_CRASH
from evalrunner.git.run import GitError, environment, git


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "-q", "--template=")
    return path


def test_input_and_output_are_bytes(repository):
    sha = git(repository, "hash-object", "-w", "--stdin", stdin=b"\xff\r\n")
    assert git(repository, "cat-file", "blob", sha.strip()) == b"\xff\r\n"


def test_an_error_has_the_command_its_code_and_what_git_said(repository):
    with pytest.raises(GitError) as caught:
        git(repository, "cat-file", "blob", "0" * 40)
    error = caught.value
    assert (error.command, error.returncode, error.exit_code) == ("cat-file", 128, EXIT_CRASH)
    assert str(error).startswith("git cat-file: failed with exit code 128: fatal: ")
    assert git(repository, "rev-parse", "--verify", "--quiet", "HEAD", allowed=(0, 1)) == b""


def test_no_git_and_no_folder_are_told_apart(tmp_path, monkeypatch):
    with pytest.raises(GitError, match="no such folder: "):
        git(tmp_path / "missing", "status")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="git is not installed, or not on PATH"):
        git(tmp_path, "status")


def test_the_environment_is_an_allow_list(tmp_path, monkeypatch):
    for name in ("SECRET", "GIT_DIR", "GIT_SSH_COMMAND", "HTTPS_PROXY", "LD_PRELOAD"):
        monkeypatch.setenv(name, "x")
    found = environment(tmp_path, {"GIT_INDEX_FILE": "i"})
    assert {name for name in found if not name.startswith("GIT_")} <= {"PATH", "TMPDIR", "HOME", "LC_ALL"}
    assert not {"GIT_DIR", "GIT_SSH_COMMAND"} & found.keys()
    assert found["GIT_INDEX_FILE"] == "i"


def test_the_time_limit_ends_the_whole_group(repository):
    slow = repository / "slow.sh"
    slow.write_text("#!/bin/sh\nsleep 30 & sleep 30\n")
    slow.chmod(0o755)
    start = time.monotonic()
    with pytest.raises(GitError, match=r"was stopped after 0\.3 s"):
        git(repository, "slow", settings={"alias.slow": f"!{slow}"}, timeout_s=0.3)
    assert time.monotonic() - start < 10


def test_a_repository_above_is_not_looked_for(repository):
    below = repository / "below"
    below.mkdir()
    with pytest.raises(GitError, match="not a git repository"):
        git(below, "status")


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% ran", "ssh://localhost/x", "http://127.0.0.1:1/x", "git://127.0.0.1/x"]
)
def test_other_transports_are_refused(url, repository):
    with pytest.raises(GitError, match=r"transport '(ext|ssh|http|git)' not allowed"):
        git(repository, "fetch", "--", url)
    assert not (repository / "ran").exists()


def test_a_repositorys_own_hooks_and_monitors_do_not_run(repository):
    ran = repository / "ran"
    script = repository / ".git" / "evil"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-commit", "post-index-change", "reference-transaction"):
        (hooks / name).symlink_to(script)
    with (repository / ".git" / "config").open("a") as file:
        file.write(f"[core]\n fsmonitor = {script}\n hooksPath = {hooks}\n pager = {script}\n")
    (repository / "a").write_bytes(b"1\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "x")
    git(repository, "status")
    git(repository, "log", "-p")
    assert not ran.exists()
