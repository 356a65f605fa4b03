"""The source `file`: paths, formats, the prefix, and what its YAML says."""

import os
import subprocess
import sys

import duckdb
import pytest
import yaml
from pydantic import ValidationError
from takes_files import ALL, FORMATS, jsonl, parquet, row, table_csv

from evalrunner.errors import EvalrunnerError, InputError, SourceFailedError
from evalrunner.paths import data_root
from evalrunner.records import Selection
from evalrunner.source import file as file_module
from evalrunner.source.base import Source
from evalrunner.source.file import FileSource


def problem(source):
    with pytest.raises(InputError) as error:
        source.take(ALL)
    [found] = error.value.problems
    assert error.value.exit_code == 3
    return str(found)


def test_the_option_says_what_the_class_takes():
    option = yaml.safe_load((data_root() / "conf" / "source" / "file.yaml").read_text())
    assert option.pop("_target_") == "evalrunner.source.file.FileSource"
    source = FileSource.model_validate(option)
    assert set(option) == set(FileSource.model_fields)
    assert isinstance(source, Source)
    assert (source.origin, source.location(), source.prefix()) == ("fs", "demo:takes.jsonl", None)


def test_demo_names_a_file_of_the_package(tmp_path, monkeypatch):
    jsonl(tmp_path / "x.jsonl", [row()])
    monkeypatch.setattr(file_module, "demo", lambda name: tmp_path / name)
    source = FileSource(path="demo:x.jsonl")
    assert [item.id for item in source.take(ALL)] == ["t1"]
    assert source.location() == "demo:x.jsonl"
    assert problem(FileSource(path="demo:y.jsonl")).startswith("source.path: there is no such file")


def test_a_path_that_is_not_there_names_the_nearest(tmp_path):
    jsonl(tmp_path / "takes.jsonl", [row()])
    assert problem(FileSource(path=str(tmp_path / "taks.jsonl"))) == (
        f"source.path: there is no such file (found '{tmp_path}/taks.jsonl'); did you mean 'takes.jsonl'?"
    )
    assert problem(FileSource(path=str(tmp_path / "none" / "t.jsonl"))).startswith("source.path: there is no")


def test_a_folder_and_an_unknown_format_are_refused(tmp_path):
    assert problem(FileSource(path=str(tmp_path))).startswith("source.path: is not a file")
    path = jsonl(tmp_path / "takes.json", [row()])
    assert problem(FileSource(path=str(path))) == (
        f"source.path: is of no known format (found '{path}'); allowed: .jsonl, .ndjson, .csv, .parquet;"
        " did you mean '.jsonl'?"
    )


def test_extensions_may_be_in_capitals(tmp_path):
    for path in (
        jsonl(tmp_path / "A.JSONL", [row()]),
        table_csv(tmp_path / "A.CSV", [row()]),
        parquet(tmp_path / "A.Parquet", [row()]),
    ):
        assert len(FileSource(path=str(path)).take(ALL)) == 1


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all" * 10])
def test_a_file_that_is_no_parquet_is_bad_input(tmp_path, content):
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    assert problem(FileSource(path=str(path))).startswith(f"{path}: cannot be read: ")


