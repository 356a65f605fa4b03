"""The rows of a receipt's `judgements`, in a file of the run folder where they are many."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from evalrunner.errors import InputError, Problem, show
from evalrunner.receipt.files import json_of, write_atomic
from evalrunner.receipt.jsontext import readable_json
from evalrunner.receipt.schema import JudgementRow, JudgementsFile, Receipt

FILE: Final = "judgements.jsonl"

MOST_INSIDE: Final = 500
"""So many rows stand in the receipt itself: a page to scroll through, and less than half a megabyte."""


def write(folder: Path, rows: Iterable[Mapping[str, Any]]) -> JudgementsFile:
    """Writes rows, one a line, as they come, and says what the receipt keeps of the file.

    Raises:
        ReceiptNotKeptError: it could not be written; nothing is left behind.
    """
    digest, count = sha256(), 0

    def lines() -> Iterator[str]:
        nonlocal count
        for row in rows:
            line = readable_json(row) + "\n"
            digest.update(line.encode())
            count += 1
            yield line

    write_atomic(folder / FILE, lines())
    return JudgementsFile(file=FILE, rows=count, sha256=digest.hexdigest())


def read(folder: Path, told: JudgementsFile) -> Iterator[JudgementRow]:
    """The rows that a receipt names, once it is clear that they are those that it was made with.

    Args:
        folder: the run folder.
        told: what the receipt says of the file.

    Raises:
        InputError: there is no such file, it cannot be read, it is another one, or a row is none.
    """
    path = folder / FILE
    if told.file != FILE:
        raise InputError(Problem("judgements_file.file", "is no file of a run folder", show(told.file), FILE))
    try:
        with path.open("rb") as file:
            digest = sha256()
            for data in file:
                digest.update(data)
            if digest.hexdigest() != told.sha256:
                what = "is not the file that the receipt was made with"
                raise InputError(
                    Problem(str(path), what, f"sha256 {digest.hexdigest()[:8]}", told.sha256[:8])
                )
            file.seek(0)
            for number, data in enumerate(file, start=1):
                yield _row(data, f"{path}:{number}")
    except OSError as error:
        reason = (
            "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        )
        raise InputError(Problem(str(path), reason)) from None


def _row(data: bytes, place: str) -> JudgementRow:
    try:
        return JudgementRow.model_validate(json_of(data, place))
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(Problem(f"{place}: {'.'.join(map(str, first['loc']))}", first["msg"])) from None


def lie_beside(receipt: Receipt) -> bool:
    """Whether what was said does not stand in the receipt, but in a file of its run folder."""
    return receipt.judgements is None and receipt.judgements_file is not None


def with_rows(receipt: Receipt, folder: Path) -> Receipt:
    """The receipt with its rows inside, wherever they lie.

    Raises:
        InputError: as `read`.
    """
    if receipt.judgements is not None or receipt.judgements_file is None:
        return receipt
    rows = list(read(folder, receipt.judgements_file))
    names = receipt.model_fields_set - {"judgements_file"}
    values = {name: getattr(receipt, name) for name in names}
    return Receipt.model_construct(names | {"judgements"}, **values, judgements=rows)
