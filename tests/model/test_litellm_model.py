"""An LLM's seat: its config, its bounds, and asking over real HTTP until a reply can be used."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback import Loopback, Tokens, Wire, cut, error, refusing_url, reset, scores, text
from pydantic import ValidationError

from evalrunner.budget.budget import Budget, Ledger
from evalrunner.budget.pricing import Price, Pricing
from evalrunner.calls.desk import Desk
from evalrunner.calls.journal import Journal
from evalrunner.calls.loop import close_loop, run_async
from evalrunner.calls.request import CallReply, CallRequest, Client, Limits, Message, Slot
from evalrunner.calls.retry import Retry
from evalrunner.model.asking import ECHO_BYTES, correction, correction_bytes
from evalrunner.model.litellm_client import shared
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.panel_prompt import panel_messages
from evalrunner.model.prompts import Prompts
from evalrunner.model.reply import read_object
from evalrunner.model.scores import scores_schema
from evalrunner.model.seat import Bench, Seat
from evalrunner.paths import data_root
from evalrunner.records import Item, Judgement, Spend
from evalrunner.rubric import read_rubric

RUBRIC = read_rubric(data_root() / "rubrics" / "takes_quality.yaml")
ITEMS = [Item(id=f"t{n}", content_sha="0" * 64, payload={}, text=f"claim: {n} ü") for n in range(3)]
GOOD = scores(["Say more."], **dict.fromkeys(RUBRIC.names, "7.50"))


PRICES = Pricing(
    source="test",
    version="1",
    models={"openai:gpt-4o": Price(input_usd_per_mtok=Decimal(100), output_usd_per_mtok=Decimal(100))},
)


class Noting(Desk):
    """The desk, with a note of what it was asked for; it does not try again."""

    def __init__(self, cap: str | None = None, journal: Journal | None = None) -> None:
        budget = Budget(cap_usd=None if cap is None else Decimal(cap), unpriced="report")
        super().__init__(
            Ledger(budget, PRICES),
            journal=journal,
            note=lambda line: None,
            retry=Retry(faults=1, throttled=1, garbage=1),
        )
        self.requests: list[CallRequest] = []
        self.limits: list[Limits] = []

    async def call(self, request: CallRequest, client: Client, limits: Limits) -> CallReply:
        self.requests.append(request)
        self.limits.append(limits)
        return await super().call(request, client, limits)


@pytest.fixture(scope="module", autouse=True)
def loop() -> Iterator[None]:
    """The process's loop, closed with the client's connections."""
    yield
    run_async(shared().close())
    close_loop()


def seat(server: Loopback, **fields: Any) -> LitellmModel:
    return LitellmModel(**{"id": "openai:gpt-4o", "api_base": server.url("openai"), "timeout_s": 5, **fields})


def bench(desk: Any) -> Bench:
    return Bench(RUBRIC, (), Prompts(), desk, Path(), lambda line: None)


def score(model: LitellmModel, desk: Noting | None = None) -> Judgement:
    asked = model.score(
        ITEMS, place=1, cycle=2, chunk=3, prompt="takes_quality", bench=bench(desk or Noting())
    )
    return run_async(asked)


def test_a_whole_reply_is_a_scored_judgement() -> None:
    desk = Noting()
    with Loopback(GOOD) as server:
        judged = score(seat(server, concurrency=3, requests_per_minute=10), desk)
        (seen,) = server.requests
    assert asdict(judged) == {
        "item_ids": ("t0", "t1", "t2"),
        "seat": "openai:gpt-4o",
        "place": 1,
        "cycle": 2,
        "chunk": 3,
        "status": "scored",
        "values": dict.fromkeys(RUBRIC.names, Decimal("7.50")),
        "label": None,
        "evidence": ("Say more.",),
        "detail": {"asks": 1, "parse": "strict"},
        "error": None,
        "answered_by": "gpt-4o",
    }
    assert str(judged.values["accuracy"]) == "7.50"
    assert desk.spend().cost_usd == Decimal("0.012")  # 100 + 20 tokens at $100 a million
    assert desk.spend().usage.calls == 1
    assert seen.schema == scores_schema(RUBRIC)
    assert "claim: 2 ü" in seen.prompt
    assert desk.requests[0].slot == Slot("judge", cycle=2, chunk=3)
    assert desk.limits == [Limits(3, 10, None)]


def test_a_rejected_reply_is_asked_for_once_more_and_both_are_paid() -> None:
    with Loopback([text('{"scores": {"wit": 1}}', usage=Tokens(10, 5)), GOOD]) as server:
        desk = Noting()
        judged = score(seat(server), desk)
        first, second = server.requests
    assert judged.status == "scored"
    assert judged.detail == {"asks": 2, "parse": "strict"}
    assert desk.spend().cost_usd == Decimal("0.0135")
    assert (desk.spend().usage.calls, desk.spend().usage.input_tokens) == (2, 110)
    assert [request.slot.ask for request in desk.requests] == [0, 1]
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[-2] == ("assistant", '{"scores": {"wit": 1}}')
    assert "could not be used: the object lacks improvements" in second.messages[-1][1]


def test_what_stays_unusable_is_rejected_and_never_scored() -> None:
    whole = GOOD.text
    desk = Noting()
    with Loopback([cut(whole), "no"]) as server:
        judged = score(seat(server), desk)
    assert (judged.status, judged.values, judged.detail) == ("rejected", {}, {"asks": 2})
    assert judged.error is not None
    assert judged.error.startswith("no usable reply: reply 1: the reply ended with finish reason 'length'")
    assert judged.error.endswith("reply 2: the reply holds no JSON object")
    assert desk.spend().cost_usd == Decimal("0.024")
    with Loopback([cut(whole)]) as server:
        judged = score(seat(server, reasks=0))
        assert len(server.requests) == 1
    assert judged.status == "rejected"


def test_a_provider_that_fails_is_a_failed_judgement() -> None:
    desk = Noting()
    with Loopback(error(401, "who are you")) as server:
        judged = score(seat(server), desk)
        assert len(server.requests) == 1
        dead = score(seat(server, api_base=refusing_url()))
    assert (judged.status, judged.error, judged.detail) == ("failed", "401: who are you", {"asks": 0})
    assert desk.spend().cost_usd == 0
    assert dead.status == "failed"


def test_a_re_ask_that_fails_tells_both_and_is_paid_at_its_bound() -> None:
    with Loopback(["no", reset()]) as server:
        desk = Noting()
        judged = score(seat(server), desk)
    assert judged.status == "failed"
    assert str(judged.error).startswith("reply 1: the reply holds no JSON object; then ")
    assert desk.spend().usage.estimated
    assert desk.spend().cost_usd == desk.ledger.spent
    assert desk.ledger.spent is not None
    assert desk.ledger.spent > Decimal("0.3")


def test_what_the_cap_refuses_is_skipped() -> None:
    with Loopback("no") as server:
        desk = Noting(cap="0.1")
        never = score(seat(server), desk)
        assert server.requests == []
        assert desk.spend() == Spend()
        bounds = seat(server).planned(ITEMS, prompt="takes_quality", bench=bench(desk))
        worst = [desk.ledger.bound("openai:gpt-4o", *bound) or Decimal(0) for bound in bounds]
        desk = Noting(cap=str(worst[0] + Decimal("0.001")))
        not_again = score(seat(server), desk)
        assert len(server.requests) == 1
        score(seat(server), Noting(cap=str(sum(worst))))
        assert len(server.requests) == 3
    assert never.status == "skipped"
    assert str(never.error).startswith("the budget does not allow the call: ")
    assert (not_again.status, desk.spend().usage.calls) == ("skipped", 1)
    assert "; then the budget does not allow the call" in str(not_again.error)
    assert desk.spend().cost_usd == Decimal("0.012")


def test_a_call_without_a_known_price_has_no_cost() -> None:
    with Loopback(GOOD) as server:
        desk = Noting()
        judged = score(seat(server, id="openai:gpt-4o-mini"), desk)
    assert (judged.status, desk.spend().cost_usd) == ("scored", None)


def test_the_journal_keeps_every_reply_and_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", "opaque-0123456789abcdef")
    desk = Noting(journal=Journal(tmp_path / "calls.jsonl"))
    with Loopback([text("a\ud800\x1b[31m"), GOOD]) as server:
        judged = score(seat(server, api_key_env="LOOPBACK_KEY"), desk)
        assert "opaque" in server.requests[0].headers["authorization"]
    run_async(desk.close())
    written = (tmp_path / "calls.jsonl").read_text(encoding="utf-8")
    assert judged.status == "scored"
    lines = [json.loads(line) for line in written.splitlines()]
    assert [line["text"] for line in lines if "ok" in line] == ["a\ufffd\x1b[31m", GOOD.text]
    assert "opaque" not in written


def test_dropped_parameters_are_in_the_judgement() -> None:
    with Loopback(GOOD) as server:
        judged = score(seat(server, id="openai:gpt-5", temperature=0, seed=7))
        assert server.requests[0].body["seed"] == 7
    assert judged.detail == {"asks": 1, "dropped": ["temperature"], "parse": "strict"}


def test_ask_takes_any_parser() -> None:
    def labels(words: str, reason: str | None) -> list[Any]:
        return list(read_object(words, reason).value["labels"])

    with Loopback('```json\n{"labels": ["keep"]}\n```') as server:
        model = seat(server, structured=False)
        asked = run_async(
            model.ask([Message("user", "?")], {"type": "object"}, labels, Slot("keep_reject", "b1"), Noting())
        )
        assert server.requests[0].schema is None
    assert (asked.status, asked.value, asked.asks, asked.error) == ("answered", ["keep"], 1, None)


@pytest.mark.parametrize("said", ["no", "", "ü" * 50_000, '{"' + "k" * 5000 + '": 1}'])
def test_no_ask_is_larger_than_its_bound(said: str) -> None:
    desk = Noting()
    with Loopback(said) as server:
        model = seat(server, reasks=3, max_tokens=100)
        score(model, desk)
        bounds = model.planned(ITEMS, prompt="takes_quality", bench=bench(desk))
    assert len(bounds) == len(desk.requests) == 4
    for (size, messages, max_tokens), request in zip(bounds, desk.requests, strict=True):
        assert request.prompt_bytes() <= size
        assert len(request.messages) <= messages
        assert request.max_tokens == max_tokens == 100
    assert bounds[0][0] == desk.requests[0].prompt_bytes()


def test_a_correction_is_bounded_in_bytes() -> None:
    for reply, reason in [("ü" * 9999, "ü" * 9999), ("", ""), ("\ud800" * 9999, "\ud800" * 9999)]:
        messages = correction(reply, reason)
        assert sum(len(each.content.encode()) + len(each.role) for each in messages) <= correction_bytes()
        assert len(messages[0].content.encode()) <= ECHO_BYTES
        assert messages[0].content


def test_a_seat_without_re_asks_has_one_bound() -> None:
    model = LitellmModel(id="openai:gpt-4o", reasks=0, max_tokens=9)
    messages = panel_messages(Prompts(), "takes_quality", RUBRIC, ITEMS)
    schema = len(json.dumps(scores_schema(RUBRIC)).encode())
    size = sum(len(each.content.encode()) + len(each.role) for each in messages)
    assert model.worst_case(messages, scores_schema(RUBRIC)) == [(size + schema, 2, 9)]
    plain = model.model_copy(update={"structured": False})
    assert plain.worst_case(messages, scores_schema(RUBRIC)) == [(size, 2, 9)]


def problems(**fields: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        LitellmModel(**{"id": "openai:gpt-4o", **fields})
    return "\n".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in caught.value.errors())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"id": "gpt-4o"}, "without its provider"),
        ({"id": "opnai:gpt-4o"}, "no such provider"),
        ({"temperature": 2.1}, "temperature: Input should be less than or equal to 2"),
        ({"temperature": True}, "temperature: "),
        ({"temperature": float("nan")}, "temperature: "),
        ({"top_p": 0}, "top_p: Input should be greater than 0"),
        ({"max_tokens": 0}, "max_tokens: "),
        ({"reasks": 4}, "reasks: Input should be less than or equal to 3"),
        ({"timeout_s": 0}, "timeout_s: "),
        ({"concurrency": 0}, "concurrency: "),
        ({"client": "other"}, "client: Input should be 'litellm' or 'openai_compatible'"),
        ({"temprature": 0}, "temprature: Extra inputs are not permitted"),
        ({"api_key_env": "sk-secret value"}, "api_key_env: "),
        ({"api_base": "127.0.0.1:8000"}, "an address such as http://"),
        ({"api_base": "http://[::1"}, "not an address"),
        ({"api_base": "https://me:secret@host/v1"}, "credentials in an address are refused"),
        ({"params": {"reasoning_efort": "low"}}, "did you mean reasoning_effort?"),
        ({"params": {"api_key": "x"}}, "api_key is not one of them"),
        ({"params": {"extra_body": {"n": 2, "top_k": 1}}}, "extra_body must leave n alone"),
        ({"params": {"extra_body": []}}, "extra_body is a mapping"),
        (
            {"params": {"temperature": 1, "messages": []}},
            "temperature is a key of the model itself",
        ),
    ],
)
def test_bad_config_is_refused_with_what_is_allowed(fields: dict[str, Any], words: str) -> None:
    assert words in problems(**fields)


def test_what_changes_the_question_is_told_apart_from_what_does_not() -> None:
    model = LitellmModel(id="openai:gpt-4o", temperature=0.5, params={"reasoning_effort": "low"})
    same = LitellmModel(
        id="openai:gpt-4o",
        temperature=0.5,
        params={"reasoning_effort": "low"},
        api_base="http://127.0.0.1:1/v1",
        api_key_env="MINE",
        timeout_s=5,
        concurrency=1,
        requests_per_minute=1,
        tokens_per_minute=1,
    )
    assert model.asked() == same.asked()
    changes: tuple[dict[str, Any], ...] = (
        {"temperature": 0.6},
        {"top_p": 0.5},
        {"seed": 1},
        {"max_tokens": 9},
        {"structured": False},
        {"reasks": 0},
        {"params": {}},
    )
    for change in changes:
        assert model.model_copy(update=change).asked() != model.asked(), change


def test_described_is_the_config_without_what_was_left_out() -> None:
    described = LitellmModel(id="openai:gpt-4o", temperature=0, api_key_env="MINE").described()
    assert json.loads(json.dumps(described)) == {
        "id": "openai:gpt-4o",
        "client": "litellm",
        "api_key_env": "MINE",
        "temperature": 0,
        "max_tokens": 4096,
        "timeout_s": 120,
        "concurrency": 8,
        "structured": True,
        "reasks": 1,
        "params": {},
    }


def test_readiness_is_the_key() -> None:
    def missing(environ: dict[str, str], **fields: Any) -> Sequence[str]:
        return [str(each) for each in LitellmModel(**{"id": "openai:gpt-4o", **fields}).check_ready(environ)]

    assert missing({"OPENAI_API_KEY": "x"}) == []
    assert missing({}) == ["openai:gpt-4o: the API key is missing: set OPENAI_API_KEY in the environment"]
    assert missing({"OPENAI_API_KEY": "x"}, api_key_env="MINE") == [
        "openai:gpt-4o: the API key is missing: set MINE in the environment"
    ]
    assert missing({}, api_base="http://127.0.0.1:1/v1") == []


def test_the_packaged_options_are_seats() -> None:
    options = sorted((data_root() / "conf" / "model").glob("*.yaml"))
    assert {"gpt-4o", "claude-opus-4-7", "gemini-3.1-pro-preview", "local"} <= {each.stem for each in options}
    for option in options:
        content = option.read_text(encoding="utf-8")
        assert content.startswith("# ")
        fields = yaml.safe_load(content)
        if fields.pop("_target_") != "evalrunner.model.litellm_model.LitellmModel":
            continue
        model = LitellmModel(**fields)
        assert isinstance(model, Seat)
        assert model.kind == "llm"


def test_a_seat_needs_no_litellm_until_it_calls() -> None:
    # checked in a process of its own, since others here have it imported
    program = (
        "import sys; from evalrunner.model.litellm_model import LitellmModel as M;"
        "m = M(id='openai:gpt-4o'); m.check_ready({}); m.worst_case([], None); m.asked();"
        "heavy = {'litellm', 'openai', 'httpx', 'aiohttp', 'jinja2'} & sys.modules.keys();"
        "sys.exit(str(heavy or ''))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_a_panel_of_three_providers_side_by_side() -> None:
    seats: list[tuple[str, Wire, str]] = [
        ("openai:gpt-4o", "openai", "gpt-4o"),
        ("anthropic:claude-opus-4-7", "anthropic", "claude-opus-4-7"),
        ("google:gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
    ]
    script = {name: scores(**dict.fromkeys(RUBRIC.names, 6 + n)) for n, (_, _, name) in enumerate(seats)}
    with Loopback(script, latency=0.2) as server:
        panel = [LitellmModel(id=model, api_base=server.url(wire)) for model, wire, _ in seats]

        async def judge() -> list[Judgement]:
            desk = Noting()
            asked = [
                each.score(ITEMS, place=place, cycle=1, chunk=1, prompt="takes_quality", bench=bench(desk))
                for place, each in enumerate(panel)
            ]
            try:
                return await asyncio.gather(*asked)
            finally:
                await desk.close()

        first, second = run_async(judge()), run_async(judge())
        assert server.peak == 3
        assert {request.wire for request in server.requests} == {"openai", "anthropic", "gemini"}
        assert all(request.system.startswith("You judge") for request in server.requests)
    assert [each.seat for each in first] == [model for model, _, _ in seats]
    assert [each.answered_by for each in first] == [name for _, _, name in seats]
    assert [each.values["accuracy"] for each in first] == [6, 7, 8]
    assert first == second
