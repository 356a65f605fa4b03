import pytest

from evalrunner.errors import EXIT_USAGE
from evalrunner.git.diff import (
    DiffError,
    added_lines,
    diff_payload,
    head_lines,
    payload_diff,
    removed_lines,
)
from evalrunner.git.diff_parser import parse
from evalrunner.git.trees import rebuild

ONE = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"


def section(path: bytes, body: bytes = b"@@ -1 +1 @@\n-1\n+2\n", more: bytes = b"") -> bytes:
    return b"diff --git a/%s b/%s\n%s--- a/%s\n+++ b/%s\n%s" % (path, path, more, path, path, body)


def hunks(*texts: bytes) -> bytes:
    return section(b"x", b"".join(texts))


def test_lines_have_their_numbers_on_both_sides():
    diff = hunks(
        b"@@ -3,3 +3,4 @@ def f():\n a\n-b\n+B\n+C\n d\n",
        b"@@ -9,0 +11,1 @@\n+new\n",
        b"@@ -12 +13,0 @@\n-z\n",
    )
    (file,) = parse(diff)
    assert head_lines(file) == {3: b"a", 4: b"B", 5: b"C", 6: b"d", 11: b"new"}
    assert added_lines(file) == {4: b"B", 5: b"C", 11: b"new"}
    assert removed_lines(file) == {4: b"b", 12: b"z"}
    assert [each.at for each in file.hunks] == [4, 10, 12]


def test_sections_tell_how_a_file_changed():
    diff = (
        section(b"m", more=b"index 1234567..89abcde 100755\n")
        + b"diff --git a/n b/n\nnew file mode 100755\nindex 0000000..e69de29\n"
        + b"diff --git a/d b/d\ndeleted file mode 120000\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-t\n"
        + b"diff --git a/o b/n/o\nsimilarity index 100%\nrename from o\nrename to n/o\n"
        + b"diff --git a/c b/e\nsimilarity index 100%\ncopy from c\ncopy to e\n"
        + b"diff --git a/p b/p\nold mode 100644\nnew mode 100755\n"
    )
    seen = [(each.change, each.old_path, each.new_path, each.old_mode, each.new_mode) for each in parse(diff)]
    assert seen == [
        ("modified", b"m", b"m", "100755", "100755"),
        ("added", None, b"n", "100644", "100755"),
        ("deleted", b"d", None, "120000", "100644"),
        ("renamed", b"o", b"n/o", "100644", "100644"),
        ("copied", b"c", b"e", "100644", "100644"),
        ("modified", b"p", b"p", "100644", "100755"),
    ]


