"""Reports for tests: receipts of each kind, made from a few figures."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, settings

from evalrunner.receipt.compare import compare
from evalrunner.receipt.schema import parse
from evalrunner.receipt.scores import score_block
from evalrunner.reporter.base import Against, Report

ANY_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For properties: how fast a machine is, is none of what they state."""

SEATS = ("openai:a", "anthropic:b")
BARS = {"name": "panel", "mean_min": 7, "min_min": 5, "quorum": "2/3"}


def takes(columns: dict[str, list[Any]], **changes: Any) -> dict[str, Any]:
    """A receipt of takes_quality: dimension -> one score a seat."""
    exact = {name: [Fraction(str(each)) for each in column] for name, column in columns.items()}
    seats = (
        [(seat, {name: exact[name][at] for name in exact}) for at, seat in enumerate(SEATS)] if exact else []
    )
    block = score_block(list(columns), seats)
    return {
        "schema_version": 1,
        "ts": "2026-03-01T09:30:00.250Z",
        "rubric_version": "v1.0",
        "rubric_sha8": "aaaaaaaa",
        "corpus": {"source": "fs", "n_takes": 2, "slug_prefix": None, "corpus_sha8": "bbbbbbbb"},
        "prompt_sha8": "cccccccc",
        "models_sha8": "dddddddd",
        "models": list(SEATS),
        "cycles_run": 1,
        "successes_per_cycle": [2],
        "verdict": "pass" if columns else "inconclusive",
        "scores": {name: each.model_dump() for name, each in block.scores.items()},
        "overall_score": block.overall,
        "cost_usd": Decimal("0.0213"),
        "improvements": [],
        "errors": [],
        "verdictMessage": "Pass: all is well.",
        "eval": "takes_quality",
        "judge": {"name": "rubric_panel"},
        "judge_kind": "llm",
        "threshold": BARS,
    } | changes


def judged(item: str, seat: int, values: dict[str, Any], *evidence: str, **changes: Any) -> dict[str, Any]:
    """A row of `judgements`: one seat on one item."""
    row = {
        "model": SEATS[seat],
        "place": seat,
        "cycle": 1,
        "chunk": 1,
        "item_ids": [item],
        "status": "scored",
        "values": values,
    }
    return row | ({"evidence": list(evidence)} if evidence else {}) | changes


def review(**changes: Any) -> dict[str, Any]:
    """A receipt of code_review: one case with a found and a missed defect, and a clean one with a finding."""
    finding = {"id": "f2", "file": "src/app.py", "line": 3, "title": "Unused import", "severity": "low"}
    metric = {"value": Decimal("0.5"), "n": 2, "ci_low": Decimal("0.1"), "ci_high": Decimal("0.9")}
    return (
        takes(
            {},
            verdict="fail",
            verdictMessage="Fail: effective_recall 0.50 is below 0.6.",
            eval="code_review",
            judge={"name": "defect_match"},
            judge_kind="code",
            models=[],
            threshold={"name": "metric", "at_least": {"effective_recall": Decimal("0.6")}, "at_most": {}},
            metrics={
                "effective_recall": metric,
                "precision": metric | {"value": 1, "n": 1},
                "determinism": {"value": None, "n": 0},
            },
            cases=[
                {"id": "loop", "defects": 2, "covered": 1, "usable": 1, "runs": []},
                {
                    "id": "clean",
                    "defects": 0,
                    "covered": 0,
                    "runs": [{"usable": True, "findings": [finding]}],
                },
            ],
            defects=[
                {
                    "case": "loop",
                    "file": "src/app.py",
                    "line": 40,
                    "mechanism": ["off-by-one"],
                    "covered": True,
                    "title": "Off-by-one in the loop",
                    "runs": [1],
                },
                {
                    "case": "loop",
                    "file": "src/a b,c.py",
                    "line": 7,
                    "mechanism": ["race", "lock"],
                    "covered": False,
                },
            ],
            unmatched=[{"case": "clean", **finding, "runs": [1]}],
        )
        | changes
    )


def report(now: dict[str, Any], baseline: dict[str, Any] | None = None, **changes: Any) -> Report:
    """A report of a receipt, compared with a baseline where one is given."""
    if baseline is None:
        return Report(now, **changes)
    comparison = compare(parse(baseline), parse(now), Decimal("0.5"))
    return Report(now, against=Against(baseline, comparison), **changes)
