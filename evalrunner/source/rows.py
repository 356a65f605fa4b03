"""What a row reader is: it turns one row, of any format, into an item, or says what is wrong with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from evalrunner.errors import InputError, Problem
from evalrunner.records import Item

FieldType = Literal["key", "text", "date", "number"]
"""How a field is read from typed columns: `key` is a text or a whole number, `date` a text or a DATE."""

SHOWN = 20
"""So many wrong rows are explained; of the others the number is said."""

COUNTED = 1000
"""Wrong rows are counted up to here."""


class RowRefused(Exception):  # noqa: N818 - an outcome of reading a row, gathered with others into one error
    """A row that cannot be used. `problems` name the field as their place, or nothing for the whole row."""

    def __init__(self, problems: Sequence[Problem] | Problem) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__(self.problems)


@dataclass(frozen=True)
class RowKind:
    """One kind of rows.

    Attributes:
        name: the value of `source.rows`.
        fields: the known fields, with their types. Fields that hold lists or objects are not named here.
        required: known fields without which no row can be used.
        read: the item of a row, given as a mapping from column to a JSON value (numbers may be Decimal).
            Raises RowRefused.
        slug: the payload field that a slug prefix filters; None where rows of this kind have none.
        sieve: for kinds that come in large files: SQL that finds ids and wrong rows without reading them
            one by one (see `evalrunner.source.takes_sql`). Kinds without it are read row by row.
    """

    name: str
    fields: Mapping[str, FieldType]
    required: frozenset[str]
    read: Callable[[Mapping[str, Any]], Item]
    slug: str | None = None
    sieve: Callable[[str], str] | None = None


@dataclass
class Refusals:
    """What is wrong with a source's rows: all problems of the first rows, and a count of the others."""

    where: str
    problems: list[Problem] = field(default_factory=list)
    rows: int = 0

    def full(self) -> bool:
        """Whether counting on is of no use."""
        return self.rows >= COUNTED

    def add(self, place: str, problems: Sequence[Problem]) -> None:
        """Takes one wrong row."""
        self.rows += 1
        if self.rows <= SHOWN:
            self.problems += [
                replace(each, where=f"{place}: {each.where}" if each.where else place) for each in problems
            ]

    def error(self) -> InputError | None:
        """All that was gathered, or None when every row was fine."""
        if not self.rows:
            return None
        if self.rows > SHOWN:
            more = f"at least {self.rows - SHOWN}" if self.full() else str(self.rows - SHOWN)
            self.problems.append(Problem(self.where, f"{more} more rows cannot be used"))
        return InputError(self.problems)


BLANK = r"\A[ \t\r\n]*\z"
"""A blank text, as DuckDB's regular expressions say it."""


def is_blank(value: Any) -> bool:
    """Whether a value is a text of nothing but blanks, tabs and line ends."""
    return isinstance(value, str) and not value.strip(" \t\r\n")
