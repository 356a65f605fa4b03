"""The rollup of a blind re-implementation as a person reads it."""

import io
from decimal import Decimal
from typing import Any

from evalrunner.receipt.compare import compare
from evalrunner.receipt.schema import parse
from evalrunner.reporter.base import Against, Report
from evalrunner.reporter.rollup import RollupReporter


def rate(value: float | None, n: int, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"value": value, "n": n, "ci_low": low, "ci_high": high, "higher_is_better": False}


def sample(issue: int, size: str, model: str, verdict: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"issue-{issue}",
        "issue": issue,
        "pr": issue + 100,
        "size": size,
        "model": model,
        "run": 1,
        "verdict": verdict,
        "class": None,
        "reason": "It does the same.",
        "votes": [],
        "flags": [],
        "isolation": "bubblewrap",
        **fields,
    }


def receipt(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "ts": "2026-03-20T12:00:00.000Z",
        "rubric_version": "v1.0",
        "rubric_sha8": "aaaaaaaa",
        "corpus": {"source": "fs", "n_takes": len(rows), "slug_prefix": None, "corpus_sha8": "01234567"},
        "prompt_sha8": "bbbbbbbb",
        "models_sha8": "cccccccc",
        "models": ["openai:gpt-4o", "anthropic:claude-opus-4-7", "google:gemini-3.1-pro-preview"],
        "cycles_run": 1,
        "successes_per_cycle": [4],
        "verdict": None,
        "scores": {},
        "overall_score": None,
        "cost_usd": 0.0421,
        "improvements": [],
        "errors": [],
        "verdictMessage": "No verdict: no threshold is set.",
        "eval": "blind_reimplementation",
        "judge_kind": "llm",
        "subject": {"subject": "agent", "composed": {"option": "claude_code"}},
        "metrics": {"defect_rate": rate(0.5, 4, 0.15, 0.85)},
        "groups": {"cell": {}},
        "items": list(rows),
        **changes,
    }


VOTES = [
    {"seat": "openai:gpt-4o", "verdict": "defect", "class": "boundary", "reason": "x"},
    {"seat": "anthropic:claude-opus-4-7", "verdict": "defect", "class": "boundary", "reason": "y"},
    {"seat": "google:gemini-3.1-pro-preview", "verdict": "unknown", "error": "z"},
]

WHOLE = receipt(
    sample(11, "s", "sonnet", "correct"),
    sample(
        12, "s", "sonnet", "defect", **{"class": "boundary", "reason": "21 rows give 2 pages", "votes": VOTES}
    ),
    sample(
        13, "l", "opus", "unknown", reason="no majority of 3 seats: 1 correct, 1 defect, 1 without a verdict"
    ),
    sample(14, "l", "opus", "correct", flags=["line 3 of the transcript fetches with git: git fetch"]),
    sample(15, "m", "opus", "contaminated", reason="the squash commit is in the repository"),
    sample(
        16,
        "m",
        "opus",
        "defect",
        **{"class": "incomplete", "reason": "the candidate changes nothing", "run": 2},
    ),
    groups={
        "cell": {
            "s x sonnet": {"defect_rate": rate(0.5, 2, 0.095, 0.905)},
            "l x opus": {"defect_rate": rate(0, 1, 0.0, 0.793)},
            "m x opus": {"defect_rate": rate(1, 1, 0.207, 1.0)},
        }
    },
)

