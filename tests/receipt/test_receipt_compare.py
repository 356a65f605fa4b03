from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from receipt_makers import receipt, values

from evalrunner.receipt.compare import compare
from evalrunner.receipt.schema import parse

HALF = Decimal("0.5")
HALF_DROP = Fraction(1, 2)


def metric(value, *, higher=True, n=10):
    return {"value": value, "n": n, "ci_low": None, "ci_high": None, "higher_is_better": higher}


def with_metrics(**metrics):
    return parse(values({}, verdict="pass", eval="code_review", metrics=metrics))


def test_nothing_changed():
    same = receipt({"accuracy": [7, 8], "tone": [9, 9]})
    result = compare(same, same, HALF)
    assert (result.outcome, result.exit_code) == ("ok", 0)
    assert [(each.name, each.kind, each.delta) for each in result.changes] == [
        ("accuracy", "dimension", 0),
        ("tone", "dimension", 0),
        ("overall", "overall", 0),
    ]
    assert result.reasons == result.warnings == ()


def test_six_seats_and_a_drop_of_exactly_half():
    before = ["8.8", "9", "8.4", "7.3", "6.6", "9.1"]
    now = [str(Decimal(each) - HALF) for each in before]
    # In binary floats this drop is beyond 0.5.
    assert sum(map(float, before)) / 6 - sum(map(float, now)) / 6 > 0.5
    result = compare(receipt({"accuracy": before}), receipt({"accuracy": now}), HALF)
    assert [each.delta for each in result.changes] == [-HALF_DROP, -HALF_DROP]
    assert (result.outcome, result.exit_code) == ("ok", 0)


def test_a_hair_more_than_half_is_a_regression():
    before = receipt({"accuracy": ["8", "8", "8"]})
    result = compare(before, receipt({"accuracy": ["7.5", "7.5", "7.4999999999999999"]}), HALF)
    assert (result.outcome, result.exit_code) == ("regression", 1)
    assert result.regressed == ("accuracy", "overall")
    assert result.reasons[0] == "accuracy got worse by a hair over 0.5, more than 0.5"
    result = compare(before, receipt({"accuracy": ["7.4999999999999999"] * 3}), HALF)
    assert result.reasons[0] == "accuracy got worse by 0.5000000000000001, more than 0.5"


@given(st.lists(st.decimals(3, 10, places=2), min_size=1, max_size=6), st.decimals("0.01", 2, places=2))
def test_a_drop_of_exactly_the_threshold_never_is_one(scores, threshold):
    lower = [score - threshold for score in scores]
    lowest = [score - threshold - Decimal("0.001") for score in scores]
    before = receipt({"a": scores})
    assert compare(before, receipt({"a": lower}), threshold).outcome == "ok"
    assert compare(before, receipt({"a": lowest}), threshold).outcome == "regression"
    assert compare(receipt({"a": lowest}), before, threshold).outcome == "ok"


def test_chunk_means_without_finite_decimals_compare_exactly():
    before = receipt({"accuracy": ["23/3", "20/3", "23/3"]})
    result = compare(before, receipt({"accuracy": ["43/6", "37/6", "43/6"]}), HALF)
    assert result.changes[0].delta == -HALF_DROP
    assert result.outcome == "ok"


@pytest.mark.parametrize("swap", [False, True])
def test_either_side_inconclusive_is_never_ok(swap):
    sides = [receipt({"accuracy": [9]}), receipt({}, verdictMessage="1 of 3 seats")]
    result = compare(*(sides[::-1] if swap else sides), HALF)
    assert (result.outcome, result.exit_code) == ("inconclusive", 2)
    assert any("is inconclusive: 1 of 3 seats" in reason for reason in result.reasons)


def test_inconclusive_outranks_a_drop():
    value = values({"accuracy": [2]}, verdict="inconclusive")
    result = compare(receipt({"accuracy": [9]}), parse(value), HALF)
    assert result.regressed == ("accuracy", "overall")
    assert result.exit_code == 2


def test_a_dimension_that_disappeared_is_not_ok():
    before = receipt({"accuracy": [8], "tone": [8]})
    result = compare(before, receipt({"accuracy": [8]}), HALF)
    assert (result.outcome, result.missing, result.regressed) == ("inconclusive", ("tone",), ())
    assert "tone is missing now; the baseline has it" in result.reasons
    assert [each.kind for each in result.changes] == ["dimension", "dimension"]
    assert any("the overall score is not compared" in warning for warning in result.warnings)


