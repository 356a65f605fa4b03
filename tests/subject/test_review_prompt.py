"""What an LLM reviewer is shown, within bounds, and how its reply is read."""

import json

import pytest

from evalrunner.git.trees import rebuild
from evalrunner.model.prompts import Prompts
from evalrunner.model.reply import ReplyRejected
from evalrunner.subject.review_prompt import head_files, messages, read_review, review_schema

PART = """\
diff --git a/src/app.py b/src/app.py
index 1111111..2222222 100644
--- a/src/app.py
+++ b/src/app.py
@@ -3,2 +3,2 @@ def f():
-    x = 1
+    x = 2
     return x
@@ -9,1 +9,2 @@ def g():
 y = 0
+z = y
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+a = 1
+b = 2
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-c = 3
diff --git a/link b/link
new file mode 120000
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+new.py
\\ No newline at end of file
"""
ONE = {"file": "a.py", "line": 7, "title": "t", "body": "b", "severity": "high"}


def test_head_files_are_numbered_and_say_what_is_not_known():
    texts, left_out = head_files(rebuild(PART.encode()), 10_000)
    assert texts == [
        "src/app.py (not whole)\n...\n 3     x = 2\n 4     return x\n...\n 9 y = 0\n10 z = y\n...",
        "new.py (whole)\n1 a = 1\n2 b = 2",
    ]
    assert left_out == 0


def test_files_that_do_not_fit_are_counted():
    trees = rebuild(PART.encode())
    (first, _), _ = head_files(trees, 10_000)
    assert head_files(trees, 0) == ([], 2)
    assert head_files(trees, 20) == ([], 2)
    assert head_files(trees, 45) == (["src/app.py (not whole)\n...\n 3     x = 2"], 2)
    assert head_files(trees, len(first)) == ([first], 1)
    assert head_files(trees, len(first) + 24) == ([first, "new.py (whole)\n1 a = 1"], 1)


def asked(diff, **bounds):
    limits = {"diff_bytes": 100_000, "context_bytes": 100_000, **bounds}
    return messages(Prompts(), "code_review", diff, rebuild(diff.encode()), **limits)


def test_the_prompt_holds_diff_and_files_between_fences():
    system, user = asked(PART)
    assert (system.role, user.role) == ("system", "user")
    fences = [line for line in user.content.splitlines() if line.startswith("<<<data")]
    assert len(fences) == 3
    assert len(set(fences)) == 1
    assert fences[0] in system.content
    assert PART in user.content
    assert "new.py (whole)" in user.content
    assert "cut off" not in user.content
    assert "not shown" not in user.content


def test_the_prompt_says_what_is_cut():
    _, user = asked(PART, diff_bytes=200, context_bytes=50)
    assert "its end is cut off" in user.content
    assert "2 more or longer files are not shown" in user.content
    assert "gone.py" not in user.content
    _, bare = asked(PART, context_bytes=0)
    assert "2 more or longer files are not shown" in bare.content


def test_a_diff_cannot_close_its_fence():
    _, user = asked(PART)
    mark = next(line for line in user.content.splitlines() if line.startswith("end of data"))
    _, again = asked(PART.replace("z = y", mark))
    closing = next(line for line in again.content.splitlines() if line.startswith("end of data"))
    assert closing != mark


def read(reply, finish="stop", markers=("blocked",)):
    return read_review(reply if isinstance(reply, str) else json.dumps(reply), finish, markers)


def test_a_complete_reply():
    review = read({"status": "complete", "findings": [ONE, {**ONE, "line": None}]})
    assert (review.status, [each.line for each in review.findings]) == ("ok", [7, None])
    assert len({each.id for each in review.findings}) == 2
    assert read('{"status": "complete", "findings": []}').findings == ()
    assert (
        read(json.dumps({"status": "complete", "findings": [ONE]}).replace("7", "7.0")).findings[0].line == 7
    )


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ({"status": "blocked", "findings": []}, 0),
        ({"status": "blocked", "findings": [ONE]}, 1),
        ({"status": "complete", "findings": [ONE, {**ONE, "title": "Blocked", "line": None}]}, 1),
        ("BLOCKED", 0),
        ('{"status": "complete", "findings": []}\n\nBlocked.', 0),
    ],
)
def test_a_review_that_ended_with_a_marker(reply, found):
    review = read(reply)
    assert (review.status, len(review.findings)) == ("marker", found)


def test_a_filtered_reply_is_a_blocked_review():
    review = read("", "content_filter")
    assert (review.status, review.error) == ("blocked", "the provider's content filter stopped the reply")


@pytest.mark.parametrize(
    ("reply", "finish", "reason"),
    [
        ("", "stop", "the reply is empty"),
        ("Looks good to me.", "stop", "no JSON object"),
        ({"findings": []}, "stop", "the object lacks status"),
        ({"status": "done", "findings": []}, "stop", 'status is neither "complete" nor "blocked"'),
        ({"status": "complete", "findings": {}}, "stop", "findings is not a list"),
        ({"status": "complete", "findings": [3]}, "stop", "finding 1 is not an object"),
        ({"status": "complete", "findings": [{**ONE, "id": "x"}]}, "stop", "finding 1 has 'id'"),
        ({"status": "complete", "findings": [{**ONE, "line": "7"}]}, "stop", "line of finding 1 is '7'"),
        ({"status": "complete", "findings": [{**ONE, "line": 7.5}]}, "stop", "line of finding 1"),
        ({"status": "complete", "findings": [{**ONE, "title": None, "body": ""}]}, "stop", "neither title"),
        ({"status": "complete", "findings": []}, "length", "finish reason 'length'"),
    ],
)
def test_any_other_reply_is_rejected(reply, finish, reason):
    with pytest.raises(ReplyRejected, match=reason):
        read(reply, finish)


def test_the_schema_asks_for_exactly_what_is_read():
    schema = review_schema()
    assert schema["required"] == ["status", "findings"]
    assert schema["properties"]["findings"]["items"]["required"] == list(ONE)
