"""The samples of a blind re-implementation: one run of an agent on one issue, and what is to become of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalrunner.errors import InputError, Problem, show
from evalrunner.git.diff import DiffError, payload_diff
from evalrunner.model.comparison import Comparison, Point
from evalrunner.records import Item, Outcome
from evalrunner.rubric import Rubric

Fate = Literal["compare", "empty", "contaminated", "skipped", "unusable"]
"""`compare` is put to the panel, `empty` is a defect without asking, the others are never judged."""


_ROUTING = re.compile(r"^\*\*(?:Size|Implementation model|Routing reason):\*\*.*\n?", re.MULTILINE)
"""The lines of an issue's plan that say whom the work was given to."""


class Rules(BaseModel):
    """What a rubric's `rules` must say for this judge.

    Attributes:
        checklist: the classes of defects, each with its question.
        empty_diff: the class of a candidate that changes nothing.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    class Class(BaseModel):
        """One class."""

        model_config = ConfigDict(strict=True, extra="forbid")

        id: str = Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
        question: str = Field(min_length=1)

    checklist: list[Class] = Field(min_length=1)
    empty_diff: str

    @property
    def points(self) -> tuple[Point, ...]:
        """The checklist as seats are shown it."""
        return tuple(Point(each.id, each.question) for each in self.checklist)


def rules_of(rubric: Rubric) -> Rules:
    """The rubric's rules.

    Raises:
        InputError: they are missing, or not those of this judge; every problem.
    """
    where = f"{rubric.path or 'the rubric'}: rules"
    try:
        rules = Rules.model_validate(rubric.rules)
    except ValidationError as error:
        raise InputError(
            [
                Problem(
                    ".".join([where, *map(str, each["loc"])]),
                    "is missing" if each["type"] == "missing" else each["msg"],
                    None if each["type"] == "missing" else show(each["input"]),
                    "checklist, a list of {id, question}, and empty_diff, one of its ids",
                )
                for each in error.errors()
            ]
        ) from None
    ids = [each.id for each in rules.checklist]
    problems = [
        Problem(f"{where}.checklist", "has a class twice", name)
        for name in sorted(set(ids))
        if ids.count(name) > 1
    ]
    if "none" in ids:
        problems.append(Problem(f"{where}.checklist", "has a class that means no class", "none"))
    if rules.empty_diff not in ids:
        problems.append(
            Problem(f"{where}.empty_diff", "is no class of the checklist", rules.empty_diff, ", ".join(ids))
        )
    if problems:
        raise InputError(problems)
    return rules


class Told(BaseModel):
    """What an outcome's payload tells of a sample; other keys may stand beside."""

    model_config = ConfigDict(extra="ignore")

    candidate_diff: str | None = None
    candidate_diff_base64: str | None = None
    landed_diff: str | None = None
    landed_diff_base64: str | None = None
    candidate_tree: str | None = None
    landed_tree: str | None = None
    contaminated: bool = False
    flags: list[Any] = Field(default_factory=list)
    isolation: Any = None


@dataclass(frozen=True)
class Sample:
    """One run on one issue.

    Attributes:
        outcome: None where nothing was produced for the item.
        why: why it is not judged; None where it is.
        landed: the landed diff; None where neither outcome nor truth has it.
    """

    item: Item
    outcome: Outcome | None
    told: Told
    fate: Fate
    why: str | None
    landed: str | None

    @property
    def run(self) -> int:
        """The number of the run, from 1."""
        return 1 if self.outcome is None else self.outcome.run

    @property
    def name(self) -> str:
        """How a person calls it."""
        issue = self.item.payload.get("issue")
        return f"issue {issue}" if isinstance(issue, int | str) else self.item.id

    @property
    def groups(self) -> dict[str, str]:
        """The cells that it belongs to: the item's, and size x model where it has both."""
        payload = self.item.payload
        own = {name: str(payload[name]) for name in ("size", "model") if payload.get(name) is not None}
        if len(own) == 2:
            own["cell"] = f"{own['size']} x {own['model']}"
        return {**own, **self.item.groups}

    def comparison(self, checklist: Sequence[Point]) -> Comparison:
        """The sample as it is put to a seat: not told which model it is of."""
        return Comparison(
            item=self.item.id,
            run=self.run,
            issue=_ROUTING.sub("", str(self.item.payload.get("issue_body") or "")),
            candidate=self.told.candidate_diff or "",
            landed=self.landed or "",
            exact=_exact(
                (self.told.candidate_diff, self.told.candidate_diff_base64),
                (self.landed, self.told.landed_diff_base64),
            ),
            candidate_tree=self.told.candidate_tree,
            landed_tree=self.told.landed_tree,
            checklist=tuple(checklist),
        )


def read_samples(items: Sequence[Item], outcomes: Sequence[Outcome]) -> list[Sample]:
    """The samples in the items' order, then by run.

    Raises:
        InputError: outcomes that are not of this form; every problem.
    """
    by_item: dict[str, list[Outcome]] = {item.id: [] for item in items}
    for outcome in sorted(outcomes, key=lambda each: each.run):
        by_item[outcome.item_id].append(outcome)
    problems: list[Problem] = []
    samples = [sample for item in items for sample in _samples(item, by_item[item.id], problems)]
    if problems:
        raise InputError(problems)
    return samples


def _samples(item: Item, outcomes: Sequence[Outcome], problems: list[Problem]) -> Iterator[Sample]:
    if not outcomes:
        yield Sample(item, None, Told(), "unusable", "nothing was produced for it", None)
    for outcome in outcomes:
        where = f"{item.id}, run {outcome.run}: outcome"
        try:
            told = Told.model_validate(outcome.payload, strict=True)
        except ValidationError as error:
            problems += [
                Problem(".".join([where, *map(str, each["loc"])]), each["msg"], show(each["input"]))
                for each in error.errors()
            ]
            continue
        fate, why = _fate(outcome, told)
        landed = told.landed_diff if told.landed_diff is not None else _text(item.truth, "landed_diff")
        if fate == "compare" and told.candidate_diff is None:
            problems.append(
                Problem(f"{where}.candidate_diff", "is missing", None, "a diff, or an empty text")
            )
        if fate == "compare" and not (landed or "").strip():
            fate, why = "unusable", "the diff that landed is not known"
        yield Sample(item, outcome, told, fate, why, landed)


def _fate(outcome: Outcome, told: Told) -> tuple[Fate, str | None]:
    """What is to become of an outcome. What a run left when its time was up is judged like any other."""
    if outcome.status == "contaminated" or told.contaminated:
        return "contaminated", outcome.error or "the agent could have seen what landed"
    if outcome.status == "skipped":
        return "skipped", outcome.error or "left out for the budget"
    if outcome.status not in {"ok", "timeout"}:
        return "unusable", f"the run ended as {outcome.status}" + (
            f": {outcome.error}" if outcome.error else ""
        )
    if told.candidate_diff is not None and not told.candidate_diff.strip():
        return "empty", None
    return "compare", None


def _exact(*diffs: tuple[str | None, str | None]) -> tuple[bytes, bytes] | None:
    """Both diffs as bytes; None where one has no base64 beside a text that lost some, or one that is none."""
    if any(encoded is None and "\ufffd" in (text or "") for text, encoded in diffs):
        return None
    try:
        first, second = (payload_diff({"diff": text, "diff_base64": encoded}) for text, encoded in diffs)
    except DiffError:
        return None
    return first, second


def _text(values: Mapping[str, Any], name: str) -> str | None:
    value = values.get(name)
    return value if isinstance(value, str) else None
