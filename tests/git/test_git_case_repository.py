import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from git_samples import SHARED, contents, diff_of, entry, tree_by_git_apply, tree_of, worktree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalrunner.git.case_repository import build
from evalrunner.git.diff import DiffError
from evalrunner.git.run import GitError, git

COMMIT = b"1234567890123456789012345678901234567890"
OTHER = b"abcdefabcdefabcdefabcdefabcdefabcdefabcd"
TEN = b"".join(b"line %d\n" % number for number in range(1, 11))
GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;" + bytes(range(256))

# name: base, head, options of git
EXACT = {
    "change": ({b"a.py": TEN}, {b"a.py": TEN.replace(b"line 5", b"five")}, ()),
    "new": ({}, {b"new/deep/a.py": b"x = 1\n"}, ()),
    "new empty": ({}, {b"__init__.py": b""}, ()),
    "deleted": ({b"a.py": TEN, b"b": b"1\n"}, {b"b": b"2\n"}, ()),
    "deleted empty": ({b"a.py": b""}, {}, ()),
    "emptied": ({b"a.py": TEN}, {b"a.py": b""}, ()),
    "filled": ({b"a.py": b""}, {b"a.py": TEN}, ()),
    "newline lost": ({b"a": b"x\ny\n"}, {b"a": b"x\ny"}, ()),
    "newline gained": ({b"a": b"x\ny"}, {b"a": b"x\ny\n"}, ()),
    "newline never": ({b"a": b"x\ny"}, {b"a": b"z\ny"}, ()),
    "newline never, changed": ({b"a": b"x\ny"}, {b"a": b"x\nz"}, ()),
    "new without newline": ({}, {b"a": b"x"}, ()),
    "CRLF": ({b"a": b"x\r\ny\r\n"}, {b"a": b"x\r\nz\r\n"}, ()),
    "CRLF to LF": ({b"a": b"x\r\ny\r\n"}, {b"a": b"x\ny\n"}, ()),
    "other breaks": (
        {b"a": b"a\rb\x0cc\x0bd\xc2\x85e\xe2\x80\xa8f\n"},
        {b"a": b"a\rb\x0cc\x0bd\xc2\x85e\n\r"},
        (),
    ),
    "latin-1": ({b"a": b"caf\xe9\n"}, {b"a": b"th\xe9\n"}, ()),
    "NUL in text": ({b"a": b"x\0y\n"}, {b"a": b"x\0z\n"}, ("--text",)),
    "attributes": (
        {b".gitattributes": b"* text=auto eol=crlf ident\n", b"a": b"x\n$Id$\n"},
        {b".gitattributes": b"* text eol=crlf working-tree-encoding=UTF-16\n", b"a": b"y\n$Id$\n"},
        (),
    ),
    "blank in path": ({b"a b/c d": b"1\n"}, {b"a b/c d": b"2\n"}, ()),
    "b/ in path": ({b"x b/y": b"1\n"}, {b"x b/y": b"2\n"}, ()),
    "quoted path": ({b'a"\t\n\\z': b"1\n"}, {b'a"\t\n\\z': b"2\n"}, ()),
    "unicode path": ({"算法/é.py".encode(): b"1\n"}, {"算法/é.py".encode(): b"2\n"}, ()),
    "latin-1 path": ({b"caf\xe9": b"1\n"}, {b"caf\xe9": b"2\n"}, ()),
    "path a/b": ({b"a/b/c": b"1\n"}, {b"a/b/c": b"2\n"}, ()),
    "rename and edit": ({b"a": TEN}, {b"dir/b": TEN.replace(b"line 5", b"five")}, ("-M",)),
    "rename, new newline": ({b"a": TEN}, {b"b c": TEN[:-1]}, ("-M",)),
    "swap": ({b"a": TEN, b"b": TEN * 2}, {b"b": TEN + b"a\n", b"a": TEN * 2 + b"b\n"}, ("-M", "-B")),
    "copy and edit": (
        {b"a": TEN},
        {b"a": TEN.replace(b"line 9", b"nine"), b"b": TEN.replace(b"line 1\n", b"one\n")},
        ("-C", "-U0"),
    ),
    "mode and edit": ({b"a": b"1\n"}, {b"a": ("100755", b"2\n")}, ()),
    "executable": ({b"a": ("100755", b"1\n")}, {b"a": ("100755", b"2\n")}, ()),
    "new executable": ({}, {b"a": ("100755", b"2\n")}, ()),
    "symlink": (
        {b"l": ("120000", b"old")},
        {b"l": ("120000", b"../../outside"), b"n": ("120000", b"/etc")},
        (),
    ),
    "type change": ({b"l": ("120000", b"t")}, {b"l": b"text\n"}, ()),
    "type change to a link": ({b"l": b"text\n"}, {b"l": ("120000", b"t")}, ()),
    "file to folder": ({b"p": b"1\n"}, {b"p/q": b"1\n2\n"}, ("--no-renames",)),
    "submodule": ({b"s": ("160000", COMMIT)}, {b"s": ("160000", OTHER), b"t": ("160000", COMMIT)}, ()),
    "binary": ({}, {b"i.gif": GIF, b"a": b"1\n"}, ()),
    "binary deleted": ({b"i.gif": GIF}, {b"a": b"1\n"}, ("--no-renames",)),
    "binary rewritten": ({b"i.gif": GIF}, {b"i.gif": b"\0" + GIF[::-7]}, ("--full-index",)),
    "no context": ({b"a": TEN}, {b"a": b"zero\n" + TEN.replace(b"line 5\n", b"") + b"end\n"}, ("-U0",)),
    "wide context": ({b"a": TEN}, {b"a": b"zero\n" + TEN.replace(b"line 5\n", b"")}, ("-U20",)),
    "headers as content": (
        {b"a": b"-- a/x\n++ b/x\n@@ -1 +1 @@\n"},
        {b"a": b"- a/x\n++ b/y\ndiff --git a/z b/z\n@@ -1 +1 @@\n\\ No newline\n"},
        (),
    ),
    "no prefix": ({b"a/x": b"1\n", b"y": b"1\n"}, {b"a/x": b"2\n", b"y": b"2\n"}, ("--no-prefix",)),
    "other prefixes": ({b"x": b"1\n"}, {b"x": b"2\n", b"z": b"3\n"}, ("--src-prefix=i/", "--dst-prefix=w/")),
    "long prefixes": ({b"x y": b"1\n"}, {b"x y": b"2\n"}, ("--src-prefix=old/", "--dst-prefix=newer/")),
}


