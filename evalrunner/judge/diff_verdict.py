"""Says of each re-implemented issue whether the candidate is as good as the change that landed."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic import Field

from evalrunner.component import Component
from evalrunner.errors import InputError, Problem
from evalrunner.judge.base import unfit
from evalrunner.judge.diff_rulings import HEADLINE, METRICS, Ruling, blocks, by_groups, metrics, ruled
from evalrunner.judge.diff_samples import Sample, read_samples, rules_of
from evalrunner.model.comparison import DEFECT, Comparison
from evalrunner.model.seat import Bench, PlannedCall, Seat, VerdictSeat
from evalrunner.records import Figures, Item, Judgement, JudgementStatus, Outcome
from evalrunner.rubric import Rubric

NAME = "diff_verdict"

ENOUGH = 20
"""A rate over fewer scored samples is noise until it is repeated."""


class DiffVerdict(Component):
    """Seats compare each candidate with what landed, and a majority of the configured seats decides.

    What was contaminated is never judged. Whatever gives no verdict is unknown, and never moves the rate.

    Attributes:
        prompt: the prompt template, in prompts/, that LLM seats are asked with.
        max_bytes: a sample whose issue and two diffs take more UTF-8 bytes together is not put to an LLM;
            nothing is ever cut.
    """

    prompt: str = Field(default="diff_verdict", pattern=r"^[a-z][a-z0-9_]*$")
    max_bytes: int = Field(default=300_000, ge=1)

    def check(self, rubric: Rubric) -> list[Problem]:
        """What is missing in the rubric's rules, or not of this judge."""
        try:
            rules_of(rubric)
        except InputError as error:
            return list(error.problems)
        return []

    def check_panel(self, seats: Sequence[Seat]) -> list[Problem]:
        """Whether there are seats, and all of them give verdicts on changes."""
        return unfit(type(self).__name__, seats, VerdictSeat, "LLMs, panel=tree_equality")

    async def cycle(
        self, items: Sequence[Item], outcomes: Sequence[Outcome], n: int, bench: Bench
    ) -> list[Judgement]:
        """One judgement a seat on every sample that can be judged, and one of code on every other.

        Raises:
            InputError: outcomes that are not of the form that agents give.
        """
        rules = rules_of(bench.rubric)
        samples = read_samples(items, outcomes)
        put = {
            place: each.comparison(rules.points)
            for place, each in enumerate(samples)
            if each.fate == "compare"
        }
        if any(seat.kind == "llm" for seat in bench.seats):
            for place, each in put.items():
                if not self._fits(each):
                    bench.note(
                        f"{samples[place].name}, run {each.run}: {self._too_large(each)}; it stays unknown"
                    )
        bench.desk.expect(
            sum(seat.kind == "llm" and self._fits(each) for each in put.values() for seat in bench.seats)
        )
        async with asyncio.TaskGroup() as group:
            asked = {
                place: [
                    group.create_task(self._ask(seat, number, comparison, n, bench))
                    for number, seat in enumerate(_seats(bench))
                ]
                for place, comparison in put.items()
            }
        judgements = []
        for place, sample in enumerate(samples):
            if place in asked:
                judgements += [_with_evidence(task.result(), sample) for task in asked[place]]
            else:
                judgements.append(_by_code(sample, rules.empty_diff, n))
        _say(self._rulings(samples, judgements, bench), bench)
        return judgements

    async def _ask(
        self, seat: VerdictSeat, place: int, comparison: Comparison, cycle: int, bench: Bench
    ) -> Judgement:
        if seat.kind != "llm" or self._fits(comparison):
            return await seat.compare(comparison, place=place, cycle=cycle, prompt=self.prompt, bench=bench)
        return Judgement(
            item_ids=(comparison.item,),
            seat=seat.id,
            place=place,
            cycle=cycle,
            status="abstained",
            detail={"run": comparison.run},
            error=f"{comparison.item}, run {comparison.run}: {self._too_large(comparison)}",
        )

    def _too_large(self, comparison: Comparison) -> str:
        return (
            f"issue and diffs take {comparison.size} bytes; "
            f"an LLM is shown at most {self.max_bytes} (judge.max_bytes)"
        )

    def _fits(self, comparison: Comparison) -> bool:
        return comparison.size <= self.max_bytes

    def figures(
        self,
        items: Sequence[Item],
        outcomes: Sequence[Outcome],
        judgements: Sequence[Judgement],
        bench: Bench,
        *,
        pooled: bool,
    ) -> Figures:
        """The rates over all samples and by the items' groups. The denominator counts samples.

        Pooled, every cycle's answer of a seat is a vote.
        """
        last = max((judgement.cycle for judgement in judgements), default=0)
        counted = [judgement for judgement in judgements if pooled or judgement.cycle == last]
        rulings = self._rulings(read_samples(items, outcomes), counted, bench)
        words = [each.word for each in rulings]
        unscored: dict[str, int] = {
            word: words.count(word) for word in ("unknown", "contaminated") if word in words
        }
        return Figures(
            seats=tuple(seat.id for seat in bench.seats),
            metrics=metrics(rulings),
            groups=by_groups(rulings),
            planned=len(rulings),
            scored=len(rulings) - sum(unscored.values()) - words.count("skipped"),
            unscored=unscored,
            skipped=words.count("skipped"),
            headline=HEADLINE,
            report=blocks(rulings),
        )

    def _rulings(
        self, samples: Sequence[Sample], judgements: Sequence[Judgement], bench: Bench
    ) -> list[Ruling]:
        by_sample: dict[tuple[str, int], list[Judgement]] = {}
        for each in judgements:
            by_sample.setdefault((each.item_ids[0], each.detail["run"]), []).append(each)
        votes = len(bench.seats) * len({each.cycle for each in judgements})
        classes = [point.id for point in rules_of(bench.rubric).points]
        return [
            ruled(sample, by_sample.get((sample.item.id, sample.run), []), votes, classes)
            for sample in samples
        ]

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """Every seat on every item, each with its re-asks, at the largest sample that is put to an LLM."""
        points = rules_of(bench.rubric).points
        largest = Comparison("", 1, "", "", "x" * self.max_bytes, None, None, None, points)
        return [
            PlannedCall(seat.id, *bound, is_reask=ask > 0)
            for seat in _seats(bench)
            for ask, bound in enumerate(
                seat.planned_comparison(largest, prompt=self.prompt, bench=bench) if items else ()
            )
            for _ in items
        ]

    def metrics(self) -> Sequence[str]:
        """The three rates."""
        return METRICS

    def described(self) -> Mapping[str, Any]:
        """Name, template and limit."""
        return {"name": NAME, "prompt": self.prompt, "max_bytes": self.max_bytes}

    def prompts(self) -> Sequence[str]:
        """The one template."""
        return (self.prompt,)

    def asked(self) -> Mapping[str, Any]:
        """What is too large to be asked about."""
        return {"max_bytes": self.max_bytes}


