"""`<db>.pending/`: one file an attempt, from before the database takes it in until after it has.

Files are written whole or not at all. What is no attempt is moved to `<db>.pending/refused/`, so that it
never stands in the way of the others.
"""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from pydantic import ValidationError

from evalrunner.errors import show
from evalrunner.store.attempt import Attempt, ScoreRow, attempt_from, in_batches
from evalrunner.store.database import beside

FORMAT = 1
_encode = json.JSONEncoder(ensure_ascii=False).encode
_STALE_S = 3600.0


class NoAttemptError(Exception):
    """A file in the folder holds no attempt; says why."""


class NewerError(Exception):
    """A file in the folder was written by a newer evalrunner; says which version it has."""


def folder(path: Path) -> Path:
    """Where the attempts wait for the database at `path`."""
    return beside(path, ".pending")


def file_of(path: Path, attempt: Attempt) -> Path:
    """The file in which an attempt waits for the database at `path`."""
    return folder(path) / f"{attempt.run_id}.json"


def write(path: Path, attempt: Attempt) -> Path:
    """Writes an attempt down, and returns its file.

    Raises:
        InputError: the receipt holds what JSON cannot say.
        ReceiptNotKeptError: it could not be written.
    """
    from evalrunner.receipt.files import write_atomic

    file = file_of(path, attempt)
    write_atomic(file, _parts(attempt))
    return file


def _parts(attempt: Attempt) -> Iterator[str]:
    """The text of a file, some scores at a time: there may be hundreds of thousands."""
    from evalrunner.receipt.jsontext import readable_json

    head = {
        "format": FORMAT,
        "run_id": attempt.run_id,
        "identity": attempt.identity,
        "receipt": attempt.receipt,
    }
    yield readable_json(head)[:-1]
    for name, rows in (("scores", map(_written, attempt.scores)), ("chunks", attempt.chunks)):
        comma = f', "{name}": ['
        for some in in_batches(rows):
            yield comma + _encode(some)[1:-1]
            comma = ", "
        yield "]" if comma == ", " else f"{comma}]"
    yield "}\n"


def _written(row: ScoreRow) -> list[object]:
    return [*row[:-1], str(row.value)]


def waiting(path: Path) -> list[Path]:
    """The files that wait, by name.

    Raises:
        OSError: the folder cannot be read.
    """
    try:
        return sorted(file for file in folder(path).iterdir() if file.suffix == ".json")
    except FileNotFoundError:
        return []


def tidy(path: Path) -> None:
    """Clears away what killed writers left half-written."""
    with suppress(OSError):
        for file in folder(path).glob(".*.tmp"):
            if time.time() - file.stat().st_mtime > _STALE_S:
                file.unlink()


def read(file: Path) -> Attempt:
    """The attempt in a file.

    Raises:
        NoAttemptError: it is torn, or of another program.
        NewerError: a newer evalrunner wrote it.
        OSError: it cannot be read.
    """
    from evalrunner.receipt.jsontext import fraction, no_twice, whole_number

    if not file.is_file():
        raise NoAttemptError("it is no file")
    try:
        content = json.loads(
            file.read_bytes().decode(),
            parse_float=fraction,
            parse_int=whole_number,
            parse_constant=_constant,
            object_pairs_hook=no_twice,
        )
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise NoAttemptError(f"not JSON, or cut off: {error}") from None
    return attempt_in(content)


def attempt_in(content: object) -> Attempt:
    """The attempt that the JSON of a file says.

    Raises:
        NoAttemptError, NewerError: as `read`.
    """
    from evalrunner.receipt.schema import SCHEMA_VERSION

    if not isinstance(content, dict):
        raise NoAttemptError("it is no JSON object")
    version = content.get("format")
    if type(version) is not int or version < 1:
        raise NoAttemptError(f"its format is {show(version)}, not {FORMAT}")
    if version > FORMAT:
        raise NewerError(f"a newer evalrunner wrote it, in format {version}; this one reads {FORMAT}")
    try:
        attempt = attempt_from(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise NoAttemptError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    schema = attempt.receipt.get("schema_version")
    if type(schema) is int and schema > SCHEMA_VERSION:
        raise NewerError(f"its receipt has schema_version {schema}; this evalrunner reads {SCHEMA_VERSION}")
    return attempt


def refuse(file: Path) -> Path:
    """Moves a file out of the way, and returns its new place.

    Raises:
        OSError: it cannot be moved.
    """
    refused = file.parent / "refused"
    refused.mkdir(exist_ok=True)
    place = refused / file.name
    count = 1
    while place.exists():
        count += 1
        place = refused / f"{file.stem}.{count}.json"
    return file.rename(place)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