@pytest.mark.parametrize("name", EXACT)
def test_contents_modes_and_paths_are_exact(name, tmp_path):
    base, head, options = EXACT[name]
    diff = diff_of(
        tmp_path / "real",
        base,
        head,
        "-U30" if not any("-U" in each for each in options) else "-U0",
        *options,
    )
    with build(diff, tmp_path / "case") as case:
        assert case.warnings == ()
        if "-U0" not in options:
            assert contents(case, case.base_sha) == {path: entry(value) for path, value in base.items()}
            assert contents(case, case.head_sha) == {path: entry(value) for path, value in head.items()}
            assert all(blob.whole for blob in case.trees.head.values() if blob.mode != "160000")
        expected = {path: value.data for path, value in case.trees.head.items() if value.mode != "160000"}
        assert worktree(case) == expected
        assert git(case.path, "status", "--porcelain") == b""
        if "--no-prefix" not in options:
            assert tree_by_git_apply(case, diff) == tree_of(case, case.head_sha)
    assert not (tmp_path / "case").exists()


def test_lines_outside_the_hunks_are_blank(tmp_path):
    head = TEN.replace(b"line 8", b"eight")
    diff = diff_of(tmp_path / "real", {b"a": TEN}, {b"a": head}, "-U1")
    with build(diff, tmp_path / "case") as case:
        assert (case.path / "a").read_bytes() == b"\n" * 6 + b"line 7\neight\nline 9\n"
        assert contents(case, case.base_sha)[b"a"][1] == b"\n" * 6 + b"line 7\nline 8\nline 9\n"
        assert not case.trees.head[b"a"].whole


