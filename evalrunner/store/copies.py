"""The copies of receipts on disk: one file a row of `receipts`, equal to it: replay needs no database."""

from pathlib import Path

from evalrunner.store.tables import Row


def keep(folder: Path, row: Row, text: str) -> None:
    """Makes the copy of a row equal to `text`; a copy that is equal already is not touched.

    Args:
        row: the columns of any attempt of the row's key.

    Raises:
        OSError, ReceiptNotKeptError: it cannot be read or written.
    """
    from evalrunner.receipt.files import file_name, write_atomic

    shas = [row[f"{name}_sha8"] for name in ("corpus", "prompt", "models", "rubric")]
    file = folder / file_name(row["eval"], shas, row["subject_sha8"] or None)
    if not (file.is_file() and file.read_bytes() == text.encode()):
        write_atomic(file, text)
