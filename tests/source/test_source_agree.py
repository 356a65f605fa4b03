"""The sieve in SQL and the reading in Python agree on random rows: whole-file checks rest on this."""

import json
import random
from collections import Counter

import pytest
from takes_files import parquet, table_csv

from evalrunner.source.columns import Parquet
from evalrunner.source.csvfile import CsvFile
from evalrunner.source.engine import engine
from evalrunner.source.jsonlines import JsonLines
from evalrunner.source.rows import RowRefused
from evalrunner.source.takes import TAKES
from evalrunner.source.takes_sql import sieve

TEXTS = [
    None,
    "",
    "  ",
    "\n",
    "a",
    "é ü 日本",
    "a\nb",
    "a\r\nb",
    "a\rb",
    "\t x",
    "x\x0by",
    "x\x1fy",
    "x\x7fy",
    "x\0y",
    "\u2028",
    '"q"',
    "back\\slash",
    "\\u0000",
    "o'clock",
    "a,b",
    "\ufeff",
    "😀",
    '{"a":1}',
    "nan",
    ", nan]",
    ": inf,",
    ",}",
    "x" * 200,
]
KINDS = ["fact", "take", "bet", "hunch", "Fact", "fact ", "", None]
WEIGHTS = [0, 1, 0.5, 0.05, 0.30000000000000004, 1 / 3, 1e-5, 1e-7, -0.0, -0.1, 1.0000000000000002, 2, None]
DATES = [
    None,
    "",
    "2024",
    "2024-03",
    "2024-02-29",
    "2023-02-29",
    "2024-13",
    "2024-00-01",
    "0000",
    "0001-01-01",
    "9999-12-31",
    "24",
    "2024-1",
    "2024-03-01T00:00",
    "２０２４",
    "2024-03-01 ",
    "-2024",
    " 2024",
    "2024\n",
]
POOLS = {"kind": KINDS, "weight": WEIGHTS, "since_date": DATES}
JSON_VALUES = [
    '"a"',
    "null",
    "1",
    "-1",
    "0",
    "-0",
    "1.0",
    "true",
    "[]",
    "{}",
    "[1, 2]",
    '"0.5"',
    "NaN",
    "-Infinity",
    "1e400",
    "1e-400",
    "0.33333333333333333333333",
    "123456789012345678901234567890",
    '"\\ud800"',
    '"\\u0000"',
    '"\\ud83d\\ude00"',
    '{"a": null, "b": [null, 1.5]}',
    "5e-1",
    '{"a": 1, "a": 2}',
    "01",
    '{"n": nan}',
    "[1,]",
    '"a\tb"',
    "'a'",
    "9" * 400,
    "1E999999999",
]
CSV_WEIGHTS = [
    "0.10",
    ".5",
    "5.",
    "+0.5",
    "0,5",
    "1e-1",
    "x",
    " 0.5",
    "1e99999",
    "1e9999999999",
    "-0",
    "00.5",
    "0x1",
    "½",
    "1_0",
    "nan",
    "inf",
    "0.5e",
]
COLUMNS = (
    "id",
    "page_slug",
    "kind",
    "holder",
    "weight",
    "since_date",
    "source",
    "claim",
    "page_text",
    "extra",
)


def random_row(rng, number):
    sound = {
        "id": rng.choice([None, f"id{number}", f"ü{number}"]),
        "page_slug": rng.choice(["a/b", "日本", "x y"]),
        "kind": rng.choice(KINDS[:4]),
        "holder": rng.choice(["world", "p/é"]),
        "weight": rng.choice(WEIGHTS[:9]),
        "since_date": rng.choice(DATES[:5]),
        "source": rng.choice(TEXTS[:13]),
        "claim": f"{number} {rng.choice(TEXTS[4:13])}",
        "page_text": rng.choice(TEXTS[:13]),
        "extra": rng.choice(TEXTS[:13]),
    }
    if rng.random() < 0.5:
        field = rng.choice(COLUMNS)
        sound[field] = rng.choice(POOLS.get(field, TEXTS))
    return sound


def random_line(rng, number):
    """A row as JSON, sometimes with a value or a member that JSON or takes do not have."""
    members = [
        (key, json.dumps(value, ensure_ascii=rng.random() < 0.5))
        for key, value in random_row(rng, number).items()
        if value is not None or rng.random() < 0.5
    ]
    if rng.random() < 0.3:
        rng.shuffle(members)
    if rng.random() < 0.4:
        at = rng.randrange(len(members))
        members[at] = (members[at][0], rng.choice(JSON_VALUES))
    if rng.random() < 0.05:
        members.append(rng.choice(members))
    comma, colon = rng.choice([(",", ":"), (", ", ": ")])
    body = comma.join(f'"{key}"{colon}{value}' for key, value in members)
    return (
        rng.choice(["", " ", "\t"])
        + "{"
        + body
        + rng.choice(["}"] * 20 + [",}", "} x", ""])
        + rng.choice(["", "\r"])
    )


def jsonl_file(rng, path, count):
    lines = [random_line(rng, number) for number in range(count)]
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return path


def csv_file(rng, path, count):
    rows = [random_row(rng, number) for number in range(count)]
    for each in rows:
        if rng.random() < 0.2:
            each["weight"] = rng.choice(CSV_WEIGHTS)
        # The writer of the standard library leaves a lone carriage return unquoted.
        each.update(
            {key: value + "\n" for key, value in each.items() if isinstance(value, str) and "\r" in value}
        )
    return table_csv(path, rows, columns=COLUMNS)


def parquet_file(rng, path, count):
    return parquet(path, [random_row(rng, number) for number in range(count)])


@pytest.mark.parametrize(
    ("table", "make", "count"),
    [(JsonLines, jsonl_file, 4000), (CsvFile, csv_file, 3000), (Parquet, parquet_file, 600)],
    ids=["jsonl", "csv", "parquet"],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_no_row_that_python_refuses_passes_the_sieve_and_ids_are_the_same(tmp_path, table, make, count, seed):
    path = make(random.Random(seed), tmp_path / f"t.{make.__name__[:-5]}", count)
    seen = Counter()
    missed = []
    with engine() as con:
        rows = table(con, TAKES, path, "t")
        sieved = con.execute(f"SELECT _id, _suspect FROM ({sieve(rows.fields_sql('extra'))})").fetchall()
        read = list(rows.reread())
    assert [number for number, _, _ in read] == list(range(count))
    assert len(sieved) == count
    for (number, _, row), (sql_id, suspect) in zip(read, sieved, strict=True):
        try:
            if isinstance(row, RowRefused):
                raise row
            item = TAKES.read(row)
        except RowRefused as refused:
            if not suspect:
                missed.append((number, row, refused))
            seen["refused"] += 1
            continue
        seen["suspect" if suspect else "passed"] += 1
        if not suspect and sql_id != item.id:
            missed.append((number, row, sql_id))
    assert missed == []
    assert min(seen["refused"], seen["passed"]) > count / 10
    assert seen["suspect"] < seen["passed"] / 3
