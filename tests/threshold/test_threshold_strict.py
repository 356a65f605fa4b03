"""The strict rule: bars that hold over a part of a run are no pass."""

from pathlib import Path

import pytest
import yaml

from evalrunner.records import Figures, Metric
from evalrunner.threshold.base import Threshold
from evalrunner.threshold.metric import MetricThreshold
from evalrunner.threshold.strict import StrictThreshold

CONF = Path(__file__).parents[2] / "conf" / "threshold" / "strict.yaml"


def rule() -> StrictThreshold:
    options = yaml.safe_load(CONF.read_text(encoding="utf-8"))
    assert options.pop("_target_") == "evalrunner.threshold.strict.StrictThreshold"
    return StrictThreshold.model_validate(options)


def figures(rate: float | None, *, planned: int = 5, skipped: int = 0, **unscored: int) -> Figures:
    scored = planned - skipped - sum(unscored.values())
    metric = Metric(value=rate, n=scored, higher_is_better=False)
    return Figures(
        planned=planned, scored=scored, unscored=unscored, skipped=skipped, metrics={"defect_rate": metric}
    )


def test_the_packaged_option_allows_no_defect() -> None:
    assert rule().at_most == {"defect_rate": 0}
    assert isinstance(rule(), Threshold)
    assert rule().shown() == {"name": "strict", "at_least": {}, "at_most": {"defect_rate": 0}}


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (figures(0), "pass"),
        (figures(0.2), "fail"),
        (figures(0, unknown=1), "inconclusive"),
        (figures(0, contaminated=1), "inconclusive"),
        (figures(0, skipped=1), "inconclusive"),
        (figures(0.25, contaminated=1), "fail"),
        (figures(None, unknown=5), "inconclusive"),
        (figures(None, planned=0), "inconclusive"),
    ],
)
def test_it_passes_over_everything_or_not_at_all(given: Figures, verdict: str) -> None:
    assert rule().decide(given).verdict == verdict


def test_it_names_what_was_not_scored() -> None:
    assert rule().decide(figures(0, contaminated=1, unknown=2)).message == (
        "Inconclusive: defect_rate 0.00 (n = 2); of 5 planned, 1 contaminated, 2 unknown."
    )


def test_its_bars_are_those_of_the_plain_rule_and_enter_the_same_fingerprint() -> None:
    plain = MetricThreshold.model_validate({"at_most": {"defect_rate": 0}})
    assert rule().asked() == plain.asked()
    assert "this eval has no such metric" in str(rule().check(scale=None, metrics=["recall"])[0])
