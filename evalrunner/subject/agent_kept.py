"""What is left in the run folder of a sample, so that a third party can check it."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from evalrunner.git.scratch import discard

MOST_TOLD = 300
"""So many characters of somebody else's error are told."""


def keep(folder: Path, item: str, run: int, files: Mapping[str, bytes | None]) -> Path:
    """Writes what a third party needs to check a sample into the run folder."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", item)
    kept = folder / "samples" / f"{safe}-run-{run}"
    kept.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if content is not None:
            (kept / name).write_bytes(content)
    return kept


def copied(path: Path, kept: Path, item: str) -> str:
    """Keeps a repository and says so. An agent may leave in it what nobody can copy."""
    discard(kept)
    try:
        shutil.copytree(path, kept, symlinks=True)
    except (OSError, RecursionError) as error:
        first = error.args[0][0][-1] if isinstance(error, shutil.Error) and error.args[0] else error
        return f"the repository of {item} is kept in {kept}, but not all of it: {str(first)[:MOST_TOLD]}"
    return f"the repository of {item} is kept in {kept}"
