import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from rules_takes import PAGE

from evalrunner.model.rules import RULES_ID, RulesModel
from evalrunner.model.rules.examine import RULES, examine
from evalrunner.model.rules.take import read_take
from evalrunner.model.seat import Bench, Seat
from evalrunner.records import Item, Judgement
from evalrunner.rubric import Rubric, read_rubric

TOP = Path(__file__).resolve().parents[2]
RUBRIC = read_rubric(TOP / "rubrics" / "takes_quality.yaml")


def item(number: int, **changes: Any) -> Item:
    payload = {
        "page_slug": "companies/fernhill-pumps",
        "kind": "fact",
        "holder": "companies/fernhill-pumps",
        "weight": 0.8,
        "since_date": "2024-02-01",
        "source": "seed memo",
        "claim": "Fernhill Pumps builds water pumps for farms.",
        "page_text": PAGE,
        **changes,
    }
    return Item(id=f"t{number:02d}", content_sha="0" * 64, payload=payload)


def judge(items: Sequence[Item], rubric: Rubric = RUBRIC) -> Judgement:
    bench = Bench(rubric, (), None, None, Path(), lambda line: None)  # type: ignore[arg-type]
    return asyncio.run(RulesModel().score(items, place=2, cycle=3, chunk=4, prompt="any", bench=bench))


def other_rubric(*names: str) -> Rubric:
    dimensions = [{"id": name, "question": "?"} for name in names]
    return Rubric.model_validate({"version": "v9", "scale": {"min": 0, "max": 1}, "dimensions": dimensions})


def test_it_is_a_seat_and_says_what_it_is() -> None:
    seat = RulesModel()
    assert isinstance(seat, Seat)
    assert seat.kind == "heuristic"
    assert seat.id == RULES_ID == "rules-v1"


def test_another_version_is_refused_with_the_one_there_is() -> None:
    with pytest.raises(ValidationError, match="this one holds 'rules-v1'; leave `id` out"):
        RulesModel(id="rules-v0")
    with pytest.raises(ValidationError, match="Extra inputs"):
        RulesModel.model_validate({"id": RULES_ID, "temperature": 0})


def test_it_calls_nothing_and_needs_nothing() -> None:
    seat = RulesModel()
    bench = Bench(RUBRIC, (), None, None, Path(), lambda line: None)  # type: ignore[arg-type]
    assert seat.planned([item(0)], prompt="any", bench=bench) == []
    assert seat.check_ready({}) == []
    assert seat.asked() == {}
    assert seat.described() == {"_target_": "evalrunner.model.rules.RulesModel", "id": RULES_ID}


def test_a_sound_sample_scores_at_the_top_and_costs_nothing() -> None:
    told = judge([item(number) for number in range(4)])
    assert told.status == "scored"
    assert {name: str(value) for name, value in told.values.items()} == dict.fromkeys(RUBRIC.names, "10.0")
    assert list(told.values) == list(RUBRIC.names)
    assert (told.seat, told.place, told.cycle, told.chunk) == (RULES_ID, 2, 3, 4)
    assert told.item_ids == ("t00", "t01", "t02", "t03")
    assert told.evidence == ()
    assert told.error is None


def test_evidence_lowers_its_own_dimension_and_is_listed() -> None:
    items = [item(number) for number in range(9)] + [item(9, weight=0.81)]
    told = judge(items)
    assert {name: str(value) for name, value in told.values.items()} == {
        "accuracy": "10.0",
        "attribution": "10.0",
        "weight_calibration": "7.0",
        "kind_classification": "10.0",
        "signal_density": "10.0",
    }
    assert told.evidence == (
        "take t09: weight_calibration: weight 0.81 is off the 0.05 grid; 0.80 or 0.85 would fit",
    )
    assert told.detail["violating"]["weight_calibration"] == ["t09"]


def test_at_most_three_takes_a_dimension_are_listed() -> None:
    told = judge([item(number, weight=0.81) for number in range(7)])
    assert [line.split(":")[0] for line in told.evidence] == ["take t00", "take t01", "take t02"]
    assert len(told.detail["violating"]["weight_calibration"]) == 7


@pytest.mark.parametrize("missing", [None, "", "   "])
def test_one_take_without_its_page_keeps_the_seat_out(missing: str | None) -> None:
    told = judge([item(0), item(1, page_text=missing), item(2)])
    assert told.status == "abstained"
    assert told.values == {}
    assert told.error == (
        "rules-v1: accuracy cannot be scored: 1 of 3 takes have no page_text (t01); give every sampled take "
        "its page_text, filter the sample, or use a panel of LLMs"
    )


