"""Reads what a code review's receipt tells of findings and defects, from the blocks of any program.

The blocks are free-form in the contract: what is missing or of another type is left out, never guessed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evalrunner.reporter.text import plain

Kind = Literal["missed", "unmatched", "found"]


@dataclass(frozen=True)
class Place:
    """A finding or an expected defect.

    Attributes:
        kind: `missed` is a defect that no run found, `found` one that a run found, `unmatched` a finding
            that is none of the defects.
        case: the review case.
        file, line: where; None where the reviewer names none.
        title: the finding's title; what a finding of the defect would have to mention, where it was missed.
        severity: in the reviewer's own words.
        runs: the runs that reported it.
    """

    kind: Kind
    case: str
    file: str | None
    line: int | None
    title: str
    severity: str | None = None
    runs: tuple[int, ...] = ()

    @property
    def where(self) -> str:
        """The file and line, as far as there are any."""
        if self.file is None:
            return "no file"
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def told(self) -> str:
        """One sentence for people."""
        if self.kind == "missed":
            return f"{self.case}: no run found the defect here; a finding of it mentions {self.title}"
        if self.kind == "found":
            return f"{self.case}: found: {self.title}"
        return f"{self.case}: none of the expected defects: {self.title}"


def is_review(receipt: Mapping[str, Any]) -> bool:
    """Whether a receipt tells of code reviews at all."""
    return any(isinstance(receipt.get(block), list) for block in ("cases", "defects", "unmatched"))


def places(receipt: Mapping[str, Any]) -> list[Place]:
    """Missed defects first, then findings that match nothing, then what was found; each in its order."""
    defects = [_defect(row) for row in rows(receipt.get("defects"))]
    found = [each for each in defects if each.kind == "found"]
    missed = [each for each in defects if each.kind == "missed"]
    return [*missed, *map(_unmatched, rows(receipt.get("unmatched"))), *found]


def rows(block: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a block; none where there is no such block."""
    if isinstance(block, Iterable) and not isinstance(block, str | Mapping):
        yield from (each for each in block if isinstance(each, Mapping))


def text(value: Any) -> str | None:
    """A text of the block as one harmless line; None where there is none."""
    return (plain(value) or None) if isinstance(value, str) else None


def count(value: Any) -> int | None:
    """A whole number of the block, not negative."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _line(value: Any) -> int | None:
    return count(value) or None


def _runs(value: Any) -> tuple[int, ...]:
    numbers = value if isinstance(value, list) else []
    return tuple(each for each in map(count, numbers) if each is not None)


def _defect(row: Mapping[str, Any]) -> Place:
    covered = row.get("covered", row.get("covered_by") is not None)
    words = row.get("mechanism")
    mentions = [each for each in map(text, words) if each] if isinstance(words, list) else []
    title = text(row.get("title")) if covered else " or ".join(repr(each) for each in mentions)
    return Place(
        "found" if covered else "missed",
        text(row.get("case")) or "a case",
        text(row.get("file")),
        _line(row.get("line")),
        title or ("a finding" if covered else "it"),
        runs=_runs(row.get("runs")),
    )


def _unmatched(row: Mapping[str, Any]) -> Place:
    return Place(
        "unmatched",
        text(row.get("case")) or "a case",
        text(row.get("file")),
        _line(row.get("line")),
        text(row.get("title")) or text(row.get("id")) or "a finding",
        text(row.get("severity")),
        _runs(row.get("runs")),
    )
