"""Whether two diffs come to the same tree, told from the diffs alone."""

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalrunner.git.diff import DiffError
from evalrunner.model.heads import same_heads

EDIT = b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+%s\n three\n"


def header(path: str, *lines: str, old: str | None = None) -> bytes:
    return "\n".join([f"diff --git a/{old or path} b/{path}", *lines, ""]).encode()


NEW = header("n", "new file mode 100644", "--- /dev/null", "+++ b/n", "@@ -0,0 +1,2 @@", "+a", "+b")
GONE = header("f", "deleted file mode 100644", "--- a/f", "+++ /dev/null", "@@ -1,2 +0,0 @@", "-a", "-b")
MOVED = header("g", "similarity index 100%", "rename from f", "rename to g", old="f")
ADDED_G = header("g", "new file mode 100644", "--- /dev/null", "+++ b/g", "@@ -0,0 +1,2 @@", "+a", "+b")


@pytest.mark.parametrize("other", [b"TWO", b"TWO  ", b"TWO\t", b"TWO\r"])
def test_blanks_and_carriage_returns_at_the_end_of_a_line_make_no_difference(other: bytes) -> None:
    assert same_heads(EDIT % b"TWO", EDIT % other)


@pytest.mark.parametrize("other", [b" TWO", b"two!", b"T WO", b""])
def test_anything_else_in_a_line_does(other: bytes) -> None:
    assert not same_heads(EDIT % b"TWO", EDIT % other)


def test_the_same_change_in_other_hunks_and_other_context_is_the_same() -> None:
    narrow = b"--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+TWO\n"
    split = b"--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n one\n-two\n@@ -3 +2,2 @@\n+TWO\n three\n"
    assert same_heads(EDIT % b"TWO", narrow)
    assert same_heads(narrow, split)


def test_a_line_that_only_one_side_shows_stands_on_both() -> None:
    touched = b"--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n one\n-two\n+TWO\n three\n-four\n+four \n five\n"
    assert same_heads(EDIT % b"TWO", touched)
    assert not same_heads(EDIT % b"TWO", touched.replace(b"+four ", b"+FOUR"))


def test_a_further_file_counts_unless_only_its_blanks_change() -> None:
    further = b"--- a/h\n+++ b/h\n@@ -7 +7 @@\n-x\n+%s\n"
    assert same_heads(EDIT % b"TWO", EDIT % b"TWO" + further % b"x ")
    assert not same_heads(EDIT % b"TWO", EDIT % b"TWO" + further % b"y")
    assert not same_heads(EDIT % b"TWO", EDIT % b"TWO" + NEW)


def test_the_end_of_a_new_file_makes_no_difference() -> None:
    without = NEW + b"\\ No newline at end of file\n"
    longer = NEW.replace(b"+1,2 @@", b"+1,4 @@") + b"+\n+ \n"
    assert same_heads(NEW, without)
    assert same_heads(NEW, longer)
    assert not same_heads(NEW, NEW.replace(b"+1,2 @@", b"+1,3 @@") + b"+c\n")


def test_modes_and_links_are_exact() -> None:
    runs = NEW.replace(b"100644", b"100755")
    link = header("n", "new file mode 120000", "--- /dev/null", "+++ b/n", "@@ -0,0 +1 @@", "+to")
    link += b"\\ No newline at end of file\n"
    assert not same_heads(NEW, runs)
    assert same_heads(link, link)
    assert not same_heads(link, link.replace(b"+to", b"+to "))


def test_a_rename_is_a_deletion_and_an_addition() -> None:
    assert same_heads(MOVED, GONE + ADDED_G)
    assert not same_heads(MOVED, ADDED_G)
    assert not same_heads(MOVED, GONE + ADDED_G.replace(b"+b", b"+c"))


def test_copies_of_two_unknown_files_are_not_the_same() -> None:
    copies = [header("g", f"copy from {name}", "copy to g", old=name) for name in ("e", "f")]
    assert same_heads(copies[0], copies[0])
    assert not same_heads(*copies)


def test_binaries_are_the_same_by_their_whole_ids_alone() -> None:
    def binary(sha: str) -> bytes:
        return header("b", f"index {'0' * len(sha)}..{sha} 100644", "Binary files a/b and b/b differ")

    assert same_heads(binary("1" * 40), binary("1" * 40))
    assert not same_heads(binary("1" * 40), binary("2" * 40))
    assert not same_heads(binary("1" * 7), binary("1" * 7))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (EDIT.replace(b" one", b" eins") % b"TWO", "line 1 of f"),
        (header("f", "new file mode 100644", "--- /dev/null", "+++ b/f", "@@ -0,0 +1 @@", "+x"), "was a f"),
        (EDIT.replace(b" three", b" three\n\\ No newline at end of file") % b"x" + b"", "length"),
        (b"no diff", "no file"),
    ],
)
def test_diffs_of_two_bases_are_refused(other: bytes, said: str) -> None:
    longer = b"--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n one\n-two\n+TWO\n three\n four\n"
    with pytest.raises(DiffError, match=said):
        same_heads(longer, other)


LINES = st.lists(st.sampled_from(["a", "b", "b ", "", " a"]), max_size=7)


def unified(base: list[str], head: list[str], context: int) -> bytes:
    """A git diff of two texts, in a repository that has another change besides, so that it is never empty."""
    ends = [[f"{line}\n" for line in text] for text in (base, head)]
    names = "a/f" if base else "/dev/null", "b/f" if head else "/dev/null"
    own = "".join(difflib.unified_diff(*ends, *names, n=context))
    told = [] if base else ["new file mode 100644"]
    told += [] if head else ["deleted file mode 100644"]
    return NEW + (header("f", *told) + own.encode() if own else b"")


def settled(text: list[str]) -> list[str] | None:
    """What two texts must share to be the same; None for no file at all."""
    lines = [line.rstrip() for line in text]
    while lines and not lines[-1]:
        lines.pop()
    return lines if text else None


@settings(max_examples=400, deadline=None)
@given(LINES, LINES, LINES, st.integers(0, 3), st.integers(0, 3))
def test_it_never_takes_two_different_heads_for_the_same(
    base: list[str], one: list[str], other: list[str], first: int, second: int
) -> None:
    same = same_heads(unified(base, one, first), unified(base, other, second))
    assert not same or settled(one) == settled(other)
    assert same or one != other
