"""Carrying out a selection: check every row, order ids, read only what is taken."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from evalrunner.errors import InputError, Problem, SourceFailedError, nearest, show
from evalrunner.records import Item, Selection, selection_key
from evalrunner.source.engine import literal, name, run
from evalrunner.source.rows import BLANK, SHOWN, Refusals, RowRefused
from evalrunner.source.shelf import Shelf
from evalrunner.source.strata import allocate
from evalrunner.source.table import Table

_BATCH = 50_000
SCAN, CHOSEN, SHARES = (f"memory.main.{each}" for each in ("scanned", "chosen", "shares"))


def take(table: Table, selection: Selection, prefix: str | None) -> Sequence[Item]:
    """The items that a selection names, in its order. Every row of the table is checked.

    Args:
        table: where the rows are.
        selection: which of them.
        prefix: only rows whose slug starts with these characters.

    Raises:
        InputError: rows that cannot be used, ids that are not unique, a field to stratify by that is unknown.
        SourceFailedError: the table cannot be read.
    """
    import duckdb

    try:
        if table.kind.sieve is None:
            return _one_by_one(table, selection, prefix)
        return _sieved(table, table.kind.sieve, selection, prefix)
    except (duckdb.ParserException, duckdb.BinderException):
        raise  # our own SQL is wrong, not the table
    except duckdb.Error as error:
        raise table.failed(error) from error
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of ^C in a short query
            raise KeyboardInterrupt from None
        raise


def _one_by_one(table: Table, selection: Selection, prefix: str | None) -> list[Item]:
    """For kinds of rows that come in small files."""
    refusals = Refusals(table.where)
    items: list[Item] = []
    numbers: dict[str, list[int]] = {}
    for number, place, row in table.reread():
        try:
            item = _read(table, row)
        except RowRefused as refused:
            refusals.add(place, refused.problems)
            continue
        items.append(item)
        numbers.setdefault(item.id, []).append(number)
    twice = [(each, found) for each, found in numbers.items() if len(found) > 1]
    _refuse_twice(table, refusals, twice[:SHOWN], sum(len(found) - 1 for _, found in twice))
    _raise(refusals)
    table.check_end(len(items), items[-1].id if items else None)
    strata = {item.id: _stratum_of(item, selection.stratify) for item in items}
    _check_stratum(table, selection.stratify, rows=len(items), values=any(strata.values()))
    if prefix is not None and table.kind.slug is not None:
        items = [item for item in items if str(item.payload[table.kind.slug]).startswith(prefix)]
    ids = [item.id for item in items]
    return [items[at] for at in choose(ids, [strata[each] for each in ids], selection)]


def choose(ids: Sequence[str], strata: Sequence[str | None], selection: Selection) -> list[int]:
    """The positions that a selection takes, in its order: its definition, which the SQL below repeats."""
    order = list(range(len(ids)))
    if selection.order == "sha256":
        order.sort(key=lambda at: (selection_key(selection.seed, ids[at]), ids[at]))
    if selection.stratify is None or selection.limit is None:
        return order[: selection.limit]
    left = allocate(Counter(strata), selection.limit)
    chosen = []
    for at in order:
        if left[strata[at]]:
            left[strata[at]] -= 1
            chosen.append(at)
    return chosen


def _stratum_of(item: Item, field: str | None) -> str | None:
    value = None if field is None else item.payload.get(field, item.truth.get(field))
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _sieved(
    table: Table, sieve: Callable[[str], str], selection: Selection, prefix: str | None
) -> Sequence[Item]:
    """For kinds of rows that come in files larger than memory."""
    field = selection.stratify
    known = field is None or field in table.kind.fields
    rows = sieve(table.fields_sql(None if known else field))
    keep = "true"
    if prefix is not None and table.kind.slug is not None:
        keep = f"coalesce(starts_with({name(table.kind.slug)}, {literal(prefix)}), false)"
    run(
        table.con,
        f"CREATE OR REPLACE TABLE {SCAN} AS SELECT _id AS id, _suspect AS suspect,"
        f" {keep} AS keep, {_stratum(table, field)} AS stratum FROM ({rows})",
    )
    refusals = Refusals(table.where)
    _settle(table, refusals)
    twice = table.con.execute(f"SELECT count(id) - count(DISTINCT id) FROM {SCAN}").fetchone()
    if twice is not None and twice[0]:
        _refuse_twice(table, refusals, _twice(table), twice[0])
    _raise(refusals)
    end = f"SELECT count(*), count(stratum), arg_max(id, rowid) FROM {SCAN}"
    [(total, with_value, last)] = table.con.execute(end).fetchall()
    table.check_end(total, last)
    _check_stratum(table, field, rows=total, values=with_value > 0)
    run(table.con, f"CREATE OR REPLACE TABLE {CHOSEN} AS {_chosen_sql(table, selection)}")
    return _fetch(table)


def _stratum(table: Table, field: str | None) -> str:
    if field is None:
        return "NULL::VARCHAR"
    if field not in table.kind.fields:
        value = "_carried"
    elif table.kind.fields[field] == "number":
        number = name(field)
        value = f"CASE WHEN {number} = floor({number}) THEN TRY_CAST({number} AS BIGINT)::VARCHAR"
        value += f" ELSE {number}::VARCHAR END"
    else:
        value = name(field)
    return f"CASE WHEN NOT regexp_matches({value}, '{BLANK}') THEN {value} END"


def _settle(table: Table, refusals: Refusals) -> None:
    """Reads the suspect rows one by one; gathers the wrong ones, and corrects the ids of all."""
    last = -1
    while not refusals.full():
        suspects = table.con.execute(
            f"SELECT rowid FROM {SCAN} WHERE suspect AND rowid > $1 ORDER BY rowid LIMIT $2",
            [last, _BATCH],
        ).fetchall()
        if not suspects:
            break
        last = suspects[-1][0]
        right: dict[int, str | None] = {}
        seen = 0
        for number, place, row in table.reread([number for (number,) in suspects]):
            seen += 1
            if refusals.full():
                return
            try:
                right[number] = _read(table, row).id
            except RowRefused as refused:
                refusals.add(place, refused.problems)
                right[number] = None
        if seen < len(suspects):
            raise _changed(table)
        table.con.execute(
            f"UPDATE {SCAN} SET id = right_id FROM"
            " (SELECT unnest($1::BIGINT[]) AS number, unnest($2::VARCHAR[]) AS right_id) AS rightly"
            " WHERE scanned.rowid = number AND scanned.id IS DISTINCT FROM right_id",
            [list(right), list(right.values())],
        )


def _twice(table: Table) -> list[tuple[str, list[int]]]:
    """The first ids that more than one row has, with the numbers of these rows."""
    return table.con.execute(
        f"SELECT id, list(rowid ORDER BY rowid)[:$1 + 1] FROM {SCAN} SEMI JOIN"
        f" (SELECT id, min(rowid) AS first FROM {SCAN} WHERE id IS NOT NULL GROUP BY id"
        " HAVING count(*) > 1 ORDER BY first LIMIT $1)"
        " USING (id) GROUP BY id ORDER BY min(rowid)",
        [SHOWN],
    ).fetchall()


def _refuse_twice(
    table: Table, refusals: Refusals, twice: Sequence[tuple[str, Sequence[int]]], total: int
) -> None:
    """Tells the first of the `total` rows whose id an earlier row has; `twice` gives ids and their rows."""
    first_of = {number: numbers[0] for _, numbers in twice for number in numbers[1:]}
    told = dict(sorted(first_of.items())[:SHOWN])
    places: dict[int, str] = {}
    for number, place, row in table.reread(sorted({*told, *told.values()})):
        places[number] = place
        if number in told and not isinstance(row, RowRefused):
            first = places[told[number]]
            if row.get("id") is None:
                what = f"is missing, and the content is that of {first}"
            else:
                what = f"is also the id of {first}"
            refusals.add(place, [Problem("id", what, show(row.get("id")), "each id once")])
    refusals.rows += total - len(told)


def _check_stratum(table: Table, field: str | None, *, rows: int, values: bool) -> None:
    """Refuses a field that no row has."""
    if field is None or field in table.kind.fields or values or not rows:
        return
    known = sorted({*table.kind.fields, *table.columns()})
    if field not in known:
        what = "no row has such a field"
        raise InputError(
            Problem("sampler.by", what, show(field), ", ".join(known)[:300], nearest(field, known))
        )


def _chosen_sql(table: Table, selection: Selection) -> str:
    """SQL for the ids that are taken, in order; `choose` in SQL."""
    seed = literal("" if selection.seed is None else str(selection.seed))
    order = "number" if selection.order == "source" else f"sha256({seed} || chr(31) || id), id"
    rows = f"(SELECT rowid AS number, id, stratum FROM {SCAN} WHERE keep)"
    if selection.stratify is None or selection.limit is None:
        limit = "" if selection.limit is None else f" LIMIT {selection.limit}"
        return f"SELECT number, id FROM {rows} ORDER BY {order}{limit}"
    counts = table.con.execute(f"SELECT stratum, count(*) FROM {rows} GROUP BY stratum").fetchall()
    shares = {value: share for value, share in allocate(dict(counts), selection.limit).items() if share}
    table.con.execute(
        f"CREATE OR REPLACE TABLE {SHARES} AS"
        " SELECT unnest($1::VARCHAR[]) AS value, unnest($2::BIGINT[]) AS share",
        [list(shares), list(shares.values())],
    )
    return (
        "SELECT number, id FROM (SELECT number, id, share, row_number() OVER"
        f" (PARTITION BY stratum ORDER BY {order}) AS place FROM {rows} JOIN {SHARES}"
        f" ON stratum IS NOT DISTINCT FROM value) WHERE place <= share ORDER BY {order}"
    )


def _fetch(table: Table) -> Sequence[Item]:
    """Reads the chosen rows, and nothing else."""
    chosen = table.con.execute(f"SELECT number, id FROM {CHOSEN} ORDER BY rowid").fetchall()
    if not chosen:
        return []
    ids = dict(chosen)
    shelf, places = Shelf(), dict[int, int]()
    refusals = Refusals(table.where)
    for number, row in table.pick(sorted(ids)):
        try:
            item = _read(table, row)
        except RowRefused as refused:
            refusals.add(f"{table.where}: row {number + 1}", refused.problems)
            continue
        if item.id != ids.get(number):
            raise _changed(table)
        places[number] = shelf.put(item)
    _raise(refusals)
    if len(places) < len(ids):
        raise _changed(table)
    return shelf.ordered(places[number] for number, _ in chosen)


def _read(table: Table, row: Any) -> Item:
    if isinstance(row, RowRefused):
        raise row
    return table.kind.read(row)


def _raise(refusals: Refusals) -> None:
    error = refusals.error()
    if error is not None:
        raise error


def _changed(table: Table) -> SourceFailedError:
    return SourceFailedError(Problem(table.where, "gave other rows when it was read a second time"))