@pytest.mark.parametrize(
    ("diff", "change", "path"),
    [
        (
            b"--- a/x y.c\t2024-01-01 00:00:00 +0000\n+++ b/x y.c\t2024-01-02\n@@ -1 +1 @@\n-1\n+2\n",
            "modified",
            b"x y.c",
        ),
        (b"--- old/x.c\n+++ new/x.c\n@@ -1 +1 @@\n-1\n+2\n", "modified", b"x.c"),
        (b"--- x.c\n+++ x.c\n@@ -1 +1 @@\n-1\n+2\n", "modified", b"x.c"),
        (b"diff -ruN a/x b/x\n--- a/x\t1970-01-01\n+++ b/x\t2024-01-01\n@@ -0,0 +1 @@\n+1\n", "added", b"x"),
        (b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n", "added", b"x"),
        (b"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "deleted", b"x"),
        (
            b"Index: x\n======\n--- x\t(revision 1)\n+++ x\t(working copy)\n@@ -1 +1 @@\n-1\n+2\n",
            "modified",
            b"x",
        ),
    ],
)
def test_plain_diffs_are_read(diff, change, path):
    (file,) = parse(diff)
    assert (file.change, file.path) == (change, path)


def test_a_message_before_and_a_mails_end_behind_are_passed_over():
    mail = (
        b"From 1234 Mon Sep 17 00:00:00 2001\nSubject: x\n\n- a list\n---\n x | 2 +-\n\n%s-- \n2.39.5\n\n"
        % ONE
    )
    assert [each.path for each in parse(mail)] == [b"x"]
    assert [
        each.path for each in parse(mail.replace(b"-- \n2.39.5\n\n", b"-- \n2.39.5\n\n" + section(b"y")))
    ] == [b"x", b"y"]


def test_blank_context_may_have_lost_its_blank_and_the_diff_its_last_newline():
    assert parse(ONE.replace(b" one\n", b"\n"))[0].hunks[0].lines[0].text == b""
    assert parse(ONE[:-1]) == parse(ONE)


REFUSED = {
    "empty": (b"", 0, "there is no file in the diff"),
    "prose": (b"nothing changed\n", 0, "there is no file"),
    "no hunk": (b"--- a/x\n+++ b/x\n", 3, "no hunk follows"),
    "header alone": (b"diff --git a/x b/x\n", 1, "the content of the file is missing"),
    "new, cut off": (
        b"diff --git a/x b/x\nnew file mode 100644\nindex 0000000..0cfbf08\n",
        1,
        "the content of the file is missing",
    ),
    "rename, cut off": (
        b"diff --git a/x b/y\nrename from x\nrename to y\nindex d00491f..0cfbf08\n",
        1,
        "the content of the file is missing",
    ),
    "hunk alone": (b"@@ -1 +1 @@\n-1\n+2\n", 1, "a hunk has no file"),
    "both null": (b"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-1\n+2\n", 1, "both names are /dev/null"),
    "too few lines": (hunks(b"@@ -1,3 +1,3 @@\n a\n-b\n+c\n"), 4, "the diff ends inside this hunk"),
    "too few lines, then another": (hunks(b"@@ -1,3 +1,3 @@\n a\n-b\n+c\n") + ONE, 8, "is no line of a hunk"),
    "too many lines": (hunks(b"@@ -1 +1 @@\n-b\n+c\n+d\n"), 7, "is a line more than the hunk above counts"),
    "too many on one side": (hunks(b"@@ -1,2 +1 @@\n-b\n+c\n d\n"), 7, "is a line more than"),
    "no sign": (hunks(b"@@ -1,2 +1,2 @@\n-b\n+c\nd\n"), 7, "is no line of a hunk"),
    "broken header": (hunks(b"@@ -1,2 +1,2\n-b\n+c\n d\n"), 4, "is no header of a hunk"),
    "negative": (hunks(b"@@ --1 +1 @@\n-b\n+c\n"), 4, "is no header of a hunk"),
    "overlap": (hunks(b"@@ -1,2 +1,2 @@\n a\n-b\n+c\n", b"@@ -2 +2 @@\n-b\n+c\n"), 8, "overlaps"),
    "not in order": (hunks(b"@@ -9 +9 @@\n-b\n+c\n", b"@@ -2 +2 @@\n-b\n+c\n"), 7, "overlaps"),
    "head numbers": (hunks(b"@@ -2 +2,2 @@\n-b\n+c\n+d\n", b"@@ -9 +9 @@\n-b\n+c\n"), 8, "does not follow"),
    "line 0": (hunks(b"@@ -0 +0 @@\n-b\n+c\n"), 4, "counted from 1"),
    "far line": (hunks(b"@@ -30000000 +30000000 @@\n-b\n+c\n"), 4, "too large"),
    "very far line": (hunks(b"@@ -%s +1 @@\n-b\n+c\n" % (b"9" * 5000)), 4, "is no header of a hunk"),
    "many lines": (hunks(b"@@ -1,900000 +1,900000 @@\n-b\n+c\n"), 4, "counts too many lines"),
    "far in many files": (
        b"".join(section(b"%d" % n, b"@@ -190000 +190000 @@\n-b\n+c\n") for n in range(11)),
        0,
        "together",
    ),
    "CRLF": (ONE.replace(b"\n", b"\r\n"), 1, "the lines of the diff itself end in CR LF"),
    "CRLF, plain": (b"--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-1\r\n+2\r\n", 1, "CR LF"),
    "CRLF hunk": (hunks(b"@@ -1 +1 @@\r\n-1\n+2\n"), 4, "CR LF"),
    "combined": (b"diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n", 1, "combined"),
    "submodule in words": (ONE + b"Submodule s 1234567..89abcde:\n", 8, "tells of a submodule in words"),
    "stray": (ONE + b"nonsense\n", 8, "is no line of a diff"),
    "names differ": (b"diff --git a/x b/y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n", 1, "no rename is told"),
    "plain names differ": (
        b"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n",
        1,
        r"the names of `---` and `\+\+\+` differ",
    ),
    "other name below": (ONE.replace(b"+++ b/x", b"+++ b/y"), 3, "is not the name"),
    "null without new": (ONE.replace(b"--- a/x", b"--- /dev/null"), 2, "is not the name"),
    "new without null": (ONE.replace(b"--- a/x", b"new file mode 100644\n--- a/x"), 3, "is not the name"),
    "half a rename": (b"diff --git a/x b/y\nrename from x\n", 1, "belong together"),
    "half a mode": (b"diff --git a/x b/x\nold mode 100644\n", 2, "belong together"),
    "rename and copy": (b"diff --git a/x b/y\nrename from x\ncopy to y\n", 1, "cannot have both"),
    "twice in a header": (
        b"diff --git a/x b/x\nnew file mode 100644\nnew file mode 100644\n",
        3,
        "stands twice",
    ),
    "mode": (b"diff --git a/x b/x\nnew file mode 100000\n", 2, "is no mode of a file"),
    "tree mode": (b"diff --git a/x b/x\nnew file mode 040000\n", 2, "is no mode of a file"),
    "type by mode": (b"diff --git a/x b/x\nold mode 100644\nnew mode 120000\n", 3, "by its mode"),
    "index": (b"diff --git a/x b/x\nindex zzz\n", 2, "is no `index` line"),
    "new with old lines": (
        b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n",
        5,
        "whole file",
    ),
    "deleted in parts": (
        b"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n"
        b"@@ -1 +0,0 @@\n-1\n@@ -2 +0,0 @@\n-2\n",
        7,
        "more than one hunk",
    ),
    "lines after the end": (
        hunks(b"@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+2\n", b"@@ -3 +3 @@\n-1\n+2\n"),
        8,
        "a line follows",
    ),
    "end inside": (
        hunks(b"@@ -1,2 +1,2 @@\n a\n\\ No newline at end of file\n-1\n+2\n"),
        4,
        "a line follows",
    ),
    "end of nothing": (
        hunks(b"@@ -1 +1 @@\n\\ No newline at end of file\n-1\n+2\n"),
        5,
        "no line that can lack",
    ),
    "file twice": (ONE + ONE, 8, "x stands twice in the diff"),
    "new twice": (b"diff --git a/x b/x\nnew file mode 100644\n" * 2, 3, "x stands twice in the diff"),
    "rename onto a file": (
        b"diff --git a/x b/y\nrename from x\nrename to y\n" + section(b"y"),
        1,
        "y is there already in the base",
    ),
    "copy onto its source's neighbour": (
        b"diff --git a/x b/y\ncopy from x\ncopy to y\ndiff --git a/x b/x\nnew file mode 100644\n",
        4,
        "is there already",
    ),
    "file and folder": (section(b"p") + section(b"p/q"), 0, "p is both a file and a folder in the base"),
    "base told twice": (
        b"diff --git a/x b/y\ncopy from x\ncopy to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-other\n+2\n"
        + section(b"x"),
        9,
        "line 1 of x is told in two ways",
    ),
    "empty link": (b"diff --git a/x b/x\nnew file mode 120000\n", 1, "the target of a symbolic link"),
    "modules as a link": (
        b"diff --git a/.gitmodules b/.gitmodules\nnew file mode 120000\n--- /dev/null\n+++ b/.gitmodules\n"
        b"@@ -0,0 +1 @@\n+t\n\\ No newline at end of file\n",
        1,
        "has the name `.gitmodules`",
    ),
    "submodule without commit": (
        b"diff --git a/x b/x\nnew file mode 160000\n--- /dev/null\n+++ b/x\n"
        b"@@ -0,0 +1 @@\n+Subproject commit abc\n",
        1,
        "a submodule has no commit",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_line(name):
    diff, line, what = REFUSED[name]
    with pytest.raises(DiffError, match=what) as caught:
        rebuild(diff)
    assert caught.value.line == line
    assert caught.value.exit_code == EXIT_USAGE
    assert len(str(caught.value)) < 400


GIF = (
    b"diff --git a/i b/i\nnew file mode 100644\nindex 0000000000000000000000000000000000000000.."
    b"35d42e808f0a8017b8d52a06be2f8fec0b466a66\nGIT binary patch\nliteral 43\n"
    b"scmZ?wbhEHbWMp7uXkcLY|NlP&1B2pE7Dgb&paUX6G7L;iE{qJ;0LZEa`2YX_\n\nliteral 0\nHcmV?d00001\n\n"
)


def test_a_binary_addition_is_inflated():
    assert rebuild(GIF).head[b"i"].data.startswith(b"GIF89a")
    assert len(rebuild(GIF).head[b"i"].data) == 43
    assert rebuild(GIF[:-1]).head == rebuild(GIF).head


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        (b"literal 43", b"literal 42", 5, "has not the size"),
        (b"literal 43", b"literal 44", 5, "has not the size"),
        (b"literal 43", b"literal 99999999999", 5, "is too large"),
        (b"literal 43\n", b"", 5, "no `literal` or `delta` line"),
        (b"scmZ", b"zcmZ", 6, "not the length that its letter says"),
        (b"scmZ", b"1cmZ", 6, "does not start with a letter"),
        (b"?wbhE", b" wbhE", 6, "is not base 85"),
        (b"scmZ?w", b"s0000w", 5, "cannot be inflated"),
        (b"35d42e8", b"45d42e8", 1, "has not the hash of the `index` line"),
    ],
)
def test_a_broken_binary_addition_is_refused(old, new, line, what):
    with pytest.raises(DiffError, match=what) as caught:
        rebuild(GIF.replace(old, new))
    assert caught.value.line == line


def test_whole_is_what_the_index_line_proves():
    sha = b"index 0000000..e019be0 100644\n"  # the id of a file that holds `2` and a line feed is 0cfbf08
    assert not rebuild(section(b"x")).head[b"x"].whole
    assert not rebuild(section(b"x", more=sha)).head[b"x"].whole
    proven = rebuild(section(b"x", more=b"index d00491f..0cfbf08 100644\n"))
    assert proven.head[b"x"].whole
    assert proven.base[b"x"].whole


def test_a_payload_carries_bytes_that_json_cannot():
    assert diff_payload(ONE) == {"diff": ONE.decode()}
    odd = ONE.replace(b"TWO", b"\xff")
    assert diff_payload(odd)["diff"] == ONE.decode().replace("TWO", "\ufffd")
    assert payload_diff(diff_payload(odd)) == odd
    assert payload_diff(diff_payload(ONE)) == ONE
    with pytest.raises(DiffError, match="is not base64"):
        payload_diff({"diff": "", "diff_base64": "!"})
