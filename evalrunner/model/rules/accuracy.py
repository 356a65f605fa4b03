"""Does the page support the claim: its numbers, its negation, its strength, its words?"""

import re
from collections.abc import Sequence
from decimal import Decimal

from evalrunner.model.rules.lexicon import ABSOLUTES, IRREGULAR, MONTH_NAMES, NEGATIONS, OPPOSITES
from evalrunner.model.rules.page import CONTRAST, Backing, amounts, content, holds, slug_tokens
from evalrunner.model.rules.reading import Reading
from evalrunner.model.rules.take import Finding
from evalrunner.model.rules.text import Word, fold, quote, stem, words

_MISSING = 0.15
_FUTURE = re.compile(r"\b(?:will|would|only if|unless|plans? to|is to|are to|intends? to)\b", re.IGNORECASE)
_REACH = 4


def examine(reading: Reading) -> list[Finding]:
    """Evidence that the page does not say what the claim says; nothing without a page.

    On pages in other languages only numbers are compared.
    """
    if not reading.take.page_text:
        return []
    if not reading.english:
        return _foreign_numbers(reading)
    claim = words(CONTRAST.sub("", reading.take.claim))
    findings = _numbers(reading, claim) + _missing(reading, claim)
    if reading.backing is not None:
        findings += _turned(reading, claim, reading.backing)
    return findings


def _context(reading: Reading) -> str:
    take = reading.take
    return f"{take.page_slug} {take.source} {take.holder} {_months(take.date)}"


def _numbers(reading: Reading, claim: tuple[Word, ...]) -> list[Finding]:
    allowed = reading.page.numbers | amounts(words(_context(reading)))
    allowed |= {Decimal(reading.take.year)} if reading.take.year is not None else set()
    findings = []
    for word in claim:
        if word.number is None or word.raw.casefold() in {"one", "zero"}:
            continue
        value = word.number.normalize()
        if value not in allowed:
            findings.append(Finding(f"{word.raw} stands nowhere on the page", 9))
    return findings


def _missing(reading: Reading, claim: tuple[Word, ...]) -> list[Finding]:
    wanted = content(claim, reading.page)
    if not wanted:
        return []
    around = {stem(token) for token in slug_tokens(reading.take.holder)}
    around |= {word.stem for word in words(_context(reading))}
    known = reading.page.stems | reading.page.subject | around
    missing = [word for word in wanted if not holds(known, word.stem) and not _forgiven(word, claim, known)]
    if len(missing) < _MISSING * len(wanted):
        return []
    listed = ", ".join(dict.fromkeys(fold(word.raw) for word in missing[:5]))
    return [Finding(f"the page holds nothing of: {listed}", 5 + (len(missing) * 2 > len(wanted)))]


def _forgiven(word: Word, claim: tuple[Word, ...], known: frozenset[str]) -> bool:
    """Whether a word is only the unsupported half of a compound: beside a supported word, and no verb."""
    raw = fold(word.raw)
    if any(char.isdecimal() for char in raw):
        return True
    if raw.endswith(("s", "ed")) or raw in IRREGULAR:
        return False
    place = claim.index(word)
    beside = [*claim[max(0, place - 1) : place], *claim[place + 1 : place + 2]]
    return any(each.content and holds(known, each.stem) for each in beside)


def _turned(reading: Reading, claim: tuple[Word, ...], found: Backing) -> list[Finding]:
    said = {word.raw.casefold() for word in claim}
    there = {word.raw.casefold() for word in found.sentence.words}
    shown = quote(found.sentence.text)
    findings = []
    page = words(CONTRAST.sub("", found.sentence.text))
    stems = frozenset(word.stem for word in claim)
    if found.firm and _denied(claim, found.sentence.stems) != _denied(page, stems):
        findings.append(Finding(f"claim and page differ in a negation: {shown}", 7))
    strong = sorted((said & ABSOLUTES) - there)
    if strong:
        findings.append(Finding(f'"{strong[0]}" goes beyond the page: {shown}', 6))
    for left, right in OPPOSITES:
        for mine, other in ((left, right), (right, left)):
            if said & mine and there & other and not there & mine and not said & other and found.firm:
                findings.append(
                    Finding(f'"{min(said & mine)}" where the page has "{min(there & other)}": {shown}', 7)
                )
    if found.firm and not reading.future and _awaits(found):
        findings.append(Finding(f"stated as so, but the page only expects it: {shown}", 7))
    return findings


def _awaits(found: Backing) -> bool:
    """Whether the page's sentence is a prediction, a plan or a condition."""
    if found.speech is None or found.speech.attitude == "report":
        return _FUTURE.search(found.sentence.text) is not None
    return found.speech.attitude in ("bet", "plan")


def _denied(text: Sequence[Word], other: frozenset[str]) -> bool:
    """Whether a text denies something of which the other speaks; a contrast (`but not X`) denies nothing."""
    for place, word in enumerate(text):
        raw = word.raw.casefold().replace("’", "'")
        before = text[place - 1].raw.casefold() if place else ""
        after = text[place + 1 : place + 1 + _REACH]
        if not (raw in NEGATIONS or raw.endswith("n't")) or before in {"but", "and"}:
            continue
        if after and after[0].raw.casefold() in {"only", "longer"}:
            continue
        if any(each.content and holds(other, each.stem) for each in after):
            return True
    return False


def _foreign_numbers(reading: Reading) -> list[Finding]:
    there = _runs(reading.take.page_text)
    around = _runs(_context(reading)) | {str(reading.take.year)}
    return [
        Finding(f"{run} stands nowhere on the page", 9)
        for run in sorted(_runs(reading.take.claim) - there - around)
        if len(run) > 2 and there
    ]


def _runs(text: str) -> set[str]:
    """The digits of each number, without separators, in any script."""
    return {re.sub(r"\D", "", match) for match in re.findall(r"\d+(?:[., ’']\d{3})*(?:[.,]\d+)?", text)}


def _months(date: str) -> str:
    """The English name of the month of an ISO date."""
    month = date[5:7]
    known = month.isascii() and month.isdecimal() and 1 <= int(month) <= 12
    return MONTH_NAMES[int(month) - 1] if known else ""
