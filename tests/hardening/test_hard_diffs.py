"""Diffs that were garbled: two trees or a refusal, and never a path outside of the repository."""

import json
import os
from pathlib import Path
from tempfile import mkdtemp

from hard_kit import came_of, garbled, tries
from hypothesis import given
from hypothesis import strategies as st

from evalrunner.errors import InputError
from evalrunner.git.case_repository import build
from evalrunner.git.diff import DiffError
from evalrunner.git.paths import unsafe
from evalrunner.git.run import GitError, git
from evalrunner.git.trees import rebuild
from evalrunner.paths import demo

DEMO = [json.loads(line)["diff"].encode() for line in demo("review_cases.jsonl").read_text().splitlines()[:3]]
HEADERS = b"""\
diff --git a/old name b/new name
similarity index 90%
rename from old name
rename to new name
index e64ba42..a01629e 100644
--- "a/old name"
+++ "b/new name"
@@ -1,2 +1,2 @@
 x
-y
+z
\\ No newline at end of file
diff --git a/l b/l
new file mode 120000
index 0000000..9daeafb
--- /dev/null
+++ b/l
@@ -0,0 +1 @@
+../../outside
\\ No newline at end of file
diff --git a/i.bin b/i.bin
new file mode 100755
index 0000000000000000000000000000000000000000..ec747fa47ddb81e9bf2d282011ed32aa4c59f932
GIT binary patch
literal 5
McmYdfEJ|h600oBufB*mh

literal 0
HcmV?d00001

"""
DIFFS = st.sampled_from([HEADERS, *DEMO])
SIGNS = b'ab./\\"+- @,0123456789\n\0\t~'
WAYS_OUT = [
    b"../x",
    b"/etc/x",
    b".git/config",
    b"a/../../x",
    b".GIT/hooks/pre-commit",
    b"~/x",
    b"a//b",
    b"./..",
    b"",
]


@st.composite
def leaving(draw: st.DrawFn) -> bytes:
    """A diff in which one path, wherever it stands, is another one."""
    diff = draw(DIFFS)
    names = {b"old name": b"new name", b"l": b"l", b"shop/cart.py": b"shop/cart.py"}
    name = draw(st.sampled_from(sorted(names)))
    return diff.replace(name, draw(st.sampled_from(WAYS_OUT)), draw(st.integers(1, 6)))


@given(DIFFS.flatmap(lambda diff: garbled(diff, SIGNS)) | leaving() | st.binary(max_size=80))
@tries(400)
def test_two_trees_of_safe_paths_or_a_refusal(diff: bytes) -> None:
    trees, refused = came_of(lambda: rebuild(diff), DiffError)
    if refused is not None:
        assert isinstance(refused, InputError)
        assert all(problem.what for problem in refused.problems)
        return
    for side in (trees.base, trees.head):
        for path, blob in side.items():
            assert unsafe(path) is None, path
            assert not path.startswith(b"/")
            assert b".." not in path.split(b"/")
            assert isinstance(blob.data, bytes)


@given(DIFFS | DIFFS.flatmap(lambda diff: garbled(diff, SIGNS)) | leaving())
@tries(12)
def test_what_is_built_lies_inside(tmp_path: Path, diff: bytes) -> None:
    outer = Path(mkdtemp(dir=tmp_path))
    place = outer / "case"
    try:
        with build(diff, place) as case:
            assert git(case.path, "fsck", "--strict", "--no-dangling") == b""
            for root, _, files in os.walk(case.path):
                for name in files:
                    assert Path(root, name).parent.resolve().is_relative_to(case.path.resolve())
    except (DiffError, GitError):
        pass
    assert list(outer.iterdir()) == []
    assert all(each.is_dir() for each in tmp_path.iterdir())
