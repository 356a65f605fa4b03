import subprocess

import pytest
from git_samples import diff_of
from hypothesis import given
from hypothesis import strategies as st

from evalrunner.git.diff import DiffError
from evalrunner.git.diff_parser import parse
from evalrunner.git.paths import quote, show_path, split_quoted, unsafe

UNSAFE = {
    "": "is empty",
    "/etc/passwd": "is absolute",
    "\\x": "is absolute",
    "C:\\x": "is absolute",
    "c:/x": "is absolute",
    "..": "has a `..` part",
    "a/../b": "has a `..` part",
    "a\\..\\b": "has a `..` part",
    "a//b": "has an empty part",
    "a/": "has an empty part",
    "./a": "has an empty part or a `.` part",
    "a/./b": "has an empty part or a `.` part",
    "a\0b": "holds a NUL byte",
    ".git": "`.git`",
    ".git/config": "`.git`",
    "sub/.git/hooks/pre-commit": "`.git`",
    ".GIT/config": "`.git`",
    ".Git": "`.git`",
    ".git./config": "`.git`",
    ".git /config": "`.git`",
    ".git. .": "`.git`",
    "git~1": "`.git`",
    "GIT~12/x": "`.git`",
    ".git::$INDEX_ALLOCATION/x": "`.git`",
    ".git:x": "`.git`",
    "a\\.git\\config": "`.git`",
    ".g\u200cit/config": "`.git`",
    "\ufeff.git": "`.git`",
    "x" * 256: "longer than 255 bytes",
    "x/" * 600 + "x": "longer than 1024 bytes",
}


@pytest.mark.parametrize("path", UNSAFE)
def test_paths_that_leave_the_repository_or_mean_its_git_folder_are_refused(path):
    why = unsafe(path.encode())
    assert why is not None
    assert UNSAFE[path] in why


@pytest.mark.parametrize(
    "path",
    [".gitignore", ".github/x", "a.git", "git", "gitfoo~1", "...", "a b", "a:b", "é/..x", "a\\b", ".git_"],
)
def test_other_paths_are_taken(path):
    assert unsafe(path.encode()) is None


@pytest.mark.parametrize(
    "template",
    [
        b"diff --git a/%s b/%s\nnew file mode 100644\n",
        b"diff --git a/x b/x\nrename from x\nrename to %s\n",
        b"diff --git a/x b/x\ncopy from %s\ncopy to x\n",
        b"--- a/%s\n+++ b/%s\n@@ -1 +1 @@\n-1\n+2\n",
        b"--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+2\n",
        b"diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n@@ -1 +1 @@\n-1\n+2\n",
    ],
)
@pytest.mark.parametrize("path", [b"../x", b".git/config", b"a/.GIT/x"])
def test_an_unsafe_path_is_refused_wherever_it_stands(template, path):
    with pytest.raises(DiffError, match="the path has a"):
        parse(template % ((path,) * template.count(b"%s")))


def test_a_quoted_path_is_judged_by_what_it_means():
    quoted = b'diff --git "a/\\056git/x" "b/\\056git/x"\nnew file mode 100644\n'
    with pytest.raises(DiffError, match=r"can be taken for, `\.git`"):
        parse(quoted)
    with pytest.raises(DiffError, match="holds a NUL byte"):
        parse(quoted.replace(b"\\056git", b"\\000"))
    with pytest.raises(DiffError, match="the quoted name is broken"):
        parse(b'--- "a/x\\q"\n+++ "b/x\\q"\n@@ -1 +1 @@\n-1\n+2\n')


@given(st.binary(min_size=1, max_size=20).filter(lambda path: b"\0" not in path))
def test_quoting_is_undone(path):
    assert split_quoted(quote(path) + b" rest") == (path, b" rest")
    assert show_path(path).isprintable()


@pytest.mark.parametrize("quote_path", [True, False])
def test_quoting_is_gits(quote_path, tmp_path):
    paths = ["é".encode(), b"\xff", b"a\tb", b"\x01\x7f", b'q"\\', b"a b/c", b"\a\b\n\v\f\r"]
    diff = diff_of(tmp_path / "real", {}, dict.fromkeys(paths, b"1\n"), quote_path=quote_path)
    assert {each.path for each in parse(diff)} == set(paths)


def test_git_itself_takes_quoted_paths(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    diff = b"diff --git %s %s\nnew file mode 100644\n" % (quote(b"a/\xff\n"), quote(b"b/\xff\n"))
    seen = subprocess.run(
        ["git", "apply", "--numstat", "-z"], cwd=tmp_path, input=diff, capture_output=True, check=True
    )
    assert seen.stdout == b"0\t0\t\xff\n\0"
