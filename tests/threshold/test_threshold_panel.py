from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalrunner.receipt.fingerprint import rubric_sha
from evalrunner.receipt.schema import parse
from evalrunner.records import Figures, SeatScores
from evalrunner.rubric import Scale, load_rubric
from evalrunner.threshold.base import Threshold
from evalrunner.threshold.panel import PanelThreshold
from evalrunner.threshold.replay import recheck, rule_of, second_opinion

CONF = Path(__file__).parents[2] / "conf" / "threshold"
SCALE = Scale.model_validate({"min": 1, "max": 10})


def figures(columns, *, seats=3, **rest):
    """Figures of the seats that contributed: dimension -> one score a seat."""
    names = [f"m{place}" for place in range(seats)]
    count = max((len(column) for column in columns.values()), default=0)
    return Figures(
        seats=tuple(names),
        dimensions=tuple(columns),
        scores=tuple(
            SeatScores(
                seat=names[place],
                place=place,
                values={name: Fraction(str(column[place])) for name, column in columns.items()},
            )
            for place in range(count)
        ),
        **rest,
    )


def rule(**fields):
    return PanelThreshold.model_validate(fields)


def test_the_packaged_option_holds_the_default_bars():
    content = yaml.safe_load((CONF / "panel.yaml").read_text(encoding="utf-8"))
    assert content.pop("_target_") == "evalrunner.threshold.panel.PanelThreshold"
    assert rule(**content) == PanelThreshold()
    assert (PanelThreshold().mean_min, PanelThreshold().min_min, PanelThreshold().quorum) == (
        7,
        5,
        Fraction(2, 3),
    )
    assert isinstance(PanelThreshold(), Threshold)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"quorum": 0}, "above 0 and at most 1"),
        ({"quorum": "4/3"}, "above 0 and at most 1"),
        ({"quorum": -0.5}, "above 0 and at most 1"),
        ({"quorum": "most"}, "such as 2/3"),
        ({"quorum": "1/0"}, "such as 2/3"),
        ({"quorum": float("nan")}, "such as 2/3"),
        ({"mean_min": "7"}, "Decimal"),
        ({"mean_min": True}, "not true or false"),
        ({"min_min": float("inf")}, "finite"),
        ({"min_max": 5}, "Extra inputs"),
    ],
)
def test_bad_bars_are_refused(fields, message):
    with pytest.raises(ValidationError, match=message):
        rule(**fields)


def test_bars_outside_the_scale_are_all_named():
    problems = rule(mean_min=11, min_min=0.5).check(scale=SCALE, metrics=None)
    assert [(each.where, each.found, each.allowed) for each in problems] == [
        ("threshold.mean_min", "11", "1 to 10, the rubric's scale"),
        ("threshold.min_min", "0.5", "1 to 10, the rubric's scale"),
    ]
    assert rule(mean_min=10, min_min=1).check(scale=SCALE, metrics=None) == []
    assert PanelThreshold().check(scale=load_rubric("takes_quality").scale, metrics=None) == []
    assert "no scale" in str(PanelThreshold().check(scale=None, metrics=["recall"])[0])


def test_pass_at_the_bars():
    decision = PanelThreshold().decide(figures({"accuracy": [5, 7, 9], "tone": [7, 7, 7]}))
    assert decision.verdict == "pass"
    assert decision.message == (
        "Pass: every mean is at least 7 and every minimum at least 5; overall 7.00, 3 of 3 seats."
    )


def test_fail_names_each_failing_dimension_with_its_figures():
    decision = PanelThreshold().decide(
        figures({"accuracy": [7, 7, "6.9"], "tone": [9, 9, 9], "density": [9, 9, "4.5"], "kind": [3, 4, 5]})
    )
    assert decision.verdict == "fail"
    assert decision.message == (
        "Fail: accuracy mean 6.97 is below 7 (seats: 7.00, 7.00, 6.90); "
        "density minimum 4.50 is below 5 (seats: 9.00, 9.00, 4.50); "
        "kind mean 4.00 is below 7 and minimum 3.00 is below 5 (seats: 3.00, 4.00, 5.00)."
    )


def test_a_failing_mean_never_reads_as_the_bar():
    decision = PanelThreshold().decide(figures({"accuracy": ["6.9999", 7, 7]}))
    assert decision.verdict == "fail"
    assert "mean 6.99 is below 7" in decision.message


def test_thirds_are_exact():
    exact = figures({"accuracy": ["22/3", "19/3", "22/3"]})
    assert PanelThreshold().decide(exact).verdict == "pass"
    assert rule(mean_min=0.1, min_min=0.1).decide(figures({"a": [0.1, 0.1, 0.1]})).verdict == "pass"


