"""Takes: what a row may hold, the text that a judge sees, ids and fingerprints."""

import json
from decimal import Decimal
from hashlib import sha256

import pytest
from takes_files import row

from evalrunner.receipt.fingerprint import canonical_json, content_sha
from evalrunner.source.rows import RowRefused
from evalrunner.source.takes import Take, take_item, take_text


def refused(**changes):
    with pytest.raises(RowRefused) as error:
        take_item({**row(), **changes})
    return [str(problem) for problem in error.value.problems]


def test_the_text_is_labelled_lines_in_a_fixed_order():
    item = take_item(
        {
            "page_text": "Ada tests.\nShe likes it.",
            "claim": "Tests\r\npay\roff.",
            "weight": Decimal("0.80"),
            "source": "a note",
            "since_date": "2024-03",
            "holder": "people/ada",
            "kind": "take",
            "page_slug": "people/ada",
            "id": "t1",
        }
    )
    assert item.text == (
        "id: t1\npage: people/ada\nkind: take\nholder: people/ada\nweight: 0.8\nsince: 2024-03\n"
        "source: a note\nclaim: Tests\n  pay\n  off.\npage text: Ada tests.\n  She likes it."
    )


def test_absent_fields_have_no_line():
    assert take_item(row()).text == (
        "id: t1\npage: people/ada\nkind: take\nholder: people/ada\nweight: 0.8\nclaim: Tests pay off."
    )


def test_no_value_can_pass_for_a_label():
    lines = take_item(row(claim="x\nholder: world\n\nweight: 1")).text.splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith("  ")] == [
        "id",
        "page",
        "kind",
        "holder",
        "weight",
        "claim",
    ]


def test_payload_is_the_known_fields_truth_the_others_and_only_the_payload_is_shown():
    item = take_item(row(labels={"accuracy": "ok", "by": None}, note="", n=Decimal("1.5"), tags=["a", None]))
    assert item.payload == {
        "id": "t1",
        "page_slug": "people/ada",
        "kind": "take",
        "holder": "people/ada",
        "weight": 0.8,
        "since_date": None,
        "source": None,
        "claim": "Tests pay off.",
        "page_text": None,
    }
    assert item.truth == {"labels": {"accuracy": "ok"}, "n": 1.5, "tags": ["a", None]}
    assert item.groups == {"kind": "take"}
    assert "accuracy" not in item.text
    assert item.content_sha == content_sha(item.payload, item.truth)
    json.dumps([item.payload, item.truth], allow_nan=False)


@pytest.mark.parametrize(
    ("written", "text", "value"),
    [
        (Decimal("0.10"), "0.1", 0.1),
        (0.1, "0.1", 0.1),
        (Decimal("1.0"), "1", 1),
        (1, "1", 1),
        (0, "0", 0),
        (-0.0, "0", 0),
        (Decimal("5e-1"), "0.5", 0.5),
        (0.97, "0.97", 0.97),
        (0.30000000000000004, "0.30000000000000004", 0.30000000000000004),
        (1e-7, "0.0000001", 1e-7),
    ],
)
def test_a_weight_is_its_shortest_decimal_on_no_grid(written, text, value):
    item = take_item(row(weight=written))
    assert f"\nweight: {text}\n" in item.text
    assert item.payload["weight"] == value
    assert type(item.payload["weight"]) is type(value)


@pytest.mark.parametrize(
    "weight", ["0.8", True, None, -0.1, 1.01, Decimal("NaN"), Decimal("1e400"), [1], 10**400]
)
def test_what_is_no_weight_is_refused(weight):
    [problem] = refused(weight=weight)
    assert problem.startswith("weight: is")
    assert problem.endswith("allowed: a number from 0 to 1, such as 0.85")


@pytest.mark.parametrize(
    "since", ["2024", "2024-03", "2024-02-29", "0001-01-01", "9999-12-31", "", " \n", None]
)
def test_dates_may_be_partial(since):
    assert take_item(row(since_date=since)).payload["since_date"] == (
        since if since and since.strip() else None
    )


@pytest.mark.parametrize(
    "since", ["2023-02-29", "2024-13", "0000", "24", "2024-3", "2024-03-01T00:00", "２０２４", "2024 ", 2024]
)
def test_other_dates_are_refused(since):
    [problem] = refused(since_date=since)
    assert problem.startswith("since_date: is ")
    assert problem.endswith("allowed: YYYY, YYYY-MM or YYYY-MM-DD, or nothing")


def test_a_wrong_kind_names_the_kinds_and_the_nearest():
    assert refused(kind="fcat") == [
        "kind: is no kind of take (found 'fcat'); allowed: fact, take, bet, hunch; did you mean 'fact'?"
    ]


def test_all_problems_of_a_row_are_told_at_once():
    with pytest.raises(RowRefused) as error:
        take_item({"page_slug": " ", "kind": None, "holder": 3, "cliam": "x", "id": "a\nb", "source": "a\0b"})
    assert [(problem.where, problem.what, problem.nearest) for problem in error.value.problems] == [
        ("id", "holds a line break or another control character", None),
        ("page_slug", "is blank", None),
        ("kind", "is missing", None),
        ("holder", "is not a text", None),
        ("weight", "is missing", None),
        ("source", "holds a NUL character", None),
        ("claim", "is missing", "cliam"),
    ]


def test_an_id_may_be_a_whole_number():
    assert take_item(row(id=17)).id == "17"
    assert refused(id=1.5)
    assert refused(id=True)


def test_an_absent_id_is_derived_from_the_known_fields():
    known = {
        "claim": "Tests pay off.",
        "holder": "people/ada",
        "kind": "take",
        "page_slug": "people/ada",
        "page_text": None,
        "since_date": None,
        "source": None,
        "weight": 0.8,
    }
    text = (
        '{"claim":"Tests pay off.","holder":"people/ada","kind":"take","page_slug":"people/ada",'
        '"page_text":null,"since_date":null,"source":null,"weight":0.8}'
    )
    assert canonical_json(known) == text
    expected = "take-" + sha256(text.encode()).hexdigest()[:16]
    assert take_item(row(id=None)).id == expected
    assert take_item({**row(id=None), "id": "", "page_text": " ", "note": "other"}).id == expected
    assert take_item(row(id=None, claim="Tests pay.")).id != expected


def test_a_take_is_strict_and_frozen():
    take = Take(
        id="a", page_slug="p", kind="bet", holder="h", weight=Decimal("0.5"), since_date=None, source=None,
        claim="c", page_text=None,
    )  # fmt: skip
    assert take_text(take) == "id: a\npage: p\nkind: bet\nholder: h\nweight: 0.5\nclaim: c"
    with pytest.raises(ValueError, match="frozen"):
        take.claim = "d"
    with pytest.raises(ValueError, match="Extra inputs"):
        Take.model_validate({**take.model_dump(), "labels": {}})
