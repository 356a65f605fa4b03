"""A baseline's text is what people review and what later runs are held to: nothing changes on the way."""

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from evalrunner.baseline.written import BLOCK, LARGE, dump, load, plain, receipt_block, rows_sha
from evalrunner.errors import ConfigError, InputError
from evalrunner.receipt.schema import Receipt, parse
from evalrunner.receipt.scores import mean

SHA = "0123456789abcdef" * 4
ANY_MACHINE = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
"""For properties: how fast a machine is, is none of what they state."""


def receipt(scores: Mapping[str, Any] | None = None, **more: Any) -> Receipt:
    """A receipt of one seat."""
    given = {"accuracy": Decimal("7.5")} if scores is None else scores
    return parse(
        {
            "schema_version": 1,
            "ts": "2026-01-02T03:04:05.678Z",
            "rubric_version": "1.10",
            "rubric_sha8": "12345e67",
            "corpus": {"source": "fs", "n_takes": 2, "slug_prefix": None, "corpus_sha8": "00000012"},
            "prompt_sha8": "1e000000",
            "models_sha8": "0x000000".replace("x", "1"),
            "models": ["openai:gpt-4o"],
            "cycles_run": 1,
            "successes_per_cycle": [1],
            "verdict": "pass",
            "scores": {
                name: {
                    "mean": score,
                    "min": score,
                    "max": score,
                    "scores": [score],
                    "per_model": {"openai:gpt-4o": score},
                }
                for name, score in given.items()
            },
            "overall_score": next(iter(given.values())),
            "cost_usd": Decimal("0.000123"),
            "improvements": [],
            "errors": [],
            "verdictMessage": "Pass.",
            "eval": "takes_quality",
            **more,
        }
    )


def written(of: Receipt, **block: Any) -> tuple[str, str | None]:
    told, rows = receipt_block(of)
    sha = None if rows is None else rows_sha(rows)
    whole = {**plain({"saved": "2026-01-03T00:00:00Z", "rows": sha, **block}), "receipt": told}
    return dump("A title.", {"runs": 1, BLOCK: whole}), rows


def again(of: Receipt, **block: Any) -> Any:
    text, rows = written(of, **block)
    return load("mine", text, rows, "conf/baseline/mine.yaml")


def test_it_is_an_option_of_the_whole_configuration_with_a_figure_a_line() -> None:
    text, rows = written(receipt({"accuracy": Decimal("7.25"), "style": 10}))
    lines = text.splitlines()
    assert lines[:2] == ["# @package _global_", "# A title."]
    assert rows is None
    assert [line.strip() for line in lines if "mean:" in line] == ["mean: 7.25", "mean: 10"]
    assert max(map(len, lines)) < 100


def test_what_looks_like_a_number_stays_a_text() -> None:
    back = again(receipt()).receipt
    assert (back.rubric_version, back.rubric_sha8, back.corpus.corpus_sha8) == (
        "1.10",
        "12345e67",
        "00000012",
    )
    assert back == receipt()


@ANY_MACHINE
@given(st.text(max_size=30), st.lists(st.text(max_size=20), max_size=3))
@example("${oc.env:HOME} \\${x} $${y}", ["'\"#: - [] {}", "a\r\nb\u2028c\x85d\x00e", " lead and trail "])
@example("\x85x", ["\u2028x", "a\x85b", "\x85\n", "\ufeffx", "x\t", "\U0008ad30", "é\xa0 "])
@example("- x", ["? x", "1e5", "+1", ".5", "off", "x: y", "x #y"])
@example("\\", ["true", "null", "1e5", "~", "0o7", "1:20", "2026-01-01", "=", "<<", "%x", "@x", "`x"])
def test_texts_come_back_letter_by_letter(reason: str, improvements: list[str]) -> None:
    of = receipt(improvements=improvements, errors=[{"modelId": f"{reason}:x", "error": reason}])
    found = again(of, reason=reason, author=reason)
    if "???" not in {reason, *improvements}:
        assert (found.block.reason, found.block.author) == (reason, reason)
        assert found.receipt == of


@ANY_MACHINE
@given(st.dictionaries(st.text(min_size=1, max_size=12), st.just(1), max_size=4))
@example({"1e5": 1, "null": 1, "true": 1, "0": 1, "~": 1, "a.b": 1, "-": 1, ": x": 1})
def test_names_come_back_letter_by_letter(names: dict[str, int]) -> None:
    of = receipt(answered_by={name: [name] for name in names}, denominator=None)
    assert again(of).receipt.answered_by == {name: [name] for name in names}


@ANY_MACHINE
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000))
@example(Decimal("0.1234567890123456789"))
@example(Decimal("7.0000000000000000001"))
@example(Decimal("1e-300"))
def test_scores_come_back_exact(score: Decimal) -> None:
    """Also those with more digits than a YAML number keeps: what is compared is the fraction."""
    of = receipt({"accuracy": score})
    if score == 0 or abs(score.adjusted()) <= 300:
        assert mean(again(of).receipt, "accuracy") == Fraction(score)


