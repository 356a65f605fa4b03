"""The rules keep what stands at a changed line and speaks its words, and say what they went by."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalrunner.calls.desk import Desk
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench, Speaker
from evalrunner.paths import data_root
from evalrunner.records import Item
from evalrunner.rubric import read_rubric
from evalrunner.subject.base import Subject
from evalrunner.subject.keep_reject_rules import RULES_ID, KeepRejectRules, judged
from evalrunner.subject.keep_reject_words import guarded, shared, telling

DIFF = """\
diff --git a/shop/cart.py b/shop/cart.py
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -10,7 +10,7 @@ class Cart:
     def total(self):
         amount = 0
         for entry in self.entries:
-            amount += entry.price * entry.quantity
+            amount = entry.price * entry.quantity
         return amount

     def clear(self):
@@ -40,7 +40,5 @@ class Cart:
     def remove(self, sku):
         entry = self.find(sku)
-        if entry is None:
-            raise UnknownSku(sku)
         self.entries.remove(entry)
         self.touch()

diff --git a/old/names.go b/new/names.go
similarity index 90%
rename from old/names.go
rename to new/names.go
--- a/old/names.go
+++ b/new/names.go
@@ -1,3 +1,3 @@
 package names

-const maxLength = 64
+const maxLength = 46
diff --git a/gone.js b/gone.js
deleted file mode 100644
--- a/gone.js
+++ /dev/null
@@ -1,2 +0,0 @@
-const retries = 3
-module.exports = { retries }
diff --git a/fresh.rs b/fresh.rs
new file mode 100644
--- /dev/null
+++ b/fresh.rs
@@ -0,0 +1,9 @@
+pub fn parse_port(text: &str) -> u16 {
+    text.parse().unwrap()
+}
+
+// text.is_empty() is refused elsewhere
+
+
+
+pub fn default_host() -> String { "localhost".into() }
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
"""


def finding(file: str, line: int | None, claim: str, name: str = "f1") -> dict[str, Any]:
    return {"id": name, "file": file, "line": line, "title": claim, "body": ""}


CART, FAR = "shop/cart.py", "line 25 lies outside the changed hunks (lines 10-16, 40-44)"
VERDICTS = [
    (CART, 13, "Only the last price is kept", "KEEP", "13 is changed, and the changed lines hold price"),
    ("b/shop/cart.py", 13, "The amounts are not summed", "KEEP", "the changed lines hold amounts"),
    ("./shop/cart.py", 13, "Rounding may drift", "REJECT", "line 13 is changed, but no telling word of the"),
    (CART, 12, "The price is lost", "REJECT", "12 is unchanged; the nearest change is at line 13"),
    (CART, 14, "The price is lost", "REJECT", "line 14 is unchanged"),
    (CART, 25, "The price is lost", "REJECT", FAR),
    (CART, 42, "An unknown sku is no longer refused", "KEEP", "beside removed lines, and the changed"),
    (CART, 43, "Entry may be None", "KEEP", "line 43 stands beside removed lines"),
    (CART, 44, "Entry may be None", "REJECT", "the nearest change is at lines 40-43"),
    (CART, 42, "The lock is never released", "REJECT", "beside removed lines, but no telling word"),
    (CART, None, "Quantity is ignored", "KEEP", "names no line, and the changed lines hold Quantity"),
    ("shop/Cart.py", 13, "The price is lost", "REJECT", "the diff does not touch this file"),
    ("new/names.go", 3, "The maximum length shrank from 64", "KEEP", "the changed lines hold length, 64"),
    ("old/names.go", 3, "maxLength has its digits swapped", "KEEP", "the changed lines hold maxLength"),
    ("gone.js", 1, "Importers of retries break", "KEEP", "1 is changed, and the changed lines hold retries"),
    ("gone.js", 3, "Importers of retries break", "REJECT", "outside the changed hunks (lines 1-2)"),
    ("fresh.rs", 2, "unwrap panics when the port is no number", "KEEP", "changed lines hold unwrap, port"),
    ("fresh.rs", 9, "unwrap panics when the port is no number", "REJECT", "no telling word"),
    (CART, 42, "The sku may be None, as entry is not checked", "KEEP", "beside removed lines"),
    (
        "fresh.rs",
        2,
        "text may be empty, and parse fails",
        "REJECT",
        "a test that is there: // text.is_empty()",
    ),
    ("run.sh", 1, "The script is not executable", "REJECT", "no line of this file is changed"),
]


@pytest.mark.parametrize(("file", "line", "claim", "verdict", "reason"), VERDICTS)
def test_place_and_words_decide_and_the_reason_names_them(
    file: str, line: int | None, claim: str, verdict: str, reason: str
) -> None:
    (ruled,) = judged({"diff": DIFF, "findings": [finding(file, line, claim)]}).each
    assert ruled.verdict == verdict
    assert reason in ruled.reason


def test_these_verdicts_are_those_of_this_version() -> None:
    """Whoever changes a verdict above gives the rules a new id: receipts of two versions do not compare."""
    kept = "".join("K" if verdict == "KEEP" else "R" for *_, verdict, _ in VERDICTS)
    assert (RULES_ID, kept) == ("keep-reject-rules-v1", "KKRRRRKKRRKRKKKRKRKRR")


@pytest.mark.parametrize(
    ("claim", "line", "test"),
    [
        ("user may be None", "if user is None:", True),
        ("User may be None", "if user is None:", False),
        ("the result of find is not checked", "if find == NULL)", True),
        ("rows could be empty", "if not rows:", True),
        ("rows could be empty", "if (!rows)", True),
        ("rows could be empty", "if len(rows) > 0 {", True),
        ("rows could be empty", "if rows:", True),
        ("rows could be empty", "for row in rows:", False),
        ("rows are slow", "if not rows:", False),
        ("x may be null", "if (x === null)", False),
        ("it may be null", "if (it === null)", False),
    ],
)
def test_a_claim_that_misses_a_test_is_held_against_the_lines_that_are_shown(
    claim: str, line: str, test: bool
) -> None:
    assert guarded(claim, ["other", f"  {line}"]) == (line if test else None)


def test_names_count_whole_and_in_parts_and_endings_do_not_matter() -> None:
    assert shared("Keys are freed twice", ["jv_free(key);"]) == ["Keys", "freed"]
    assert shared("The html is not escaped", ["escapeHtml(x)"]) == ["html", "escaped"]
    assert shared("copies go on", ["copy(v)"]) == ["copies"]
    assert shared("getUserName is slow", ["user_name"]) == ["User"]
    assert shared("14 characters", ["digits + 14;"]) == ["14"]


def test_function_words_keywords_and_single_signs_tell_nothing() -> None:
    assert telling("if (x == 0) return the new value of this function; // it is an error") == {}


def test_the_words_of_other_scripts_count() -> None:
    assert shared("Größe läuft über", ["int größe = 3;"]) == ["Größe"]


def bench() -> Bench:
    rubric = read_rubric(data_root() / "rubrics" / "review_judge.yaml")
    desk: Desk = None  # type: ignore[assignment]
    return Bench(rubric, (), Prompts(), desk, Path(), lambda line: None)


def item(diff: str, *findings: dict[str, Any]) -> Item:
    labels = {each["id"]: "real" for each in findings}
    return Item(
        id="b",
        content_sha="0" * 64,
        payload={"diff": diff, "findings": list(findings)},
        truth={"labels": labels},
    )


def test_an_outcome_names_the_rules_and_costs_nothing() -> None:
    rules = KeepRejectRules()
    made = asyncio.run(rules.produce(item(DIFF, finding("gone.js", 1, "retries")), 2, bench()))
    assert (made.item_id, made.run, made.status, made.error) == ("b", 2, "ok", None)
    assert made.payload["seat"] == RULES_ID
    assert made.payload["verdicts"] == [
        {
            "id": "f1",
            "verdict": "KEEP",
            "reason": "gone.js: line 1 is changed, and the changed lines hold retries",
        }
    ]
    assert (made.spend.cost_usd, made.spend.usage.calls) == (0, 0)


def test_a_diff_that_cannot_be_read_is_a_failed_call() -> None:
    made = asyncio.run(KeepRejectRules().produce(item("no diff", finding("x", 1, "y")), 1, bench()))
    assert made.status == "error"
    assert made.error is not None
    assert made.error.startswith("the diff cannot be read: ")
    assert "verdicts" not in made.payload


def test_bytes_that_are_no_utf_8_are_read_as_they_are() -> None:
    from evalrunner.git.diff import diff_payload

    raw = DIFF.replace("price", "pr\xefce").encode("latin-1")
    payload = {**diff_payload(raw), "findings": [finding("shop/cart.py", 13, "quantity")]}
    assert "diff_base64" in payload
    assert judged(payload).each[0].verdict == "KEEP"


def test_control_characters_of_a_path_do_not_reach_the_reason() -> None:
    (ruled,) = judged({"diff": DIFF, "findings": [finding("x\x1b[2J\ny", 1, "z")]}).each
    assert ruled.reason == "x\ufffd[2J y: the diff does not touch this file"


def test_the_rules_are_a_heuristic_with_a_fixed_version() -> None:
    rules = KeepRejectRules()
    assert isinstance(rules, Subject)
    assert isinstance(rules, Speaker)
    assert rules.kind == "heuristic"
    assert list(rules.models()) == [rules]
    assert rules.described() == {"subject": "keep_reject", "seat": "heuristic", "id": RULES_ID}
    assert (rules.prompts(), rules.planned([], bench()), rules.check_ready({}), rules.asked()) == (
        (),
        [],
        [],
        {},
    )
    with pytest.raises(ValidationError, match="this one holds 'keep-reject-rules-v1'"):
        KeepRejectRules(id="keep-reject-rules-v0")
