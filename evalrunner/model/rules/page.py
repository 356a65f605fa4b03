"""The page behind a claim: which sentence backs it, and who speaks there."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from evalrunner.model.rules.lexicon import IMPLIED_NUMBERS, STOPWORDS
from evalrunner.model.rules.speech import SpeakerKind, Speech, names, speaker_kind, speech
from evalrunner.model.rules.take import Take
from evalrunner.model.rules.text import Word, fold, sentences, stem, words

CONTRAST = re.compile(r", (?:and |but )?not (?:the |an? )?[\w'’ -]+(?=[,.]|$)", re.IGNORECASE)
"""What a claim only sets itself against (`, not the design,`): no part of what the page must hold."""

_FIRM = 0.5
_TIE = 0.01
_LONG_STEM = 4


@dataclass(frozen=True)
class Voice:
    """Who speaks in a sentence, pronouns led back to whom they stand for.

    Attributes:
        label: how to name the speaker to a reader.
        tokens: the words of the name, folded.
    """

    kind: SpeakerKind
    label: str
    tokens: frozenset[str]


@dataclass(frozen=True)
class Sentence:
    """One sentence of a page, read; `folded` are its words without case and accents."""

    text: str
    folded: frozenset[str]
    words: tuple[Word, ...]
    stems: frozenset[str]
    numbers: frozenset[Decimal]
    speech: Speech | None


@dataclass(frozen=True)
class Backing:
    """The sentence that a claim rests on.

    Attributes:
        coverage: share of the claim's content words and numbers that the sentence holds, 0 to 1.
        speech, voice: what it reports of whom, when the claim lies in what is said; else None.
    """

    sentence: Sentence
    coverage: float
    speech: Speech | None
    voice: Voice | None

    @property
    def firm(self) -> bool:
        """The sentence holds at least half of the claim: enough to judge kind and holder by it."""
        return self.coverage >= _FIRM


@dataclass(frozen=True)
class Page:
    """A page, read.

    Attributes:
        subject: stems of the page's own name, from its slug.
        stems, numbers: those of all sentences.
    """

    sentences: tuple[Sentence, ...]
    subject: frozenset[str]
    stems: frozenset[str]
    numbers: frozenset[Decimal]


def folded_words(text: str) -> frozenset[str]:
    """The words of a text or slug without case and accents, function words left out."""
    return frozenset(re.findall(r"[^\W_]+", fold(text))) - STOPWORDS


def slug_tokens(slug: str) -> frozenset[str]:
    """The words of a slug's last part: `people/ada-frost` gives `ada` and `frost`."""
    return folded_words(slug.rpartition("/")[2])


def read_page(take: Take) -> Page:
    """The take's page, cut into sentences; an empty one when it has no text."""
    read = tuple(_sentence(text) for text in sentences(take.page_text))
    return Page(
        sentences=read,
        subject=frozenset(stem(token) for token in slug_tokens(take.page_slug)),
        stems=frozenset().union(*(each.stems for each in read)),
        numbers=frozenset().union(*(each.numbers for each in read)),
    )


def _sentence(text: str) -> Sentence:
    found = words(text)
    return Sentence(
        text=text,
        folded=folded_words(text),
        words=found,
        stems=frozenset(word.stem for word in found),
        numbers=frozenset(amounts(found)),
        speech=speech(text),
    )


def amounts(found: Iterable[Word]) -> set[Decimal]:
    """The numbers that words stand for, implied ones (`half`) included."""
    values: set[Decimal] = set()
    for word in found:
        if word.number is not None:
            values.add(word.number.normalize())
        values.update(Decimal(value) for value in IMPLIED_NUMBERS.get(word.raw.casefold(), ()))
    return values


def holds(stems: Iterable[str], wanted: str) -> bool:
    """Whether a stem is among others: equal, or one begins the other and has four letters or more."""
    return any(
        each == wanted
        or (len(wanted) >= _LONG_STEM and each.startswith(wanted))
        or (len(each) >= _LONG_STEM and wanted.startswith(each))
        for each in stems
    )