def test_a_proven_regression_outranks_a_missing_dimension():
    before = receipt({"accuracy": [8], "tone": [8]})
    result = compare(before, receipt({"accuracy": [7]}), HALF)
    assert (result.outcome, result.missing, result.regressed) == ("regression", ("tone",), ("accuracy",))


def test_a_new_dimension_is_named_and_changes_nothing():
    result = compare(receipt({"accuracy": [8]}), receipt({"accuracy": [8], "tone": [1]}), HALF)
    assert (result.outcome, result.new) == ("ok", ("tone",))


def test_over_nothing_is_inconclusive():
    empty = parse(values({}, verdict=None, eval="code_review"))
    result = compare(empty, empty, HALF)
    assert result.outcome == "inconclusive"
    assert result.reasons == ("no figure stands on both sides: nothing was compared",)
    result = compare(receipt({"accuracy": [8]}), receipt({"tone": [8]}), HALF)
    assert result.outcome == "inconclusive"


def test_two_evals_are_not_compared():
    result = compare(
        receipt({"accuracy": [8]}, eval="takes_quality"), receipt({"accuracy": [8]}, eval="own"), HALF
    )
    assert result.outcome == "inconclusive"
    assert "the baseline is of takes_quality, the new receipt of own" in result.reasons


def test_metrics_have_a_direction():
    before = with_metrics(recall=metric(0.8), failed=metric(0.1, higher=False))
    worse = with_metrics(recall=metric(0.7), failed=metric(0.15, higher=False))
    tenth, fifth = Decimal("0.1"), Decimal("0.05")
    assert compare(before, worse, tenth).outcome == "ok"
    assert compare(before, worse, fifth).regressed == ("recall",)
    assert compare(before, worse, Decimal("0.049")).regressed == ("recall", "failed")
    assert compare(worse, before, Decimal(0)).outcome == "ok"


def test_an_undefined_metric_is_missing():
    before = with_metrics(recall=metric(0.8), precision=metric(None, n=0))
    now = with_metrics(recall=metric(None, n=0), precision=metric(0.3))
    result = compare(before, now, HALF)
    assert (result.outcome, result.missing, result.new) == ("inconclusive", ("recall",), ("precision",))
    both = with_metrics(recall=metric(0.8), precision=metric(None, n=0))
    assert compare(before, both, HALF).outcome == "ok"


def test_a_direction_that_changed_is_said():
    result = compare(with_metrics(x=metric(0.5)), with_metrics(x=metric(0.4, higher=False)), Decimal(0))
    assert result.regressed == ("x",)
    assert "x has another direction now; the baseline's counts" in result.warnings


def test_fingerprints_that_differ_are_warnings():
    before = receipt({"accuracy": [8]}, subject_sha8="11111111")
    value = values(
        {"accuracy": [8]},
        rubric_version="v2",
        rubric_sha8="22222222",
        prompt_sha8="33333333",
        models_sha8="44444444",
        subject_sha8="55555555",
    )
    value["corpus"]["corpus_sha8"] = "66666666"
    result = compare(before, parse(value), HALF)
    assert result.outcome == "ok"
    assert [each.split(" differs")[0] for each in result.warnings] == [
        "the corpus",
        "the prompt",
        "the panel",
        "the rubric or its threshold",
        "the subject",
        "the rubric's version",
    ]
    assert compare(receipt({"accuracy": [8]}), before, HALF).warnings == ()


def test_a_foreign_mean_is_taken_as_written_with_a_warning():
    value = values({"accuracy": [9, 9]})
    value["scores"]["accuracy"]["mean"] = value["overall_score"] = Decimal("8.5")
    result = compare(receipt({"accuracy": [9, 9]}), parse(value), Decimal("0.4"))
    assert result.regressed == ("accuracy", "overall")
    assert any(
        "the new receipt: scores.accuracy.mean 8.5 does not follow" in each for each in result.warnings
    )


@pytest.mark.parametrize("threshold", ["-0.1", "NaN", "Infinity"])
def test_a_threshold_that_is_none_is_refused(threshold):
    same = receipt({"accuracy": [8]})
    with pytest.raises(ValueError, match="threshold"):
        compare(same, same, Decimal(threshold))