def _seats(bench: Bench) -> Sequence[VerdictSeat]:
    """The panel; `check_panel` has seen that its seats give verdicts on changes."""
    return cast("Sequence[VerdictSeat]", bench.seats)


_STATUS: Mapping[str, JudgementStatus] = {"empty": "scored", "skipped": "skipped"}


def _by_code(sample: Sample, empty: str, cycle: int) -> Judgement:
    """The judgement on a sample that nobody is asked about."""
    made = Judgement(
        item_ids=(sample.item.id,),
        seat=NAME,
        cycle=cycle,
        status=_STATUS.get(sample.fate, "abstained"),
        detail={"run": sample.run},
    )
    if sample.fate == "empty":
        said = {"class": empty, "reason": "the candidate changes nothing"}
        made = replace(made, label=DEFECT, detail={**made.detail, **said})
        return _with_evidence(made, sample)
    label = "contaminated" if sample.fate == "contaminated" else None
    error = f"{sample.item.id}, run {sample.run}: {f'{label}: ' if label else ''}{sample.why}"
    return replace(made, label=label, error=error)


def _with_evidence(judgement: Judgement, sample: Sample) -> Judgement:
    """The judgement; of a defect with a line for people."""
    if judgement.label != DEFECT:
        return judgement
    line = f"{sample.name}: {judgement.detail['class']}: {judgement.detail['reason']}"
    return replace(judgement, evidence=(line,))


def _say(rulings: Sequence[Ruling], bench: Bench) -> None:
    """What nobody must miss, on stderr and in the receipt's warnings."""
    tainted = [each for each in rulings if each.word == "contaminated"]
    if tainted:
        bench.note(
            f"CONTAMINATED: {len(tainted)} of {len(rulings)} samples; they are not judged and count nowhere"
        )
    for each in tainted:
        bench.note(f"CONTAMINATED: {each.sample.name}, run {each.sample.run}: {each.reason}")
    scored = sum(each.word in {"correct", "defect"} for each in rulings)
    if 0 < scored < ENOUGH:
        bench.note(
            f"the defect rate stands on {scored} scored sample{'s' if scored > 1 else ''}: with fewer than "
            f"{ENOUGH} it is noise until it is repeated"
        )
