"""`--explain BATCH`: labels, verdicts and reasons of one batch, whatever the receipt tells of it."""

from typing import Any

from evalrunner.reporter.batches import batch_lines, has_batches

RECEIPT: dict[str, Any] = {
    "items": [
        {
            "id": "alpha",
            "calls": [
                {"run": 1, "state": "answered", "error": None},
                {"run": 2, "state": "failed", "error": "no usable\x1b[2J reply"},
            ],
            "findings": [
                {
                    "id": "f1",
                    "file": "x.py",
                    "line": 3,
                    "title": "Off by\none",
                    "label": "real",
                    "verdicts": [
                        {
                            "run": 1,
                            "verdict": "REJECT",
                            "reason": "taste",
                            "right": False,
                            "failed_call": False,
                        },
                        {"run": 2, "verdict": "KEEP", "reason": None, "right": True, "failed_call": True},
                    ],
                },
                {"id": "f2", "file": "y.py", "label": "spurious"},
            ],
        }
    ]
}


def test_a_batch_in_full() -> None:
    assert has_batches(RECEIPT)
    assert list(batch_lines(RECEIPT, "alpha")) == [
        ("Batch alpha (2 findings)", "bold"),
        ("call 2: failed: no usable [2J reply", "red"),
        ('f1 is real: x.py:3 "Off by one"', "bold"),
        ("  run 1: REJECT, wrong: taste", "red"),
        ("  run 2: KEEP, right: the call failed", "green"),
        ("f2 is spurious: y.py", "bold"),
    ]


def test_an_unknown_batch_is_told_with_the_nearest_one() -> None:
    ((line, _),) = batch_lines(RECEIPT, "alhpa")
    assert line == "The receipt: there is no batch 'alhpa' in it; did you mean 'alpha'?"


def test_receipts_of_other_evals_have_none() -> None:
    assert not has_batches({})
    assert not has_batches({"items": [{"id": "x", "verdict": "correct"}, "odd"], "cases": []})
