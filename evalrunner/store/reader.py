"""Questions to an open store. Lists read narrow columns; a receipt is fetched only when it is asked for."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evalrunner.errors import Problem, UsageError, show
from evalrunner.store.database import told

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

T = TypeVar("T")


@dataclass(frozen=True)
class TrendRow:
    """One line of a trend.

    Attributes:
        id: local to this store; `Reader.by_id` finds the receipt of this line by it.
        ts: start of the attempt, UTC, as in the receipt.
        overall_score: the panel's overall score, or the headline metric named in `metric`.
        cost_usd: None when some price was unknown.
        subject_sha8: empty where the item itself was judged.
    """

    id: int
    run_id: str
    ts: str
    eval: str
    rubric_version: str
    rubric_sha8: str
    verdict: str | None
    overall_score: float | None
    metric: str | None
    cost_usd: float | None
    corpus_sha8: str
    prompt_sha8: str
    models_sha8: str
    subject_sha8: str
    models: tuple[str, ...]
    judge_kind: str | None
    n_items: int


@dataclass(frozen=True)
class CellRow:
    """One cell of a rollup in one line of a trend.

    Attributes:
        row: the line.
        cell: such as `python`, or `s x sonnet`.
        value: of the headline metric in this cell; None where there was nothing to count.
        n: how many trials it stands on.
        ci_low, ci_high: its 95 % interval.
    """

    row: TrendRow
    cell: str
    value: float | None
    n: int
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class Kept:
    """A receipt in the store.

    Attributes:
        text: the receipt's JSON text, byte for byte as it was put in.
    """

    id: int
    run_id: str
    text: str


_COLUMNS = ", ".join(field.name for field in fields(TrendRow))
_ATTEMPTS = """(
    select *, headline_metric as metric from (
        select * replace (coalesce(overall_score, headline_value) as overall_score) from attempts
    )
)"""
_RECEIPTS = """(
    select r.*, a.ts, a.receipt_json from receipts r join attempts a on a.run_id = r.run_id
)"""
_NEWEST = "order by ts desc, id desc"


class Reader:
    """Answers questions for as long as the store is open.

    Args:
        connection: to the database; None where there is none, and every answer is empty.
        path: of the database, for messages.
    """

    def __init__(self, connection: "DuckDBPyConnection | None", path: Path = Path()) -> None:
        self._connection = connection
        self._path = path

    @property
    def is_empty(self) -> bool:
        """Whether there are no runs yet."""
        return not self._rows("select 1 from attempts limit 1")

    def trend(
        self,
        *,
        eval_name: str | None = None,
        rubric_version: str | None = None,
        panel: str | Sequence[str] | None = None,
        corpus: str | None = None,
        limit: int | None = None,
        attempts: bool = False,
    ) -> list[TrendRow]:
        """The newest first; equal times by id. Receipts where items are judged themselves, else attempts.

        Args:
            eval_name: only this eval.
            rubric_version: only this version.
            panel: only this panel: its `models_sha8`, or its model ids in any order.
            corpus: only this corpus: its sha8 or its whole sha256.
            limit: at most so many rows.
            attempts: every attempt of every eval, instead of receipts.

        Raises:
            UsageError: `corpus` is no fingerprint.
        """
        wanted = {
            "eval": eval_name,
            "rubric_version": rubric_version,
            "models_sha8": None if panel is None else _panel_sha8(panel),
            "corpus_sha8": None if corpus is None else sha8("corpus", corpus),
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        where = f"where {' and '.join(f'{name} = ?' for name in given)}" if given else ""
        rows = self._rows(
            f"select {_COLUMNS} from {_ATTEMPTS if attempts else 'trend'} {where} {_NEWEST} limit ?",
            [*given.values(), limit],
        )
        return [_trend_row(row) for row in rows]

    def cells(self, rows: Sequence[TrendRow], group: str) -> list[CellRow]:
        """The headline metric of each cell of a group, of those rows that have it: by cell, then as given."""
        figures = self._groups(rows, f'$.groups."{group}"')
        found = [
            CellRow(
                row,
                cell,
                metric.get("value"),
                metric.get("n", 0),
                metric.get("ci_low"),
                metric.get("ci_high"),
            )
            for row in rows
            for cell, metrics in (figures.get(row.run_id) or {}).items()
            if (metric := metrics.get(row.metric)) is not None
        ]
        return sorted(found, key=lambda each: each.cell)

    def groups(self, rows: Sequence[TrendRow]) -> list[str]:
        """The groups that the receipts of these rows have, in alphabetical order."""
        return sorted({name for groups in self._groups(rows, "$.groups").values() for name in groups or {}})

    def _groups(self, rows: Sequence[TrendRow], path: str) -> dict[str, Any]:
        """A part of each row's receipt, by run id."""
        found = self._rows(
            "select run_id, json_extract(receipt_json, ?) from attempts where list_contains(?, run_id)",
            [path, [row.run_id for row in rows]],
        )
        return {run_id: json.loads(text) for run_id, text in found if text is not None}

    def ask(self, sql: str, read: "Callable[[DuckDBPyRelation], T]") -> "T | None":
        """What `read` makes of the rows of a query; None where there is no store.

        Raises:
            StoreError: the database cannot be read.
        """
        if self._connection is None:
            return None
        with told(self._path):
            return read(self._connection.sql(sql))

    def by_id(self, number: int) -> Kept | None:
        """The receipt of this id, as trend shows it."""
        for table in ("attempts", _RECEIPTS):
            found = self._kept(f"from {table} where id = ?", [number])
            if found:
                return found[0]
        return None

    def by_run(self, run_id: str) -> Kept | None:
        """The receipt of this attempt."""
        return next(iter(self._kept("from attempts where run_id = ?", [run_id])), None)

    def by_shas(
        self, *, corpus: str, prompt: str, models: str, rubric: str, eval_name: str | None = None
    ) -> list[Kept]:
        """The receipts with these four fingerprints, newest first: several for several evals or subjects.

        Raises:
            UsageError: one is no fingerprint.
        """
        given = {"corpus": corpus, "prompt": prompt, "models": models, "rubric": rubric}
        found = {f"{name}_sha8": sha8(name, value) for name, value in given.items()}
        if eval_name is not None:
            found["eval"] = eval_name
        where = " and ".join(f"{name} = ?" for name in found)
        return self._kept(f"from {_RECEIPTS} where {where} {_NEWEST}", list(found.values()))

    def latest(self, eval_name: str | None = None) -> Kept | None:
        """The newest attempt, of one eval or of all."""
        where, given = ("", []) if eval_name is None else ("where eval = ?", [eval_name])
        return next(iter(self._kept(f"from attempts {where} {_NEWEST} limit 1", given)), None)

    def evals(self) -> list[str]:
        """The evals that have attempts, in alphabetical order."""
        return [name for (name,) in self._rows("select distinct eval from attempts order by eval")]

    def rubric_versions(self, eval_name: str) -> dict[str, set[str]]:
        """The `rubric_sha8` that each rubric version of an eval appears with; several deserve a warning."""
        found: dict[str, set[str]] = {}
        for version, sha in self._rows(
            "select distinct rubric_version, rubric_sha8 from attempts where eval = ? order by all",
            [eval_name],
        ):
            found.setdefault(version, set()).add(sha)
        return found

    def _kept(self, rest: str, given: Sequence[Any]) -> list[Kept]:
        return [Kept(*row) for row in self._rows(f"select id, run_id, receipt_json {rest}", given)]

    def _rows(self, sql: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        with told(self._path):
            return self._connection.execute(sql, list(given)).fetchall()


def sha8(name: str, value: str) -> str:
    """The sha8 of a fingerprint given as sha8 or whole.

    Raises:
        UsageError: it is neither.
    """
    if not re.fullmatch(r"[0-9a-f]{8}([0-9a-f]{56})?", value):
        raise UsageError(Problem(name, "is no fingerprint", show(value), "8 or 64 hex digits, in lower case"))
    return value[:8]


def _panel_sha8(panel: str | Sequence[str]) -> str:
    from evalrunner.receipt.fingerprint import models_sha

    if isinstance(panel, str):
        if re.fullmatch(r"[0-9a-f]{8}", panel):
            return panel
        panel = [panel]
    return models_sha(panel).sha8


def _trend_row(row: tuple[Any, ...]) -> TrendRow:
    named = dict(zip((field.name for field in fields(TrendRow)), row, strict=True))
    return TrendRow(**{**named, "ts": _moment(named["ts"]), "models": tuple(named["models"])})


def _moment(ts: datetime) -> str:
    return ts.isoformat(timespec="microseconds" if ts.microsecond % 1000 else "milliseconds") + "Z"
