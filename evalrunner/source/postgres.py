"""Rows of a PostgreSQL query, written to a temporary file of JSON lines, where they are read like any other.

One read-only transaction gives one consistent picture. The file holds the whole result of the query: what is
larger than the free space for temporary files is better filtered in the query.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from evalrunner.errors import EvalrunnerError, InputError, MissingExtraError, Problem, SourceFailedError, show

if TYPE_CHECKING:
    import psycopg

URL = "DATABASE_URL"
CONNECT_S = 10
"""Seconds to wait for the server, where the URL does not say otherwise."""


def address(url: str) -> str:
    """Host, port and database of a URL or of a `key=value` connection string: never user or password.

    Raises:
        InputError: the string is no PostgreSQL address; it is not shown, since it may hold a password.
        MissingExtraError: `evalrunner[postgres]` is not installed.
    """
    parts = _parts(url)
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{host}{port}/{parts.get('dbname') or parts.get('user') or ''}"


@contextmanager
def spooled(url: str, query: str) -> Iterator[Path]:
    """A file with the query's rows as JSON objects, one a line, in the query's order; removed afterwards.

    Raises:
        InputError: the address or the query is wrong.
        MissingExtraError: `evalrunner[postgres]` is not installed.
        SourceFailedError: the server cannot be reached, or fails.
    """
    where = address(url)
    import psycopg

    with TemporaryDirectory(prefix="evalrunner-") as folder:
        file = Path(folder) / "rows.jsonl"
        try:
            wait = _parts(url).get("connect_timeout", CONNECT_S)
            with psycopg.connect(
                url, client_encoding="UTF8", application_name="evalrunner", connect_timeout=wait
            ) as con:
                con.read_only = True
                con.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                _copy(con, query.strip().removesuffix(";"), file)
        except psycopg.Error as error:
            raise _failed(error, where, query) from None
        yield file


def _copy(con: "psycopg.Connection[Any]", query: str, file: Path) -> None:
    inner = f"(\n{query}\n) AS source_rows"
    # As a prepared statement the text can only be one statement.
    cursor = con.execute(f"SELECT * FROM {inner} LIMIT 0".encode(), prepare=True)
    names = [column.name for column in cursor.description or ()]
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise InputError(Problem("source.query", f"gives the column {twice[0]!r} twice", show(query)))
    # JSON text holds neither of the control characters that delimit and quote here, so it comes as it is.
    copy = (
        f"COPY (SELECT to_jsonb(source_rows)::text FROM {inner}) TO STDOUT"
        " (FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01')"
    )
    with file.open("wb") as out, con.cursor().copy(copy.encode()) as rows:
        for block in rows:
            out.write(block)


def _parts(url: str) -> dict[str, Any]:
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingExtraError(
            Problem(URL, "PostgreSQL needs an extra package", None, "pip install 'evalrunner[postgres]'")
        ) from None
    try:
        return dict(conninfo_to_dict(url))
    except ProgrammingError:
        allowed = "postgresql://user@host:port/database, or key=value pairs"
        raise InputError(Problem(URL, "is no PostgreSQL address", None, allowed)) from None


def _failed(error: "psycopg.Error", where: str, query: str) -> EvalrunnerError:
    import psycopg

    said = str(error).strip().splitlines()
    what = said[0] if said else type(error).__name__
    wrong = psycopg.ProgrammingError | psycopg.DataError | psycopg.NotSupportedError
    if isinstance(error, wrong) and not isinstance(error, psycopg.errors.InsufficientPrivilege):
        return InputError(Problem("source.query", what, show(query)))
    return SourceFailedError(Problem(where, what))