def content(claim: Iterable[Word], page: Page) -> list[Word]:
    """The claim's words that need support: no function words, no numbers, not the page's own name."""
    return [word for word in claim if word.content and not holds(page.subject, word.stem)]


def backing(take: Take, page: Page) -> Backing | None:
    """The sentence that shares most with the claim; None when none shares anything.

    Rare words count more, names half; between equals the one that names the holder wins, then the first.
    """
    claim = words(CONTRAST.sub("", take.claim))
    wanted, figures = content(claim, page), amounts(claim)
    holder = slug_tokens(take.holder) - slug_tokens(take.page_slug)
    worth = {word.stem: _worth(word, holder, page) for word in wanted}
    best: Backing | None = None
    best_weight = 0.0
    for index, sentence in enumerate(page.sentences):
        shared = [word for word in wanted if holds(sentence.stems, word.stem)]
        numbers = len(figures & sentence.numbers)
        weight = sum(worth[word.stem] for word in shared) + numbers
        if weight and holder & sentence.folded:
            weight += _TIE
        if weight > best_weight:
            best_weight = weight
            coverage = (len(shared) + numbers) / (len(wanted) + len(figures))
            best = _backing(take, page, index, shared, coverage)
    return best


def _worth(word: Word, holder: frozenset[str], page: Page) -> float:
    name = fold(word.raw) in holder or (word.start > 0 and word.raw[:1].isupper())
    spread = sum(holds(sentence.stems, word.stem) for sentence in page.sentences)
    return (0.5 if name else 1.0) / max(1, spread)


def _backing(take: Take, page: Page, index: int, shared: list[Word], coverage: float) -> Backing:
    sentence = page.sentences[index]
    spoken = sentence.speech
    if spoken is not None:
        said = {word.stem for word in words(spoken.said)}
        inside = sum(holds(said, word.stem) for word in shared)
        if inside * 2 >= len(shared):
            return Backing(sentence, coverage, spoken, _voice(take, page, index, spoken))
    return Backing(sentence, coverage, None, None)


def _voice(take: Take, page: Page, index: int, spoken: Speech) -> Voice:
    """Who speaks, with `she`, `it` and `the company` led back to a name where the page allows one reading."""
    kind = speaker_kind(spoken.speaker)
    label, tokens = spoken.speaker, folded_words(spoken.speaker)
    last = re.findall(r"\w+", label.casefold())[-1:]
    if kind == "pronoun":
        return _person(take, page, index, spoken)
    if last == ["it"] and index > 0 and (before := page.sentences[index - 1].speech) is not None:
        return _voice(take, page, index - 1, before)
    itself = bool(tokens & slug_tokens(take.page_slug))
    if kind == "named":
        label = names(label)[-1]
        itself = bool(folded_words(label) & slug_tokens(take.page_slug))
    elif kind == "unclear":
        itself = itself or last in (["it"], ["we"])
    if take.page_slug.startswith("topics/"):
        # A topic is a thing; who bears its name is somebody else.
        return Voice("unclear" if kind == "subject" else kind, label, tokens)
    return Voice("subject" if itself else kind, label, tokens)


def _person(take: Take, page: Page, index: int, spoken: Speech) -> Voice:
    """Whom `he` or `she` stands for: the last person named, or the last role that spoke."""
    own = slug_tokens(take.page_slug)
    of_person = take.page_slug.startswith("people/")
    found: list[str] = []
    for place, sentence in enumerate(page.sentences[: index + 1]):
        text = spoken.speaker if place == index else sentence.text
        for name in names(text):
            thing = f"the {name}" in text.replace("The ", "the ")
            if not thing and (of_person or not folded_words(name) & own):
                found.append(name)
        before = sentence.speech if place < index else None
        if before is not None and speaker_kind(before.speaker) == "organisation":
            found.append(before.speaker)
    if not found:
        return Voice("subject" if of_person else "unclear", spoken.speaker, own if of_person else frozenset())
    tokens = folded_words(found[-1])
    if of_person:
        return Voice("subject" if tokens & own else "unclear", spoken.speaker, own)
    return Voice("named", found[-1], tokens)
