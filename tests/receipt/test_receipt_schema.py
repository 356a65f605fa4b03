import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest
from receipt_makers import receipt, values

from evalrunner.errors import InputError
from evalrunner.receipt.doubts import doubts
from evalrunner.receipt.files import dumps, loads
from evalrunner.receipt.schema import KEYS, OPTIONAL, REQUIRED, as_decimal, assemble, parse, timestamp
from evalrunner.receipt.scores import exact_scores, mean, minimum, overall

CONTRACT = [
    "schema_version",
    "ts",
    "rubric_version",
    "rubric_sha8",
    "corpus",
    "prompt_sha8",
    "models_sha8",
    "models",
    "cycles_run",
    "successes_per_cycle",
    "verdict",
    "scores",
    "overall_score",
    "cost_usd",
    "improvements",
    "errors",
    "verdictMessage",
]


def problems(value: object, read=parse) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        read(value)
    return {each.where: str(each) for each in caught.value.problems}


def test_the_required_keys_stand_first_and_in_order():
    assert list(REQUIRED) == CONTRACT
    assert list(KEYS) == [*REQUIRED, *OPTIONAL]
    shuffled = dict(reversed(values({"accuracy": [7]}, eval="takes_quality").items()))
    assert list(json.loads(dumps(assemble(shuffled)))) == [*CONTRACT, "eval"]


@pytest.mark.parametrize("key", CONTRACT)
def test_each_required_key_is_required(key):
    value = values({"accuracy": [7]})
    del value[key]
    where, message = next(iter(problems(value).items()))
    assert where == key
    assert "missing" in message


def test_every_problem_is_reported_with_its_path():
    value = values(
        {"accuracy": [7]},
        ts="2026-02-30T09:30:00.250Z",
        models_sha8="DDDDDDDD",
        cycles_run="1",
        cost_usd=-1,
        successes_per_cycle=[True],
        eval="../up",
    )
    value["scores"]["accuracy"]["mean"] = float("nan")
    value["scores"]["accuracy"]["scores"] = ["7"]
    value["corpus"]["source"] = "github"
    value["verdict_message"] = value.pop("verdictMessage")
    found = problems(value)
    assert set(found) == {
        "ts",
        "models_sha8",
        "cycles_run",
        "cost_usd",
        "successes_per_cycle.0",
        "eval",
        "scores.accuracy.mean",
        "scores.accuracy.scores.0",
        "corpus.source",
        "verdictMessage",
    }
    assert "did you mean 'verdict_message'?" in found["verdictMessage"]
    assert "(found 'github')" in found["corpus.source"]


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (2, "newer than this program reads (found 2)"),
        (999, "newer than this program reads"),
        (0, "no version of a receipt (found 0)"),
        ("1", "no version of a receipt (found '1')"),
        (True, "no version of a receipt"),
        (1.0, "no version of a receipt"),
        (None, "no version of a receipt"),
    ],
)
def test_another_schema_version_is_refused_by_name(version, message):
    found = problems({"schema_version": version, "nothing": "else"})
    assert list(found) == ["schema_version"]
    assert message in found["schema_version"]


@pytest.mark.parametrize("value", [None, [], "receipt", 7])
def test_what_is_no_object_is_no_receipt(value):
    assert "JSON object" in problems(value)[""]


def test_a_receipt_without_version_is_none():
    assert "missing" in problems({})["schema_version"]


def test_readers_ignore_unknown_keys_and_writers_refuse_them():
    value = values({"accuracy": [7]}, budgt={"enforced": True})
    value["corpus"]["rows"] = 3
    value["scores"]["accuracy"]["median"] = 7
    assert parse(value) == receipt({"accuracy": [7]})
    found = problems(value, assemble)
    assert set(found) == {"budgt", "corpus.rows", "scores.accuracy.median"}
    assert "did you mean 'budget'?" in found["budgt"]


def test_null_of_a_pipe_without_via_is_kept():
    value = values({"accuracy": [7]}, eval=None, subject=None, sampler=None)
    value["corpus"] |= {"source": None, "location": None}
    written = json.loads(dumps(assemble(value)))
    assert written["corpus"]["source"] is None
    assert written["eval"] is None
    assert "run_id" not in written


def test_scores_are_kept_as_the_decimals_written():
    text = dumps(receipt({"accuracy": ["7.10", "6.9999999999999999", "8"]}))
    assert '"scores": [7.1, 6.9999999999999999, 8]' in text
    again, doubtful = loads(text, "r.json")
    assert again.scores["accuracy"].scores == [Decimal("7.1"), Decimal("6.9999999999999999"), 8]
    assert doubtful == []
    assert dumps(again) == text


def test_a_seat_score_without_a_finite_decimal_stays_exact():
    kept = receipt({"accuracy": ["22/3", "19/3", "22/3"], "tone": [7, 7, 7]})
    assert kept.scores_exact == {"accuracy": ["22/3", "19/3", "22/3"]}
    again, doubtful = loads(dumps(kept), "r.json")
    assert doubtful == []
    assert mean(again, "accuracy") == 7
    assert minimum(again, "accuracy") == Fraction(19, 3)
    assert overall(again) == 7
    # The decimals alone fall short of 7 by a hair.
    assert sum(map(Fraction, again.scores["accuracy"].scores)) < 21


