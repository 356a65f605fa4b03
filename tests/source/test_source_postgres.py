"""The source `db` on PostgreSQL: a real server on a unix socket in a temporary folder."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from takes_files import ALL, jsonl, one_by_one, row

from evalrunner.errors import InputError, MissingExtraError, SourceFailedError
from evalrunner.records import Selection
from evalrunner.source.db import DbSource

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
ROWS = [
    row(id="t1", since_date="2024-03-01", labels={"accuracy": "ok", "n": 1.5}),
    row(id=None, claim='Ünïcode "日本" 😀\nline, \\two', weight=0.30000000000000004, page_text="\x01\x02"),
    row(id="t3", kind="bet", weight=1, note="tab\there", holder="world"),
]


def programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    on_path = shutil.which("pg_ctl")
    return Path(on_path).parent if on_path else found[-1].parent if found else None


def as_nobody():
    """The server refuses to run as root."""
    if os.geteuid():
        return {}
    user = next(
        (
            pwd.getpwnam(each)
            for each in ("postgres", "nobody")
            if each in {u.pw_name for u in pwd.getpwall()}
        ),
        None,
    )
    return None if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    bin_folder, account = programs(), as_nobody()
    if bin_folder is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    if account is None:
        pytest.skip("root has no other account to run PostgreSQL as")
    folder = Path(
        subprocess.check_output(["mktemp", "-d", "/tmp/evalrunner-pg-XXXXXX"], text=True, **account).strip()
    )
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    env = {"PATH": f"{bin_folder}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

    def run(*command):
        subprocess.run(command, check=True, env=env, cwd="/", stdout=subprocess.DEVNULL, **account)

    try:
        run("initdb", "-D", f"{folder}/data", "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        run("pg_ctl", "-D", f"{folder}/data", "-w", "-o", options, "-l", f"{folder}/log", "start")
        try:
            url = f"postgresql://tester:secret@/postgres?host={folder}"
            with psycopg.connect(url) as con:
                con.execute(
                    "CREATE TABLE takes (id text, page_slug text, kind text, holder text,"
                    " weight double precision, since_date date, claim text, page_text text,"
                    " labels jsonb, note varchar(20))"
                )
                for each in ROWS:
                    values = {
                        **each,
                        "labels": psycopg.types.json.Jsonb(each["labels"]) if "labels" in each else None,
                    }
                    con.execute(
                        f"INSERT INTO takes ({', '.join(values)}) VALUES ({', '.join(['%s'] * len(values))})",
                        list(values.values()),
                    )
            yield url, folder
        finally:
            run("pg_ctl", "-D", f"{folder}/data", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(server, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", server[0])
    return server[0]


def test_the_rows_are_the_same_as_those_of_a_file(url, tmp_path):
    path = jsonl(tmp_path / "t.jsonl", ROWS)
    assert DbSource().take(ALL) == one_by_one(path)
    selection = Selection(order="sha256", sampler="random", seed=5, limit=2)
    assert DbSource().take(selection) == one_by_one(path, selection)
    assert [item.id for item in DbSource(slug_prefix="people/").take(ALL)][::2] == ["t1", "t3"]


def test_the_location_holds_no_credentials(url, server):
    assert DbSource().location() == f"{server[1]}/postgres"


@pytest.mark.parametrize("sql", ["weight::numeric(5,3)", "weight::real", "0.8::numeric"])
def test_numbers_have_any_type(url, sql):
    query = f"select id, page_slug, kind, holder, {sql} as weight, claim from takes where id = 't1';"
    [item] = DbSource(query=query).take(ALL)
    assert item.payload["weight"] == 0.8


def test_whole_numbers_are_ids(url):
    query = "select (row_number() over ())::int as id, page_slug, kind, holder, weight, claim from takes"
    assert [item.id for item in DbSource(query=query).take(ALL)] == ["1", "2", "3"]


def test_a_bad_row_is_told_by_its_number(url, server):
    with pytest.raises(InputError) as error:
        DbSource(query="select * from takes union all select 'x', 'p', 'fcat', 'h', 'NaN' from takes").take(
            ALL
        )
    assert error.value.problems[0].where == "source.query"
    query = (
        "select id, page_slug, kind, holder, weight * 2 as weight, claim from takes order by weight desc, id"
    )
    with pytest.raises(InputError) as error:
        DbSource(query=query).take(ALL)
    assert [problem.where for problem in error.value.problems] == [
        f"{server[1]}/postgres: row 1: weight",
        f"{server[1]}/postgres: row 2: weight",
    ]


def test_a_query_that_gives_nothing_gives_no_items(url):
    assert DbSource(query="select * from takes where false").take(ALL) == []


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select * from nope", 'relation "nope" does not exist'),
        ("selec 1", "syntax error"),
        ("select 1) as a; drop table takes; select * from (select 1", "cannot insert multiple commands"),
        ("select 1; drop table takes", "syntax error"),
        ("delete from takes returning *", "syntax error"),
        ("select 1 / 0 as a", "division by zero"),
        ("select 1 as a, 2 as a", "gives the column 'a' twice"),
        ("select pg_sleep(0), set_config('a.b', '1', true), nextval('s')", 'relation "s" does not exist'),
    ],
)
def test_a_query_that_cannot_run_is_bad_input(url, query, said):
    with pytest.raises(InputError, match=r"source\.query: ") as error:
        DbSource(query=query).take(ALL)
    assert said in str(error.value)
    assert len(DbSource().take(ALL)) == 3


def test_the_transaction_is_read_only(url):
    with psycopg.connect(url) as con:
        con.execute(
            "CREATE OR REPLACE FUNCTION wipe() RETURNS int AS 'DELETE FROM takes; SELECT 1' LANGUAGE sql"
        )
    with pytest.raises((InputError, SourceFailedError), match="read-only transaction"):
        DbSource(query="select *, wipe() from takes").take(ALL)
    assert len(DbSource().take(ALL)) == 3


def test_nothing_is_left_in_the_temporary_folder(url, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    DbSource().take(ALL)
    with pytest.raises(InputError):
        DbSource(query="select 1 as a").take(ALL)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_a_failed_source(monkeypatch, tmp_path):
    monkeypatch.setenv("DATABASE_URL", f"postgresql://me:secret@/db?host={tmp_path}")
    with pytest.raises(SourceFailedError) as error:
        DbSource().take(ALL)
    assert str(error.value).startswith(f"{tmp_path}/db: connection ")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://me:secret@db.example:5433/takes", "db.example:5433/takes"),
        ("postgres://me:s%40cret@db.example/takes?sslmode=require", "db.example/takes"),
        ("host=db.example dbname=takes user=me password=secret", "db.example/takes"),
        ("postgresql://me:secret@/takes", "localhost/takes"),
    ],
)
def test_addresses_are_redacted(monkeypatch, given, shown):
    monkeypatch.setenv("DATABASE_URL", given)
    assert DbSource().location() == shown


@pytest.mark.parametrize("given", ["mysql://me:secret@h/db", "postgresql+psycopg://me:secret@h/db", "secret"])
def test_what_is_no_address_is_not_shown(monkeypatch, given):
    monkeypatch.setenv("DATABASE_URL", given)
    with pytest.raises(InputError) as error:
        DbSource().take(ALL)
    assert str(error.value).startswith("DATABASE_URL: is no PostgreSQL address; allowed: postgresql://")
    assert "secret" not in str(error.value)


def test_without_psycopg_the_extra_is_named():
    code = (
        "import os, sys; sys.modules['psycopg'] = None; os.environ['DATABASE_URL'] = 'postgresql://h/db'\n"
        "from evalrunner.errors import MissingExtraError\n"
        "from evalrunner.records import Selection\n"
        "from evalrunner.source.db import DbSource\n"
        "try: DbSource().take(Selection(order='source', sampler='all'))\n"
        "except MissingExtraError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "install 'evalrunner[postgres]'" in said
    assert MissingExtraError.exit_code == 3
