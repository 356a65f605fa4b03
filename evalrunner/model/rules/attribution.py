"""Is the holder the one who, on the page, says or believes the claim?"""

from evalrunner.model.rules import signal_density
from evalrunner.model.rules.lexicon import DOCUMENTS, OWN_WORDS, word_set
from evalrunner.model.rules.page import Backing, Page, Voice, slug_tokens
from evalrunner.model.rules.reading import Reading
from evalrunner.model.rules.take import Finding, Take
from evalrunner.model.rules.text import clean, fold, quote, words

_INDEPENDENT = word_set("""
    encyclopedia encyclopaedia statistics register registry regulator hearing court audit auditor census
    newspaper almanac atlas archive gazette ministry government study
""")
"""Words of a source that is not the page's subject speaking of itself."""

_SPEAKS_FOR_ITSELF = ("companies/", "projects/", "people/")


def examine(reading: Reading) -> list[Finding]:
    """Evidence against the holder, read from English pages; a topic as holder is wrong in any language.

    Trivia, claims that name their holder themselves, and facts that the page only predicts are left to the
    other dimensions.
    """
    take, found = reading.take, reading.backing
    what: str | None = None
    strength = 8
    if take.holder.startswith("topics/"):
        what, strength = _of_topic(reading), 9
    elif not take.holder or not reading.english or reading.attributed or signal_density.examine(reading):
        what = None
    elif not take.page_text:
        what, strength = _of_nobody(reading), 5
    elif found is not None and found.firm and not _only_expected(reading, found):
        if found.voice is not None:
            what = _against(take, found.voice, found.sentence.text)
        else:
            what, strength = _of_plain(reading, found.sentence.text), 6
    return [] if what is None else [Finding(f"holder {clean(take.holder)}{what} would fit", strength)]


def _only_expected(reading: Reading, found: Backing) -> bool:
    return found.speech is not None and found.speech.attitude in ("bet", "plan") and not reading.future


def _of_topic(reading: Reading) -> str:
    found = reading.backing
    voice = found.voice if found is not None and found.firm else None
    named = voice is not None and voice.kind == "named"
    fits = clean(voice.label) if named and voice is not None else "world, or whoever says it,"
    return f" is a topic, and a topic believes nothing; {fits}"


def _against(take: Take, voice: Voice, sentence: str) -> str | None:
    """Against a holder who is not the speaker that the page names."""
    holder = slug_tokens(take.holder)
    speaks = bool(holder & voice.tokens)
    own = bool(holder & slug_tokens(take.page_slug))
    match voice.kind:
        case "named":
            wrong = not speaks
        case "subject":
            wrong = not speaks and not own
        case "document":
            wrong = take.holder == "world" and _reports_itself(take)
        case "organisation":
            # `the founders` may speak for the page's subject; `the founder` is a person of his own.
            group = own and voice.label.endswith("s")
            elsewhere = holder <= {fold(word.raw) for word in words(take.page_text)}
            wrong = not speaks and not group and (own or take.holder == "world" or elsewhere)
        case _:
            wrong = False
    fits = take.page_slug if voice.kind in ("subject", "document") else voice.label
    return f", but the page has {quote(sentence)}; {clean(fits)}" if wrong else None


def _of_plain(reading: Reading, sentence: str) -> str | None:
    """Against the holder of what the page states without a speaker."""
    take = reading.take
    if reading.kinds is None or reading.kinds.fitting != {"fact"}:
        return None
    if take.holder == "world" and _reports_itself(take) and _about_itself(sentence, reading.page):
        return f", but the page's subject tells it of itself: {quote(sentence)}; {clean(take.page_slug)}"
    named = slug_tokens(take.holder) & {fold(word.raw) for word in words(sentence)}
    if take.page_slug.startswith("topics/") and take.holder.startswith("people/") and not named:
        return f", but the page states it as settled: {quote(sentence)}; world"
    return None


def _of_nobody(reading: Reading) -> str | None:
    """Without a page: the world holds facts, and neither predictions nor demands."""
    if reading.take.holder == "world" and reading.kinds is not None and "fact" not in reading.kinds.fitting:
        return f", but {reading.kinds.why}; whoever says it"
    return None


def _reports_itself(take: Take) -> bool:
    source = {fold(word.raw) for word in words(take.source)}
    return take.page_slug.startswith(_SPEAKS_FOR_ITSELF) and not source & _INDEPENDENT


def _about_itself(sentence: str, page: Page) -> bool:
    """Whether the sentence's first words are the page's subject, or stand for it."""
    opening = words(sentence)[:4]
    if not opening or any(word.stem in page.subject for word in opening):
        return bool(opening)
    first, rest = opening[0].raw.casefold(), {word.raw.casefold() for word in opening[1:]}
    if first in {"it", "its", "she", "he", "her", "his", "we", "our"}:
        return not rest & DOCUMENTS
    return first == "the" and bool(rest & OWN_WORDS)
