"""An LLM reviewer, asked over real HTTP: findings, markers, replies that are none, cost, and no overlap."""

import asyncio
import json
from decimal import Decimal
from pathlib import Path

import pytest
from loopback import Loopback, Tokens, cut, error, hang, text

from evalrunner.budget.budget import Budget, Ledger
from evalrunner.budget.pricing import Pricing
from evalrunner.calls.desk import Desk
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench
from evalrunner.paths import data_root
from evalrunner.records import Item
from evalrunner.rubric import read_rubric
from evalrunner.subject.base import Subject
from evalrunner.subject.litellm_reviewer import LitellmReviewer

RUBRIC = read_rubric(data_root() / "rubrics" / "code_review.yaml")
PRICES = {"openai/gpt-4o": {"input_usd_per_mtok": 2, "output_usd_per_mtok": 10}}
DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -4 +4 @@\n-a = 1\n+a = 2\n"
ITEM = Item(
    id="the-case",
    content_sha="0" * 64,
    payload={"diff": DIFF},
    truth={"expected": [{"file": "x.py", "line": 4, "mechanism": ["secret-keyword"]}]},
    groups={"kind": "positive"},
)
ONE = {"file": "x.py", "line": 4, "title": "a is wrong", "body": "it was right", "severity": "high"}
WHOLE = json.dumps({"status": "complete", "findings": [ONE]})


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as each:
        yield each


def subject(server, **fields):
    own = {name: fields.pop(name) for name in ("diff_bytes", "context_bytes", "markers") if name in fields}
    model = {"id": "openai:gpt-4o", "api_base": server.url("openai"), "timeout_s": 5.0, **fields}
    return LitellmReviewer(model=LitellmModel(**model), **own)


def bench(concurrency=1, cap=None):
    pricing = Pricing.model_validate({"source": "the test", "version": "1", "models": PRICES})
    desk = Desk(Ledger(Budget(cap_usd=cap, unpriced="report"), pricing), journal=None, note=lambda _: None)
    return Bench(RUBRIC, (), Prompts(), desk, Path(), lambda _: None, concurrency)


def ask(runner, script, at=None, **fields):
    with Loopback(script) as server:
        (made,) = runner.run(produced(subject(server, **fields), [2], at or bench()))
        assert server.errors == []
        return made, server.requests


async def produced(reviewer, runs, at):
    """The outcomes of these runs, begun together; the connections that were used are closed."""
    try:
        return await asyncio.gather(*(reviewer.produce(ITEM, run, at) for run in runs))
    finally:
        await at.desk.close()


def test_findings_with_what_they_cost(runner):
    made, (request,) = ask(runner, text(WHOLE, usage=Tokens(1000, 100), model="gpt-4o-2024-08-06"))
    assert (made.item_id, made.run, made.status, made.error) == ("the-case", 2, "ok", None)
    (finding,) = made.payload["findings"]
    assert {name: finding[name] for name in ONE} == ONE
    assert made.payload["answered_by"] == "gpt-4o-2024-08-06"
    assert made.payload["asks"] == 1
    assert made.spend.cost_usd == Decimal("0.003")
    assert made.duration_s > 0
    assert request.schema["required"] == ["status", "findings"]


def test_the_diff_and_the_head_go_out_and_nothing_of_the_truth(runner):
    _, (request,) = ask(runner, WHOLE)
    assert DIFF in request.prompt
    assert "x.py (not whole)\n...\n4 a = 2\n..." in request.prompt
    whole = json.dumps(request.body) + json.dumps(dict(request.headers))
    for secret in ("secret-keyword", "positive", "the-case", "expected"):
        assert secret not in whole


def test_bounds_of_the_prompt(runner):
    _, (request,) = ask(runner, WHOLE, context_bytes=0, diff_bytes=40)
    assert "its end is cut off" in request.prompt
    assert "1 more or longer files are not shown" in request.prompt
    assert "4 a = 2" not in request.prompt


@pytest.mark.parametrize(
    ("reply", "status", "found"),
    [
        (json.dumps({"status": "blocked", "findings": []}), "marker", 0),
        (json.dumps({"status": "blocked", "findings": [ONE]}), "marker", 1),
        ("BLOCKED", "marker", 0),
        (text("", finish="content_filter"), "blocked", 0),
        (text("no JSON here"), "error", 0),
        (cut(WHOLE), "error", 0),
        (text(json.dumps({"status": "complete", "findings": [{**ONE, "line": "4"}]})), "error", 0),
        (error(401, "bad key"), "error", 0),
        (error(400, "no such parameter"), "error", 0),
    ],
)
def test_what_else_can_come_is_the_run_s_status(runner, reply, status, found):
    made, _ = ask(runner, reply)
    assert (made.status, len(made.payload["findings"])) == (status, found)
    assert (made.error is None) == (status == "marker")


def test_a_provider_that_does_not_answer_is_a_timeout(runner):
    at = bench()
    at.desk.retry = type(at.desk.retry)(faults=1)
    made, _ = ask(runner, hang(), at=at, timeout_s=0.2)
    assert made.status == "timeout"
    assert made.spend.cost_usd > 0


def test_a_rejected_reply_is_asked_for_again_once(runner):
    made, requests = ask(runner, [text("Sure!"), text(WHOLE)])
    assert (made.status, made.payload["asks"]) == ("ok", 2)
    assert "holds no JSON object" in requests[1].prompt


def test_an_unknown_price_is_an_unknown_cost(runner):
    made, _ = ask(runner, WHOLE, id="my-model")
    assert made.spend.cost_usd is None
    assert made.status == "ok"


def test_runs_never_overlap_unless_the_user_says_so(runner):
    with Loopback(WHOLE, latency=0.05) as server:
        runner.run(produced(subject(server), range(1, 5), bench()))
        assert (len(server.requests), server.peak) == (4, 1)
    with Loopback(WHOLE, latency=0.05) as server:
        runner.run(produced(subject(server), range(1, 5), bench(concurrency=4)))
        assert server.peak > 1


def test_what_validate_prices_bounds_what_is_asked(runner):
    with Loopback(WHOLE) as server:
        reviewer, at = subject(server), bench()
        first, again = reviewer.planned([ITEM], at)
        runner.run(produced(reviewer, [1], at))
        (request,) = server.requests
    assert (first.model, first.is_reask, again.is_reask) == ("openai:gpt-4o", False, True)
    assert first.prompt_bytes >= len(request.prompt.encode())
    assert first.max_tokens == 4096


def test_it_is_a_subject_that_names_what_tells_it_from_another():
    model = LitellmModel(
        id="openai:gpt-4o", api_base="http://127.0.0.1:1/v1", api_key_env="KEY", timeout_s=3.0
    )
    reviewer = LitellmReviewer(model=model)
    assert isinstance(reviewer, Subject)
    told = json.dumps(dict(reviewer.described()))
    assert "openai:gpt-4o" in told
    assert "127.0.0.1" not in told
    assert "KEY" not in told
    assert reviewer.prompts() == ("code_review",)
    assert reviewer.models() == (model,)
