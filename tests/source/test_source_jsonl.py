"""JSON lines: every bad line is found, and told with its own number."""

import json

import pytest
from takes_files import ALL, jsonl, row

from evalrunner.errors import InputError
from evalrunner.records import Selection
from evalrunner.source import carry_out, jsonlines
from evalrunner.source.file import FileSource

ONE = Selection(order="sha256", sampler="random", seed=0, limit=1)


def take(path, selection=ALL):
    return FileSource(path=str(path)).take(selection)


def problems(path, selection=ALL):
    with pytest.raises(InputError) as error:
        take(path, selection)
    return [(each.where.removeprefix(f"{path}"), each.what) for each in error.value.problems]


def lines(*bad):
    """Sound lines with the bad ones between them, on lines 3, 6, 9 ..."""
    content = []
    for number, each in enumerate(bad):
        content += [row(id=f"a{number}"), "", each]
    return [*content, row(id="z")]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"id": "x"', "is not JSON: Expecting ',' delimiter"),
        ('{"id": "x",}', "is not JSON: Expecting property name"),
        ('{"a": NaN}', "is not JSON: NaN is no JSON number"),
        ('{"a": -Infinity}', "is not JSON: -Infinity is no JSON number"),
        ('{"id": "x"} {"id": "y"}', "is not JSON: Extra data"),
        ("[1, 2]", "is not an object"),
        ("7", "is not an object"),
        ("null", "is not an object"),
        ('"text"', "is not an object"),
        ("plain text", "is not JSON: Expecting value"),
        (b'{"id": "\xff"}', "is not UTF-8 at byte 9"),
        ("\ufeff{}", "is not JSON: "),
        ('{"id": "a\tb"}', "is not JSON: Invalid control character"),
        (b'{"id": "a\x00b"}', "is not JSON: Invalid control character"),
        ('{"n": ' + "9" * 5000 + "}", "is not JSON: "),
    ],
)
def test_a_line_that_is_no_json_object_is_refused(tmp_path, line, what):
    found = problems(jsonl(tmp_path / "t.jsonl", lines(line)), ONE)
    assert len(found) == 1
    assert found[0][0] == ":3"
    assert found[0][1].startswith(what)


@pytest.mark.parametrize(
    ("member", "field", "what"),
    [
        ('"id": "a", "id": "b"', "id", "is written twice in one row"),
        ('"note": "\\ud800"', "note", "holds half a surrogate pair"),
        ('"labels": {"x": ["\\udc00 \\ud800"]}', "labels", "holds half a surrogate pair"),
        ('"claim": "a\\u0000b"', "claim", "holds a NUL character"),
        ('"n": 1e400', "n", "is a number that is too large"),
        ('"n": {"m": [1e999]}', "n.m.0", "is a number that is too large"),
        ('"weight": "0.8"', "weight", "is not a number"),
        ('"weight": true', "weight", "is not a number"),
        ('"weight": 1.0000001', "weight", "is not a number from 0 to 1"),
        ('"weight": 1e999999999', "weight", "is not a number from 0 to 1"),
        ('"claim": ""', "claim", "is blank"),
        ('"claim": null', "claim", "is missing"),
        ('"claim": {"de": "x"}', "claim", "is not a text"),
        ('"id": true', "id", "is not a text"),
        ('"page_text": 5', "page_text", "is not a text"),
        ('"kind": "Fact"', "kind", "is no kind of take"),
        ('"since_date": 2024', "since_date", "is not a text"),
    ],
)
def test_a_field_that_cannot_be_used_is_refused_though_its_row_is_not_sampled(tmp_path, member, field, what):
    sound = {key: value for key, value in row().items() if f'"{key}"' not in member}
    text = json.dumps(sound)[:-1] + f", {member}}}"
    assert problems(jsonl(tmp_path / "t.jsonl", lines(text)), ONE) == [(f":3: {field}", what)]


def test_sound_lines_that_look_odd_are_taken(tmp_path):
    odd = [
        " \t" + json.dumps(row(id="a", claim=", nan] and : inf, or 1,}", n=10**30)) + " \r",
        json.dumps(row(id="b", note="\\ud800 \\u0000", claim="\ud83d\ude00"), ensure_ascii=True),
        json.dumps(row(id=12345678901234567890123456789, labels={"a": 1})).replace(
            '"a": 1', '"a": 1, "a": 2'
        ),
        json.dumps(row(id="d", n=5)).replace("5}", "1E+3}"),
    ]
    items = take(jsonl(tmp_path / "t.jsonl", odd))
    assert [item.id for item in items] == ["a", "b", "12345678901234567890123456789", "d"]
    assert items[0].truth == {"n": 10**30}
    assert items[1].payload["claim"] == "😀"
    assert items[2].truth == {"labels": {"a": 2}}
    assert items[3].truth == {"n": 1000}