def test_without_accuracy_in_the_rubric_no_page_is_needed() -> None:
    told = judge([item(0, page_text=None), item(1)], other_rubric("weight_calibration", "signal_density"))
    assert told.status == "scored"
    assert {name: str(value) for name, value in told.values.items()} == {
        "weight_calibration": "1.00",
        "signal_density": "1.00",
    }


def test_a_rubric_with_unknown_dimensions_is_not_scored() -> None:
    told = judge([item(0)], other_rubric("accuracy", "atribution", "style"))
    assert told.status == "abstained"
    assert told.error is not None
    assert "no rule speaks to: atribution (did you mean attribution?), style" in told.error
    assert "accuracy, attribution, weight_calibration, kind_classification, signal_density" in told.error


def test_nothing_to_score_is_no_score() -> None:
    assert judge([]).status == "abstained"
    assert judge([item(0)], Rubric(version="v0")).error == "rules-v1: rubric v0 has no dimensions"
    told = judge([item(0), Item(id="case", content_sha="0" * 64, payload={"diff": "+x"})])
    assert told.status == "abstained"
    assert told.error == "rules-v1: 1 of the items have no claim, first 'case'; rules judge takes only"


def test_truth_is_never_read() -> None:
    plain = item(0)
    labelled = plain.model_copy(update={"truth": {"labels": {"accuracy": "violated"}}})
    assert judge([plain]) == judge([labelled])


def test_the_order_of_takes_changes_nothing() -> None:
    items = [item(number, weight=0.8 if number % 3 else 0.81) for number in range(12)]
    items += [item(number + 20, claim="The memo has a red cover.") for number in range(3)]
    told = judge(items)
    for seed in range(3):
        shuffled = random.Random(seed).sample(items, len(items))
        again = judge(shuffled)
        assert (again.values, again.evidence, again.detail) == (told.values, told.evidence, told.detail)


def test_what_is_told_of_a_judgement_is_json_ready() -> None:
    told = judge([item(0, weight=0.81, claim="Der Tunnel ist lang und die Züge sind neu.")])
    assert told.detail["not_english"] == ["t00"]
    assert json.loads(json.dumps(told.detail)) == told.detail


TEXTS = st.text(max_size=80) | st.sampled_from(
    [
        "The memo says that it will",
        "not but , and",
        "by 2030 9,9,9 1.2.3 ١٢",
        "He who. She bets. It",
        "a" * 500,
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    claim=TEXTS,
    page=TEXTS,
    holder=TEXTS,
    slug=TEXTS,
    kind=TEXTS | st.sampled_from(["fact", "take", "bet", "hunch"]),
    weight=st.none() | st.booleans() | st.integers() | st.floats() | st.decimals() | st.text(max_size=5),
    date=st.none() | st.dates().map(str) | st.text(max_size=10),
)
def test_no_text_makes_the_rules_raise(**fields: Any) -> None:
    payload = {
        "claim": fields["claim"],
        "page_text": fields["page"],
        "holder": fields["holder"],
        "page_slug": fields["slug"],
        "kind": fields["kind"],
        "weight": fields["weight"],
        "since_date": fields["date"],
        "source": fields["holder"],
    }
    take = read_take("x", payload)
    if take is not None:
        assert set(examine(take, RULES)) == set(RULES)


def test_hostile_lengths_stay_cheap() -> None:
    for text in (
        "A. " * 20_000,
        "says " * 20_000,
        "9" * 100_000,
        "red " * 20_000 + "cover",
        "(" * 50_000,
        "\n" * 90_000,
    ):
        take = read_take(
            "x", {"claim": text, "page_text": text, "holder": text, "page_slug": text, "weight": 1}
        )
        if take is not None:
            examine(take, RULES)


def test_the_model_option_builds_this_seat() -> None:
    option = yaml.safe_load((TOP / "conf" / "model" / "rules.yaml").read_text(encoding="utf-8"))
    assert option.pop("_target_") == "evalrunner.model.rules.RulesModel"
    assert RulesModel.model_validate(option) == RulesModel()


@pytest.mark.parametrize(
    ("panel", "models"),
    [
        ("rules", ["rules"]),
        ("frontier", ["gpt-4o", "claude-opus-4-7", "gemini-3.1-pro-preview"]),
        ("budget", ["gpt-5.6-luna", "claude-haiku-5-5", "gemini-3.5-flash-lite"]),
    ],
)
def test_panel_options_name_their_models(panel: str, models: list[str]) -> None:
    option = yaml.safe_load((TOP / "conf" / "panel" / f"{panel}.yaml").read_text(encoding="utf-8"))
    assert option == {"_target_": "evalrunner.model.panel.Panel", "models": models}
