"""Reads plain text: words, stems, numbers, sentences, and whether it is English. Pure; never raises."""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from evalrunner.model.rules.lexicon import (
    ENGLISH,
    IRREGULAR,
    MAGNITUDES,
    NUMBER_WORDS,
    ORDINALS,
    OTHER_LANGUAGES,
    STOPWORDS,
    SYNONYMS,
)

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_][^\W_]*(?:['’][^\W\d_]+)?|%")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]*[^\sa-z])|(?<=[。！？])\s*|\n\s*\n")
_ABBREVIATION = re.compile(r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|Inc|Ltd|Co|approx|ca|e\.g|i\.e))\.$")
_SUFFIXES = (
    "ations", "ation", "ances", "ance", "ences", "ence", "ments", "ment", "ities", "ity", "nesses", "ness",
    "ingly", "edly", "ings", "ing", "ions", "ion", "ers", "er", "ors", "or", "ed", "es", "ly", "al", "s",
)  # fmt: skip
_LONGEST_NUMBER = 24
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


@dataclass(frozen=True)
class Word:
    """A word or number of a text.

    Attributes:
        raw: as written, without a possessive ending.
        stem: what it is compared by.
        start, end: its place in the text.
        number: its value when it is a number, in digits or in English words.
        ordinal: the number is an order (`ninth`), not an amount.
    """

    raw: str
    stem: str
    start: int
    end: int
    number: Decimal | None = None
    ordinal: bool = False

    @property
    def content(self) -> bool:
        """Whether the word carries meaning of its own: no number, no function word."""
        return self.number is None and self.stem not in STOPWORDS and self.raw.casefold() not in STOPWORDS


def fold(text: str) -> str:
    """Lower case without accents, for comparing names with slugs."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A short form that inflections of one English word, and a few synonyms, share."""
    folded = re.sub(r"['’](?:s|re|ve|d|ll)?$", "", fold(word))
    base = IRREGULAR.get(folded, folded)
    cut = _cut(base)
    return _SYNONYMS.get(cut, cut)


def _cut(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "i"
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


_SYNONYMS = {_cut(word): _cut(base) for word, base in SYNONYMS.items()}


def words(text: str) -> tuple[Word, ...]:
    """The words and numbers of a text; spelled-out English numbers are joined and valued."""
    found: list[Word] = []
    for match in _TOKEN.finditer(text):
        found.append(_word(match.group(), match.start(), match.end()))
    return tuple(_joined(found))


def _word(raw: str, start: int, end: int) -> Word:
    lower = raw.casefold()
    if raw == "%":
        return Word(raw, "percent", start, end)
    if raw[0].isdecimal() and len(raw) <= _LONGEST_NUMBER:
        return Word(raw, raw, start, end, number=_value(raw))
    if lower in NUMBER_WORDS:
        return Word(raw, lower, start, end, number=Decimal(NUMBER_WORDS[lower]))
    if lower in ORDINALS:
        return Word(raw, lower, start, end, number=Decimal(ORDINALS[lower]), ordinal=True)
    return Word(re.sub(r"['’]s?$", "", raw), stem(raw), start, end)


def _value(digits: str) -> Decimal:
    if _GROUPED.fullmatch(digits):
        return Decimal(digits.replace(",", ""))
    if digits.count(".") + digits.count(",") == 1:
        return Decimal(digits.replace(",", "."))
    return Decimal(re.sub(r"[.,]", "", digits))


def _joined(found: list[Word]) -> list[Word]:
    """Joins `twenty five`, `two million`, `2 million`, and drops the endings of `9th` and `1960s`."""
    result: list[Word] = []
    for word in found:
        last = result[-1] if result else None
        if last is not None and last.number is not None and not last.ordinal:
            lower = word.raw.casefold()
            if lower in MAGNITUDES:
                result[-1] = _merged(last, word, last.number * MAGNITUDES[lower])
                continue
            if (
                word.number is not None
                and last.raw.casefold() in NUMBER_WORDS
                and (word.raw.casefold() in NUMBER_WORDS or word.ordinal)
                and last.number in range(20, 100, 10)
                and 0 < word.number < 10
            ):
                result[-1] = _merged(last, word, last.number + word.number)
                continue
            if lower in {"st", "nd", "rd", "th", "s"} and last.end == word.start:
                result[-1] = Word(last.raw, last.stem, last.start, word.end, last.number, lower != "s")
                continue
        result.append(word)
    return result


def _merged(first: Word, second: Word, value: Decimal) -> Word:
    raw = f"{first.raw} {second.raw}"
    return Word(raw, raw.casefold(), first.start, second.end, value, second.ordinal)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, trimmed, in order, empty ones left out."""
    parts: list[list[str]] = []
    for part in (each.strip() for each in _SENTENCE_END.split(text)):
        if parts and _ABBREVIATION.search(parts[-1][-1][-8:]):
            parts[-1].append(part)
        elif part:
            parts.append([part])
    return tuple(" ".join(part).strip() for part in parts)


def reads_english(text: str) -> bool:
    """Whether the text may be judged by English wording.

    True when its letters are nearly all plain Latin ones, and English function words are as frequent as those
    of other languages; a text without any letters counts as readable.
    """
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return True
    plain = sum(char.isascii() for char in letters)
    if plain * 10 < len(letters) * 9:
        return False
    tokens = [match.group().casefold() for match in _TOKEN.finditer(text)]
    english = sum(token in ENGLISH for token in tokens)
    other = sum(token in OTHER_LANGUAGES for token in tokens)
    return english >= other if len(tokens) < 8 else english > other


def quote(text: str, limit: int = 70) -> str:
    """The text on one line in double quotes, cut to `limit` characters, for use as evidence."""
    return f'"{clean(text, limit)}"'


def clean(text: str, limit: int = 70) -> str:
    """The text on one line, without control characters, cut to `limit` characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
