"""What a receipt tells of each item: a figure, and what each judge said, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from evalrunner.receipt.schema import JudgementRow, Receipt
from evalrunner.reporter.findings import count, rows, text
from evalrunner.reporter.text import plain
from evalrunner.stats.rounding import shown

SAID = "said"
CODE = "matched by code"
TOGETHER = (
    "Judges saw several items in one prompt, and such items have no figure of their own; "
    "with judge.chunk_size=1 each has."
)
UNTOLD = "The receipt does not tell what was said of single items."


@dataclass(frozen=True)
class Told:
    """What was said of one item in one receipt.

    Attributes:
        figure: the item's own, higher is better; None where it has none.
        words: the figure for people, such as `mean 8.50`; empty where it has none.
        said: row -> judge -> what that judge said there.
    """

    figure: Fraction | None = None
    words: str = ""
    said: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Changed:
    """An item on both sides of a comparison; `before` is None where nothing was compared with."""

    item: str
    before: Told | None
    now: Told

    @property
    def delta(self) -> Fraction:
        """By how much its figure changed; 0 where a side has none."""
        if self.before is None or self.before.figure is None or self.now.figure is None:
            return Fraction(0)
        return self.now.figure - self.before.figure

    @property
    def others(self) -> int:
        """How many judges said something else in a row, apart from the words of their feedback."""
        before, now = _cells(self.before), _cells(self.now)
        return sum(before.get(cell) != now.get(cell) for cell in before.keys() | now.keys())


def _cells(side: Told | None) -> dict[tuple[str, str], str]:
    said = {} if side is None else side.said
    return {(row, judge): word for row, by in said.items() if row != SAID for judge, word in by.items()}


def told(receipt: Receipt) -> dict[str, Told]:
    """By item id. Empty where the judges were shown several items at a time and said nothing of one alone."""
    if receipt.cases is not None:
        return dict(_reviewed(receipt))
    judge = None if receipt.judge is None else receipt.judge.name
    if judge == "label_match":
        return dict(_ruled(receipt))
    if judge == "diff_verdict":
        return dict(_voted(receipt))
    return dict(_judged(receipt))


def most_changed(before: Receipt, now: Receipt, limit: int) -> list[Changed]:
    """The items that changed most, worse ones first among equals; only those on both sides that changed."""
    old = told(before)
    every = [Changed(item, old[item], each) for item, each in told(now).items() if item in old]
    changed = [each for each in every if each.delta or each.others]
    return sorted(changed, key=lambda each: (-abs(each.delta), each.delta, -each.others))[:limit]


def measured(before: Receipt, now: Receipt) -> int:
    """How many items have a figure on both sides."""
    old, new = told(before), told(now)
    return sum(
        old[item].figure is not None and new[item].figure is not None for item in old.keys() & new.keys()
    )


def lowest(receipt: Receipt, limit: int) -> list[Changed]:
    """The items with the lowest figures; only those that have one."""
    every = [(each.figure, item, each) for item, each in told(receipt).items() if each.figure is not None]
    every.sort(key=lambda each: each[0])
    return [Changed(item, None, each) for _, item, each in every[:limit]]


def untold(receipt: Receipt) -> str | None:
    """Why items have no figures of their own, and what mends it; None where all have, or none could."""
    if not receipt.scores:
        return None
    if any(len(row.item_ids) > 1 and row.values for row in counted(receipt)):
        return TOGETHER
    return None if told(receipt) else UNTOLD


def counted(receipt: Receipt) -> list[JudgementRow]:
    """The judgements that count: of the last cycle, or of all cycles where they are pooled."""
    every = receipt.judgements or []
    if receipt.cycles is not None and receipt.cycles.stop == "never":
        return every
    last = max((row.cycle for row in every), default=0)
    return [row for row in every if row.cycle == last]


def _judged(receipt: Receipt) -> Iterator[tuple[str, Told]]:
    """From judgements of one item each; several of one seat and item, as of several cycles, are averaged."""
    by_item: dict[str, dict[str, list[JudgementRow]]] = {}
    names = _seat_names(receipt)
    for row in counted(receipt):
        if len(row.item_ids) == 1:
            seats = by_item.setdefault(plain(row.item_ids[0]), {})
            seats.setdefault(names[row.place, row.model], []).append(row)
    for item, seats in by_item.items():
        values = {seat: _means(given) for seat, given in seats.items()}
        means = [_mean(list(each.values())) for each in values.values() if each]
        figure = _mean(means) if means else None
        dimensions = dict.fromkeys(name for each in values.values() for name in each)
        said = {
            plain(name): {seat: shown(each[name]) for seat, each in values.items() if name in each}
            for name in dimensions
        }
        labels = {seat: "; ".join(_labels(given)) for seat, given in seats.items() if _labels(given)}
        feedback = {seat: "; ".join(_feedback(given)) for seat, given in seats.items() if _feedback(given)}
        yield (
            item,
            Told(
                figure,
                "" if figure is None else f"mean {shown(figure)}",
                said | ({"verdict": labels} if labels else {}) | ({SAID: feedback} if feedback else {}),
            ),
        )


def _seat_names(receipt: Receipt) -> dict[tuple[int, str], str]:
    """The judges' names; seats of one model are told apart by their place."""
    seats = dict.fromkeys((row.place, row.model) for row in counted(receipt))
    models = [model for _, model in seats]
    return {
        (place, model): plain(model) if models.count(model) == 1 else f"{plain(model)}, seat {place + 1}"
        for place, model in sorted(seats)
    }