READ = """\
# Blind re-implementation

**Defect rate 50.0 %**: 2 of 4 scored samples, 95 % interval 15.0 to 85.0 %.

Fewer than 20 samples were scored: **the figure is noise until it is repeated.**

> **CONTAMINATED: 1 of 6 samples.** Not judged, and counted nowhere:
> - issue 15 (m x opus): the squash commit is in the repository

| size x model | total | correct | defect | unknown | contaminated | defect rate |   95 % interval |
|--------------|------:|--------:|-------:|--------:|-------------:|------------:|----------------:|
| s x sonnet   |     2 |       1 |      1 |       0 |            0 |      50.0 % |   9.5 to 90.5 % |
| m x opus     |     2 |       0 |      1 |       0 |            1 |     100.0 % | 20.7 to 100.0 % |
| l x opus     |     2 |       1 |      0 |       1 |            0 |       0.0 % |   0.0 to 79.3 % |
| all          |     6 |       2 |      2 |       1 |            1 |      50.0 % |  15.0 to 85.0 % |

## Defects

- issue 12 (s x sonnet): **boundary** (2 of 3 seats): 21 rows give 2 pages
- issue 16 (m x opus, run 2): **incomplete**: the candidate changes nothing

## Unknown

- issue 13 (l x opus): no majority of 3 seats: 1 correct, 1 defect, 1 without a verdict

## For a person to look at

- issue 14 (l x opus): line 3 of the transcript fetches with git: git fetch

Judged by openai:gpt-4o, anthropic:claude-opus-4-7, google:gemini-3.1-pro-preview, rubric v1.0.
Agent claude_code · isolation bubblewrap · cost $0.0421 · corpus 01234567 · receipt outputs/receipt.json
"""


def shown(given: dict[str, Any], against: Against | None = None) -> str:
    stream = io.StringIO()
    RollupReporter().report(Report(given, kept="outputs/receipt.json", against=against), stream)
    return stream.getvalue()


def test_the_rollup_as_a_person_reads_it() -> None:
    assert shown(WHOLE) == READ


def test_with_twenty_scored_samples_it_is_no_longer_called_noise() -> None:
    rows = [sample(number, "s", "sonnet", "correct") for number in range(20)]
    few, enough = (shown(receipt(metrics={"defect_rate": rate(0, n, 0.0, 0.2)})) for n in (19, 20))
    assert "noise" in few
    assert "noise" not in enough
    assert "|    20 |      20 |" in shown(receipt(*rows))


def test_nothing_scored_is_no_rate() -> None:
    text = shown(receipt(sample(1, "s", "sonnet", "unknown"), metrics={"defect_rate": rate(None, 0)}))
    assert "**Defect rate undefined**: nothing was scored." in text
    assert (
        "| all          |     1 |       0 |      0 |       1 |            0 |           - |             - |"
        in text
    )
    assert "noise" not in text


def test_what_the_budget_left_out_has_a_column_of_its_own() -> None:
    text = shown(receipt(sample(1, "s", "sonnet", "skipped", reason="the cap")))
    assert "contaminated | skipped |" in text
    assert "- issue 1 (s x sonnet): the cap" in text


def test_a_heuristic_is_never_shown_as_an_llm() -> None:
    text = shown(receipt(models=["tree-equality-v1"], judge_kind="heuristic"))
    assert "Judged by tree-equality-v1 (a rule-based judge; no LLM was asked), rubric v1.0." in text


def test_untrusted_text_is_text() -> None:
    hostile = "</td><img src=x>\x1b[2J | **PASS** @everyone [x](http://x) `rm`\n# heading"
    text = shown(
        receipt(
            sample(1, "s|", "*opus*", "defect", **{"class": "boundary", "reason": hostile}),
            sample(2, "s", "x", "contaminated", reason=hostile, flags=[{"what": hostile}]),
        )
    )
    for raw in ("<img", "\x1b", "**PASS**", "@everyone", "[x](http", "`rm`", "\n# heading", "x *opus*"):
        assert raw not in text


def test_a_comparison_is_shown_with_its_outcome() -> None:
    before = {**WHOLE, "metrics": {"defect_rate": rate(0.1, 20, 0.0, 0.3)}, "groups": {}}
    comparison = compare(parse(before), parse(WHOLE), Decimal("0.2"))
    text = shown(WHOLE, Against(before, comparison, advisory=True))
    assert (
        "## Against the baseline\n\n**REGRESSION** (advisory), baseline of 2026-03-20T12:00:00.000Z.\n"
        "- defect_rate got worse by 0.4, more than 0.2\n" in text
    )
    assert "| defect_rate |    0.100 | 0.500 | +0.400 |" in text