def test_places_are_lines_of_the_file_with_bom_blank_lines_and_crlf(tmp_path):
    path = tmp_path / "t.jsonl"
    sound = json.dumps(row(id="a")).encode()
    path.write_bytes(b"\xef\xbb\xbf\r\n" + sound + b"\r\n\r\n \t\n\x0c\n{}\r\n" + b"\n" * 5 + b"nope")
    found = problems(path)
    assert {where.split(": ")[0] for where, _ in found} == {":6", ":12"}
    assert found[-1] == (":12", "is not JSON: Expecting value: line 1 column 1 (char 0)")


def test_twenty_rows_are_explained_and_the_others_counted(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", [row(id=f"t{i}", weight=2, kind="x") for i in range(57)])
    found = problems(path)
    assert len(found) == 41
    assert found[:2] == [(":1: kind", "is no kind of take"), (":1: weight", "is not a number from 0 to 1")]
    assert found[-2:] == [(":20: weight", "is not a number from 0 to 1"), ("", "37 more rows cannot be used")]


def test_counting_ends_somewhere(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", ["nope"] * 1500)
    assert problems(path)[-1] == ("", "at least 980 more rows cannot be used")


def test_suspects_are_settled_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(carry_out, "_BATCH", 2)
    suspect = [json.dumps(row(id=f"s{i}", claim="a, nan, b")) for i in range(5)]
    bad = json.dumps(row(id="bad", claim="a, nan, b", kind="x"))
    assert len(take(jsonl(tmp_path / "t.jsonl", suspect))) == 5
    assert problems(jsonl(tmp_path / "t.jsonl", [*suspect, bad])) == [(":6: kind", "is no kind of take")]


def test_an_id_twice_is_refused_with_both_places(tmp_path):
    rows = [row(id="a"), row(id="b"), "", row(id="a", claim="other"), row(id="a")]
    assert problems(jsonl(tmp_path / "t.jsonl", rows), ONE) == [
        (":4: id", f"is also the id of {tmp_path}/t.jsonl:1"),
        (":5: id", f"is also the id of {tmp_path}/t.jsonl:1"),
    ]


def test_the_same_content_twice_without_id_is_refused(tmp_path):
    rows = [row(id=None, note="one"), row(), row(id=None, note="two"), row(id=None, claim="other")]
    assert problems(jsonl(tmp_path / "t.jsonl", rows)) == [
        (":3: id", f"is missing, and the content is that of {tmp_path}/t.jsonl:1")
    ]


def test_many_ids_twice_are_counted(tmp_path):
    rows = [row(id=f"t{i // 2}", claim=f"c{i}") for i in range(90)]
    found = problems(jsonl(tmp_path / "t.jsonl", rows))
    assert len(found) == 21
    assert found[0][0] == ":2: id"
    assert found[-1] == ("", "25 more rows cannot be used")


def test_a_line_is_bounded(tmp_path):
    path = tmp_path / "t.jsonl"
    long = json.dumps(row(id="long", page_text="x" * 50_000_000))
    path.write_text("\n".join([json.dumps(row(id="a")), long, json.dumps(row(id="b", kind="x"))]))
    assert problems(path) == [(":2", "is longer than 16 MiB")]


def test_a_line_just_within_the_bound_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonlines, "MAX_ROW", 1000)
    fits = json.dumps(row(id="a", page_text="x"))
    fits = fits.replace('"x"', '"' + "x" * (1000 - len(fits) + 1) + '"')
    assert len(fits) == 1000
    assert len(take(jsonl(tmp_path / "t.jsonl", [fits, row()]))) == 2
    assert problems(jsonl(tmp_path / "u.jsonl", [row(), fits.replace('"x', '"xx')])) == [
        (":2", "is longer than 0 MiB")
    ]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n \n"])
def test_a_file_without_rows_gives_no_items(tmp_path, content):
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    assert take(path) == []


def test_rows_with_other_keys_are_checked_for_keys_written_twice(tmp_path):
    usual = [row(id=f"a{i}") for i in range(3)]
    other = json.dumps(row(id="x", note="n"))[:-1] + ', "note": "m"}'
    first_twice = json.dumps(row(id="y"))[:-1] + ', "id": "m"}'
    assert problems(jsonl(tmp_path / "t.jsonl", [*usual, other])) == [
        (":4: note", "is written twice in one row")
    ]
    assert problems(jsonl(tmp_path / "t.jsonl", [first_twice, *usual, first_twice])) == [
        (":1: id", "is written twice in one row"),
        (":5: id", "is written twice in one row"),
    ]
