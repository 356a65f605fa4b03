"""A receipt by whatever name a person has for it: a file, a run folder, a run id, or an id of the store."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from evalrunner.commands.output import say
from evalrunner.config.folders import is_run_id
from evalrunner.config.jobs import RECEIPT
from evalrunner.errors import InputError, Problem
from evalrunner.receipt import rows
from evalrunner.receipt.files import loads, read_receipt
from evalrunner.receipt.schema import Receipt
from evalrunner.store.base import Store


def found(names: Sequence[str], store: Store, *, doubted: bool = True) -> list[Receipt]:
    """The receipts of these names, in order.

    Args:
        names: as given.
        store: where ids are looked up.
        doubted: say what is doubtful about them; False where a comparison does.

    Raises:
        InputError: names that are no receipt's; all of them, with what was looked for.
    """
    receipts: list[Receipt] = []
    problems: list[Problem] = []
    for name in names:
        try:
            receipt, doubts = _file(name) or _stored(name, store)
        except InputError as error:
            problems += error.problems
            continue
        for line in doubts if doubted else ():
            say(f"warning: {line}")
        receipts.append(receipt)
    if problems:
        raise InputError(problems)
    return receipts


def _file(name: str) -> tuple[Receipt, list[str]] | None:
    path = Path(name)
    if path.is_dir():
        return read_receipt(path / RECEIPT)
    return read_receipt(path) if path.is_file() else None


def _stored(name: str, store: Store) -> tuple[Receipt, list[str]]:
    with store.reading(say) as reader:
        kept = reader.by_id(int(name)) if name.isdecimal() else reader.by_run(name)
    if kept is None:
        raise InputError(
            Problem(
                name,
                "is no receipt that can be found",
                None,
                "a receipt file, a run folder, a run id, or an id that trend shows",
            )
        )
    return loads(kept.text, f"receipt {kept.id} of the store")


def folders(receipt: Receipt, name: str | None) -> Iterator[Path]:
    """Where the run folder of a receipt may be: by the name that it was given, and by its run id."""
    if name is not None:
        yield Path(name) if Path(name).is_dir() else Path(name).parent
    yield from run_folders(receipt.run_id or "")


def run_folders(run_id: str) -> Iterator[Path]:
    """The run folders of an id, where they lie unless somebody moved them; those of a sweep's jobs lie in the
    sweep's.
    """
    if is_run_id(run_id):
        yield from Path("outputs").glob(f"*/{run_id}")
        yield from Path("outputs").glob(f"*/*/{run_id}")


def whole(receipt: Receipt, name: str | None = None) -> Receipt:
    """The receipt with all that was said inside; says so where the file that holds it cannot be read.

    Args:
        receipt: as it was read.
        name: as it was given, which may be a folder or a file in one.
    """
    if not rows.lie_beside(receipt):
        return receipt
    problem = f"no folder of run {receipt.run_id or 'of this receipt'} is here"
    for folder in folders(receipt, name):
        try:
            return rows.with_rows(receipt, folder)
        except InputError as error:
            problem = str(error)
    say(f"warning: what was said of single items is not shown: {problem}")
    return receipt
