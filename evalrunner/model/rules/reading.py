"""A take as all rules see it: its page, the sentence behind its claim, and the kinds that would fit."""

import re
from dataclasses import dataclass

from evalrunner.model.rules.lexicon import MONTH_NAMES
from evalrunner.model.rules.page import Backing, Page, backing, read_page
from evalrunner.model.rules.speech import Attitude, speech
from evalrunner.model.rules.take import Take
from evalrunner.model.rules.text import clean, quote, reads_english, words

_SEASONS = "(?:spring|summer|autumn|winter|q[1-4])"
_WILL = re.compile(
    r"\b(?:will|won['’]t|shall|(?:is|are) (?:going|expected|set|due|bound|likely) to|some day|one day"
    rf"|next (?:week|month|quarter|year|decade|century|{_SEASONS})|in the (?:near )?future)\b",
    re.IGNORECASE,
)
_DEADLINE = re.compile(
    r"\b(?:by|before|until|through|from|in|after|within)"
    rf"(?: (?:the|end|start|middle|of|mid|early|late|{_SEASONS}|{'|'.join(MONTH_NAMES)}))*"
    r"[ -](?P<year>[12]\d{3})\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|(?:has|have) been|fell|rose|grew|lost|won|built|sold|found|held|left|began|became"
    r"|brought|made|took|went|cut|came|ran|led|[a-z]{3,}ed)\b",
    re.IGNORECASE,
)
_NORM = re.compile(
    r"\b(?:should|ought to|must|needs? to|had better|would do (?:better|well)|worth)\b", re.IGNORECASE
)
_JUDGEMENT = re.compile(
    r"\b(?:too|best|better|worst|worse|good|bad|poor|great|excellent|useless|useful|overrated|underrated|real"
    r"|important|matters?|mattered|unfair|fair|easy|easier|hard|harder|wrong|right|dull|duller|ugly|beautiful"
    r"|elegant|safe|safer|risky|wise|foolish|mistake|promising|disappointing|surprising|key|main|biggest"
    r"|largest|greatest|bottleneck|barrier|enough|more than|less than|rather than|mostly|largely|overpriced"
    r"|cheap|expensive|succeed\w*|fail\w*)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:something|somehow|perhaps|maybe|feels? (?:like|off|wrong|right)|gut feeling|hunch|a sense that)\b",
    re.IGNORECASE,
)
_MOSTLY = 0.66


@dataclass(frozen=True)
class Kinds:
    """The kinds that a wording fits, and the evidence for it as a clause."""

    fitting: frozenset[str]
    why: str


@dataclass(frozen=True)
class Reading:
    """A take, read once for all rules.

    Attributes:
        english: claim and page (where there is one) can be judged by English wording.
        future: the claim is about the time after its date.
        attributed: the claim itself says who holds something.
        kinds: what the wording fits; None when it shows nothing.
    """

    take: Take
    english: bool
    page: Page
    backing: Backing | None
    future: bool
    attributed: bool
    kinds: Kinds | None


def read(take: Take) -> Reading:
    """Reads a take; never raises, whatever its texts hold."""
    english = reads_english(take.claim) and reads_english(take.page_text)
    page = read_page(take)
    if not english:
        return Reading(take, english, page, None, future=False, attributed=False, kinds=None)
    found = backing(take, page)
    dated = _is_dated(take)
    future = dated or _WILL.search(take.claim) is not None
    attributed = speech(take.claim) is not None
    kinds = None
    if not attributed:
        kinds = _by_speech(found, future, dated) or _by_wording(take.claim, future, found)
    return Reading(take, english, page, found, future, attributed, kinds)


def _is_dated(take: Take) -> bool:
    """Whether the claim names a year to come: later than its date, or after `will`, and tells no past."""
    will = _WILL.search(take.claim) is not None
    for match in _DEADLINE.finditer(take.claim):
        year = int(match.group("year"))
        if will and (take.year is None or year >= take.year):
            return True
        if take.year is not None and year > take.year and not _PAST.search(take.claim):
            return True
    return False


def _by_speech(found: Backing | None, future: bool, dated: bool) -> Kinds | None:
    """The kinds that fit what the page's speaker does: bets, believes, suspects."""
    if found is None or not found.firm or found.speech is None:
        return None
    fitting, what = _of_attitude(found.speech.attitude, future, dated)
    if not fitting:
        return None
    verb = clean(found.speech.verb, 20)
    return Kinds(
        frozenset(fitting.split()), f'the page gives {what} ("{verb}"): {quote(found.sentence.text)}'
    )


def _of_attitude(attitude: Attitude, future: bool, dated: bool) -> tuple[str, str]:
    """Fitting kinds and what the attitude is; no kinds where it is up to the wording."""
    match attitude:
        case "hunch":
            return "hunch", "a feeling"
        case "bet" | "plan":
            return ("bet" if attitude == "bet" and future else "bet fact"), "a prediction or plan"
        case "opinion":
            return ("bet" if dated else "bet take" if future else "take"), "a view"
        case _:
            return "", ""


def _by_wording(claim: str, future: bool, found: Backing | None) -> Kinds | None:
    """The kinds that fit the claim's own words, given how plainly the page states them."""
    figure = any(word.number is not None for word in words(claim))
    plain = found is not None and found.coverage >= _MOSTLY
    settled = figure and found is not None and found.speech is None
    judges = not settled and _JUDGEMENT.search(claim) is not None
    kinds: Kinds | None = None
    if match := _VAGUE.search(claim):
        kinds = Kinds(frozenset({"hunch", "take", "bet"}), f'the claim is vague ("{match.group()}")')
    elif future:
        fitting = {"bet"} if found is not None else {"bet", "hunch"}
        kinds = Kinds(frozenset(fitting), "the claim is about a time to come")
    elif match := _NORM.search(claim):
        kinds = Kinds(frozenset({"take", "hunch"}), f'the claim says what ought to be ("{match.group()}")')
    elif plain and found is not None:
        fitting = {"fact", "take"} if judges else {"fact"}
        kinds = Kinds(frozenset(fitting), f"the page states it plainly: {quote(found.sentence.text)}")
    elif figure and not judges and _PAST.search(claim):
        kinds = Kinds(frozenset({"fact", "take"}), "the claim reports a figure or date of the past")
    return kinds
