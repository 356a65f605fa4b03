"""`budget.scope=sweep`: the jobs of a sweep, also in processes of their own, together stay under one cap."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Request, Tokens, score_all
from program import evalrunner, inside

PRICE = "pricing.models.one={input_usd_per_mtok: 1000, output_usd_per_mtok: 1000}"


A_CALL = Decimal("4.03")
"""What the server bills for each call; before one the run has to set aside more than six dollars."""


def words(server: Loopback, cap: str, *more: str) -> list[str]:
    seat = f"panel.models=[{{id: one, api_base: '{server.url('openai')}', max_tokens: 50, reasks: 0}}]"
    return ["run", "-m", seat, PRICE, "judge.chunk_size=1", f"budget.cap_usd={cap}", *more, "--json"]


def bills(request: Request) -> Any:
    return replace(score_all(8)(request), usage=Tokens(4000, 30))


def test_by_default_each_job_has_a_cap_of_its_own(tmp_path: Path) -> None:
    with Loopback(bills) as server:
        done = inside(tmp_path, *words(server, "13", "sampler.limit=3", "sampler.seed=1,2"))
        assert len(server.requests) == 4
    receipts = [json.loads(line) for line in done.out.splitlines()]
    assert [receipt["budget"]["refused_calls"] for receipt in receipts] == [1, 1]


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_the_bill_of_a_sweep_never_passes_its_cap(tmp_path: Path, launcher: str) -> None:
    with Loopback(bills, latency=0.02) as server:
        given = words(
            server,
            "60",
            "budget.scope=sweep",
            "sampler.limit=8",
            "sampler.seed=1,2,3",
            f"hydra/launcher={launcher}",
        )
        done = evalrunner(tmp_path, *given)
    receipts = [json.loads(line) for line in done.out.splitlines()]
    assert len(receipts) == 3, done.err
    spent = sum(Decimal(str(receipt["cost_usd"])) for receipt in receipts)
    assert spent == len(server.requests) * A_CALL <= 60
    assert spent > 60 - 7, "and all of it is used that a call fits into"
    assert done.code == 2
    refused = sum(receipt["budget"]["refused_calls"] for receipt in receipts)
    assert len(server.requests) + refused == 24
    assert all(receipt["budget"]["scope"] == "sweep" for receipt in receipts)
    assert receipts[-1]["budget"]["sweep_usd"] <= 60
    assert "of the sweep's cap of $60 is left" in json.dumps(receipts)


def test_a_run_by_itself_is_an_attempt(tmp_path: Path) -> None:
    with Loopback(score_all(8)) as server:
        given = [
            word for word in words(server, "10000", "budget.scope=sweep", "sampler.limit=2") if word != "-m"
        ]
        done = inside(tmp_path, *given)
    assert done.code == 0
    assert "scope" not in done.json["budget"]


def test_jobs_without_the_sweep_s_folder_are_refused(tmp_path: Path) -> None:
    """As where a launcher's machines have no common file system: what the parent made is not there."""
    with Loopback(score_all(8)) as server:
        done = inside(tmp_path, *words(server, "60", "sampler.limit=2", "budget.scope=attempt,sweep"))
        assert len(server.requests) == 2, "those of the job with a cap of its own"
    assert done.code == 3
    assert "the sweep's ledger is not here" in done.err
