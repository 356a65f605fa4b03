"""Ruff's diagnostics as findings: on added lines, of files that can be reviewed."""

import json
from hashlib import sha1

import pytest

from evalrunner.git.trees import rebuild
from evalrunner.subject.findings import BrokenReview
from evalrunner.subject.ruff_report import python_files, ruff_review

NEW = """\
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+import os
+x = undefined
"""
PART = """\
diff --git a/part.py b/part.py
--- a/part.py
+++ b/part.py
@@ -10,2 +10,3 @@
     a = 1
+    b = 2
     return a
"""
REST = """\
diff --git a/go.go b/go.go
new file mode 100644
--- /dev/null
+++ b/go.go
@@ -0,0 +1 @@
+package x
diff --git a/link.py b/link.py
new file mode 120000
--- /dev/null
+++ b/link.py
@@ -0,0 +1 @@
+new.py
\\ No newline at end of file
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-c = 3
diff --git a/stub.pyi b/stub.pyi
new file mode 100755
--- /dev/null
+++ b/stub.pyi
@@ -0,0 +1 @@
+y: int
"""


def files(diff):
    return python_files(rebuild(diff.encode()))


def row(name, line, code="F821", message="Undefined name `x`"):
    url = "https://docs.example/rules/undefined-name"
    return {"filename": name, "code": code, "message": message, "url": url, "location": {"row": line}}


def review(diff, *rows):
    return ruff_review(files(diff), json.dumps(rows).encode(), "/tmp/repo", ("F8",))


def test_changed_python_files_are_those_of_the_head_that_are_no_links():
    found = files(NEW + PART + REST)
    assert [(each.name, each.whole) for each in found] == [
        ("new.py", True),
        ("part.py", False),
        ("stub.pyi", True),
    ]


def test_blank_lines_that_a_hash_was_made_of_are_not_the_whole_file():
    """The hash of a rebuilt file fits its index line, and still most of it is unknown."""
    trees = rebuild(PART.encode())
    data = trees.head[b"part.py"].data
    sha = sha1(b"blob %d\0" % len(data) + data).hexdigest()[:8]
    told = PART.replace("--- a/part.py", f"index 00000000..{sha} 100644\n--- a/part.py")
    assert rebuild(told.encode()).head[b"part.py"].whole
    assert [each.whole for each in files(told)] == [False]


def test_a_diff_that_shows_every_line_of_a_changed_file_shows_it_whole():
    data = b"a = 1\nb = 2\n"
    sha = sha1(b"blob %d\0" % len(data) + data).hexdigest()[:8]
    told = f"diff --git a/x.py b/x.py\nindex 00000000..{sha} 100644\n--- a/x.py\n+++ b/x.py\n"
    told += "@@ -1 +1,2 @@\n a = 1\n+b = 2\n"
    assert [each.whole for each in files(told)] == [True]


def test_findings_stand_on_added_lines():
    found = review(NEW, row("/tmp/repo/new.py", 2), row("/tmp/repo/new.py", 3)).findings
    assert [(each.file, each.line, each.title, each.body) for each in found] == [
        ("new.py", 2, "F821 Undefined name `x`", "ruff rule undefined-name")
    ]
    part = review(PART, row("part.py", 10, "B015"), row("part.py", 11, "B015"), row("part.py", 12, "B015"))
    assert [each.line for each in part.findings] == [11]


def test_rules_that_need_the_whole_file_are_left_out_of_a_part_of_one():
    assert review(PART, row("part.py", 11, "F841")).findings == ()
    assert len(review(NEW, row("new.py", 2, "F841")).findings) == 1


@pytest.mark.parametrize("code", [None, "invalid-syntax"])
def test_a_part_that_does_not_parse_is_unreviewable(code):
    alone = review(PART, row("part.py", 10, code, "unexpected indent"))
    assert (alone.status, alone.findings) == ("blocked", ())
    assert alone.error == "unreviewable: part.py cannot be parsed, as the diff does not show all of it"
    both = review(NEW + PART, row("new.py", 2), row("part.py", 10, code), row("part.py", 11, "B015"))
    assert (both.status, [each.file for each in both.findings]) == ("marker", ["new.py"])
    assert both.marker.startswith("unreviewable: part.py")


def test_a_whole_file_that_does_not_parse_is_a_finding():
    whole = review(NEW, row("new.py", 2, None, "Expected an expression"))
    assert (whole.status, whole.findings[0].title) == ("ok", "invalid-syntax Expected an expression")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (b"", "ruff wrote no JSON"),
        (b"{}", "no list of diagnostics"),
        (b"[3]", "no list of diagnostics"),
        (b'[{"filename": "/etc/passwd"}]', "'/etc/passwd', which it was not given"),
        (b'[{"filename": "new.py", "code": "F1", "message": "m"}]', None),
    ],
)
def test_what_is_not_ruff_s_is_refused(output, reason):
    if reason is None:
        assert ruff_review(files(NEW), output, "/tmp/repo", ()).findings == ()
        return
    with pytest.raises(BrokenReview, match=reason):
        ruff_review(files(NEW), output, "/tmp/repo", ())
