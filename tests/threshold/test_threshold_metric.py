from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from evalrunner.records import Figures, Metric
from evalrunner.rubric import Scale
from evalrunner.threshold.base import Threshold
from evalrunner.threshold.metric import MetricThreshold, NoThreshold

CONF = Path(__file__).parents[2] / "conf" / "threshold"
SCALE = Scale.model_validate({"min": 1, "max": 10})
KNOWN = ["effective_recall", "precision", "determinism", "availability"]


def rule(at_least=None, at_most=None):
    return MetricThreshold.model_validate({"at_least": at_least or {}, "at_most": at_most or {}})


def figures(*, planned=10, scored=10, skipped=0, unscored=None, **metrics):
    return Figures(
        planned=planned,
        scored=scored,
        skipped=skipped,
        unscored=unscored or {},
        metrics={
            name: value if isinstance(value, Metric) else Metric(value=value, n=0 if value is None else 10)
            for name, value in metrics.items()
        },
    )


def test_the_packaged_options_name_these_rules():
    metric = yaml.safe_load((CONF / "metric.yaml").read_text(encoding="utf-8"))
    assert metric == {
        "_target_": "evalrunner.threshold.metric.MetricThreshold",
        "at_least": {},
        "at_most": {},
    }
    assert yaml.safe_load((CONF / "none.yaml").read_text(encoding="utf-8")) == {
        "_target_": "evalrunner.threshold.metric.NoThreshold"
    }
    assert isinstance(NoThreshold(), Threshold)
    assert isinstance(rule({"x": 1}), Threshold)


def test_a_rule_without_a_bar_is_refused():
    with pytest.raises(ValidationError, match=r"needs a bar, such as threshold.at_least"):
        rule()
    with pytest.raises(ValidationError, match="nothing can pass: recall"):
        rule({"recall": 0.7}, {"recall": 0.6})
    assert rule({"recall": 0.6}, {"recall": 0.6}).decide(figures(recall=0.6)).verdict == "pass"


@pytest.mark.parametrize("bar", ["0.6", True, float("nan"), None])
def test_a_bar_is_a_finite_number(bar):
    with pytest.raises(ValidationError):
        rule({"recall": bar})


def test_unknown_metrics_are_named_with_the_nearest():
    problems = rule({"efective_recall": 0.6}, {"zzz": 1, "precision": 1}).check(scale=None, metrics=KNOWN)
    assert [(each.where, each.nearest) for each in problems] == [
        ("threshold.at_least.efective_recall", "effective_recall"),
        ("threshold.at_most.zzz", None),
    ]
    assert "effective_recall, precision" in str(problems[1])
    assert rule({"precision": 1}).check(scale=None, metrics=KNOWN) == []
    assert "this eval has none" in str(rule({"precision": 1}).check(scale=SCALE, metrics=None)[0])


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.6, "pass"), (0.5999999999999999, "fail"), (1.0, "pass"), (0.0, "fail")]
)
def test_at_least_is_reached_by_equality(value, verdict):
    assert rule({"recall": 0.6}).decide(figures(recall=value)).verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(0.1, "pass"), (0.1000001, "fail"), (0.0, "pass")])
def test_at_most_is_kept_by_equality(value, verdict):
    assert rule(at_most={"failed": 0.1}).decide(figures(failed=value)).verdict == verdict


def test_messages_hold_the_figures():
    shown = figures(
        recall=Metric(value=0.5999, n=49, ci_low=0.4512, ci_high=0.7301), failed=0.1004, precision=0.9
    )
    decision = rule({"recall": 0.6, "precision": 0.5}, {"failed": 0.1}).decide(shown)
    assert decision.message == (
        "Fail: recall 0.59 (n = 49, 95 % interval 0.45 to 0.73) is below 0.6; "
        "failed 0.11 (n = 10) is above 0.1."
    )
    assert rule({"precision": 0.5}).decide(shown).message == "Pass: precision 0.90 (n = 10)."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (figures(recall=None), "recall is undefined (nothing to count)"),
        (figures(recall=Metric(value=1.0, n=0)), "recall is undefined (nothing to count)"),
        (figures(precision=1.0), "recall was not measured"),
        (figures(recall=1.0, planned=0, scored=0), "nothing was scored"),
        (
            figures(recall=0.0, planned=9, scored=0, unscored={"blocked": 9}),
            "nothing was scored; of 9 planned, 9 blocked",
        ),
        (
            figures(recall=0.9, planned=9, scored=6, skipped=3),
            "the run is not complete; of 9 planned, 3 skipped for the budget",
        ),
        (Figures(), "nothing was scored"),
    ],
)
def test_over_nothing_it_is_inconclusive_never_a_pass(given, message):
    decision = rule({"recall": 0.6}).decide(given)
    assert (decision.verdict, decision.message) == ("inconclusive", f"Inconclusive: {message}.")


def test_a_proven_miss_outranks_an_undefined_figure():
    decision = rule({"recall": 0.6, "precision": 0.5}).decide(figures(recall=0.1, precision=None))
    assert decision.verdict == "fail"
    assert "precision is undefined" in decision.message


def test_no_threshold_gives_no_verdict():
    decision = NoThreshold().decide(figures(recall=0.1))
    assert (decision.verdict, decision.message) == (None, "No verdict: no threshold is set.")
    decision = NoThreshold().decide(figures(planned=2, scored=0, unscored={"error": 2}))
    assert decision.message == "No verdict: nothing was scored; of 2 planned, 2 error."
    assert NoThreshold().check(scale=None, metrics=KNOWN) == []
    assert "needs a verdict rule" in str(NoThreshold().check(scale=SCALE, metrics=None)[0])
    assert NoThreshold().asked() == {}
    assert NoThreshold().shown() == {"name": "none"}
