"""The source `db` on DuckDB files: read-only, one statement, and what goes wrong by its exit code."""

import subprocess
import sys

import duckdb
import pytest
import yaml
from takes_files import ALL, database, row

from evalrunner.errors import InputError, SourceFailedError
from evalrunner.paths import data_root
from evalrunner.records import Selection
from evalrunner.source.base import Source
from evalrunner.source.db import DbSource


@pytest.fixture
def path(tmp_path):
    rows = [row(id=f"t{i}", kind=["fact", "bet"][i % 2], page_slug=f"p{i % 3}") for i in range(30)]
    return database(tmp_path / "takes.duckdb", rows)


def refused(source, error=InputError, code=3):
    with pytest.raises(error) as caught:
        source.take(ALL)
    assert caught.value.exit_code == code
    [problem] = caught.value.problems
    return str(problem)


def test_the_option_says_what_the_class_takes():
    option = yaml.safe_load((data_root() / "conf" / "source" / "db.yaml").read_text())
    assert option.pop("_target_") == "evalrunner.source.db.DbSource"
    source = DbSource.model_validate(option)
    assert set(option) == set(DbSource.model_fields)
    assert isinstance(source, Source)
    assert source == DbSource()
    assert source.origin == "db"


def test_the_table_takes_is_read_by_default(path):
    source = DbSource(path=str(path), slug_prefix="p1")
    assert [item.id for item in source.take(ALL)] == [f"t{i}" for i in range(1, 30, 3)]
    assert (source.location(), source.prefix()) == (str(path), "p1")


@pytest.mark.parametrize(
    "query",
    [
        "select * from takes where kind = 'bet';",
        "from takes where kind = 'bet' -- only bets",
        "with bets as (select * from takes where kind = 'bet') select * from bets",
        "select distinct * from takes where kind = 'bet' order by id desc",
    ],
)
def test_a_query_says_which_rows(path, query):
    items = DbSource(path=str(path), query=query).take(ALL)
    assert {item.id for item in items} == {f"t{i}" for i in range(1, 30, 2)}


def test_a_query_is_run_once(path):
    query = "select * replace (uuid()::varchar as id, claim || random() as claim) from takes"
    items = DbSource(path=str(path), query=query).take(Selection(order="sha256", sampler="random", limit=7))
    assert len(items) == 7


def test_the_order_of_the_query_is_the_order_of_the_source(path):
    items = DbSource(path=str(path), query="select * from takes order by claim, id desc").take(ALL)
    assert [item.id for item in items] == sorted((item.id for item in items), reverse=True)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select * from nope", "Table with name nope does not exist"),
        ("select nope from takes", 'Referenced column "nope" not found'),
        ("selec * from takes", "syntax error"),
        ("select 1; select 2", "is another statement"),
        ("select * from takes) ; create table x as (select 1", "syntax error"),
        ("create table x (a integer)", "is another statement"),
        ("copy takes to 'x.csv'", "is another statement"),
        ("-- nothing", "is another statement"),
    ],
)
def test_a_query_that_cannot_run_is_bad_input(path, query, said):
    problem = refused(DbSource(path=str(path), query=query))
    assert problem.startswith("source.query: ")
    assert said in problem


def test_missing_columns_and_bad_rows_name_file_and_row(path):
    assert refused(DbSource(path=str(path), query="select * exclude (claim) from takes")).startswith(
        f"{path}: there is no column 'claim'"
    )
    bad = "select * replace (case when id = 't4' then 7 else weight end as weight) from takes"
    assert refused(DbSource(path=str(path), query=bad)).startswith(
        f"{path}: row 5: weight: is not a number from 0 to 1 (found 7.0)"
    )


def test_the_file_is_not_written(path):
    before = path.read_bytes()
    DbSource(path=str(path)).take(ALL)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_missing_or_no_database_is_bad_input(tmp_path):
    assert "there is no such file" in refused(DbSource(path=str(tmp_path / "x.duckdb")))
    text = tmp_path / "text.duckdb"
    text.write_text("no database " * 100)
    assert refused(DbSource(path=str(text))).startswith("source.path: is not a DuckDB file")


def test_a_locked_database_is_a_failed_source(path):
    code = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "open\n"
        problem = refused(DbSource(path=str(path)), SourceFailedError, 4)
        other.communicate("\n")
    assert problem.startswith(f"{path}: cannot be opened: IO Error: Could not set lock on file")


def test_schemas_of_the_user_do_not_disturb(tmp_path):
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE SCHEMA memory; CREATE SCHEMA main2; CREATE TABLE memory.scanned (a integer)")
        con.execute("CREATE VIEW takes AS SELECT 'a' AS id, 'p' AS page_slug, 'bet' AS kind, 'h' AS holder,"
                    " 1 AS weight, 'c' AS claim, 5 AS rowid")  # fmt: skip
    [item] = DbSource(path=str(path)).take(ALL)
    assert item.truth == {"rowid": 5}


def test_without_a_file_and_without_a_url_no_database_is_named(monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert DbSource().location() is None
    assert refused(DbSource()) == (
        "source.path: no database is named; allowed: a DuckDB file, or DATABASE_URL in the environment"
        " for PostgreSQL"
    )
