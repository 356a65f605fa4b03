"""Who says what in a sentence: the speaker, how sure he sounds, and the words that are his."""

import re
from dataclasses import dataclass
from typing import Literal

from evalrunner.model.rules.lexicon import (
    CROWDS,
    DATE_WORDS,
    DOCUMENTS,
    ORGANISATIONS,
    OWN_WORDS,
    ROLES,
    STOPWORDS,
)
from evalrunner.model.rules.text import fold

Attitude = Literal["hunch", "bet", "plan", "opinion", "finding", "report"]
SpeakerKind = Literal["named", "pronoun", "subject", "document", "organisation", "crowd", "unclear"]

_VERBS: tuple[tuple[Attitude, str], ...] = (
    (
        "hunch",
        "suspects?|suspected|guess|guesses|guessed|senses?|sensed|feels?|felt|wonders?|wondered"
        r"|(?:has|have|had) (?:an? )?(?:\w+ ){0,2}(?:hunch|feeling|inkling|suspicion)",
    ),
    (
        "bet",
        "bets?|betted|wagers?|wagered|predicts?|predicted|forecasts?|forecasted|expects?|expected|foresees?"
        "|foresaw|anticipates?|anticipated|commits? to|committed to|pledges?|pledged|promises?|promised",
    ),
    ("plan", "plans?|planned|aims?|aimed|intends?|intended|hopes?|hoped|targets|targeted"),
    (
        "opinion",
        "thinks?|thought|believes?|believed|considers?|considered|calls|called|argues?|argued|holds? that"
        r"|held that|regards?|regarded|sees? [^.;]{1,80} as|saw [^.;]{1,80} as|views?|viewed|blames?|blamed"
        r"|doubts?|doubted|is (?:\w+ )?(?:convinced|sure|certain|sceptical|skeptical)|insists?|insisted"
        "|wants?|wanted|prefers?|preferred|praises?|praised|criticises?|criticised|criticizes?|criticized|disagrees?"
        "|disagreed|agrees?|agreed|deems?|deemed|recommends?|recommended|advises?|advised|warns?|warned"
        "|suggests?|suggested|rates|rated|admires?|admired|dismisses|dismissed|favours?|favoured|favors?"
        "|favored|likens?|likened|points? to",
    ),
    ("finding", "finds?|estimates?|estimated|concludes?|concluded|reckons?|reckoned|maintains? that"),
    (
        "report",
        "says?|said|writes?|wrote|reports?|reported|notes?|noted|states?|stated|measured|found|tells?|told"
        "|announces?|announced|claims?|claimed|adds|added|explains?|explained|confirms?|confirmed|admits?"
        "|admitted|observes?|observed|counted|recorded|shows? that|showed that|calculated|calculates|recalls?"
        "|recalled|reveals?|revealed",
    ),
)
"""Strongest stance first."""

_BEFORE = r"(?:(?:would|also|now|still|has|have|had|\w+ly|even|never|first|later|once|did|does|not) )*"
_NO_NOUN = (
    "(?! (?:and|or|of|in|on|from|at|by|are|were|is|was|have|had|came|come|show|shows|for|who|which|with)\\b)"
)
_SPEECH = [
    (attitude, re.compile(rf"\b{_BEFORE}(?P<verb>{verbs})\b{_NO_NOUN}", re.IGNORECASE))
    for attitude, verbs in _VERBS
]
_ASIDE = re.compile(r", (?:who|which|whose|a|an|the|now|then|formerly) [^,]*,?\s*$|\([^)]*\)\s*$")
_IN_VIEW = re.compile(r"\b(?:in|to) (?:his|her|its|their|the) (?:view|opinion|eyes|mind)\b", re.IGNORECASE)
_UPPER = r"[^\W\d_a-z][\w'’-]*"
_NAME = re.compile(rf"{_UPPER}(?: (?:(?:de|van|von|der|den|la|le|bin|al|el|da) )*{_UPPER})+")
_SPEAKERS = ROLES | ORGANISATIONS | CROWDS | DOCUMENTS
_PRONOUNS = frozenset({"he", "she", "they", "it", "we", "i", "who"})
_LOOK_BACK = 160
_NEAR = 6


