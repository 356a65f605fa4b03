"""The store's tables and views, as named steps that are only ever added to. docs/store.md explains them."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evalrunner import __version__
from evalrunner.errors import Problem, StoreError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TABLES = """
create sequence ids;
create table attempts (
    run_id varchar primary key,
    id integer not null,
    identity boolean not null,
    eval varchar not null,
    ts timestamp not null,
    rubric_version varchar not null,
    rubric_sha8 varchar not null,
    subject_sha8 varchar not null,
    corpus_sha8 varchar not null,
    prompt_sha8 varchar not null,
    models_sha8 varchar not null,
    models varchar[] not null,
    judge_kind varchar,
    n_items bigint not null,
    cycles_run bigint not null,
    verdict varchar,
    conclusive boolean not null,
    overall_score double,
    headline_metric varchar,
    headline_value double,
    cost_usd double,
    receipt_json json not null
);
create table receipts (
    id integer primary key,
    eval varchar not null,
    subject_sha8 varchar not null,
    corpus_sha8 varchar not null,
    prompt_sha8 varchar not null,
    models_sha8 varchar not null,
    rubric_sha8 varchar not null,
    run_id varchar not null,
    unique (eval, subject_sha8, corpus_sha8, prompt_sha8, models_sha8, rubric_sha8)
);
create table scores (
    run_id varchar not null,
    item varchar,
    chunk integer,
    dimension varchar not null,
    model varchar not null,
    cycle integer not null,
    value double not null,
    written varchar not null
);
create table chunks (
    run_id varchar not null,
    chunk integer not null,
    items varchar[] not null
);
"""

_VIEWS = """
create view trend as
select
    case when a.identity then r.id else a.id end as id,
    a.run_id, a.ts, a.eval, a.rubric_version, a.rubric_sha8, a.verdict,
    coalesce(a.overall_score, a.headline_value) as overall_score, a.headline_metric as metric, a.cost_usd,
    a.corpus_sha8, a.prompt_sha8, a.models_sha8, a.subject_sha8, a.models, a.judge_kind, a.n_items
from attempts a left join receipts r on r.run_id = a.run_id
where not a.identity or r.id is not null;
create view eval_takes_quality_runs as
select
    r.id, a.ts, a.rubric_version, a.corpus_sha8, a.prompt_sha8, a.models_sha8, a.rubric_sha8,
    a.verdict, a.overall_score, a.cost_usd, a.receipt_json
from receipts r join attempts a on a.run_id = r.run_id
where a.eval = 'takes_quality';
"""

MIGRATIONS: Final[tuple[tuple[str, str], ...]] = (
    ("0001-attempts-receipts-scores", _TABLES),
    ("0002-views", _VIEWS),
)
"""Name and SQL of every step, oldest first. A step that was released is never changed: add one instead."""

_LEDGER = "evalrunner_migrations"


def is_current(connection: "DuckDBPyConnection", path: Path) -> bool:
    """Whether no step is missing.

    Raises:
        StoreError: a newer program made this store, or the file holds the tables of another program.
    """
    return not _missing(connection, path)


def applied(connection: "DuckDBPyConnection") -> list[str]:
    """The steps that made the tables of a store, in order."""
    return [name for (name,) in connection.execute(f"select name from {_LEDGER} order by name").fetchall()]


def migrate(connection: "DuckDBPyConnection", path: Path) -> None:
    """Carries out the steps that are missing, each in its own transaction.

    Raises:
        StoreError: as `is_current`.
    """
    missing = _missing(connection, path)
    if not missing:
        return
    import duckdb

    connection.execute(
        f"create table if not exists {_LEDGER}"
        " (name varchar primary key, applied_at timestamp not null, version varchar not null)"
    )
    for name, sql in missing:
        connection.begin()
        try:
            connection.execute(sql)
            now = datetime.now(UTC).replace(tzinfo=None)
            connection.execute(f"insert into {_LEDGER} values (?, ?, ?)", [name, now, __version__])
            connection.commit()
        except BaseException:
            with suppress(duckdb.Error):
                connection.rollback()
            raise


def _missing(connection: "DuckDBPyConnection", path: Path) -> list[tuple[str, str]]:
    import duckdb

    try:
        done = set(applied(connection))
    except duckdb.CatalogException:  # asked only then: a list of all tables costs more than opening the file
        names = [name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()]
        if names:
            raise StoreError(
                Problem(
                    str(path),
                    "holds the tables of another program, and is no store of evalrunner",
                    ", ".join(sorted(names)[:5]),
                    "a store of evalrunner, or a file that does not exist yet",
                )
            ) from None
        return list(MIGRATIONS)
    newer = sorted(done - {name for name, _ in MIGRATIONS})
    if newer:
        raise StoreError(
            Problem(
                str(path),
                f"was made by a newer evalrunner; this one is {__version__}",
                ", ".join(newer),
                "an evalrunner at least as new as the store, or another store.path",
            )
        )
    return [step for step in MIGRATIONS if step[0] not in done]
