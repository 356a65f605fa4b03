"""The packaged price table: it loads, and says what its source says."""

import json
from decimal import Decimal
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalrunner.budget.pricing import Price, Pricing, canonical
from evalrunner.model.ids import canonical as canonical_of_models
from evalrunner.paths import data_root

FILE = data_root() / "conf" / "pricing" / "default.yaml"


def load() -> Pricing:
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    assert next(iter(content)) == "_target_"
    assert content.pop("_target_") == f"{Pricing.__module__}.{Pricing.__qualname__}"
    return Pricing(**content)


def bundled() -> dict[str, Any]:
    spec = find_spec("litellm")
    assert spec is not None
    assert spec.submodule_search_locations
    name = "model_prices_and_context_window_backup.json"
    content: dict[str, Any] = json.loads(
        (Path(spec.submodule_search_locations[0]) / name).read_text(encoding="utf-8")
    )
    return content


def per_million(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(repr(value)) * 1_000_000


def test_every_entry_equals_the_source_named() -> None:
    table = load()
    assert table.source == "the price map bundled with litellm"
    if version("litellm") != table.version:
        pytest.skip(f"litellm {version('litellm')} is installed, the table is of {table.version}")
    source = bundled()
    for model, price in table.models.items():
        entry = source[model if model in source else model.partition("/")[2]]
        provider = entry["litellm_provider"]
        assert canonical(model).startswith(f"{provider}/")
        assert price.input_usd_per_mtok == per_million(entry["input_cost_per_token"]), model
        assert price.output_usd_per_mtok == per_million(entry["output_cost_per_token"]), model
        assert price.cached_input_usd_per_mtok == per_million(entry.get("cache_read_input_token_cost")), model
        reasoning = per_million(entry.get("output_cost_per_reasoning_token"))
        assert reasoning in {None, price.output_usd_per_mtok}, model
        _same_above(model, price, entry)


def _same_above(model: str, price: Price, entry: dict[str, Any]) -> None:
    sizes = [key.split("_above_")[1] for key in entry if key.startswith("input_cost_per_token_above_")]
    sizes = [size for size in sizes if size.endswith("k_tokens")]
    assert bool(sizes) == (price.above is not None), model
    for size in sizes:
        assert price.above is not None
        assert price.above.tokens == int(size.removesuffix("k_tokens")) * 1000
        assert price.above.input_usd_per_mtok == per_million(entry[f"input_cost_per_token_above_{size}"])
        assert price.above.output_usd_per_mtok == per_million(entry[f"output_cost_per_token_above_{size}"])
        cached = per_million(entry.get(f"cache_read_input_token_cost_above_{size}"))
        assert price.above.cached_input_usd_per_mtok == cached


def test_the_packaged_models_of_providers_are_priced() -> None:
    table = load()
    options = [yaml.safe_load(path.read_text("utf-8")) for path in (FILE.parents[1] / "model").glob("*.yaml")]
    ids = [option["id"] for option in options if "id" in option and "api_base" not in option]
    assert ids
    assert [model for model in ids if table.price(model) is None] == []


def test_what_the_source_does_not_know_is_unknown_here() -> None:
    assert load().price("google:gemini-1.5-pro") is None
    assert not [model for model in bundled() if "gemini-1.5-pro" in model and model.startswith("gemini/")]


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o",
        "openai:gpt-4o",
        "OpenAI/gpt-4o",
        "google:gemini",
        "gemini/gemini",
        "openrouter:openai/gpt-4o",
        "meta-llama/Llama-3-8B",
        "llama3:8b",
        ":x",
        "/x",
        "x:",
        "azure/my:deployment",
    ],
)
def test_ids_mean_the_same_here_and_in_panels(model: str) -> None:
    assert canonical(model) == canonical_of_models(model)