def test_fractions_that_do_not_agree_with_the_decimals_do_not_count():
    value = values({"accuracy": [6, 6]}, scores_exact={"accuracy": ["10", "10"], "gone": ["1"]})
    assert exact_scores(parse(value), "accuracy") == [6, 6]
    assert exact_scores(parse(value | {"scores_exact": {"accuracy": ["6"]}}), "accuracy") == [6, 6]
    assert "scores_exact.accuracy.0" in problems(value | {"scores_exact": {"accuracy": ["1e999999999"]}})
    assert "scores_exact.accuracy.0" in problems(value | {"scores_exact": {"accuracy": ["1/0"]}})


def test_a_mean_that_does_not_follow_is_taken_as_written():
    value = values({"accuracy": [7, 7, 6], "tone": [7, 7, 8]})
    value["scores"]["accuracy"]["mean"] = Decimal("7")
    read = parse(value)
    assert mean(read, "accuracy") == 7
    assert mean(read, "tone") == Fraction(22, 3)
    lines = doubts(read)
    assert "scores.accuracy.mean 7 does not follow from its scores" in lines[0]
    assert "overall_score 7 is not the mean" in lines[1]
    assert len(lines) == 2


def test_a_mean_added_in_binary_floats_follows():
    value = values({"accuracy": ["7.1", "7.2", "7.3"]})
    value["scores"]["accuracy"]["mean"] = sum([7.1, 7.2, 7.3]) / 3
    value["overall_score"] = 7.199999999999999
    assert doubts(parse(value)) == []
    assert mean(parse(value), "accuracy") == overall(parse(value)) == Fraction(72, 10)


def test_scores_without_seats_leave_the_mean_as_written():
    value = values({"accuracy": [7]})
    value["scores"]["accuracy"] |= {"scores": [], "per_model": {}, "mean": Decimal("6.4")}
    value["overall_score"] = Decimal("6.4")
    assert mean(parse(value), "accuracy") == Fraction(64, 10)
    assert "does not follow" in doubts(parse(value))[0]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"verdict": "inconclusive"}, "inconclusive although there are scores"),
        ({"scores": {}, "overall_score": None}, "neither scores nor metrics"),
        ({"scores": {}}, "overall_score 7 is not"),
        ({"overall_score": None}, "overall_score null is not"),
        ({"verdict": None}, "takes_quality never has"),
        ({"models": ["other"]}, "names models that are not in models: model-0"),
        ({"cycles_run": 2}, "1 entries, cycles_run is 2"),
        ({"denominator": {"planned": 3, "scored": 1, "unscored": {"x": 1}, "skipped": 0}}, "denominator"),
    ],
)
def test_contradictions_are_said(changes, line):
    assert any(line in each for each in doubts(parse(values({"accuracy": [7]}, **changes))))


def test_min_and_per_model_must_be_those_of_the_scores():
    value = values({"accuracy": [7, 9]})
    value["scores"]["accuracy"] |= {"min": 5, "per_model": {"model-0": 7}}
    lines = doubts(parse(value))
    assert any("min and max" in line for line in lines)
    assert any("per_model holds other scores" in line for line in lines)


@pytest.mark.parametrize("value", ["1e301", "1e-301", "1e999999999", f"0.{'1' * 1001}"])
def test_numbers_beyond_all_use_are_refused(value):
    found = problems(values({"accuracy": [7]}, overall_score=Decimal(value)))
    assert list(found) == ["overall_score"]


@pytest.mark.parametrize(
    ("value", "decimal"),
    [
        (Fraction(1, 8), "0.125"),
        (Fraction(1, 3), "0.3333333333333333"),
        (Fraction(7), "7"),
        (0.1, "0.1"),
        (Fraction(1, 2**20), "0.00000095367431640625"),
        (Decimal("7.10"), "7.1"),
    ],
)
def test_a_number_becomes_the_decimal_equal_to_it(value, decimal):
    assert as_decimal(value) == Decimal(decimal)


def test_ts_is_utc_with_milliseconds():
    moment = datetime(2026, 3, 1, 1, 30, 0, 250999, timezone(timedelta(hours=-8)))
    assert timestamp(moment) == "2026-03-01T09:30:00.250Z"
    assert timestamp(datetime(2026, 3, 1, tzinfo=UTC)) == "2026-03-01T00:00:00.000Z"
    with pytest.raises(ValueError, match="zone"):
        timestamp(datetime(2026, 3, 1))


def test_blocks_that_components_write_of_themselves_keep_their_keys():
    value = values(
        {"accuracy": [7]}, judge={"name": "mine", "depth": 3}, budget={"enforced": True, "note": "x"}
    )
    written = json.loads(dumps(assemble(value)))
    assert written["judge"] == {"name": "mine", "depth": 3}
    assert written["budget"] == {"enforced": True, "note": "x"}
