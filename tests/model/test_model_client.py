"""Which client speaks for a model, and that it makes no difference to what is kept and paid."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Tokens, error, scores, text
from pydantic import ValidationError

from evalrunner.budget.budget import Budget, Ledger
from evalrunner.budget.pricing import Price, Pricing
from evalrunner.calls.desk import Desk
from evalrunner.calls.journal import Journal
from evalrunner.calls.loop import close_loop, run_async
from evalrunner.calls.retry import Retry
from evalrunner.model.clients import ready
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench
from evalrunner.paths import data_root
from evalrunner.records import Item, Judgement
from evalrunner.rubric import read_rubric

BASE = "http://127.0.0.1:8000/v1"
RUBRIC = read_rubric(data_root() / "rubrics" / "takes_quality.yaml")
GOOD = scores(**dict.fromkeys(RUBRIC.names, 8))
RATES = {"input_usd_per_mtok": Decimal(100), "output_usd_per_mtok": Decimal(1000)}
PRICES = Pricing(
    source="test",
    version="1",
    models={"openai/gpt-4o": Price(**RATES, cached_input_usd_per_mtok=Decimal(10))},
)


@pytest.fixture(scope="module", autouse=True)
def loop() -> Iterator[None]:
    yield
    close_loop()


@pytest.mark.parametrize(
    ("fields", "client"),
    [
        ({"id": "openai:gpt-4o"}, "litellm"),
        ({"id": "openai:gpt-4o", "api_base": BASE}, "litellm"),
        ({"id": "hosted_vllm/llama", "api_base": BASE}, "litellm"),
        ({"id": "llama3:8b", "api_base": BASE}, "openai_compatible"),
        ({"id": "local-model", "api_base": BASE}, "openai_compatible"),
        ({"id": "meta-llama/Llama-3-8B", "api_base": BASE}, "openai_compatible"),
        ({"id": "local-model", "api_base": BASE, "client": "litellm"}, "litellm"),
        ({"id": "openai:gpt-4o", "api_base": BASE, "client": "openai_compatible"}, "openai_compatible"),
    ],
)
def test_the_client_is_the_one_that_is_named_or_that_fits(fields: dict[str, Any], client: str) -> None:
    model = LitellmModel(**fields)
    assert model.speaks == client
    assert model.described()["client"] == client
    assert LitellmModel(**model.described()) == model.model_copy(update={"client": client})
    other = LitellmModel(**{**fields, "client": "litellm"})
    assert model.asked() == other.asked(), "what is asked does not depend on who carries it"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai:gpt-4o", "gpt-4o"),
        ("openai/gpt-4o", "gpt-4o"),
        ("llama3:8b", "llama3:8b"),
        ("anthropic/claude-opus-4-7", "anthropic/claude-opus-4-7"),
        ("openai:openai/gpt-4o", "openai/gpt-4o"),
    ],
)
def test_the_direct_client_sends_the_id_as_the_endpoint_knows_it(model: str, name: str) -> None:
    with Loopback(GOOD) as server:
        seat = LitellmModel(id=model, client="openai_compatible", api_base=server.url("openai"))
        assert score(seat, desk()).status == "scored"
        assert server.requests[0].model == name


def test_the_direct_client_needs_an_address() -> None:
    with pytest.raises(ValidationError, match="needs the address of its endpoint in api_base"):
        LitellmModel(id="openai:gpt-4o", client="openai_compatible")


def desk(journal: Path | None = None) -> Desk:
    return Desk(
        Ledger(Budget(), PRICES),
        journal=None if journal is None else Journal(journal),
        note=lambda line: None,
        retry=Retry(base_s=0.001, most_s=0.002),
    )


def score(seat: LitellmModel, asked: Desk) -> Judgement:
    items = [Item(id="t", content_sha="0" * 64, payload={}, text="claim: ü")]
    bench = Bench(RUBRIC, (), Prompts(), asked, Path(), lambda line: None)

    async def scored() -> Judgement:
        try:
            return await seat.score(items, place=0, cycle=1, chunk=1, prompt="takes_quality", bench=bench)
        finally:
            await asked.close()

    return run_async(scored())


def test_either_client_is_retried_priced_counted_and_kept_alike(tmp_path: Path) -> None:
    judged, kept = [], []
    for client in ("openai_compatible", "litellm"):
        used = Tokens(1000, 50, cached=400, reasoning=20)
        # 600 fresh, 400 cached and 50 output tokens cost $0.114
        script = [error(503), error(429, retry_after=0), text("no", usage=used), text(GOOD.text, usage=used)]
        with Loopback(script) as server:
            seat = LitellmModel(id="openai/gpt-4o", client=client, api_base=server.url("openai"))
            table = desk(tmp_path / f"{client}.jsonl")
            judged.append(score(seat, table))
            assert len(server.requests) == 4
            assert table.ledger.spent == table.spend().cost_usd == 2 * Decimal("0.114")
            assert table.spend().usage.reasoning_tokens == 40
        lines = (tmp_path / f"{client}.jsonl").read_text(encoding="utf-8").splitlines()
        kept.append([json.loads(line) for line in lines])
    assert judged[0] == judged[1]
    assert judged[0].status == "scored"
    passing = {"at", "latency_s", "raw", "fingerprint"}
    for one, other in zip(*kept, strict=True):
        assert {name: value for name, value in one.items() if name not in passing} == {
            name: value for name, value in other.items() if name not in passing
        }
        for line in (each for each in (one, other) if each.get("ok")):
            assert line["raw"]["choices"][0]["message"]["content"] == line["text"]
            assert line["raw"]["usage"]["prompt_tokens_details"]["cached_tokens"] == 400


def test_models_share_the_connections_of_their_client() -> None:
    assert run_async(ready("openai_compatible")) is run_async(ready("openai_compatible"))
    with Loopback(GOOD) as server:
        asked = desk()
        for name in ("one", "two"):
            seat = LitellmModel(id=name, api_base=server.url("openai"))
            bench = Bench(RUBRIC, (), Prompts(), asked, Path(), lambda line: None)
            items = [Item(id="t", content_sha="0" * 64, payload={}, text="x")]
            run_async(seat.score(items, place=0, cycle=1, chunk=1, prompt="takes_quality", bench=bench))
        run_async(asked.close())
        assert server.connections == 1
