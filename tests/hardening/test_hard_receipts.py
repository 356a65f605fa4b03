"""Receipts that were altered: read or refused in plain words, and never a verdict that the figures deny."""

import io
import json
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hard_kit import broken, garbled, places, tries
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parents[1] / "reporter"))
from program import evalrunner, inside
from reports import BARS, judged, review, takes

from evalrunner.commands.rerun import overrides_of, refuse_overrides
from evalrunner.errors import InputError, UsageError
from evalrunner.receipt.compare import compare
from evalrunner.receipt.files import dumps, loads
from evalrunner.receipt.schema import Receipt, parse
from evalrunner.reporter.base import Against, Report
from evalrunner.reporter.github import GithubReporter
from evalrunner.reporter.junit import JunitReporter
from evalrunner.reporter.rollup import RollupReporter
from evalrunner.reporter.terminal import TerminalReporter
from evalrunner.threshold.replay import second_opinion

COLUMNS = {"accuracy": [8, 7.5], "depth": [7, 9]}
SEAT = {"_target_": "evalrunner.model.litellm_model.LitellmModel", "id": "openai:a", "temperature": 0.5}
WHOLE = takes(
    COLUMNS,
    judgements=[judged("t1", 0, {"accuracy": 8}, "why"), judged("t1", 1, {"accuracy": 7})],
    panel={"name": "p", "seats": [SEAT]},
    sampler={"name": "random", "seed": 3, "limit": 2},
    cycles={"max": 1, "stop": "verdict", "verdicts": ["pass"]},
    denominator={"planned": 2, "scored": 2, "unscored": {}, "skipped": 0},
    subject={"composed": {"option": "identity", "runs": 1, "models": []}},
    warnings=["w"],
    environment={"python": "3"},
)
DOCUMENTS = [json.loads(dumps(each)) for each in (WHOLE, review())]
RAW = ("Input should", "Decimal(", "pydantic", "instance of", "Traceback", "set_int_max", "DimensionScores")
SIGNS = b'{}[]",:0123456789.eE+-tn'


def plain(problems: Any) -> None:
    for problem in problems:
        assert not any(raw in str(problem) for raw in RAW), str(problem)


def opened(data: bytes) -> Receipt | None:
    """The receipt, where one can be read."""
    try:
        receipt, doubts = loads(data, "r.json")
    except InputError as error:
        plain(error.problems)
        return None
    assert all(doubt.startswith("r.json: ") for doubt in doubts)
    return receipt


def means(receipt: Receipt) -> list[tuple[Fraction, Fraction]]:
    """Mean and minimum a dimension, counted here from the scores."""
    columns = [[Fraction(score) for score in each.scores] for each in receipt.scores.values()]
    return [(sum(column) / len(column), min(column)) for column in columns if column]


def follows(receipt: Receipt) -> bool:
    return all(
        each.scores
        and abs(sum(map(Fraction, each.scores)) / len(each.scores) - Fraction(each.mean))
        < Fraction(1, 10**10)
        for each in receipt.scores.values()
    )


def used(receipt: Receipt) -> None:
    """All that replay and regress do with a receipt, short of calling models."""
    opinion = second_opinion(receipt)
    bars = receipt.threshold is None or receipt.threshold.model_dump(exclude_unset=True) == BARS
    plain = bars and follows(receipt) and not receipt.scores_exact
    if opinion is None and receipt.verdict == "pass" and receipt.scores and plain:
        assert all(mean >= 7 and least >= 5 for mean, least in means(receipt))
    report = Report(receipt.to_json(), ())
    for reporter in (TerminalReporter(), JunitReporter(), RollupReporter(), GithubReporter()):
        out = io.StringIO()
        try:
            reporter.report(report, out)
        except InputError:
            continue
        text = out.getvalue()
        text.encode()
        assert "\x1b[2J" not in text
    receipt._repr_html_().encode("utf-8", "surrogatepass")
    for one, other in ((receipt, parse(DOCUMENTS[0])), (parse(DOCUMENTS[0]), receipt)):
        found = compare(one, other, Decimal("0.5"))
        if found.outcome == "ok":
            assert one.verdict != "inconclusive"
            assert other.verdict != "inconclusive"
        TerminalReporter().report(
            Report(other.to_json(), (), None, Against(one.to_json(), found, False)), io.StringIO()
        )
    try:
        overrides, _ = overrides_of(receipt)
    except (InputError, UsageError) as error:
        plain(error.problems)
        return
    parsed = OverridesParser.create().parse_overrides(overrides)
    allowed = {"eval", "source", "sampler", "judge", "panel", "threshold", "subject", "runs", "cycles"}
    assert {each.key_or_group.split(".")[0] for each in parsed} <= allowed
    assert not any(each.is_sweep_override() or each.is_delete() for each in parsed)
    assert not any("argv" in each.key_or_group for each in parsed)
    with pytest.raises(UsageError):
        refuse_overrides(["panel=rules"], receipt)


