"""Prices: exact, in three states, found by id however it is spelled, and by nothing else."""

from decimal import Decimal

import pytest
from pydantic import ValidationError

from evalrunner.budget.pricing import Price, Pricing, canonical
from evalrunner.records import Usage

GPT = {"input_usd_per_mtok": 2.5, "output_usd_per_mtok": 10, "cached_input_usd_per_mtok": 1.25}


def table(**models: object) -> Pricing:
    return Pricing(source="a test", version="1", models=models)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("openai/gpt-4o", "openai:gpt-4o"),
        ("openai:gpt-4o", "openai/gpt-4o"),
        ("gemini/gemini-2.5-pro", "google:gemini-2.5-pro"),
        ("google/gemini-2.5-pro", "gemini:gemini-2.5-pro"),
        ("openrouter/openai/gpt-4o", "openrouter:openai/gpt-4o"),
        ("Anthropic:claude", "anthropic/claude"),
        ("local-model", "local-model"),
    ],
)
def test_an_id_is_found_in_all_of_its_spellings(written: str, asked: str) -> None:
    price = table(**{written: GPT}).price(asked)
    assert price is not None
    assert price.input_usd_per_mtok == Decimal("2.5")


@pytest.mark.parametrize(
    "asked",
    [
        "openai:gpt-4o-2024-08-06",
        "openai:gpt-4",
        "openai:GPT-4o",
        "azure:gpt-4o",
        "openrouter/openai/gpt-4o",
    ],
)
def test_nothing_stands_for_another_id(asked: str) -> None:
    assert table(**{"openai/gpt-4o": GPT}).price(asked) is None


def test_three_states() -> None:
    prices = table(**{"openai/gpt-4o": GPT, "local": {"free": True}})
    used = Usage(calls=1, input_tokens=1000, output_tokens=100)
    known, free = prices.price("openai:gpt-4o"), prices.price("local")
    assert known is not None
    assert free is not None
    assert known.cost(used) == Decimal("0.0035")
    assert free.cost(used) == 0
    assert free.bound(10**6, 10**6) == 0
    assert prices.price("anthropic:claude") is None


def test_rates_are_the_decimals_written() -> None:
    price = Price(input_usd_per_mtok=0.1, output_usd_per_mtok=0.2)
    assert price.cost(Usage(input_tokens=1, output_tokens=1)) == Decimal("0.0000003")


def test_cached_and_reasoning_tokens_have_their_own_rates() -> None:
    price = Price(**GPT, reasoning_output_usd_per_mtok=20)
    used = Usage(input_tokens=1000, cached_tokens=400, output_tokens=100, reasoning_tokens=60)
    # 600 x 2.5 + 400 x 1.25 + 40 x 10 + 60 x 20 = 1500 + 500 + 400 + 1200 millionths
    assert price.cost(used) == Decimal("0.0036")


def test_reasoning_that_is_not_part_of_the_output_is_paid_beside_it() -> None:
    price = Price(input_usd_per_mtok=1, output_usd_per_mtok=1)
    assert price.cost(Usage(input_tokens=10, output_tokens=5, reasoning_tokens=50)) == Decimal("0.000065")


LONG = {
    "input_usd_per_mtok": 1.25,
    "output_usd_per_mtok": 10,
    "cached_input_usd_per_mtok": 0.125,
    "above": {"tokens": 200000, "input_usd_per_mtok": 2.5, "output_usd_per_mtok": 15},
}


def test_long_requests_are_billed_whole_at_the_rates_above() -> None:
    price = Price(**LONG)
    assert price.cost(Usage(input_tokens=200000, output_tokens=1000)) == Decimal("0.26")
    assert price.cost(Usage(input_tokens=200001, output_tokens=1000)) == Decimal("0.5150025")
    cached = Usage(input_tokens=200001, cached_tokens=200001, output_tokens=0)
    assert price.cost(cached) == Decimal("0.5000025"), "no cached rate above: the input rate"


def test_a_bound_takes_the_dearest_rate_that_can_apply() -> None:
    assert Price(**LONG).bound(200000, 1000) == Decimal("0.26")
    assert Price(**LONG).bound(200001, 1000) == Decimal("0.5150025")
    odd = Price(
        input_usd_per_mtok=1,
        output_usd_per_mtok=1,
        cached_input_usd_per_mtok=3,
        reasoning_output_usd_per_mtok=5,
    )
    assert odd.bound(1000, 1000) == Decimal("0.008")


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"input_usd_per_mtok": 0, "output_usd_per_mtok": 1}, "`free: true`"),
        ({"input_usd_per_mtok": 1, "output_usd_per_mtok": 0.0}, "`free: true`"),
        ({"input_usd_per_mtok": -1, "output_usd_per_mtok": 1}, "above 0"),
        ({**GPT, "cached_input_usd_per_mtok": 0}, "`free: true`"),
        ({**GPT, "free": True}, "a free model has no rates"),
        ({}, "input_usd_per_mtok and output_usd_per_mtok must be given"),
        ({"input_usd_per_mtok": 1}, "output_usd_per_mtok must be given"),
        (
            {**GPT, "above": {"tokens": 0, "input_usd_per_mtok": 1, "output_usd_per_mtok": 1}},
            "greater than 0",
        ),
        ({**GPT, "outptu": 1}, "Extra inputs"),
        ({"input_usd_per_mtok": float("nan"), "output_usd_per_mtok": 1}, "NaN|finite"),
        ({"input_usd_per_mtok": float("inf"), "output_usd_per_mtok": 1}, "finite"),
        ({"input_usd_per_mtok": True, "output_usd_per_mtok": 1}, "not true or false"),
        ({"input_usd_per_mtok": "1", "output_usd_per_mtok": 1}, "Decimal"),
    ],
)
def test_wrong_entries_are_refused(entry: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        table(**{"openai/gpt-4o": entry})


def test_a_model_is_priced_once_and_has_a_name() -> None:
    with pytest.raises(ValidationError, match="openai:gpt-4o and openai/gpt-4o"):
        table(**{"openai:gpt-4o": GPT, "openai/gpt-4o": GPT})
    with pytest.raises(ValidationError, match="is no model id"):
        table(**{" ": GPT})


def test_a_bare_id_counts_as_openais() -> None:
    assert canonical("gpt-4o") == "openai/gpt-4o"
