"""Receipts for tests, made from scores."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalrunner.receipt.schema import Receipt, assemble
from evalrunner.receipt.scores import score_block


def values(columns: dict[str, list[Any]], **changes: Any) -> dict[str, Any]:
    """The JSON object of a receipt whose seats gave these scores: dimension -> one score a seat."""
    seats = max((len(column) for column in columns.values()), default=0)
    models = [f"model-{place}" for place in range(seats or 3)]
    exact = {name: [Fraction(str(each)) for each in column] for name, column in columns.items()}
    block = score_block(
        list(columns),
        [(models[place], {name: exact[name][place] for name in exact}) for place in range(seats)],
    )
    whole = {
        "schema_version": 1,
        "ts": "2026-03-01T09:30:00.250Z",
        "rubric_version": "v1.0",
        "rubric_sha8": "aaaaaaaa",
        "corpus": {"source": "fs", "n_takes": 2, "slug_prefix": None, "corpus_sha8": "bbbbbbbb"},
        "prompt_sha8": "cccccccc",
        "models_sha8": "dddddddd",
        "models": models,
        "cycles_run": 1,
        "successes_per_cycle": [seats],
        "verdict": "pass" if seats else "inconclusive",
        "scores": {name: each.model_dump() for name, each in block.scores.items()},
        "overall_score": block.overall,
        "cost_usd": Decimal("0.01"),
        "improvements": [],
        "errors": [],
        "verdictMessage": "said",
    }
    if block.exact:
        whole["scores_exact"] = block.exact
    return whole | changes


def receipt(columns: dict[str, list[Any]], **changes: Any) -> Receipt:
    """As `values`, as a receipt."""
    return assemble(values(columns, **changes))
