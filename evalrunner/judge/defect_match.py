"""Scores code reviews against the defects that a person found: pure code, no model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalrunner.component import Component
from evalrunner.errors import InputError, Problem, show
from evalrunner.judge.defect_report import blocks, reviewed
from evalrunner.judge.review_rows import as_run, read_cases, read_findings
from evalrunner.model.seat import Bench, PlannedCall, Seat
from evalrunner.records import Figures, Item, Judgement, JudgementStatus, Metric, Outcome
from evalrunner.rubric import Rubric
from evalrunner.stats.intervals import Estimate
from evalrunner.stats.review import Case, ReviewFigures, Run, review_figures

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

    Headline is effective recall: a reviewer is there to find the defects that matter, and nothing raises this
    figure but finding them. Silence, failed runs and repetition can raise the others.
    """

    def check(self, rubric: Rubric) -> list[Problem]:
        """What is missing in the rubric's rules, or not of this judge."""
        try:
            rules_of(rubric)
        except InputError as error:
            return list(error.problems)
        return []

    def check_panel(self, seats: Sequence[Seat]) -> list[Problem]:
        """Nothing: code judges, whoever sits there."""
        return []

    async def cycle(
        self, items: Sequence[Item], outcomes: Sequence[Outcome], n: int, bench: Bench
    ) -> list[Judgement]:
        """One judgement a run, in the order of the outcomes; its label is the run's status.

        Raises:
            InputError: an outcome or an expected defect is not of the form that reviewers and sources give.
        """
        read_cases(items, rules_of(bench.rubric).window)
        found = read_findings(outcomes)
        return [
            _judgement(outcome, as_run(outcome, findings).usable, n)
            for outcome, findings in zip(outcomes, found, strict=True)
        ]

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

        Runs that the budget left out count for nothing but `skipped`; the defects of a case without any run
        are missed all the same.
        """
        cases = read_cases(items, rules_of(bench.rubric).window)
        by_id = {case.id: case for case in cases}
        reviews = [
            reviewed(by_id[outcome.item_id], outcome, as_run(outcome, findings), findings)
            for outcome, findings in zip(outcomes, read_findings(outcomes), strict=True)
        ]
        done = [each.run for each in reviews if each.outcome.status != "skipped"]
        whole = review_figures(cases, done)
        return Figures(
            metrics=_metrics(whole),
            groups=_groups(items, cases, done),
            planned=len(outcomes),
            scored=sum(run.usable for run in done),
            unscored=dict(Counter(run.status for run in done if not run.usable)),
            skipped=len(reviews) - len(done),
            headline=METRICS[0],
            report=blocks(items, cases, reviews, whole),
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


_STATUS: Mapping[str, JudgementStatus] = {"marker": "abstained", "blocked": "abstained", "skipped": "skipped"}


def _judgement(outcome: Outcome, usable: bool, cycle: int) -> Judgement:
    why = f"{outcome.item_id}, run {outcome.run}: {outcome.status}"
    return Judgement(
        item_ids=(outcome.item_id,),
        seat=NAME,
        cycle=cycle,
        status="scored" if usable else _STATUS.get(outcome.status, "failed"),
        label=outcome.status,
        detail={"run": outcome.run},
        error=None if usable else why + (f": {outcome.error}" if outcome.error else ""),
    )


def _metrics(figures: ReviewFigures) -> dict[str, Metric]:
    return {name: _metric(getattr(figures, name)) for name in METRICS}


def _metric(figure: Estimate) -> Metric:
    value = None if figure.value is None else float(figure.value)
    return Metric(value=value, n=figure.n, ci_low=figure.low, ci_high=figure.high)


def _groups(
    items: Sequence[Item], cases: Sequence[Case], runs: Sequence[Run]
) -> dict[str, dict[str, dict[str, Metric]]]:
    """The figures of each cell of each group, cells in alphabetical order."""
    cells: dict[str, dict[str, list[Case]]] = {}
    for item, case in zip(items, cases, strict=True):
        for group, cell in item.groups.items():
            cells.setdefault(group, {}).setdefault(cell, []).append(case)
    return {
        group: {cell: _metrics(_part(members, runs)) for cell, members in sorted(by_cell.items())}
        for group, by_cell in cells.items()
    }


def _part(cases: Sequence[Case], runs: Sequence[Run]) -> ReviewFigures:
    ids = {case.id for case in cases}
    return review_figures(cases, [run for run in runs if run.case in ids])