def _means(given: Sequence[JudgementRow]) -> dict[str, Fraction]:
    scored = [row.values for row in given if row.status == "scored" and row.values]
    names = dict.fromkeys(name for values in scored for name in values)
    return {name: _mean([Fraction(values[name]) for values in scored if name in values]) for name in names}


def _labels(given: Sequence[JudgementRow]) -> list[str]:
    return list(dict.fromkeys(plain(row.label) for row in given if row.label))


def _feedback(given: Sequence[JudgementRow]) -> list[str]:
    words = [plain(each) for row in given for each in row.evidence or ()]
    words += [f"{row.status}: {plain(row.error or '')}" for row in given if row.status != "scored"]
    return list(dict.fromkeys(words))


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _reviewed(receipt: Receipt) -> Iterator[tuple[str, Told]]:
    """From the cases of a code review: a row a defect, and one for the findings that match none."""
    for case in rows(receipt.cases):
        name = text(case.get("id"))
        if name is None:
            continue
        said: dict[str, dict[str, str]] = {}
        for defect in rows(receipt.defects):
            if text(defect.get("case")) == name:
                said[_at(defect)] = {CODE: _covered(defect)}
        others = [
            text(row.get("title")) or "" for row in rows(receipt.unmatched) if text(row.get("case")) == name
        ]
        if others:
            said["other findings"] = {CODE: f"{len(others)}: {'; '.join(others)}"}
        figure, words = _found(case, others=len(others))
        yield name, Told(figure, words, said)


def _at(row: Mapping[str, Any]) -> str:
    file, line = text(row.get("file")) or "no file", count(row.get("line"))
    return file if line is None else f"{file}:{line}"


def _covered(defect: Mapping[str, Any]) -> str:
    if not defect.get("covered", defect.get("covered_by") is not None):
        return "missed"
    title = text(defect.get("title"))
    return "found" if title is None else f"found: {title}"


def _found(case: Mapping[str, Any], *, others: int) -> tuple[Fraction | None, str]:
    """The share of defects found; of a case without any, the share of usable runs that said nothing."""
    defects, covered = count(case.get("defects")), count(case.get("covered"))
    if defects and covered is not None:
        return Fraction(covered, defects), f"{covered} of {defects} defects found"
    runs = [run for run in rows(case.get("runs")) if run.get("usable") is True]
    if defects == 0 and runs:
        silent = sum(not run.get("findings") for run in runs)
        return Fraction(silent, len(runs)), f"a clean change; {silent} of {len(runs)} runs said nothing"
    return None, ""


def _ruled(receipt: Receipt) -> Iterator[tuple[str, Told]]:
    """From the batches of KEEP and REJECT verdicts: a row a finding."""
    judges = {row.item_ids[0]: plain(row.model) for row in counted(receipt) if row.item_ids}
    for batch in rows(receipt.items):
        name = text(batch.get("id"))
        if name is None:
            continue
        judge = judges.get(str(batch.get("id")), "the judge")
        said = {}
        right = []
        for finding in rows(batch.get("findings")):
            title = text(finding.get("title")) or text(finding.get("id")) or "a finding"
            verdicts = list(rows(finding.get("verdicts")))
            right += [verdict.get("right") is True for verdict in verdicts]
            words = dict.fromkeys(_ruling(each) for each in verdicts)
            said[f"{title} ({text(finding.get('label')) or 'no label'})"] = {
                judge: "; ".join(words) or "none"
            }
        figure = Fraction(sum(right), len(right)) if right else None
        yield name, Told(figure, f"{sum(right)} of {len(right)} verdicts right" if right else "", said)


def _ruling(verdict: Mapping[str, Any]) -> str:
    word, reason = text(verdict.get("verdict")) or "no verdict", text(verdict.get("reason"))
    return word if reason is None else f"{word}: {reason}"


def _voted(receipt: Receipt) -> Iterator[tuple[str, Told]]:
    """From the samples of a re-implementation: each seat's vote."""
    for sample in rows(receipt.items):
        name, word = text(sample.get("id")), text(sample.get("verdict")) or "no verdict"
        if name is None:
            continue
        run = count(sample.get("run")) or 1
        votes = {text(vote.get("seat")) or "a seat": _vote(vote) for vote in rows(sample.get("votes"))}
        figure = {"correct": Fraction(1), "defect": Fraction(0)}.get(word)
        said = {"verdict": votes or {"nobody": word}}
        yield (name if run == 1 else f"{name}, run {run}"), Told(figure, word, said)


def _vote(vote: Mapping[str, Any]) -> str:
    parts = [text(vote.get("verdict")) or "no verdict", text(vote.get("class")), text(vote.get("reason"))]
    return ": ".join(part for part in parts if part is not None)
