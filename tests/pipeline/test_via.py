"""What a stage writes, the next one reads back the same; and what is no record is refused with its line."""

import io
from decimal import Decimal

import pytest

from evalrunner.errors import InputError
from evalrunner.pipeline.via import Via, lines, read
from evalrunner.receipt.fingerprint import content_sha
from evalrunner.records import Item, Outcome, Selection, Spend, Usage

ITEM = Item(
    id="t-ä",
    content_sha=content_sha({"weight": Decimal("0.10"), "claim": "a\nb"}, {"labels": {"x": "ok"}}),
    payload={"weight": Decimal("0.10"), "claim": "a\nb"},
    truth={"labels": {"x": "ok"}},
    groups={"kind": "fact"},
    text="t-ä\nclaim: a",
)
VIA = Via(
    eval="takes_quality",
    source="fs",
    location="takes.jsonl",
    slug_prefix="a/",
    selection=Selection(order="sha256", sampler="random", seed=7, limit=3),
)
OUTCOME = Outcome(
    item_id="t-ä", payload={"findings": []}, spend=Spend(usage=Usage(calls=1), cost_usd=Decimal("0.0042"))
)


def piped(text: str) -> io.StringIO:
    return io.StringIO(text)


def test_items_come_back_as_they_went() -> None:
    back = read(piped("".join(lines([ITEM], None, VIA))), "stdin")
    assert back.items == [ITEM]
    assert back.outcomes == []
    assert back.via == VIA


def test_outcomes_come_back_with_exact_costs_and_with_what_was_said_of_them() -> None:
    via = VIA.model_copy(update={"runs": 2, "warnings": ["WEAK ISOLATION (none)"]})
    back = read(piped("".join(lines([ITEM], [OUTCOME], via))), "stdin")
    assert back.outcomes == [OUTCOME]
    assert back.via == via


def test_blank_lines_are_passed_over() -> None:
    assert read(piped("\n" + "".join(lines([ITEM], None, VIA)) + "\n"), "stdin").items == [ITEM]


def test_records_of_another_program_need_no_via_and_no_content_sha() -> None:
    back = read(piped('{"id": "x", "payload": {"claim": "c"}}\n'), "stdin")
    assert back.via == Via()
    assert back.items[0].content_sha == content_sha({"claim": "c"}, {})


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("{", "in.jsonl:1", "no strict JSON"),
        ('{"id": "x", "payload": {"w": NaN}}', "in.jsonl:1", "NaN is no number"),
        (f'{{"id": "x", "payload": {{"n": {"1" * 5000}}}}}', "in.jsonl:1", "a whole number has 5000 digits"),
        (
            '{"id": "x", "payload": {"w": 1e9999999999999999999}}',
            "in.jsonl:1",
            "exponent 9999999999999999999",
        ),
        (
            '{"id": "x", "payload": {"w": 1e-1001}}',
            "in.jsonl:1",
            "has the exponent -1001; at most 1000 is read",
        ),
        ('{"id": "x", "id": "y", "payload": {}}', "in.jsonl:1", "no strict JSON"),
        ("[1]", "in.jsonl:1", "a record is a JSON object"),
        ('{"payload": {}}', "in.jsonl:1: id", "required"),
        ('{"id": 3, "payload": {}}', "in.jsonl:1: id", "string"),
        ('{"id": "x", "payload": {}}\n{"id": "x", "payload": {}}', "in.jsonl:2: id", "stands in line 1"),
    ],
)
def test_what_is_no_record_is_refused_with_its_line(text: str, place: str, what: str) -> None:
    with pytest.raises(InputError) as refused:
        read(piped(text), "in.jsonl")
    assert place in str(refused.value)
    assert what in str(refused.value)


def test_lines_whose_via_disagree_are_all_named() -> None:
    other = ITEM.model_copy(update={"id": "second"})
    third = ITEM.model_copy(update={"id": "third"})
    text = "".join(
        [
            *lines([ITEM], None, VIA),
            *lines([other], None, VIA.model_copy(update={"eval": "code_review"})),
            *lines([third], None, VIA.model_copy(update={"source": "db"})),
        ]
    )
    with pytest.raises(InputError) as refused:
        read(piped(text), "in")
    assert [problem.where for problem in refused.value.problems] == ["in:2: via", "in:3: via"]