def test_parquet_rows_are_told_by_number(tmp_path):
    rows = [row(id=f"t{i}", kind="bet" if i != 41 else "beet") for i in range(50)]
    path = parquet(tmp_path / "t.parquet", rows)
    assert problem(FileSource(path=str(path))) == (
        f"{path}: row 42: kind: is no kind of take (found 'beet'); allowed: fact, take, bet, hunch;"
        " did you mean 'bet'?"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_failed_source(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", [row()])
    path.chmod(0)
    with pytest.raises(SourceFailedError):
        FileSource(path=str(path)).take(ALL)


def test_a_file_that_changes_meanwhile_is_a_failed_source(tmp_path, monkeypatch):
    path = jsonl(tmp_path / "t.jsonl", [row()])
    inner = file_module.take

    def slow(*args):
        items = inner(*args)
        with path.open("a") as file:
            file.write("\n")
        return items

    monkeypatch.setattr(file_module, "take", slow)
    with pytest.raises(SourceFailedError, match="was changed while it was read"):
        FileSource(path=str(path)).take(ALL)


@pytest.mark.parametrize("form", FORMATS[:3])
def test_the_prefix_is_literal(tmp_path, form):
    slugs = ["a%/x", "a%", "ab/x", "a_b", "A%", "日本/x", "b/a%"]
    rows = [row(id=slug, page_slug=slug) for slug in slugs]
    path = {"jsonl": jsonl, "csv": table_csv, "parquet": parquet}[form](tmp_path / f"t.{form}", rows)

    def ids(prefix):
        return [item.id for item in FileSource(path=str(path), slug_prefix=prefix).take(ALL)]

    assert ids("a%") == ["a%/x", "a%"]
    assert ids("a_") == ["a_b"]
    assert ids("日") == ["日本/x"]
    assert ids("a") == ["a%/x", "a%", "ab/x", "a_b"]
    assert ids("'") == []
    assert FileSource(path=str(path), slug_prefix="a%").prefix() == "a%"


def test_rows_behind_the_prefix_are_checked_too(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", [row(), row(id="t2", page_slug="other", kind="x")])
    assert "t.jsonl:2: kind" in problem(FileSource(path=str(path), slug_prefix="people/"))


def test_a_limit_counts_after_the_prefix(tmp_path):
    rows = [row(id=f"t{i}", page_slug="a" if i % 10 == 0 else "b") for i in range(100)]
    path = jsonl(tmp_path / "t.jsonl", rows)
    selection = Selection(order="sha256", sampler="random", seed=0, limit=5)
    items = FileSource(path=str(path), slug_prefix="a").take(selection)
    assert len(items) == 5
    assert {item.payload["page_slug"] for item in items} == {"a"}


@pytest.mark.parametrize("form", FORMATS[:3])
def test_an_unknown_field_to_stratify_by_names_the_known(tmp_path, form):
    rows = [row(id="a", topic="x"), row(id="b", topic=None, zebra="y")]
    path = {"jsonl": jsonl, "csv": table_csv, "parquet": parquet}[form](tmp_path / f"t.{form}", rows)
    selection = Selection(order="sha256", sampler="stratified", seed=0, limit=1, stratify="topik")
    with pytest.raises(InputError) as error:
        FileSource(path=str(path)).take(selection)
    assert str(error.value) == (
        "sampler.by: no row has such a field (found 'topik'); allowed: claim, holder, id, kind, page_slug,"
        " page_text, since_date, source, topic, weight, zebra; did you mean 'topic'?"
    )


def test_a_column_that_is_null_throughout_is_one_stratum(tmp_path):
    path = tmp_path / "t.parquet"
    with duckdb.connect() as con:
        con.execute(
            "COPY (SELECT 'id' || i AS id, 'p' AS page_slug, 'bet' AS kind, 'h' AS holder, 0 AS weight,"
            f" 'c' AS claim, NULL AS topic FROM range(5) r(i)) TO '{path}'"
        )
    selection = Selection(order="sha256", sampler="stratified", seed=0, limit=2, stratify="topic")
    assert len(FileSource(path=str(path)).take(selection)) == 2


@pytest.mark.parametrize(
    "fields", [{}, {"path": ""}, {"path": "x", "rows": "taks"}, {"path": "x", "slug_prefix": ""}, {"path": 1}]
)
def test_fields_are_checked(fields):
    with pytest.raises(ValidationError):
        FileSource(**fields)


def test_a_typo_in_rows_is_told():
    with pytest.raises(ValidationError, match=r"one of these kinds: takes.*did you mean 'takes'"):
        FileSource(path="x", rows="taks")


def test_duckdb_draws_no_progress_bar_on_stdout():
    code = (
        "from evalrunner.source.engine import engine\n"
        "with engine() as con:\n"
        "    print(con.execute(\"SELECT current_setting('enable_progress_bar')\").fetchone())"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "(False,)\n"


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    spill = tmp_path / "tmp"
    spill.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spill))
    FileSource(path=str(jsonl(tmp_path / "t.jsonl", [row()]))).take(ALL)
    with pytest.raises(EvalrunnerError):
        FileSource(path=str(jsonl(tmp_path / "t.jsonl", [{}]))).take(ALL)
    assert list(spill.iterdir()) == []


def test_an_interrupt_ends_a_long_query_at_once():
    code = (
        "import os, signal, threading\n"
        "from evalrunner.source.engine import engine, run\n"
        "with engine() as con:\n"
        "    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()\n"
        "    query = \"SELECT count(*) FROM range(100_000_000_000) AS a(i) WHERE sha256(i::VARCHAR) < '0'\"\n"
        "    try: run(con, query)\n"
        "    except KeyboardInterrupt: print('interrupted')\n"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60) == "interrupted\n"