def test_a_pure_rename_and_a_mode_change_stand_on_an_empty_file(tmp_path):
    diff = diff_of(
        tmp_path / "real", {b"a": TEN, b"t": b"run\n"}, {b"b": TEN, b"t": ("100755", b"run\n")}, "-M"
    )
    with build(diff, tmp_path / "case") as case:
        assert contents(case, case.base_sha) == {b"a": ("100644", b""), b"t": ("100644", b"")}
        assert contents(case, case.head_sha) == {b"b": ("100644", b""), b"t": ("100755", b"")}
        assert os.access(case.path / "t", os.X_OK)


def test_a_binary_change_without_contents_is_left_out_with_a_warning(tmp_path):
    text = diff_of(tmp_path / "text", {b"a": b"1\n"}, {b"a": b"2\n"})
    words = b"diff --git a/i b/i\nindex 1234567..89abcde 100644\nBinary files a/i and b/i differ\n"
    delta = diff_of(tmp_path / "delta", {b"i": GIF}, {b"i": GIF + b"\0"})
    assert b"\ndelta " in delta
    for number, binary in enumerate((words, delta)):
        with build(binary + text, tmp_path / str(number)) as case:
            assert case.warnings == ("i: a binary change without both contents is left out",)
            assert worktree(case) == {b"a": b"2\n"}
        with pytest.raises(DiffError, match="holds only binary changes without contents"):
            build(binary, tmp_path / "none")


def test_shas_depend_on_the_diff_alone(tmp_path, monkeypatch):
    diff = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"
    for zone in ("Asia/Tokyo", "UTC"):
        monkeypatch.setenv("TZ", zone)
        with build(diff, tmp_path / "case") as case:
            assert case.base_sha == "07feefcb47ff3301b330bb01e22a97b504b28896"
            assert case.head_sha == "00f65458ff555a07cdb8d5f8c83159f881340d7c"


def test_the_repository_has_two_commits_and_nothing_else(tmp_path):
    diff = diff_of(tmp_path / "real", {b"a": b"1\n"}, {b"a": b"2\n"})
    with build(diff, tmp_path / "case") as case:
        assert git(case.path, "rev-list", "--all").decode().split() == [case.head_sha, case.base_sha]
        assert git(case.path, "rev-parse", "HEAD", "HEAD~1").decode().split() == [
            case.head_sha,
            case.base_sha,
        ]
        assert git(case.path, "remote") == b""
        assert not (case.path / ".git" / "hooks").exists()
        assert not (case.path / ".git" / "logs").exists()
        assert git(case.path, "fsck", "--strict") == b""
        plain = subprocess.run(
            ["git", "diff", "HEAD~1"],
            cwd=case.path,
            capture_output=True,
            check=True,
            env={"PATH": os.environ["PATH"]},
        )
        assert plain.stdout == diff


