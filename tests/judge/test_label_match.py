"""Verdicts against labels: five figures, computed by hand here, with failed calls in and out."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evalrunner.errors import InputError
from evalrunner.judge.base import Judge
from evalrunner.judge.label_match import METRICS, LabelMatch
from evalrunner.model.seat import Bench
from evalrunner.paths import data_root
from evalrunner.records import Figures, Item, Judgement, Outcome
from evalrunner.rubric import Rubric, read_rubric
from evalrunner.stats.intervals import wilson

RUBRIC = read_rubric(data_root() / "rubrics" / "review_judge.yaml")


def batch(name: str, labels: str, **groups: str) -> Item:
    """A batch with one finding a letter: r is real, s spurious."""
    findings = [
        {"id": f"{name}{place}", "file": "x.py", "line": place, "title": f"title {name}{place}", "body": "B"}
        for place in range(1, len(labels) + 1)
    ]
    words = {"r": "real", "s": "spurious"}
    return Item(
        id=name,
        content_sha="0" * 64,
        payload={"diff": "d", "findings": findings},
        truth={"labels": {f"{name}{place}": words[each] for place, each in enumerate(labels, start=1)}},
        groups=groups,
    )


def said(item: Item, verdicts: str, run: int = 1, **more: Any) -> Outcome:
    """A complete answer with one verdict a letter: K keeps, R rejects."""
    words = {"K": "KEEP", "R": "REJECT"}
    listed = [
        {"id": finding["id"], "verdict": words[each], "reason": f"because {each}"}
        for finding, each in zip(item.payload["findings"], verdicts, strict=True)
    ]
    return Outcome(item_id=item.id, run=run, payload={"seat": "m:x", "verdicts": listed, **more})


def failed(item: Item, run: int = 1, status: Any = "error", error: str | None = "no usable reply") -> Outcome:
    return Outcome(item_id=item.id, run=run, status=status, error=error, payload={"seat": "m:x"})


def judged(
    items: Sequence[Item], outcomes: Sequence[Outcome], rubric: Rubric = RUBRIC
) -> tuple[list[Judgement], Figures, list[str]]:
    notes: list[str] = []
    bench = Bench(rubric, (), None, None, Path(), notes.append)  # type: ignore[arg-type]
    judge = LabelMatch()
    made = asyncio.run(judge.cycle(items, outcomes, 1, bench))
    return made, judge.figures(items, outcomes, made, bench, pooled=False), notes


def values(metrics: Any) -> dict[str, float | None]:
    return {name: metric.value for name, metric in metrics.items()}


A, B, C = batch("a", "rrs", language="go"), batch("b", "rss", language="c"), batch("c", "rs", language="c")


def test_five_figures_over_batches() -> None:
    """Kept real: a1, b1, c1 of 4. Rejected spurious: a3, b2 of 4. Agreed 5 of 8, chance 1/2: kappa 1/4."""
    _, figures, notes = judged([A, B, C], [said(A, "KRR"), said(B, "KRK"), said(C, "KK")])
    assert values(figures.metrics) == {
        "real_keep_rate": 0.75,
        "fp_rejection_rate": 0.5,
        "balanced_accuracy": 0.625,
        "kappa": 0.25,
        "failed_call_rate": 0.0,
    }
    assert tuple(figures.metrics) == METRICS == tuple(LabelMatch().metrics())
    assert [metric.n for metric in figures.metrics.values()] == [4, 4, 8, 8, 3]
    assert [metric.higher_is_better for metric in figures.metrics.values()] == [True] * 4 + [False]
    for metric in figures.metrics.values():
        assert metric.ci_low is not None
        assert metric.ci_high is not None
        assert metric.ci_low <= metric.value <= metric.ci_high  # type: ignore[operator]
    low, high = wilson(0.0, 3)
    assert (figures.metrics["failed_call_rate"].ci_low, figures.metrics["failed_call_rate"].ci_high) == (
        low,
        high,
    )
    assert figures.headline == "balanced_accuracy"
    assert (figures.planned, figures.scored, figures.unscored, figures.skipped) == (3, 3, {}, 0)
    assert figures.scores == ()
    assert notes == []


def test_a_failed_call_keeps_everything_and_the_answered_calls_stand_beside() -> None:
    """a fails: a1, a2 are kept rightly and a3 wrongly. In: 4 of 4 real, 2 of 4 spurious. Out: 2/2 and 2/3."""
    outcomes = [failed(A), said(B, "KRK"), said(C, "KR")]
    made, figures, notes = judged([A, B, C], outcomes)
    assert values(figures.metrics) == {
        "real_keep_rate": 1.0,
        "fp_rejection_rate": 0.5,
        "balanced_accuracy": 0.75,
        "kappa": 0.5,
        "failed_call_rate": pytest.approx(1 / 3),
    }
    answered = values(figures.groups["calls"]["answered"])
    assert answered == {
        "real_keep_rate": 1.0,
        "fp_rejection_rate": pytest.approx(2 / 3),
        "balanced_accuracy": pytest.approx(5 / 6),
        "kappa": pytest.approx(8 / 13),  # 4 of 5 agreed; chance (2x3 + 3x2)/25 = 12/25
    }
    assert (figures.planned, figures.scored, figures.unscored) == (3, 2, {"error": 1})
    assert notes == [
        "1 of 3 calls failed; their findings count as kept (fail open), and groups.calls.answered in the "
        "receipt leaves them out"
    ]
    assert [(each.status, each.seat, each.error) for each in made] == [
        ("failed", "m:x", "a, run 1: no usable reply"),
        ("scored", "m:x", None),
        ("scored", "m:x", None),
    ]


def test_a_rubric_may_fail_closed() -> None:
    rules = {**RUBRIC.rules, "on_failed_call": "REJECT"}
    _, figures, notes = judged([A], [failed(A)], RUBRIC.model_copy(update={"rules": rules}))
    assert values(figures.metrics)["real_keep_rate"] == 0.0
    assert values(figures.metrics)["fp_rejection_rate"] == 1.0
    assert "rejected (fail closed)" in notes[0]


@pytest.mark.parametrize(
    "verdicts",
    [
        None,
        "KEEP",
        [],
        [{"id": "c1", "verdict": "KEEP", "reason": "x"}],
        [{"id": "c1", "verdict": "KEEP", "reason": "x"}] * 2,
        [{"id": "c1", "verdict": "KEEP", "reason": "x"}, {"id": "c9", "verdict": "KEEP", "reason": "x"}],
        [{"id": "c1", "verdict": "KEEP", "reason": "x"}, {"id": "c2", "verdict": "maybe", "reason": "x"}],
        [{"id": "c1", "verdict": "KEEP", "reason": "x"}, {"id": "c2", "verdict": ["KEEP"], "reason": "x"}],
        [{"id": "c1", "verdict": "KEEP", "reason": "x"}, {"id": "c2", "verdict": "KEEP"}],
        [{"id": "c1", "verdict": "KEEP", "reason": "x"}, {"id": ["c2"], "verdict": "KEEP", "reason": "x"}],
        [{"id": "c1", "verdict": "KEEP", "reason": "x"}, "c2"],
    ],
)
def test_an_answer_that_does_not_cover_its_batch_is_a_failed_call_wherever_it_comes_from(
    verdicts: Any,
) -> None:
    outcome = Outcome(item_id="c", payload={"verdicts": verdicts})
    (made,), figures, _ = judged([C], [outcome])
    assert (made.status, made.seat) == ("failed", "label_match")
    assert made.error == "c, run 1: the answer does not cover the batch"
    assert figures.unscored == {"incomplete": 1}
    assert values(figures.metrics)["failed_call_rate"] == 1.0


def test_nothing_but_failures_scores_nothing() -> None:
    _, figures, _ = judged([A, B], [failed(A), failed(B, status="timeout", error=None)])
    assert (figures.planned, figures.scored, figures.unscored) == (2, 0, {"error": 1, "timeout": 1})
    assert values(figures.metrics)["balanced_accuracy"] == 0.5
    assert values(figures.groups["calls"]["answered"])["balanced_accuracy"] is None


def test_what_the_budget_left_out_counts_in_no_figure() -> None:
    made, figures, notes = judged([A, B], [said(A, "KKR"), failed(B, status="skipped", error="no money")])
    assert values(figures.metrics) == {
        "real_keep_rate": 1.0,
        "fp_rejection_rate": 1.0,
        "balanced_accuracy": 1.0,
        "kappa": 1.0,
        "failed_call_rate": 0.0,
    }
    assert figures.metrics["failed_call_rate"].n == 1
    assert (figures.planned, figures.scored, figures.unscored, figures.skipped) == (2, 1, {}, 1)
    assert [(each.status, each.error) for each in made] == [
        ("scored", None),
        ("skipped", "b, run 1: no money"),
    ]
    assert figures.report["items"][1]["findings"][0]["verdicts"] == []
    assert notes == []


def test_batches_that_nobody_was_asked_about_are_unscored() -> None:
    _, figures, _ = judged([A, B], [])
    assert (figures.planned, figures.scored, figures.unscored) == (2, 0, {"not_produced": 2})
    assert set(values(figures.metrics).values()) == {None}


def test_every_run_counts_and_its_batch_is_one_case() -> None:
    """Three runs that all say the same are no more than one batch for the interval."""
    runs = [said(C, "KR", run) for run in (3, 1, 2)]
    made, figures, _ = judged([C], runs)
    metric = figures.metrics["real_keep_rate"]
    assert (metric.value, metric.n) == (1.0, 3)
    assert (metric.ci_low, metric.ci_high) == wilson(1.0, 1)
    assert [each.detail for each in made] == [{"run": 1}, {"run": 2}, {"run": 3}]


def test_figures_by_language() -> None:
    _, figures, _ = judged([A, B, C], [said(A, "KRR"), said(B, "KRK"), failed(C)])
    assert set(figures.groups) == {"language", "calls"}
    assert list(figures.groups["language"]) == ["c", "go"]
    assert values(figures.groups["language"]["c"]) == {
        "real_keep_rate": 1.0,
        "fp_rejection_rate": pytest.approx(1 / 3),
        "balanced_accuracy": pytest.approx(2 / 3),
        "kappa": pytest.approx(2 / 7),  # 3 of 5 agreed; chance (2x4 + 3x1)/25 = 11/25
        "failed_call_rate": 0.5,
    }


def test_the_report_lists_every_finding_with_label_verdict_and_reason() -> None:
    _, figures, _ = judged([A, C], [said(A, "KRR"), failed(C)])
    first, second = figures.report["items"]
    assert first["id"] == "a"
    assert first["groups"] == {"language": "go"}
    assert first["calls"] == [{"run": 1, "state": "answered", "error": None}]
    assert first["findings"][1] == {
        "id": "a2",
        "file": "x.py",
        "line": 2,
        "title": "title a2",
        "label": "real",
        "verdicts": [
            {"run": 1, "verdict": "REJECT", "reason": "because R", "right": False, "failed_call": False}
        ],
    }
    assert second["calls"] == [{"run": 1, "state": "failed", "error": "no usable reply"}]
    assert second["findings"][1]["verdicts"] == [
        {"run": 1, "verdict": "KEEP", "reason": None, "right": False, "failed_call": True}
    ]


def test_wrong_verdicts_of_answered_calls_are_the_evidence() -> None:
    (first, second), _, _ = judged([A, C], [said(A, "KRR", answered_by="x-1"), failed(C)])
    assert first.evidence == ("a: a2 is real and got REJECT: title a2",)
    assert first.answered_by == "x-1"
    assert second.evidence == ()


def test_items_without_labels_are_refused_together() -> None:
    bare = A.model_copy(update={"truth": {}})
    part = B.model_copy(update={"truth": {"labels": {"b1": "real", "b2": "bogus"}}})
    with pytest.raises(InputError) as caught:
        judged([bare, part], [])
    assert [str(problem) for problem in caught.value.problems] == [
        "a: truth.labels: is no mapping from finding to label (found None)",
        "b: truth.labels: has no label for a finding (found 'b3')",
        "b: truth.labels.b2: is no label (found 'bogus'); allowed: real, spurious",
    ]


def test_the_rubric_says_what_the_judge_does() -> None:
    judge = LabelMatch()
    assert isinstance(judge, Judge)
    assert judge.check(RUBRIC) == []
    other = Rubric.model_validate({"version": "v1", "rules": {"verdicts": {"KEEP": "spurious"}}})
    assert [problem.where for problem in judge.check(other)] == [
        "rubric: rules.verdicts",
        "rubric: rules.on_failed_call",
    ]


def test_it_asks_nobody() -> None:
    judge = LabelMatch()
    assert (judge.planned([A], None), judge.prompts(), judge.asked()) == ([], (), {})  # type: ignore[arg-type]
    assert judge.described() == {"name": "label_match"}