@given(st.sampled_from(DOCUMENTS).flatmap(broken))
@tries(300)
def test_other_values_in_any_place(document: Any) -> None:
    receipt = opened(json.dumps(document).encode())
    if receipt is not None:
        used(receipt)


@given(st.sampled_from(DOCUMENTS).flatmap(lambda each: garbled(json.dumps(each).encode(), SIGNS)))
@tries(150)
def test_other_characters_in_any_place(data: bytes) -> None:
    receipt = opened(data)
    if receipt is not None:
        used(receipt)


@given(
    st.lists(st.decimals(0, 10, places=2), min_size=2, max_size=2),
    st.sampled_from(["pass", "fail", "inconclusive", None]),
    st.decimals(0, 10, places=2),
)
@tries(150)
def test_a_verdict_that_the_scores_deny_never_goes_unsaid(scores: Any, verdict: Any, mean: Decimal) -> None:
    document = json.loads(dumps(takes({"accuracy": scores[:2]}, verdict=verdict)))
    block = document["scores"]["accuracy"]
    column = [Fraction(str(each)) for each in block["scores"]]
    exact = sum(column) / len(column)
    right = "pass" if exact >= 7 and min(column) >= 5 else "fail"
    document["verdictMessage"] = f"{(verdict or 'no verdict').title()}: so it is."
    receipt, doubts = loads(json.dumps(document), "r")
    if len(column) == 2:  # both seats
        assert (second_opinion(receipt) is None and not doubts) == (verdict == right)
    block["mean"] = float(mean)
    receipt, doubts = loads(json.dumps(document), "r")
    assert bool([each for each in doubts if "mean" in each]) == (Fraction(str(float(mean))) != exact)


def test_figures_of_every_place_are_refused_without_class_names() -> None:
    """Each part of a receipt in turn becomes something that it cannot be."""
    for document in DOCUMENTS:
        for path in places(document):
            made = json.loads(json.dumps(document))
            *way, last = path
            node = made
            for step in way:
                node = node[step]
            node[last] = {"": [1.5]}
            opened(json.dumps(made).encode())


MESSAGES = [
    (
        "verdict",
        "passed",
        "verdict: is none of the known words: 'pass', 'fail' or 'inconclusive' (found 'passed')",
    ),
    ("cycles_run", 1.5, "cycles_run: is not a whole number (found 1.5)"),
    ("models", "a", "models: is not a list (found 'a')"),
    ("scores", [7.0], "scores: is not an object (found [7.0])"),
    ("corpus", 3, "corpus: is not an object (found 3)"),
    ("rubric_sha8", "zz", "rubric_sha8: is not of the form that is needed (found 'zz')"),
    ("cost_usd", "free", "cost_usd: a number is needed (found 'free')"),
]


@pytest.mark.parametrize(("key", "value", "said"), MESSAGES, ids=[each[0] for each in MESSAGES])
def test_what_is_said_of_a_foreign_receipt(tmp_path: Path, key: str, value: Any, said: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(DOCUMENTS[0] | {key: value}))
    done = inside(tmp_path, "replay", "r.json")
    assert done.code == 3
    assert said in done.err


def test_replay_warns_where_message_and_verdict_differ(tmp_path: Path) -> None:
    document = DOCUMENTS[0] | {"verdict": "inconclusive", "scores": {}, "overall_score": None}
    (tmp_path / "r.json").write_text(json.dumps(document))
    done = evalrunner(tmp_path, "replay", "r.json")
    assert done.code == 2
    assert "verdict is inconclusive, but verdictMessage begins with 'Pass'" in done.err