def test_no_user_or_system_config_acts(tmp_path, monkeypatch):
    home = tmp_path / "home"
    hooks = home / "hooks"
    hooks.mkdir(parents=True)
    ran = tmp_path / "ran"
    for name in ("post-checkout", "reference-transaction", "post-index-change", "fsmonitor"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)
    (home / ".gitconfig").write_text(
        f"[core]\n hooksPath = {hooks}\n fsmonitor = {hooks}/fsmonitor\n autocrlf = true\n"
        f' attributesFile = {home}/attributes\n[filter "f"]\n smudge = touch {ran}\n clean = touch {ran}\n'
        " required = true\n[user]\n name = Somebody\n[init]\n defaultBranch = other\n"
    )
    (home / "attributes").write_text("* filter=f\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_DIR", str(home / "elsewhere"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody")
    diff = diff_of(tmp_path / "real", {b"a": b"1\n"}, {b"a": b"2\n", b".gitattributes": b"* filter=f\n"})
    with build(diff, tmp_path / "case") as case:
        assert (case.path / "a").read_bytes() == b"2\n"
        assert b"Somebody" not in git(case.path, "cat-file", "commit", "HEAD")
    assert not ran.exists()
    assert not (home / "elsewhere").exists()


def test_nothing_is_written_through_a_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    new = b"diff --git a/%s b/%s\nnew file mode %s\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+%s\n"
    link = new % (b"link", b"link", b"120000", b"link", os.fsencode(outside))
    diff = link + b"\\ No newline at end of file\n"
    diff += new % (b"link/x", b"link/x", b"100644", b"link/x", b"evil")
    with pytest.raises(DiffError, match="link is both a file and a folder in the head"):
        build(diff, tmp_path / "case")
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "case").exists()


def test_what_git_refuses_leaves_nothing_behind(tmp_path, monkeypatch):
    diff = diff_of(tmp_path / "real", {b"a": b"1\n"}, {b"a": b"2\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="git is not installed, or not on PATH"):
        build(diff, tmp_path / "case")
    assert not (tmp_path / "case").exists()


def test_it_is_removed_after_an_exception_and_kept_on_demand(tmp_path):
    diff = diff_of(tmp_path / "real", {b"a": b"1\n"}, {b"a": b"2\n"})

    def work(keep):
        with build(diff, tmp_path / "case", keep=keep) as case:
            (case.path / "locked").mkdir()
            (case.path / "locked" / "file").touch()
            (case.path / "locked").chmod(0)
            raise RuntimeError("a reviewer failed")

    with pytest.raises(RuntimeError):
        work(False)
    assert not (tmp_path / "case").exists()
    with pytest.raises(RuntimeError):
        work(True)
    assert stat.S_ISDIR((tmp_path / "case").stat().st_mode)
    with pytest.raises(ValueError, match="needs a folder"):
        build(diff, keep=True)


WORKER = """
import sys, time
from evalrunner.git.case_repository import build
diff = b"--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-1\\n+2\\n"
case = build(diff)
print(case.path, flush=True)
{then}
"""


def start(folder: Path, then: str) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER.format(then=then)],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.mark.parametrize(
    ("then", "number"), [("pass", None), ("1 / 0", None), ("time.sleep(60)", signal.SIGINT)]
)
def test_a_process_leaves_nothing_in_the_temporary_folder(then, number, tmp_path):
    process, path = start(tmp_path, then)
    with process:
        if number is not None:
            assert path.is_dir()
            process.send_signal(number)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_one(tmp_path):
    killed, left = start(tmp_path, "time.sleep(60)")
    living, kept = start(tmp_path, "sys.stdin.read(); time.sleep(60)")
    with killed, living:
        killed.kill()
        killed.wait()
        assert left.is_dir()
        third, _ = start(tmp_path, "pass")
        with third:
            pass
        assert not left.exists()
        assert kept.is_dir()
        living.send_signal(signal.SIGINT)
    assert list(tmp_path.iterdir()) == []


LINES = st.lists(st.sampled_from([b"a", b"b", b"", b"c\r", b"\xe9", b"--- x", b"@@"]), max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(base=LINES, head=LINES, ends=st.tuples(st.booleans(), st.booleans()), context=st.integers(0, 3))
def test_any_two_files_are_rebuilt_as_git_applies_them(base, head, ends, context, tmp_path_factory):
    first, second = (b"\n".join(lines) + b"\n" * end for lines, end in zip((base, head), ends, strict=True))
    if first == second:
        return
    folder = tmp_path_factory.mktemp("any")
    diff = diff_of(folder / "real", {b"f": first}, {b"f": second}, f"-U{context}", "--text")
    with build(diff, folder / "case") as case:
        assert tree_by_git_apply(case, diff) == tree_of(case, case.head_sha)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared cases are not beside this checkout")
def test_all_shared_rows_are_rebuilt_as_git_applies_them(tmp_path):
    rows = [json.loads(line) for line in (SHARED / "cases.jsonl").read_text("utf-8").split("\n") if line]
    rows += [
        json.loads(line) for line in (SHARED / "judge-cases.jsonl").read_text("utf-8").split("\n") if line
    ]
    for row in rows:
        diff = row["diff"].encode()
        with build(diff, tmp_path / row["id"]) as case:
            assert case.warnings == (), row["id"]
            assert tree_by_git_apply(case, diff) == tree_of(case, case.head_sha), row["id"]
            for expected in row.get("expected", ()):
                lines = (case.path / expected["file"]).read_bytes().split(b"\n")
                assert lines[expected["line"] - 1].strip().decode() == expected["anchor"], row["id"]
    assert len(rows) == 61
    assert list(tmp_path.iterdir()) == []
