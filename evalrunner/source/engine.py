"""The DuckDB that reads and samples files: bounded in memory, without network, spilling to its own folder."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "1GB"
"""What DuckDB may hold before it spills to disk."""

THREADS = 4
"""At most so many threads: each reader of text files holds a buffer of 32 MB."""

MAX_ROW = 16 * 1024 * 1024
"""The longest row of a text file, in bytes."""


@contextmanager
def engine() -> Iterator["DuckDBPyConnection"]:
    """A DuckDB in memory, closed afterwards; what it spilled to disk is removed."""
    import duckdb

    with TemporaryDirectory(prefix="evalrunner-") as spill:
        con = duckdb.connect(
            config={
                "memory_limit": MEMORY,
                "threads": min(THREADS, os.cpu_count() or 1),
                "temp_directory": spill,
                "preserve_insertion_order": True,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        try:
            con.execute("SET TimeZone = 'UTC'")
            con.execute("SET enable_progress_bar = false")  # it goes to stdout where no script is running
            yield con
        finally:
            con.close()


def run(con: "DuckDBPyConnection", query: str, values: Sequence[Any] = ()) -> None:
    """Executes a query that may take long, so that ^C stops it at once; rows are fetched from `con` as ever.

    DuckDB itself looks for signals only between its tasks, which can be seconds.
    """
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(con.execute, query, list(values))
        try:
            done.result()
        except KeyboardInterrupt:
            con.interrupt()
            raise


def literal(text: str) -> str:
    """The text as a SQL string."""
    return "'" + text.replace("'", "''") + "'"


def name(text: str) -> str:
    """The text as a SQL identifier."""
    return '"' + text.replace('"', '""') + '"'


def first_line(error: Exception) -> str:
    """What DuckDB says is wrong, without its hints and without the text of the query."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line), type(error).__name__)
