"""The same takes give the same items in every format, in the order that the selection defines."""

import json
import random
from hashlib import sha256

import duckdb
import pytest
from takes_files import ALL, FORMATS, database, jsonl, one_by_one, parquet, row, table_csv

from evalrunner.errors import InputError
from evalrunner.records import Selection, selection_key
from evalrunner.source.db import DbSource
from evalrunner.source.file import FileSource


def corpus(n=60):
    """Takes with all that formats treat differently: line ends, quotes, non-ASCII text, blanks, numbers."""
    texts = [
        "Ünïcode 日本 😀",
        'say "x", then\ny',
        "a\r\nb\rc",
        " lead",
        "\\u0041 \\n",
        "tab\there",
        "\u2028 sep",
        "x\x0by",
    ]
    rows = []
    for i in range(n):
        rows.append(
            {
                "id": None if i % 3 == 0 else f"id-{i}" if i % 3 == 1 else f"ид-{i}",
                "page_slug": ["a/b", "a%c", "ä/b"][i % 3],
                "kind": ["fact", "take", "bet", "hunch"][i % 7 % 4],
                "holder": "world" if i % 2 else "people/é",
                "weight": [0.1, 0.95, 1.0, 0.0, 0.30000000000000004, 1e-7, 0.05][i % 7],
                "since_date": [None, "2024", "2024-03", "2024-03-01", ""][i % 5],
                "source": [None, "", "  ", "a note"][i % 4],
                "claim": f"{i} {texts[i % 8]}",
                "page_text": None if i % 4 == 0 else texts[(i + 3) % 8] * 3,
                "labels": {"accuracy": "ok", "n": i} if i % 2 else None,
                "note": "" if i % 3 else f"note {i}",
            }
        )
    return rows


def write(folder, rows, form):
    path = folder / f"takes.{form}"
    if form == "jsonl":
        return FileSource(path=str(jsonl(path, rows)))
    if form == "csv":
        return FileSource(path=str(table_csv(path, rows)))
    if form == "parquet":
        return FileSource(path=str(parquet(path, rows, labels="JSON")))
    return DbSource(path=str(database(path, rows, labels="JSON")))


