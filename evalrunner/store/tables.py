"""Putting an attempt into the database, in one transaction."""

from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from evalrunner.errors import InputError, Problem, show
from evalrunner.store.attempt import Attempt, ScoreRow, in_batches

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from evalrunner.receipt.schema import Receipt

Row = dict[str, Any]
"""The columns of an attempt by name, all but its id."""

KEY = ("eval", "subject_sha8", "corpus_sha8", "prompt_sha8", "models_sha8", "rubric_sha8")
"""What a row of `receipts` is unique by."""

_MATCH = " and ".join(f"r.{name} = ?" for name in KEY)


class TakenError(Exception):
    """A run id is taken by another receipt."""


def columns(attempt: Attempt) -> Row:
    """The row of `attempts`, without its id.

    Raises:
        InputError: the receipt is none, or is of another run.
    """
    from evalrunner.receipt.files import TAKES_QUALITY, dumps
    from evalrunner.receipt.schema import parse

    receipt = parse(attempt.receipt, f"the receipt of {attempt.run_id}")
    if receipt.run_id not in {None, attempt.run_id}:
        raise InputError(
            Problem("run_id", "the receipt is of another run", show(receipt.run_id), attempt.run_id)
        )
    headline = receipt.headline
    overall = receipt.overall_score
    figure = overall if headline is None else headline.value
    return {
        "run_id": attempt.run_id,
        "identity": attempt.identity,
        "eval": receipt.eval or TAKES_QUALITY,
        "ts": datetime.fromisoformat(receipt.ts).replace(tzinfo=None),
        "rubric_version": receipt.rubric_version,
        "rubric_sha8": receipt.rubric_sha8,
        "subject_sha8": "" if attempt.identity else receipt.subject_sha8 or "",
        "corpus_sha8": receipt.corpus.corpus_sha8,
        "prompt_sha8": receipt.prompt_sha8,
        "models_sha8": receipt.models_sha8,
        "models": receipt.models,
        "judge_kind": receipt.judge_kind,
        "n_items": receipt.corpus.n_takes,
        "cycles_run": receipt.cycles_run,
        "verdict": receipt.verdict,
        "conclusive": _conclusive(receipt, figure),
        "overall_score": _float(overall),
        "headline_metric": headline.metric if headline else None,
        "headline_value": _float(headline.value) if headline else None,
        "cost_usd": _float(receipt.cost_usd),
        "receipt_json": dumps(attempt.receipt),
    }


def _conclusive(receipt: "Receipt", figure: Decimal | None) -> bool:
    """Without a threshold there is no verdict; a figure is then what makes an attempt conclusive."""
    if receipt.verdict is None:
        return figure is not None or any(each.value is not None for each in (receipt.metrics or {}).values())
    return receipt.verdict != "inconclusive"


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def insert(connection: "DuckDBPyConnection", attempt: Attempt, row: Row) -> bool:
    """Puts an attempt in, or does nothing where it is in already. Returns whether it is new.

    Args:
        row: its columns.

    Raises:
        TakenError: the run id is taken by another receipt.
    """
    import duckdb

    known = connection.execute(
        "select receipt_json from attempts where run_id = ?", [attempt.run_id]
    ).fetchone()
    if known is not None:
        if known[0] != row["receipt_json"]:
            raise TakenError(f"run {attempt.run_id} is in the store with another receipt")
        return False
    connection.begin()
    try:
        whole = {"id": _receipt_row(connection, row), **row}
        connection.execute(
            f"insert into attempts ({', '.join(whole)}) values ({', '.join('?' * len(whole))})",
            list(whole.values()),
        )
        _bulk(connection, attempt)
        connection.commit()
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise
    return True


def _receipt_row(connection: "DuckDBPyConnection", row: Row) -> int:
    """Makes `receipts` right for a new attempt, and returns the attempt's id.

    An attempt whose receipt stands for its key for good shares that row's id; every other has one of its own.
    So an id always means one receipt.
    """
    key = [row[name] for name in KEY]
    held = connection.execute(
        f"select r.id, a.conclusive from receipts r join attempts a on a.run_id = r.run_id where {_MATCH}",
        key,
    ).fetchone()
    if held is not None and not held[1] and row["conclusive"]:
        connection.execute("update receipts set run_id = ? where id = ?", [row["run_id"], held[0]])
        return int(held[0])
    fresh = _next_id(connection)
    if held is not None:
        return fresh
    connection.execute(
        f"insert into receipts (id, {', '.join(KEY)}, run_id) values (?, {', '.join('?' * len(KEY))}, ?)",
        [fresh, *key, row["run_id"]],
    )
    return fresh if row["conclusive"] else _next_id(connection)


def _next_id(connection: "DuckDBPyConnection") -> int:
    found = connection.execute("select nextval('ids')").fetchone()
    assert found is not None
    return int(found[0])


def _bulk(connection: "DuckDBPyConnection", attempt: Attempt) -> None:
    for some in in_batches(attempt.scores):
        _insert_scores(connection, attempt.run_id, some)
    for chunks in in_batches(attempt.chunks):
        connection.execute(
            "insert into chunks select ?, unnest(?::integer[]), unnest(?::varchar[][])",
            [attempt.run_id, [each.number for each in chunks], [list(each.items) for each in chunks]],
        )


def _insert_scores(connection: "DuckDBPyConnection", run_id: str, rows: list[ScoreRow]) -> None:
    """What many rows share (dimension, model, cycle) goes over once: a value costs more than its row."""
    places: dict[tuple[str, str, int], int] = {}
    shared = [places.setdefault((row.dimension, row.model, row.cycle), len(places) + 1) for row in rows]
    dimensions, models, cycles = map(list, zip(*places, strict=True))
    connection.execute(
        """
        insert into scores
        select ?, item, chunk, (?::varchar[])[place], (?::varchar[])[place], (?::integer[])[place],
            written::double, written
        from (
            select unnest(?::varchar[]) as item, unnest(?::integer[]) as chunk,
                unnest(?::integer[]) as place, unnest(?::varchar[]) as written
        )
        """,
        [
            run_id,
            dimensions,
            models,
            cycles,
            [row.item for row in rows],
            [row.chunk for row in rows],
            shared,
            [str(row.value) for row in rows],
        ],
    )


def row_of_key(connection: "DuckDBPyConnection", row: Row) -> str:
    """The receipt text that `receipts` holds for the key of an attempt that is in."""
    found = connection.execute(
        f"select a.receipt_json from receipts r join attempts a on a.run_id = r.run_id where {_MATCH}",
        [row[name] for name in KEY],
    ).fetchone()
    assert found is not None
    return str(found[0])