@pytest.mark.parametrize(
    ("columns", "seats", "rest", "message"),
    [
        ({"accuracy": [9]}, 3, {}, "Inconclusive: 1 of 3 seats contributed, 2 needed."),
        ({"accuracy": []}, 3, {}, "Inconclusive: 0 of 3 seats contributed, 2 needed."),
        ({"accuracy": [9, 9, 9]}, 5, {}, "Inconclusive: 3 of 5 seats contributed, 4 needed."),
        ({}, 0, {}, "Inconclusive: the panel has no seats."),
        (
            {"accuracy": [9]},
            3,
            {"planned": 30, "scored": 10, "unscored": {"rejected": 5, "failed": 5}, "skipped": 10},
            "Inconclusive: 1 of 3 seats contributed, 2 needed; of 30 planned, 5 rejected, 5 failed, "
            "10 skipped for the budget.",
        ),
    ],
)
def test_a_missed_quorum_says_how_many(columns, seats, rest, message):
    decision = PanelThreshold().decide(figures(columns, seats=seats, **rest))
    assert (decision.verdict, decision.message) == ("inconclusive", message)


def test_over_no_dimension_it_is_inconclusive():
    seats = tuple(SeatScores(seat=f"m{place}", place=place, values={}) for place in range(3))
    decision = PanelThreshold().decide(Figures(seats=("m0", "m1", "m2"), scores=seats))
    assert (decision.verdict, decision.message) == ("inconclusive", "Inconclusive: no dimension was scored.")


@given(
    st.lists(st.tuples(*[st.decimals(1, 10, places=1)] * 2), min_size=1, max_size=6),
    st.randoms(),
    st.integers(0, 3),
)
def test_the_order_of_seats_never_changes_the_verdict(rows, random, absent):
    def decide(order):
        columns = {"a": [row[0] for row in order], "b": [row[1] for row in order]}
        return PanelThreshold().decide(figures(columns, seats=len(order) + absent)).verdict

    assert decide(random.sample(rows, len(rows))) == decide(rows)


def test_the_rule_is_part_of_the_rubrics_fingerprint():
    assert rubric_sha({}, rule(mean_min=7.0, quorum="4/6").asked()) == rubric_sha(
        {}, PanelThreshold().asked()
    )
    assert rubric_sha({}, rule(mean_min=7.1).asked()) != rubric_sha({}, PanelThreshold().asked())
    assert rubric_sha({}, rule(quorum=1).asked()) != rubric_sha({}, PanelThreshold().asked())
    assert PanelThreshold().shown() == {"name": "panel", "mean_min": 7, "min_min": 5, "quorum": "2/3"}


def foreign(columns, **changes):
    """A receipt of another program, which says no more than it must."""
    scores = {
        name: {
            "mean": sum(map(float, column)) / len(column),
            "min": min(column),
            "max": max(column),
            "scores": column,
            "per_model": {f"m{place}": score for place, score in enumerate(column)},
        }
        for name, column in columns.items()
    }
    return parse(
        {
            "schema_version": 1,
            "ts": "2026-03-01T09:30:00.250Z",
            "rubric_version": "v1.0",
            "rubric_sha8": "aaaaaaaa",
            "corpus": {"source": "db", "n_takes": 2, "slug_prefix": None, "corpus_sha8": "bbbbbbbb"},
            "prompt_sha8": "cccccccc",
            "models_sha8": "dddddddd",
            "models": ["m0", "m1", "m2"],
            "cycles_run": 1,
            "successes_per_cycle": [3],
            "verdict": "pass",
            "scores": scores,
            "overall_score": sum(each["mean"] for each in scores.values()) / len(scores) if scores else None,
            "cost_usd": None,
            "improvements": [],
            "errors": [],
            "verdictMessage": "",
        }
        | changes
    )


def test_a_receipt_whose_scores_say_otherwise_is_told():
    assert second_opinion(foreign({"accuracy": [7, 7, 8]})) is None
    assert second_opinion(foreign({"accuracy": [7, 7, 6]})) == (
        "the receipt's verdict is pass; our rule says otherwise: Fail: accuracy mean 6.67 is below 7."
    )
    assert second_opinion(foreign({"accuracy": [9, 9]})) is None
    assert "1 of 3 seats contributed, 2 needed" in str(second_opinion(foreign({"accuracy": [9]})))
    assert "0 of 3 seats" in str(second_opinion(foreign({}, successes_per_cycle=[0])))


def test_the_bars_are_the_receipts_own():
    lenient = foreign(
        {"accuracy": [6, 6, 6]}, threshold={"mean_min": Decimal("5.5"), "min_min": 5, "quorum": "1/3"}
    )
    assert rule_of(lenient) == rule(mean_min=5.5, min_min=5, quorum="1/3")
    assert second_opinion(lenient) is None
    assert rule_of(foreign({"accuracy": [6]}, threshold={"quorum": "9/3"})) == PanelThreshold()
    assert rule_of(foreign({"accuracy": [6]})) == PanelThreshold()


def test_a_mean_as_written_decides_where_it_does_not_follow():
    receipt = foreign({"accuracy": [7, 7, 6]})
    scores = {"accuracy": receipt.scores["accuracy"].model_copy(update={"mean": Decimal(7)})}
    rounded = receipt.model_copy(update={"scores": scores})
    assert recheck(rounded).verdict == "pass"


def test_receipts_without_scores_to_judge_are_left_alone():
    assert recheck(foreign({}, verdict="inconclusive")) is None
    assert recheck(foreign({}, verdict=None)) is None
    assert recheck(foreign({}, metrics={"recall": {"value": 1, "n": 1}})) is None
