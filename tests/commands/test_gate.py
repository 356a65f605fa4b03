"""A team's gate: a panel over three wire formats, each ending with its own exit code and its own message."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, cut, error, refusing_url, score_all, scores
from program import Done, evalrunner, inside

PERFECT = dict.fromkeys(
    ["accuracy", "attribution", "weight_calibration", "kind_classification", "signal_density"], 9
)


def panel(server: Loopback, **fields: Any) -> str:
    """Three seats, one a wire format, as an override."""
    seats = [
        {"id": "openai:gpt-4o", "api_base": server.url("openai"), **fields},
        {"id": "anthropic:claude-opus-4-7", "api_base": server.url("anthropic"), **fields},
        {"id": "google:gemini-2.5-pro", "api_base": server.url("gemini"), **fields},
    ]
    return f"panel.models={_hydra(seats)}"


def _hydra(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}:{_hydra(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_hydra, value)) + "]"
    return f"'{value}'" if isinstance(value, str) else json.dumps(value)


def gate(folder: Path, server: Loopback, *words: str, **fields: Any) -> Done:
    return inside(folder, "run", panel(server, **fields), "--limit", "5", "--json", *words)


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Done, Loopback]]:
    folder = tmp_path_factory.mktemp("passed")
    script = {
        "gpt-4o": scores(["Cite the page."], **PERFECT),
        "claude-opus-4-7": scores(["cite the page"], **PERFECT | {"accuracy": "7.50"}),
        "gemini-2.5-pro": scores(**PERFECT | {"accuracy": 8}),
    }
    with Loopback(script) as server:
        words = ["run", panel(server), "--limit", "5", "--json", "--budget-usd", "5"]
        yield folder, evalrunner(folder, *words), server


def test_three_wire_formats_in_one_panel_pass(passed: tuple[Path, Done, Loopback]) -> None:
    _, done, server = passed
    assert done.code == 0, done.err
    assert [request.wire for request in sorted(server.requests, key=lambda each: each.wire)] == [
        "anthropic",
        "gemini",
        "openai",
    ]
    receipt = done.json
    assert receipt["verdict"] == "pass"
    assert receipt["models"] == ["openai:gpt-4o", "anthropic:claude-opus-4-7", "google:gemini-2.5-pro"]
    assert receipt["scores"]["accuracy"]["scores"] == [9, 7.5, 8]
    assert receipt["successes_per_cycle"] == [3]
    assert receipt["judge_kind"] == "llm"
    assert server.errors == []


def test_the_bill_is_the_providers_tokens_at_the_listed_prices(passed: tuple[Path, Done, Loopback]) -> None:
    _, done, _ = passed
    receipt = done.json
    assert receipt["cost_usd"] == pytest.approx(receipt["usage"]["judge"]["cost_usd"])
    assert 0 < receipt["cost_usd"] < 5
    assert receipt["budget"]["enforced"] is True
    assert receipt["budget"]["cap_usd"] == 5
    assert receipt["usage"]["judge"]["calls"] == 3


def test_improvements_that_say_the_same_are_one(passed: tuple[Path, Done, Loopback]) -> None:
    assert passed[1].json["improvements"] == ["Cite the page."]


def test_the_labels_of_the_corpus_reach_no_provider(passed: tuple[Path, Done, Loopback]) -> None:
    _, _, server = passed
    for request in server.requests:
        assert "violated" not in json.dumps(request.body)
        assert "labels" not in json.dumps(request.body)


def test_replay_trend_and_regress_agree_with_the_run(passed: tuple[Path, Done, Loopback]) -> None:
    folder, done, server = passed
    [receipt] = (folder / "outputs" / "receipts").glob("takes-quality-*.json")
    shown = inside(folder, "replay", str(receipt))
    assert (shown.code, "PASS" in shown.out) == (0, True)
    again = inside(folder, "replay", str(receipt), "--json")
    assert again.json == done.json
    stored = inside(folder, "replay", "--from-db", "1", "--json")
    assert stored.json == done.json
    rows = inside(folder, "trend", "--json").json["rows"]
    assert [(row["verdict"], row["cost_usd"]) for row in rows] == [("pass", done.json["cost_usd"])]
    before = len(server.requests)
    held = inside(folder, "regress", "--against", str(receipt))
    assert (held.code, "NO REGRESSION" in held.out) == (0, True), held.err
    assert len(server.requests) == before + 3


def test_a_panel_that_finds_it_bad_fails_and_names_the_figures(tmp_path: Path) -> None:
    with Loopback(scores(**PERFECT | {"accuracy": 6, "signal_density": 4})) as server:
        done = gate(tmp_path, server, "--cycles", "2")
        assert len(server.requests) == 6
    assert done.code == 1
    receipt = done.json
    assert receipt["verdict"] == "fail"
    assert "accuracy mean 6.00 is below 7" in receipt["verdictMessage"]
    assert "signal_density mean 4.00 is below 7 and minimum 4.00 is below 5" in receipt["verdictMessage"]
    assert receipt["cycles"] == {"max": 2, "stop": "verdict", "verdicts": ["fail", "fail"]}


def test_two_dead_seats_are_inconclusive_and_never_a_score(tmp_path: Path) -> None:
    script = {
        "gpt-4o": score_all(10),
        "claude-opus-4-7": cut('{"scores": {"accuracy": 10'),
        "gemini-2.5-pro": error(403, "no access"),
    }
    with Loopback(script) as server:
        done = gate(tmp_path, server)
        assert [len(server.of(model)) for model in script] == [1, 2, 1]
    assert done.code == 2
    receipt = done.json
    assert (receipt["verdict"], receipt["scores"], receipt["overall_score"]) == ("inconclusive", {}, None)
    assert [each["modelId"] for each in receipt["errors"]] == [
        "anthropic:claude-opus-4-7",
        "google:gemini-2.5-pro",
    ]
    assert "1 of 3 seats contributed, 2 needed" in receipt["verdictMessage"]
    assert "length" in receipt["errors"][0]["error"]


def test_one_dead_seat_of_three_leaves_a_quorum(tmp_path: Path) -> None:
    script = {"gpt-4o": score_all(8), "claude-opus-4-7": score_all(9), "gemini-2.5-pro": error(401)}
    with Loopback(script) as server:
        done = gate(tmp_path, server)
    assert done.code == 0
    assert done.json["scores"]["accuracy"]["per_model"] == {
        "openai:gpt-4o": 8,
        "anthropic:claude-opus-4-7": 9,
    }


def test_a_rejected_reply_is_asked_again_once_and_both_are_paid(tmp_path: Path) -> None:
    script = {
        "gpt-4o": ["I would say accuracy: 9", scores(**PERFECT)],
        "claude-opus-4-7": score_all(9),
        "gemini-2.5-pro": score_all(9),
    }
    with Loopback(script) as server:
        done = gate(tmp_path, server)
        assert "could not be used" in json.dumps(server.of("gpt-4o")[1].body)
    assert done.code == 0
    assert done.json["usage"]["judge"]["calls"] == 4


def test_a_provider_that_is_down_is_inconclusive(tmp_path: Path) -> None:
    seat = f"panel.models=[{{id:'openai:gpt-4o',api_base:'{refusing_url()}',timeout_s:2}}]"
    done = inside(tmp_path, "run", seat, "--limit", "2", "--json")
    assert done.code == 2
    assert done.json["errors"][0]["modelId"] == "openai:gpt-4o"


def test_429_is_waited_out_as_the_provider_asks(tmp_path: Path) -> None:
    seen = []

    def script(request: Any) -> Any:
        seen.append(request)
        return error(429, retry_after=1) if len(seen) == 1 else score_all(9)(request)

    with Loopback(script) as server:
        seat = f"panel.models=[{{id:'openai:gpt-4o',api_base:'{server.url('openai')}',concurrency:4}}]"
        done = inside(tmp_path, "run", seat, "--limit", "8", "judge.chunk_size=1", "--json")
        waited = server.requests[-1].time - server.requests[0].time
        asked = len(server.requests)
    assert done.code == 0
    assert waited >= 1
    assert asked <= 8 * 1.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["panel=frontier"], "OPENAI_API_KEY"),
        (["--models", "openai:gpt-4o"], "OPENAI_API_KEY"),
        (["panle=rules"], "did you mean 'panel'"),
        (["panel=ruels"], "did you mean 'rules'"),
        (["--limt", "5"], "did you mean '--limit'"),
        (["--limit", "-5"], "sampler.limit"),
        (["source.path=no-such.jsonl"], "no-such.jsonl"),
        (["--models", "nosuch:gpt-4o"], "nosuch"),
        (["--models", "google:gemini-1.5-pro", "--budget-usd", "1"], "no known price"),
    ],
)
def test_what_is_wrong_before_the_first_call_is_exit_3(
    tmp_path: Path, words: list[str], message: str
) -> None:
    done = inside(tmp_path, "run", *words)
    assert (done.code, done.out) == (3, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_model_without_a_price_is_refused_under_a_cap_before_any_call(tmp_path: Path) -> None:
    with Loopback(score_all(9)) as server:
        seats = (
            f"panel.models=[{{id:'google:gemini-1.5-pro',api_base:'{server.url('gemini')}'}},"
            f"{{id:'openai:nobody-knows',api_base:'{server.url('openai')}'}}]"
        )
        refused = inside(tmp_path, "run", seats, "--budget-usd", "1")
        assert refused.code == 3
        assert "gemini-1.5-pro" in refused.err
        assert "nobody-knows" in refused.err
        assert server.requests == []
        free = inside(tmp_path, "run", seats, "--json")
    assert free.code == 0
    assert free.json["cost_usd"] is None


def test_a_cap_too_small_for_the_call_is_inconclusive_and_says_so(tmp_path: Path) -> None:
    with Loopback(score_all(9)) as server:
        done = gate(tmp_path, server, "--budget-usd", "0.0001")
        assert server.requests == []
    assert done.code == 2
    receipt = done.json
    assert receipt["cost_usd"] == 0
    assert receipt["denominator"]["skipped"] == 15
    assert receipt["budget"]["refused_calls"] == 3


def test_the_default_is_a_rule_based_judge_and_says_so(tmp_path: Path) -> None:
    done = inside(tmp_path, "run")
    assert done.code == 0
    assert "A rule-based judge spoke; no LLM was asked." in done.out
    assert "rules-v1 is a rule-based judge" in done.err
    shown = inside(tmp_path, "run", "--json")
    assert shown.json["judge_kind"] == "heuristic"
    assert inside(tmp_path, "run", "--slug-prefix", "drafts/").code == 1
    assert inside(tmp_path, "run", "--slug-prefix", "nothing-starts-so/").code == 2