SELECTIONS = [
    ALL,
    Selection(order="source", sampler="all", limit=7),
    Selection(order="sha256", sampler="random", seed=0, limit=20),
    Selection(order="sha256", sampler="random", seed=4711),
    Selection(order="sha256", sampler="stable_hash", limit=1000),
    Selection(order="sha256", sampler="stratified", seed=1, limit=9, stratify="kind"),
    Selection(order="sha256", sampler="stratified", seed=1, limit=9, stratify="note"),
    Selection(order="sha256", sampler="stratified", seed=1, limit=9, stratify="weight"),
    Selection(order="sha256", sampler="stratified", seed=1, limit=0, stratify="source"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    rows = corpus()
    return jsonl(folder / "reference.jsonl", rows), {form: write(folder, rows, form) for form in FORMATS}


@pytest.mark.parametrize(
    "selection", SELECTIONS, ids=lambda each: f"{each.sampler}-{each.limit}-{each.stratify}"
)
def test_every_format_gives_the_same_items_in_the_same_order(files, selection):
    path, sources = files
    reference = one_by_one(path, selection)
    assert reference or selection.limit == 0
    for form, source in sources.items():
        assert source.take(selection) == reference, form


@pytest.mark.parametrize("form", FORMATS)
def test_a_sample_does_not_depend_on_the_order_of_rows(tmp_path, form):
    rows = corpus()
    (tmp_path / "other").mkdir()
    selection = Selection(order="sha256", sampler="random", seed=3, limit=15)
    expected = write(tmp_path, rows, form).take(selection)
    random.Random(1).shuffle(rows)
    assert write(tmp_path / "other", rows, form).take(selection) == expected
    keys = [sha256(f"3\x1f{item.id}".encode()).hexdigest() for item in expected]
    assert keys == sorted(keys)
    assert [selection_key(3, item.id) for item in expected] == keys


def test_csv_with_crlf_and_jsonl_with_crlf_and_bom_are_the_same_takes(tmp_path):
    rows = corpus()
    expected = one_by_one(jsonl(tmp_path / "reference.jsonl", rows))
    crlf = table_csv(tmp_path / "crlf.csv", rows, end="\r\n")
    assert FileSource(path=str(crlf)).take(ALL) == expected
    crlf.write_bytes(b"\xef\xbb\xbf" + crlf.read_bytes())
    assert FileSource(path=str(crlf)).take(ALL) == expected
    lines = tmp_path / "crlf.ndjson"
    lines.write_bytes(b"\xef\xbb\xbf\r\n" + b"\r\n \r\n".join(json.dumps(each).encode() for each in rows))
    assert FileSource(path=str(lines)).take(ALL) == expected


@pytest.mark.parametrize(
    ("sql", "value"), [("FLOAT", 0.1), ("DECIMAL(5,3)", 0.1), ("INTEGER", 1), ("HUGEINT", 1), ("UTINYINT", 0)]
)
def test_a_weight_is_the_same_in_every_numeric_type(tmp_path, sql, value):
    rows = [row(id=None, weight=value)]
    expected = one_by_one(jsonl(tmp_path / "takes.jsonl", rows))
    assert FileSource(path=str(parquet(tmp_path / "takes.parquet", rows, weight=sql))).take(ALL) == expected


def test_weights_of_csv_are_numbers_however_they_are_written(tmp_path):
    rows = [row(id=f"t{i}", weight=text) for i, text in enumerate(["0.10", ".1", "1e-1", "0.1", "10E-2"])]
    items = FileSource(path=str(table_csv(tmp_path / "takes.csv", rows))).take(ALL)
    assert [item.payload["weight"] for item in items] == [0.1] * 5


@pytest.mark.parametrize("sql", ["DATE", "VARCHAR"])
def test_dates_ids_and_kinds_may_have_types_of_their_own(tmp_path, sql):
    rows = [row(id=12, since_date="2024-03-01")]
    expected = one_by_one(jsonl(tmp_path / "takes.jsonl", rows))
    kind = "ENUM('fact', 'take', 'bet', 'hunch')"
    typed = parquet(tmp_path / "takes.parquet", rows, since_date=sql, id="BIGINT", kind=kind)
    assert FileSource(path=str(typed)).take(ALL) == expected


def test_a_field_of_another_type_is_refused_with_the_type(tmp_path):
    typed = parquet(
        tmp_path / "t.parquet",
        [row(since_date="2024-03-01 00:00:00", source="x", holder=3, weight="0.5")],
        since_date="TIMESTAMP",
        source="BLOB",
        holder="INTEGER",
        weight="VARCHAR",
    )
    with pytest.raises(InputError) as error:
        FileSource(path=str(typed)).take(ALL)
    assert [problem.where.split(": ")[1:] for problem in error.value.problems] == [
        ["row 1", "holder"],
        ["row 1", "weight"],
        ["row 1", "since_date"],
        ["row 1", "source"],
    ]
    assert error.value.problems[2].found == "{'TIMESTAMP': '2024-03-01 00:00:00'}"


def test_nested_columns_of_parquet_are_carried_as_objects_without_nulls(tmp_path):
    path = tmp_path / "t.parquet"
    with duckdb.connect() as con:
        con.execute(
            "COPY (SELECT 'a' AS id, 'p' AS page_slug, 'bet' AS kind, 'h' AS holder, 0.5 AS weight,"
            " 'c' AS claim, {'accuracy': 'ok', 'by': NULL} AS labels, ['x', 'y'] AS tags,"
            " 'NaN'::DOUBLE AS gap, NULL AS source, DATE '2024-01-02' AS day, true AS flag, 7 AS seven)"
            f" TO '{path}'"
        )
    [item] = FileSource(path=str(path)).take(ALL)
    assert item.truth == {
        "labels": {"accuracy": "ok"},
        "tags": ["x", "y"],
        "day": "2024-01-02",
        "flag": True,
        "seven": 7,
    }


def test_names_of_columns_and_folders_are_only_names(tmp_path):
    folder = tmp_path / "kind=bet" / "a*[1]'b"
    folder.mkdir(parents=True)
    odd = {"it's": "1", 'a"b': "2", "c/d~e": "3", "rowid": "4", "file_row_number": "5", "_odd": "6"}
    rows = [row(**odd), row(**odd, id="t2")]
    expected = one_by_one(jsonl(folder / "x?.jsonl", rows))
    assert [item.truth for item in expected] == [odd, odd]
    for form in FORMATS:
        source = write(folder, rows, form)
        assert source.take(ALL) == expected, form
        for name in odd:
            selection = Selection(order="sha256", sampler="stratified", seed=1, limit=1, stratify=name)
            assert len(source.take(selection)) == 1, (form, name)