@dataclass(frozen=True)
class Speech:
    """What a sentence reports of a speaker.

    Attributes:
        attitude: the strongest stance that its verbs show.
        speaker: the words before the verb, as written.
        said: the rest of the sentence, which the speaker stands for.
        verb: the verb of that stance, as written.
    """

    attitude: Attitude
    speaker: str
    said: str
    verb: str


def speech(sentence: str) -> Speech | None:
    """The reported speech of a sentence, or None when it states something by itself."""
    best: Speech | None = None
    for attitude, pattern in _SPEECH:
        for match in pattern.finditer(sentence):
            found = _at(sentence, match.start(), match.end())
            if found is None:
                continue
            speaker, said = found
            if best is None:
                best = Speech(attitude, speaker, said, match.group("verb"))
            elif len(speaker) < len(best.speaker):
                # An earlier verb leads the sentence; the stance already found lies inside what is said.
                best = Speech(best.attitude, speaker, said, best.verb)
            break
    if best is not None and best.attitude in ("report", "finding") and _IN_VIEW.search(sentence):
        return Speech("opinion", best.speaker, best.said, best.verb)
    return best


def _at(sentence: str, start: int, end: int) -> tuple[str, str] | None:
    """Speaker and what is said for a verb at a place; None when nobody speaks there."""
    before, after = sentence[:start], sentence[end:]
    if not after.strip(" .!?\"'”’"):
        said, _, before = before.rpartition(",")
        return (before.strip(), said) if said and _can_speak(before) else None
    return (before.strip(" ,"), after) if _can_speak(before) else None


def _tokens(speaker: str) -> list[str]:
    return re.findall(r"[\w'’-]+", _ASIDE.sub("", speaker[-_LOOK_BACK:].rstrip()))


def _can_speak(before: str) -> bool:
    """Whether the words before a verb end in somebody who can hold an opinion."""
    tokens = _tokens(before)
    if not tokens:
        return False
    last = tokens[-1]
    if last.casefold() in _PRONOUNS:
        return True
    if last[0].isupper() and last.casefold() not in DATE_WORDS | STOPWORDS:
        return True
    return _head(tokens) is not None


def _head(tokens: list[str]) -> str | None:
    """What a speaker is: the last word, or the one before `of`, as in `head of operations`."""
    if _noun(tokens[-1]) in _SPEAKERS:
        return _noun(tokens[-1])
    for place in range(len(tokens) - 2, max(-1, len(tokens) - 1 - _NEAR), -1):
        if tokens[place + 1].casefold() in {"of", "at", "for", "in", "behind", "from"}:
            return _noun(tokens[place]) if _noun(tokens[place]) in _SPEAKERS else None
    return None


def _noun(word: str) -> str:
    lower = fold(word)
    return lower if lower in _SPEAKERS or not lower.endswith("s") else lower[:-1]


def names(text: str) -> list[str]:
    """Names of two words and more in a text, roles at their beginning dropped, in order."""
    found = []
    for match in _NAME.finditer(text):
        parts = match.group().split()
        while parts and fold(parts[0]) in ROLES | {"the", "a", "an", "in", "on", "at", "his", "her", "its"}:
            parts = parts[1:]
        if len(parts) > 1:
            found.append(" ".join(parts))
    return found


def speaker_kind(speaker: str) -> SpeakerKind:
    """What sort of speaker the words name."""
    tokens = _tokens(speaker)
    kind: SpeakerKind = "unclear"
    if not tokens:
        return kind
    head = _head(tokens)
    if names(speaker):
        kind = "named"
    elif fold(tokens[-1]) in {"he", "she"}:
        kind = "pronoun"
    elif any(fold(token) in CROWDS for token in tokens):
        kind = "crowd"
    elif head in OWN_WORDS:
        kind = "subject"
    elif head in DOCUMENTS:
        kind = "document"
    elif head is not None:
        kind = "organisation"
    return kind
