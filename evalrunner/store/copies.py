"""The copies of receipts on disk: one file a row of `receipts`, equal to it: replay needs no database."""

from pathlib import Path

from evalrunner.store.tables import Row


def file_of(folder: Path, row: Row) -> Path:
    """Where the copy of a row lies.

    Args:
        row: the columns of any attempt of the row's key.
    """
    from evalrunner.receipt.files import file_name

    shas = [row[f"{name}_sha8"] for name in ("corpus", "prompt", "models", "rubric")]
    return folder / file_name(row["eval"], shas, row["subject_sha8"] or None)


def keep(folder: Path, row: Row, text: str) -> None:
    """Makes the copy of a row equal to `text`; a copy that is equal already is not touched.

    Raises:
        OSError, ReceiptNotKeptError: it cannot be read or written.
    """
    from evalrunner.receipt.files import write_atomic

    file = file_of(folder, row)
    if not (file.is_file() and file.read_bytes() == text.encode()):
        write_atomic(file, text)
