"""Rules that answer KEEP or REJECT from a finding's place and words: deterministic, free, without a key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, field_validator

from evalrunner.component import Component
from evalrunner.errors import Problem
from evalrunner.git.diff import DiffError, FileDiff, payload_diff
from evalrunner.git.diff_parser import parse
from evalrunner.model.reply import harmless
from evalrunner.model.seat import Bench, PlannedCall, SeatKind, Speaker
from evalrunner.records import Item, Outcome
from evalrunner.stats.review import normal_path
from evalrunner.subject.keep_reject import Verdict, Verdicts, Word, described, outcome, question
from evalrunner.subject.keep_reject_words import guarded, shared

RULES_ID = "keep-reject-rules-v1"
"""Stands in receipts. Goes up whenever a rule changes: figures of two versions are not comparable."""

REACH = 3
"""Words are looked for in changed lines at most so far from the finding's line."""

GAP = 2
"""So many lines on either side of a gap, where lines were only removed, count as changed."""

_SHOWN = 3
_LONGEST = 80


@dataclass(frozen=True)
class Block:
    """Changed lines that follow one another.

    Attributes:
        first, last: the lines that they are in the head. Where lines were only removed, GAP lines on either
            side of where they stood.
        lines: number and text of every added and removed line; a removed line has the number of the added one
            beside it, or of the gap.
        gap: lines were only removed.
    """

    first: int
    last: int
    lines: tuple[tuple[int, str], ...]
    gap: bool = False

    def distance(self, line: int) -> int:
        """How many lines away a line is; 0 inside."""
        return max(self.first - line, line - self.last, 0)


@dataclass(frozen=True)
class Changed:
    """What the diff says of one file, in head lines; of a deleted file in base lines.

    Attributes:
        hunks: first and last line of each hunk.
        blocks: its changed lines.
        shown: the text of every line that the diff shows of it.
    """

    hunks: tuple[tuple[int, int], ...]
    blocks: tuple[Block, ...]
    shown: tuple[str, ...] = ()


class KeepRejectRules(Component):
    """A rule-based KEEP/REJECT judge. It reads places and words, not code: a heuristic, and no LLM.

    It is there so that the way can be walked without a key; docs/review-judge.md says how well it judges.

    Attributes:
        id: the version of the rules; only the version that this release holds can be asked for.
    """

    judged_itself: ClassVar[bool] = False

    id: str = Field(default=RULES_ID)

    @field_validator("id")
    @classmethod
    def _known(cls, value: str) -> str:
        if value != RULES_ID:
            raise ValueError(f"the rules are part of the program, and this one holds {RULES_ID!r}")
        return value

    @property
    def kind(self) -> SeatKind:
        """Always `heuristic`."""
        return "heuristic"

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """A verdict on each finding, with the evidence for it."""
        try:
            verdicts = judged(item.payload)
        except DiffError as error:
            return outcome(item, run, seat=self.id, status="error", error=f"the diff cannot be read: {error}")
        return outcome(item, run, seat=self.id, verdicts=verdicts, detail={"answered_by": self.id})

    def described(self) -> Mapping[str, Any]:
        """The version of the rules."""
        return described("keep_reject", "heuristic", id=self.id)

    def prompts(self) -> Sequence[str]:
        """None: nothing is asked."""
        return ()

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """No calls."""
        return []

    def models(self) -> Sequence[Speaker]:
        """The rules themselves, so that the receipt names them."""
        return (self,)

    def asked(self) -> Mapping[str, Any]:
        """Nothing is asked; the rules' version is the id."""
        return {}

    def check_ready(self, environ: Mapping[str, str]) -> list[Problem]:
        """Always ready: no key, no extra."""
        return []


def judged(payload: Mapping[str, Any]) -> Verdicts:
    """A verdict on each finding of a batch.

    Raises:
        DiffError: the diff cannot be read.
    """
    by_path: dict[str, Changed] = {}
    for file in parse(payload_diff(payload)):
        for path in (file.old_path, file.new_path):
            if path is not None:
                by_path[normal_path(path.decode("utf-8", "replace"))] = changed(file)
    return Verdicts(tuple(_verdict(finding, by_path) for finding in question(payload)["findings"]))


