"""The kinds of rows that a source can hold. A new kind is one entry here."""

from typing import Final

from evalrunner.errors import nearest
from evalrunner.source.cases import JUDGE_CASES, REVIEW_CASES
from evalrunner.source.rows import RowKind
from evalrunner.source.takes import TAKES

ROW_KINDS: Final[dict[str, RowKind]] = {each.name: each for each in (TAKES, REVIEW_CASES, JUDGE_CASES)}
"""Name -> kind."""


def known_kind(value: str) -> str:
    """The name of a kind, checked.

    Raises:
        ValueError: no such kind; names them.
    """
    if value not in ROW_KINDS:
        near = nearest(value, ROW_KINDS)
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"rows of one of these kinds: {', '.join(ROW_KINDS)}{hint}")
    return value
