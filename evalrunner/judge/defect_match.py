"""Scores code reviews against the defects that a person found: pure code, no model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalrunner.component import Component
from evalrunner.errors import InputError, Problem, show
from evalrunner.judge.defect_report import blocks
from evalrunner.model.seat import Bench, PlannedCall
from evalrunner.records import Figures, Item, Judgement, JudgementStatus, Metric, Outcome
from evalrunner.rubric import Rubric
from evalrunner.stats.intervals import Estimate
from evalrunner.stats.review import Case, Defect, Finding, ReviewFigures, Run, finding_id, review_figures

NAME = "defect_match"
METRICS = ("effective_recall", "precision", "determinism", "availability")
MATCH = "same_file_near_line_any_keyword"
"""The one matching rule, as rubrics name it."""


class Rules(BaseModel):
    """What a rubric's `rules` must say for this judge.

    Attributes:
        window: lines that a finding may lie away from a defect, for defects whose row gives no window.
        match: the matching rule; docs/code-review.md spells it out.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    window: int = Field(ge=0)
    match: str = Field(pattern=f"^{MATCH}$")


class DefectMatch(Component):
    """Says of each run which findings match which expected defects, and adds it up to four figures.

    Headline is effective recall: whether the defects that matter are found is what a reviewer is for, and it is
    the one figure that every run can only lower by failing.
    """

    name: ClassVar[str] = NAME

    def check(self, rubric: Rubric) -> None:
        """Reads the rubric's rules before anything runs.

        Raises:
            InputError: they are missing, or not those of this judge.
        """
        rules_of(rubric)

    async def cycle(
        self, items: Sequence[Item], outcomes: Sequence[Outcome], n: int, bench: Bench
    ) -> list[Judgement]:
        """One judgement a run, in the order of the outcomes; its label is the run's status.

        Raises:
            InputError: an outcome or an expected defect is not of the form that reviewers and sources give.
        """
        cases, runs = read_all(items, outcomes, bench.rubric)
        by_id = {case.id: case for case in cases}
        del by_id
        return [_judgement(outcome, run, n) for outcome, run in zip(outcomes, runs, strict=True)]

    def figures(
        self,
        items: Sequence[Item],
        outcomes: Sequence[Outcome],
        judgements: Sequence[Judgement],
        bench: Bench,
        *,
        pooled: bool,
    ) -> Figures:
        """The metrics overall and by group, and what a person needs to check the matches.

        Runs that the budget left out count for nothing but `skipped`: the defects of a case without any run are
        missed all the same.
        """
        cases, runs = read_all(items, outcomes, bench.rubric)
        pairs = list(zip(outcomes, runs, strict=True))
        done = [(outcome, run) for outcome, run in pairs if outcome.status != "skipped"]
        whole = review_figures(cases, [run for _, run in done])
        return Figures(
            metrics=_metrics(whole),
            groups=_groups(items, cases, [run for _, run in done]),
            planned=len(outcomes),
            scored=sum(run.usable for _, run in done),
            unscored=dict(Counter(outcome.status for outcome, run in done if not run.usable)),
            skipped=len(pairs) - len(done),
            headline=METRICS[0],
            report=blocks(items, cases, pairs, whole),
        )

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """No calls."""
        return []

    def metrics(self) -> Sequence[str]:
        """The four figures."""
        return METRICS

    def described(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": NAME}

    def prompts(self) -> Sequence[str]:
        """None: nothing is asked."""
        return ()

    def asked(self) -> Mapping[str, Any]:
        """Nothing is asked."""
        return {}


def rules_of(rubric: Rubric) -> Rules:
    """The rubric's rules.

    Raises:
        InputError: they are missing, or not those of this judge; every problem.
    """
    try:
        return Rules.model_validate(rubric.rules)
    except ValidationError as error:
        where = f"{rubric.path or 'the rubric'}: rules"
        raise InputError(
            [
                Problem(
                    ".".join([where, *map(str, each["loc"])]),
                    "is missing" if each["type"] == "missing" else each["msg"],
                    None if each["type"] == "missing" else show(each["input"]),
                    f"window, a whole number from 0, and match: {MATCH}",
                )
                for each in error.errors()
            ]
        ) from None