def _verdict(finding: Mapping[str, Any], by_path: Mapping[str, Changed]) -> Verdict:
    path = normal_path(str(finding["file"]))
    word, reason = weigh(finding["line"], f"{finding['title']}\n{finding['body']}", by_path.get(path))
    return Verdict(str(finding["id"]), word, harmless(f"{path}: {reason}"))


def weigh(line: int | None, claim: str, file: Changed | None) -> tuple[Word, str]:
    """KEEP or REJECT, and why.

    Kept is a finding whose line is changed and of whose claim a telling word stands in the changed lines
    around it, unless it misses a test that the diff shows.

    Args:
        line: None keeps to the words, over all changed lines of the file.
        claim: title and body.
        file: None where the diff does not touch the file.
    """
    if file is None:
        return "REJECT", "the diff does not touch this file"
    if not file.blocks:
        return "REJECT", "no line of this file is changed"
    away = None if line is None else _away(line, file)
    if away is not None:
        return "REJECT", away
    test = guarded(claim, file.shown)
    if test is not None:
        return "REJECT", f"it misses a test that is there: {test[:_LONGEST]}"
    return _by_words(line, claim, file.blocks)


def _away(line: int, file: Changed) -> str | None:
    """Why a line is no place of the change; None where it is one."""
    if not any(first <= line <= last for first, last in file.hunks):
        return f"line {line} lies outside the changed hunks ({_ranges(file.hunks)})"
    nearest = min(file.blocks, key=lambda block: block.distance(line))
    if not nearest.distance(line):
        return None
    return f"line {line} is unchanged; the nearest change is at {_ranges([(nearest.first, nearest.last)])}"


def _by_words(line: int | None, claim: str, blocks: Sequence[Block]) -> tuple[Word, str]:
    """Whether the changed lines around a place hold a telling word of the claim."""
    changed_lines = [each for block in blocks for each in block.lines]
    if line is None:
        place = "the finding names no line"
    elif any(block.gap and not block.distance(line) for block in blocks):
        place = f"line {line} stands beside removed lines"
    else:
        place = f"line {line} is changed"
    words = shared(claim, [text for at, text in changed_lines if line is None or abs(at - line) <= REACH])
    if not words:
        return "REJECT", f"{place}, but no telling word of the claim stands in the changed lines"
    return "KEEP", f"{place}, and the changed lines hold {', '.join(words[:_SHOWN])}"


def _ranges(pairs: Sequence[tuple[int, int]]) -> str:
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in pairs[:_SHOWN]]
    word = "line" if shown[0].isdecimal() and len(shown) == 1 else "lines"
    return f"{word} {', '.join(shown)}" + (", ..." if len(pairs) > _SHOWN else "")


def changed(file: FileDiff) -> Changed:
    """The hunks and changed lines of a file."""
    deleted = file.change == "deleted"
    hunks: list[tuple[int, int]] = []
    blocks: list[Block] = []
    shown: list[str] = []
    for hunk in file.hunks:
        first, count = (hunk.old_first, hunk.old_count) if deleted else (hunk.new_first, hunk.new_count)
        hunks.append((first, first + max(count, 1) - 1))
        at = first
        gone: list[str] = []
        come: list[str] = []
        for line in hunk.lines:
            text = line.text.decode("utf-8", "replace")
            if line.sign == " " or (line.sign == "-") == deleted:
                shown.append(text)
            if line.sign == " ":
                blocks += _block(at - len(come), gone, come)
                gone, come = [], []
                at += 1
            elif (line.sign == "-") == deleted:
                come.append(text)
                at += 1
            else:
                gone.append(text)
        blocks += _block(at - len(come), gone, come)
    return Changed(tuple(hunks), tuple(blocks), tuple(shown))


def _block(start: int, gone: Sequence[str], come: Sequence[str]) -> list[Block]:
    """The block of changed lines that starts at a line, or none."""
    if not gone and not come:
        return []
    added = [(start + place, text) for place, text in enumerate(come)]
    last = max(len(come) - 1, 0)
    removed = [(start + min(place, last), text) for place, text in enumerate(gone)]
    if not come:
        return [Block(start - GAP, start + GAP - 1, tuple(removed), gap=True)]
    return [Block(start, start + last, (*added, *removed))]
