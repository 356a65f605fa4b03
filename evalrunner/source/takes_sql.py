"""The rules of takes said in SQL, so that millions of rows are checked and named without being loaded.

`evalrunner.source.takes` has the last word: a row that is suspect here is read by it, one by one. What has to
hold, and what tests hold, is that no row which it refuses passes here, and that ids come out the same.
"""

from typing import Final

from evalrunner.source.rows import BLANK, FieldType

TAKE_FIELDS: Final[dict[str, FieldType]] = {
    "id": "key",
    "page_slug": "text",
    "kind": "text",
    "holder": "text",
    "weight": "number",
    "since_date": "date",
    "source": "text",
    "claim": "text",
    "page_text": "text",
}
"""The known fields of a take."""

ID_DIGITS: Final = 16
"""So many hex digits of the content's sha256 make an id: enough for 10 million rows without a chance hit."""

_CONTROL = r"'[\x00-\x1f\x7f]'"


def _blank(field: str) -> str:
    return f"({field} IS NULL OR regexp_matches({field}, '{BLANK}'))"


def _json(field: str) -> str:
    """The canonical JSON of a text field, with its line ends as `\\n`."""
    lines = f"replace(replace({field}, chr(13) || chr(10), chr(10)), chr(13), chr(10))"
    return f"CASE WHEN {_blank(field)} THEN 'null' ELSE to_json({lines})::VARCHAR END"


_WEIGHT = "CASE WHEN weight IN (0, 1) THEN weight::INTEGER::VARCHAR ELSE (weight + 0::DOUBLE)::VARCHAR END"
_CONTENT = (
    " || ".join(
        f"'{'{' if place == 0 else ','}\"{field}\":' || ({_WEIGHT if field == 'weight' else _json(field)})"
        for place, field in enumerate(sorted(set(TAKE_FIELDS) - {"id"}))
    )
    + " || '}'"
)

_SUSPECT = " OR ".join(
    [
        f"NOT {_blank('id')} AND regexp_matches(id, {_CONTROL})",
        f"{_blank('page_slug')} OR regexp_matches(page_slug, {_CONTROL})",
        "kind IS NULL OR kind NOT IN ('fact', 'take', 'bet', 'hunch')",
        _blank("holder"),
        "weight IS NULL OR NOT (weight >= 0 AND weight <= 1)",
        f"NOT {_blank('since_date')} AND (NOT regexp_full_match(since_date, '[0-9]{{4}}(-[0-9]{{2}}){{0,2}}')"
        " OR since_date LIKE '0000%'"
        " OR TRY_CAST(since_date || right('-01-01', 10 - length(since_date)) AS DATE) IS NULL)",
        _blank("claim"),
        # An id from content that DuckDB writes otherwise than `canonical_json` does.
        "content IS NOT NULL AND (contains(content, '\\u00') OR weight > 0 AND weight < 0.0001)",
    ]
)


def sieve(fields: str) -> str:
    """A query over rows of takes that gives each row's id and whether it is suspect.

    Args:
        fields: a query that gives the fields of TAKE_FIELDS as VARCHAR (weight as DOUBLE), `_odd` (the row is
            suspect for a reason of its format), and any other columns, which are passed on.

    Returns:
        A query with the same columns, `_id` and `_suspect`, in the same order of rows.
    """
    content = f"SELECT *, CASE WHEN {_blank('id')} THEN {_CONTENT} END AS content FROM ({fields})"
    named = f"CASE WHEN content IS NOT NULL THEN 'take-' || left(sha256(content), {ID_DIGITS}) ELSE id END"
    return (
        f"SELECT * EXCLUDE (content), {named} AS _id, _odd OR coalesce({_SUSPECT}, true) AS _suspect"
        f" FROM ({content})"
    )