def test_large_rows_lie_beside_it_and_are_held_to_their_hash() -> None:
    row = {
        "model": "openai:gpt-4o", "place": 0, "cycle": 1, "chunk": 1, "item_ids": ["a\u2028b"],
        "status": "scored",
        "values": {"accuracy": Decimal("7.5")}, "evidence": ["x" * LARGE, "???", "${x}"],
    }  # fmt: skip
    of = receipt(judgements=[row, row], items=[])
    text, rows = written(of)
    assert rows is not None
    assert [json.loads(line)["key"] for line in rows.strip().split("\n")] == ["judgements"] * 2
    assert "judgements" not in text
    found = load("mine", text, rows.replace("\n", "\r\n"), "conf/baseline/mine.yaml")
    assert found.receipt == of
    with pytest.raises(InputError, match=r"conf/baseline/mine\.jsonl: is not the file"):
        load("mine", text, rows.replace("7.5", "9.5"), "conf/baseline/mine.yaml")
    with pytest.raises(InputError, match="no such file"):
        load("mine", text, None, "conf/baseline/mine.yaml")


def test_small_rows_stand_in_it() -> None:
    row = {"model": "m", "place": 0, "cycle": 1, "chunk": 1, "item_ids": ["a"], "status": "scored"}
    text, rows = written(receipt(judgements=[row]))
    assert rows is None
    assert load("mine", text, None, "mine.yaml").receipt.judgements == receipt(judgements=[row]).judgements


def test_neither_spend_nor_settings_stand_in_the_block() -> None:
    seats = [{"_target_": "evalrunner.model.rules.RulesModel", "id": "rules-v1"}]
    of = receipt(panel={"name": "rules", "seats": seats}, warnings=["hm"], subject={"subject": "identity"})
    told, _ = receipt_block(of)
    assert not {"panel", "warnings", "subject"} & told.keys()


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"saved": "yesterday"}, "baseline.saved"),
        ({"autor": "x"}, "baseline.autor: no such key"),
        ({"previous": "abc"}, "baseline.previous"),
        ({"texts": {"rubrics/x.yaml": 5}}, "baseline.texts.rubrics/x.yaml"),
        ({"receipt": None}, "baseline.receipt"),
    ],
)
def test_what_is_wrong_in_the_block_is_named(change: dict[str, Any], where: str) -> None:
    told, _ = receipt_block(receipt())
    block = {"saved": "2026-01-03T00:00:00Z", "receipt": told, **change}
    with pytest.raises(ConfigError) as caught:
        load("mine", dump("x", {BLOCK: block}), None, "mine.yaml")
    assert f"mine.yaml: {where}" in str(caught.value)


@pytest.mark.parametrize("path", [["scroes"], ["scores", "accuracy", "maen"], ["corpus", "n_items"]])
def test_unknown_keys_of_the_receipt_are_refused_at_any_depth(path: list[str]) -> None:
    told, _ = receipt_block(receipt())
    node = told
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = 1
    text = dump("x", {BLOCK: {"saved": "2026-01-03T00:00:00Z", "receipt": told}})
    with pytest.raises(ConfigError, match=f"no such keys of a receipt: {'.'.join(path)}"):
        load("mine", text, None, "mine.yaml")


@pytest.mark.parametrize("text", ["a: [", "- a\n- b", "a: 1\na: 2"])
def test_what_is_no_option_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^mine\.yaml"):
        load("mine", text, None, "mine.yaml")


def test_a_number_without_end_is_told_in_our_words() -> None:
    endless = "9" * 5000
    with pytest.raises(ConfigError, match=r"^mine\.yaml: holds a number with thousands of digits"):
        load("mine", f"a: {endless}", None, "mine.yaml")
    row = {"model": "m", "place": 0, "cycle": 1, "chunk": 1, "item_ids": ["x" * LARGE], "status": "scored"}
    text, rows = written(receipt(judgements=[row]))
    assert rows is not None
    changed = rows.replace('"cycle": 1', f'"cycle": {endless}')
    assert changed != rows
    held = text.replace(rows_sha(rows), rows_sha(changed))
    with pytest.raises(InputError, match=r"mine\.jsonl: is no JSONL of rows: a whole number has 5000 digits"):
        load("mine", held, changed, "mine.yaml")


def test_an_option_without_figures_says_how_to_get_some() -> None:
    with pytest.raises(ConfigError, match="bless mine"):
        load("mine", "runs: 3\n", None, "mine.yaml")


def test_the_fingerprint_is_of_the_content() -> None:
    text, _ = written(receipt())
    one = load("mine", text, None, "mine.yaml")
    assert load("mine", f"{text}\n# a remark\n", None, "mine.yaml").fingerprint == one.fingerprint
    assert again(receipt(), reason="another").fingerprint != one.fingerprint
