"""CSV: records are told by the line on which they begin, and so is what is no CSV."""

import pytest
from takes_files import ALL, row, table_csv

from evalrunner.errors import InputError, SourceFailedError
from evalrunner.records import Selection
from evalrunner.source.carry_out import choose
from evalrunner.source.csvfile import CsvFile
from evalrunner.source.engine import engine
from evalrunner.source.file import FileSource
from evalrunner.source.takes import TAKES

HEADER = "id,page_slug,kind,holder,weight,claim,note\n"
SOUND = "a,p,bet,h,0.5,c,n\n"
LONG = 50_000_000
ONE = Selection(order="sha256", sampler="random", seed=0, limit=1)


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    return path


def take(path, selection=ALL):
    return FileSource(path=str(path)).take(selection)


def problems(path, text, selection=ONE):
    with pytest.raises(InputError) as error:
        take(write(path, text), selection)
    return [str(each).removeprefix(str(path)) for each in error.value.problems]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.csv"


def test_cells_are_read_as_they_stand(path):
    text = (
        HEADER
        + 'a,p,bet," h ",0.50,"say ""x"",\ny",\n\n"",p,bet,h,1,c,"{""x"": [1.5, null]}"\n'
        + "c,p,bet,h,0,NULL,{x\n"
    )
    items = take(write(path, text))
    assert [item.payload["claim"] for item in items] == ['say "x",\ny', "c", "NULL"]
    assert items[0].payload["holder"] == " h "
    assert [item.payload["weight"] for item in items] == [0.5, 1, 0]
    assert [item.truth for item in items] == [{}, {"note": {"x": [1.5, None]}}, {"note": "{x"}]
    assert items[1].id.startswith("take-")


def test_a_place_is_the_first_line_of_the_record(path):
    text = (
        HEADER
        + SOUND
        + '\n\nb,p,bet,h,0.5,"one\ntwo\r\nthree\rfour",n\n\nc,p,bet,h,2,"x\ny",n\nd,p,bet,h,0.5,c\0,n\n'
    )
    assert [each.split(" (")[0] for each in problems(path, text)] == [
        ":9: weight: is not a number from 0 to 1",
        ":11: claim: holds a NUL character",
    ]


@pytest.mark.parametrize(
    "cell",
    [
        "0,8",
        "x",
        "+0.5",
        " 0.5",
        "0.5 ",
        "0x1",
        "1_0",
        "½",
        "nan",
        "inf",
        "1e",
        ".",
        "-0.1",
        "1.1",
        "1e9999999",
    ],
)
def test_a_weight_that_is_no_number_is_refused(path, cell):
    [problem] = problems(path, HEADER + SOUND + f'b,p,bet,h,"{cell}",c,n\n')
    assert problem.startswith(":3: weight: is not a number")
    assert problem.endswith("allowed: a number from 0 to 1, such as 0.85")


def test_an_empty_required_cell_is_missing(path):
    assert problems(path, HEADER + 'a,p,bet,,0.5,"  ",n\n') == [
        ":2: holder: is missing; allowed: a text that is not blank",
        ":2: claim: is blank (found '  '); allowed: a text that is not blank",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEADER + SOUND + "b,p\n" + SOUND + "c,p,bet,h,0.5,c,n,x\n", [":3: has 2 cells", ":5: has 8 cells"]),
        (HEADER + SOUND + "b,p,bet,h,0.5,\udcff,n\n", [":3: is not UTF-8 (found b'\\xff')"]),
        (HEADER + SOUND + 'b,p,bet,h,0.5,"x"y,n\n', [":3: is not CSV: ',' expected after '\"'"]),
        (HEADER + SOUND + 'b,p,bet,h,0.5,"x,n\n' + SOUND, [":3: is not CSV: unexpected end of data"]),
        (HEADER + SOUND + "b,p,bet,h,0.5,c,n\r\n", [":3: ends otherwise than the header (found '\\r\\n')"]),
        (HEADER + SOUND + "   \n", [":3: has 1 cells"]),
        (HEADER + SOUND + "b,p,bet,h,0.5," + "x" * LONG + ",n\n", [":3: is longer than 16 MiB"]),
        (HEADER + SOUND + "b,p,bet,h,0.5," + "x" * LONG + ",n\n" + SOUND, [":3: is longer than 16 MiB"]),
    ],
    ids=["cells", "utf8", "quote", "open-quote", "line-ends", "blanks", "long-last", "long"],
)
def test_what_is_no_csv_is_told_by_line(path, text, expected):
    found = problems(path, text)
    assert len(found) == len(expected)
    assert all(each.startswith(begin) for each, begin in zip(found, expected, strict=True)), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n" + HEADER + SOUND, ":1: is blank"),
        (HEADER.replace("\n", "\r") + SOUND, ":1: ends in a lone carriage return"),
        (HEADER.replace(",", ";") + SOUND, ":1: is not separated by commas"),
        (HEADER.replace("note", "") + SOUND, ":1: has a column without a name"),
        (HEADER.replace("note", "Kind") + SOUND, ":1: names the column 'Kind' twice"),
        (HEADER.replace("note", '"no\nte"') + SOUND, ":1: is no header"),
        (HEADER.encode("utf-16") + SOUND.encode("utf-16"), ":1: is not UTF-8"),
        (HEADER.replace("claim", "cliam") + SOUND, ": there is no column 'claim'"),
    ],
)
def test_a_header_that_cannot_be_used_is_told(path, text, expected):
    assert any(each.startswith(expected) for each in problems(path, text))


def test_a_missing_column_is_told_once_with_the_nearest(path):
    [problem] = problems(path, HEADER.replace("claim", "cliam") + SOUND * 30)
    assert problem.endswith("did you mean 'cliam'?")


def test_a_header_alone_and_an_empty_file_give_no_items(path):
    assert take(write(path, HEADER)) == []
    assert take(write(path, HEADER.strip())) == []
    assert take(write(path, "")) == []


def test_records_that_duckdb_leaves_out_at_the_end_are_missed(path):
    write(path, HEADER + SOUND + SOUND.replace("a", "b", 1) + 'c,p,bet,h,0.5,"x\nb,p,bet,h,0.5,c,n\ny",n\n\n')
    with engine() as con:
        table = CsvFile(con, TAKES, path, "t.csv")
        table.check_end(3, "c")
        table.check_end(3, "an id that is not found at the end")
        with pytest.raises(SourceFailedError, match="has 3 records, of which 2 were read"):
            table.check_end(2, "b")
        with pytest.raises(SourceFailedError, match="has 3 records, of which 0 were read"):
            table.check_end(0, None)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_large_files_with_line_ends_in_cells_are_read_whole(tmp_path, end):
    """Beyond one buffer of DuckDB, with cells that hold whole records."""
    inner = "\nx,y\n", "\r\n1,2,3\r\n"
    rows = [row(id=f"t{i}", claim=f"{i}{inner[i % 2] * (i % 40)}", page_text="z" * 6000) for i in range(6000)]
    path = table_csv(tmp_path / "t.csv", rows, end=end)
    assert path.stat().st_size > 33_554_432
    selection = Selection(order="sha256", sampler="random", seed=0, limit=50)
    items = take(path, selection)
    expected = [rows[at] for at in choose([each["id"] for each in rows], [None] * 6000, selection)]
    assert [(item.id, item.payload["claim"]) for item in items] == [
        (each["id"], each["claim"].replace("\r\n", "\n")) for each in expected
    ]
    assert len(take(path, Selection(order="source", sampler="all", limit=6001))) == 6000
