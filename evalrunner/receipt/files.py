"""Receipts as files: written whole or not at all, read as whatever another program may have left there."""

import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from evalrunner.errors import InputError, Problem, ReceiptNotKeptError
from evalrunner.receipt.doubts import doubts
from evalrunner.receipt.jsontext import clean, fraction, no_twice, readable_json
from evalrunner.receipt.schema import Receipt, parse

MOST_BYTES = 64 * 1024 * 1024
"""A receipt file larger than this is refused rather than read."""

TAKES_QUALITY = "takes_quality"


def dumps(receipt: Receipt | Mapping[str, Any], *, indent: bool = False) -> str:
    """A receipt, or its JSON object, as strict JSON text with a line end; the same bytes every time.

    Numbers are the shortest that equal the value; lone surrogates become U+FFFD.

    Args:
        receipt: what to write; its order of keys is kept.
        indent: several lines for people, rather than one.

    Raises:
        InputError: it holds what JSON cannot say (NaN, infinity, bytes, ...); names the key.
    """
    return readable_json(receipt.to_json() if isinstance(receipt, Receipt) else receipt, indent=indent) + "\n"


def loads(data: bytes | str, place: str) -> tuple[Receipt, list[str]]:
    """A receipt from its text, with what is doubtful about it. `place` names it in messages.

    Raises:
        InputError: not UTF-8, not strict JSON (with line and column), a key written twice, or no receipt.
    """
    receipt = parse(json_of(data, place), place)
    return receipt, [f"{place}: {doubt}" for doubt in doubts(receipt)]


def json_of(data: bytes | str, place: str) -> Any:
    """The value of a JSON text, its fractional numbers as written. `place` names it in messages.

    Raises:
        InputError: not UTF-8, not strict JSON (with line and column), or a key written twice.
    """
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise InputError(Problem(place, f"is not UTF-8 (byte {error.start})")) from None
    try:
        return json.loads(
            text,
            parse_float=fraction,
            parse_int=_integer,
            parse_constant=_constant,
            object_pairs_hook=no_twice,
        )
    except json.JSONDecodeError as error:
        raise InputError(
            Problem(f"{place}:{error.lineno}", f"is not JSON: {error.msg}, column {error.colno}")
        ) from None
    except ValueError as error:
        raise InputError(Problem(place, f"is not strict JSON: {error}")) from None
    except RecursionError:
        raise InputError(Problem(place, "is nested too deeply")) from None


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= 40 else Decimal(text)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def read_receipt(path: Path) -> tuple[Receipt, list[str]]:
    """The receipt in a file, with what is doubtful about it.

    Raises:
        InputError: there is no such file, it cannot be read or is too large, or it holds no receipt.
    """
    return loads(bytes_of(path), str(path))


def bytes_of(path: Path) -> bytes:
    """The bytes of a file that should hold a receipt.

    Raises:
        InputError: there is no such file, it cannot be read, or it is too large.
    """
    place = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(Problem(place, "no such file")) from None
    except IsADirectoryError:
        raise InputError(Problem(place, "is a folder", allowed="a receipt file")) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem(place, f"cannot be read: {reason}")) from None
    if len(data) > MOST_BYTES:
        raise InputError(Problem(place, "is too large for a receipt", allowed=f"at most {MOST_BYTES} bytes"))
    return data


def write_atomic(path: Path, text: str | Iterable[str]) -> None:
    """Writes a file whole: a reader, also after a crash or a power cut, sees the old content or the new.

    The folder is made where it is missing. The file is UTF-8 and follows the umask. A link is followed, and
    a device or a pipe is written to, never replaced by a file.

    Args:
        path: of the file.
        text: what to write, whole or in parts, none of which ends within a surrogate pair.

    Raises:
        ReceiptNotKeptError: it could not be written; nothing is left behind.
    """
    parts = [text] if isinstance(text, str) else text
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as device:
                device.writelines(clean(part).encode() for part in parts)
            return
        path = path.resolve() if path.is_symlink() else path
    except OSError as error:
        raise ReceiptNotKeptError(Problem(str(path), f"cannot be written: {error.strerror}")) from error
    draft = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("xb") as file:
                file.writelines(clean(part).encode() for part in parts)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ReceiptNotKeptError(
            Problem(str(path), f"cannot be written: {error.strerror or error}")
        ) from error
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Makes a rename survive a power cut, where the system allows it. The file itself is safe already."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def file_name(eval_name: str, shas: Sequence[str], subject_sha8: str | None = None) -> str:
    """The name of a receipt's copy: `takes-quality-<corpus>-<prompt>-<models>-<rubric>.json`.

    Evals that judge a subject carry its sha after the eval's name. takes_quality judges the item itself, so
    its names never do.

    Args:
        eval_name: snake_case; it is written in kebab-case.
        shas: the four sha8: corpus, prompt, models, rubric.
        subject_sha8: the subject's, or None where the item itself is judged.

    Raises:
        ValueError: a part is no eval name or no sha8, and might name another folder.
    """
    subject = [subject_sha8] if subject_sha8 is not None and eval_name != TAKES_QUALITY else []
    if len(shas) != 4 or not all(re.fullmatch(r"[0-9a-f]{8}", sha) for sha in [*subject, *shas]):
        raise ValueError(f"four sha8 are needed, not {[*subject, *shas]}")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", eval_name):
        raise ValueError(f"not the name of an eval: {eval_name!r}")
    return "-".join([eval_name.replace("_", "-"), *subject, *shas]) + ".json"
