"""Looking whether a store is whole. Nothing is made, taken in or mended."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalrunner.errors import EvalrunnerError, InputError, Problem, StoreError
from evalrunner.store import copies, database, pending, tables
from evalrunner.store.attempt import Attempt
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.migrations import applied, is_current, migrate
from evalrunner.store.vacuum import DRAFT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_AT_ONCE = 100
_KEYS = ", ".join(tables.KEY)
_SAME_KEY = " and ".join(f"r.{name} = a.{name}" for name in tables.KEY)

_RULES = (
    ("run id {} stands for several attempts", "select run_id from attempts group by all having count(*) > 1"),
    ("id {} stands for several attempts", "select id from attempts group by all having count(*) > 1"),
    ("id {} stands for several receipts", "select id from receipts group by all having count(*) > 1"),
    (
        "receipt {} is one of several of its key",
        f"select min(id) from receipts group by {_KEYS} having count(*) > 1",
    ),
    (
        "receipt {} has no attempt of its key",
        f"select r.id from receipts r left join attempts a on r.run_id = a.run_id and {_SAME_KEY}"
        " where a.run_id is null",
    ),
    (
        "attempt {} has no receipt of its key",
        f"select a.run_id from attempts a left join receipts r on {_SAME_KEY} where r.id is null",
    ),
    (
        "receipt {} is inconclusive, though an attempt of its key is not",
        "select r.id from receipts r join attempts s on s.run_id = r.run_id"
        f" where not s.conclusive and exists (from attempts a where a.conclusive and {_SAME_KEY})",
    ),
    (
        "scores of {}, which is no attempt",
        "select distinct run_id from scores anti join attempts using (run_id)",
    ),
    (
        "chunks of {}, which is no attempt",
        "select distinct run_id from chunks anti join attempts using (run_id)",
    ),
)
"""What must not be found, and how to find it."""

_COLUMNS = "select table_name, column_name, data_type from duckdb_columns() where not internal"


@dataclass
class Copies:
    """The copies of receipts: how many equal their row, are not there, or say something else."""

    equal: int = 0
    missing: int = 0
    different: int = 0


@dataclass
class Findings:
    """What was found.

    Attributes:
        path: of the database.
        exists: whether it is there; without one there is nothing to be broken.
        bytes: its size.
        layout: the steps that made its tables.
        older: the tables are those of an older evalrunner, and are brought up to date by the next run; their
            rows were not looked at.
        attempts, receipts, scores: rows; None where they could not be counted.
        waiting: files that wait to be taken in, each with why it will not be, or None.
        refused: files that were set aside earlier.
        left: what killed processes or a lost database left behind.
        lock: who holds the lock; None when nobody does.
        problems: what makes the store a broken one.
    """

    path: Path
    exists: bool = False
    bytes: int = 0
    layout: list[str] = field(default_factory=list)
    older: bool = False
    attempts: int | None = None
    receipts: int | None = None
    scores: int | None = None
    copies: Copies = field(default_factory=Copies)
    waiting: list[tuple[Path, str | None]] = field(default_factory=list)
    refused: list[Path] = field(default_factory=list)
    left: list[Path] = field(default_factory=list)
    lock: str | None = None
    problems: list[Problem] = field(default_factory=list)


def check(store: DuckdbStore) -> Findings:
    """Looks at everything that belongs to a store. What is wrong is in the findings; nothing is raised."""
    found = Findings(store.path)
    try:
        with database.told(store.path):
            _around(found)
    except StoreError as error:
        found.problems += error.problems
    found.lock = database.holder(store.path)
    if not found.exists:
        return found
    try:
        with database.told(store.path), _open(store) as connection:
            _inside(connection, store, found)
    except database.BusyError as busy:
        what = f"cannot be looked at now: {busy}"
        found.problems.append(Problem(str(store.path), what, allowed="trying again later"))
    except StoreError as error:
        found.problems += error.problems
    return found


def _around(found: Findings) -> None:
    """What lies beside the database."""
    path = found.path
    found.exists = path.exists()
    found.bytes = path.stat().st_size if found.exists else 0
    folder = pending.folder(path)
    for file in pending.waiting(path):
        try:
            tables.columns(pending.read(file))
        except (pending.NoAttemptError, pending.NewerError, EvalrunnerError, OSError) as reason:
            found.waiting.append((file, str(reason)))
        else:
            found.waiting.append((file, None))
    refused = folder / "refused"
    found.refused = sorted(refused.iterdir()) if refused.is_dir() else []
    drafts = [database.beside(path, ending) for ending in (".new", DRAFT, ".wal.orphan")]
    found.left = [*(draft for draft in drafts if draft.exists()), *sorted(folder.glob(".*.tmp"))]


@contextmanager
def _open(store: DuckdbStore) -> "Iterator[DuckDBPyConnection]":
    """The database, read only, under the lock; without a lock file, as in a copy, none is made."""
    wait = store.lock_timeout_s
    if not database.beside(store.path, ".lock").exists():
        with database.reading(store.path, wait) as connection:
            yield connection
        return
    with database.locked(store.path, wait), database.reading(store.path, wait) as connection:
        yield connection


def _inside(connection: "DuckDBPyConnection", store: DuckdbStore, found: Findings) -> None:
    found.older = not is_current(connection, store.path)
    found.layout = applied(connection)
    if found.older:
        return
    lost = _lost_columns(connection)
    if lost:
        found.problems.append(Problem(str(store.path), "tables or views lack columns", ", ".join(lost)))
        return
    found.attempts, found.receipts, found.scores = (
        _one(connection, f"select count(*), sum(hash(t)) from {name} t")  # reads every block
        for name in ("attempts", "receipts", "scores")
    )
    _one(connection, "select count(*), sum(hash(t)) from chunks t")
    for what, sql in _RULES:
        for (each,) in connection.execute(sql).fetchall():
            found.problems.append(Problem(str(store.path), what.format(each)))
    for row in _rows(connection, "select * from attempts order by id"):
        found.problems += _faults(row, store.path)
    told = "select a.*, r.id as receipt_id from receipts r join attempts a using (run_id) order by r.id"
    for row in _rows(connection, told):
        _copy(row, store.receipts_dir, found)


def _lost_columns(connection: "DuckDBPyConnection") -> list[str]:
    import duckdb

    with duckdb.connect() as fresh:
        migrate(fresh, Path(":memory:"))
        wanted = set(fresh.execute(_COLUMNS).fetchall())
    there = set(connection.execute(_COLUMNS).fetchall())
    return sorted(f"{table}.{column}" for table, column, _ in wanted - there)


def _one(connection: "DuckDBPyConnection", sql: str) -> int:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return int(row[0])


def _rows(connection: "DuckDBPyConnection", sql: str) -> Iterator[tables.Row]:
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description or ()]
    while some := cursor.fetchmany(_AT_ONCE):
        for row in some:
            yield dict(zip(names, row, strict=True))


def _faults(row: tables.Row, path: Path) -> list[Problem]:
    """Why the receipt of an attempt is none, or which columns do not say what it says."""
    from evalrunner.receipt.files import json_of

    place = f"{path}: attempt {row['run_id']}"
    try:
        receipt: Any = json_of(row["receipt_json"], place)
        told = tables.columns(Attempt(row["run_id"], row["identity"], receipt))
    except InputError as error:
        return [Problem(place, str(problem).removeprefix(f"{place}: ")) for problem in error.problems]
    except ValueError as error:
        return [Problem(place, str(error))]
    wrong = [name for name, value in told.items() if name in row and row[name] != value]
    if not wrong:
        return []
    return [Problem(place, "columns do not say what its receipt says", ", ".join(wrong))]


def _copy(row: tables.Row, folder: Path, found: Findings) -> None:
    try:
        file = copies.file_of(folder, row)
        same = file.read_bytes() == row["receipt_json"].encode()
    except FileNotFoundError:
        found.copies.missing += 1
        return
    except (OSError, ValueError) as error:
        found.problems.append(Problem(f"the copy of receipt {row['receipt_id']}", f"cannot be read: {error}"))
        return
    if same:
        found.copies.equal += 1
        return
    found.copies.different += 1
    what = f"is not what receipt {row['receipt_id']} of the database says"
    mend = "removing the file: the database is what counts, and importing the run writes the copy again"
    found.problems.append(Problem(str(file), what, allowed=mend))


def as_json(found: Findings) -> dict[str, Any]:
    """The findings as a JSON object."""
    return {
        "schema_version": 1,
        "healthy": not found.problems,
        "path": str(found.path),
        "exists": found.exists,
        "bytes": found.bytes,
        "layout": found.layout,
        "older": found.older,
        "attempts": found.attempts,
        "receipts": found.receipts,
        "scores": found.scores,
        "copies": vars(found.copies),
        "waiting": [{"file": str(file), "reason": reason} for file, reason in found.waiting],
        "refused": list(map(str, found.refused)),
        "left": list(map(str, found.left)),
        "lock": found.lock,
        "problems": list(map(str, found.problems)),
    }
