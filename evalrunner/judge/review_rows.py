"""Reads expected defects and reported findings out of items and outcomes, strictly."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from evalrunner.errors import InputError, Problem, show
from evalrunner.records import Item, Outcome
from evalrunner.stats.review import Case, Defect, Finding, Run, finding_id

_STRICT = ConfigDict(strict=True, extra="ignore", frozen=True)


class Expected(BaseModel):
    """One entry of an item's `truth.expected`."""

    model_config = _STRICT

    file: str = Field(min_length=1)
    line: int = Field(ge=1)
    window: int | None = Field(default=None, ge=0)
    mechanism: list[str] = Field(min_length=1)

    @field_validator("mechanism")
    @classmethod
    def _words(cls, value: list[str]) -> list[str]:
        if not all(word.strip() for word in value):
            raise ValueError("a blank keyword would match every finding")
        return value

    def defect(self, window: int) -> Defect:
        """For the figures; with this window where it has none of its own."""
        own = window if self.window is None else self.window
        return Defect(self.file, self.line, tuple(self.mechanism), own)


class Reported(BaseModel):
    """One entry of an outcome's `payload.findings`."""

    model_config = _STRICT

    id: str | None = None
    file: str = ""
    line: int | None = Field(default=None, ge=1)
    title: str = ""
    body: str = ""
    severity: str | None = None

    def finding(self) -> Finding:
        """For the figures; an id is made where there is none."""
        name = self.id or finding_id(self.file, self.line, self.title, self.body)
        return Finding(name, self.file, self.line, self.title, self.body)


class _Truth(BaseModel):
    model_config = _STRICT

    expected: list[Expected] = Field(default_factory=list)


class _Payload(BaseModel):
    model_config = _STRICT

    findings: list[Reported] = Field(default_factory=list)


B = TypeVar("B", bound=BaseModel)


def read_cases(items: Iterable[Item], window: int) -> list[Case]:
    """The cases with their defects; `window` is for defects that give none of their own.

    Raises:
        InputError: a defect is not of its form; all of them.
    """
    problems: list[Problem] = []
    cases = []
    for item in items:
        truth = _read(_Truth, item.truth, f"item {item.id}: truth", problems)
        expected = truth.expected if truth is not None else ()
        cases.append(Case(item.id, tuple(each.defect(window) for each in expected)))
    if problems:
        raise InputError(problems)
    return cases


def read_findings(outcomes: Sequence[Outcome]) -> list[tuple[Reported, ...]]:
    """What each outcome reports, in the order of the outcomes.

    Raises:
        InputError: a finding is not of its form; all of them.
    """
    problems: list[Problem] = []
    found = []
    for outcome in outcomes:
        where = f"item {outcome.item_id}: run {outcome.run}: payload"
        payload = _read(_Payload, outcome.payload, where, problems)
        found.append(tuple(payload.findings) if payload is not None else ())
    if problems:
        raise InputError(problems)
    return found


def as_run(outcome: Outcome, findings: Iterable[Reported]) -> Run:
    """A run for the figures."""
    return Run(outcome.item_id, outcome.status, tuple(each.finding() for each in findings))


def _read(kind: type[B], value: Mapping[str, Any], where: str, problems: list[Problem]) -> B | None:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problems += [
            Problem(
                ".".join([where, *map(str, each["loc"])]),
                "is missing" if each["type"] == "missing" else each["msg"].removeprefix("Value error, "),
                None if each["type"] == "missing" else show(each["input"]),
            )
            for each in error.errors()
        ]
        return None
