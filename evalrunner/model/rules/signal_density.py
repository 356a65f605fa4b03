"""Is the take trivia: about the document, its look, its occasion, or somebody's dress and pastimes?"""

import re

from evalrunner.model.rules.lexicon import DOCUMENTS, MEDIA
from evalrunner.model.rules.reading import Reading
from evalrunner.model.rules.take import Finding, Take
from evalrunner.model.rules.text import clean, fold, words

_COLOUR = (
    "(?:black|white|grey|gray|red|green|blue|yellow|orange|purple|pink|brown|beige|golden|silver|colou?rful)"
)
_MEETING = "(?:call|meeting|event|press conference|webinar|hearing|interview|session)"
_ROOM = "(?:room|hall|café|cafe|restaurant|hotel|lobby|canteen|video call|zoom)"
_MEAL = "(?:lunch|dinner|breakfast|coffee|tea|snacks?|sandwiches|biscuits|cake)"
_EQUIPMENT = "(?:heating|air conditioning|microphones?|projector|wi-?fi|lift|elevator)"
_PASTIME = (
    "(?:cycling|running|hiking|chess|tennis|golf|football|cooking|gardening|music|jazz|piano|guitar|sailing"
    "|skiing|fishing|coffee|tea|cats|dogs|stamps|vinyl)"
)
_TRIVIA = tuple(
    (what, re.compile(pattern, re.IGNORECASE))
    for what, patterns in {
        "the look of a thing": (
            rf"\b{_COLOUR} (?:\w+ )?(?:cover|logo|jacket|shirt|tie|binding)\b",
            r"\b(?:logo|mascot|letterhead|watermark|front cover)\b",
        ),
        "the form of a document": (
            r"\b(?:is|was|came as|sent as) an? (?:\w+ )?(?:pdf|docx?|pptx?|powerpoint|word document|scan)\b",
            r"\b(?:pages|slides|paragraphs) long\b|\b(?:has|had) (?:\w+ )?(?:footnotes|page numbers)\b",
            r"\b(?:printed on|stapled|two-column|double-spaced|bound in)\b",
        ),
        "where, when or how people met": (
            rf"\b(?:took place|was held|were held|met|gathered) (?:in|at|on|over) (?:\w+ ){{0,3}}{_ROOM}\b",
            rf"\bheld an? (?:\w+ )?{_MEETING}\b",
            r"\b(?:notes|minutes) were taken by\b|\btook (?:the )?(?:notes|minutes)\b",
        ),
        "the occasion": (
            rf"\b{_MEAL} (?:was|were) \w+|\b(?:served|had|ate|over|during) (?:\w+ )?{_MEAL}\b",
            rf"\b{_EQUIPMENT}\b.{{0,40}} (?:was|were) (?:broken|off|out|down|cold|hot|loud)\b",
            r"\bit (?:rained|snowed|was raining|was sunny)\b",
        ),
        "somebody's dress, home or pastime": (
            r"\b(?:wore|wears|wearing|dressed in) (?:an?|his|her|the|their)\b",
            rf"\b(?:likes|enjoys|loves|plays|collects) (?:\w+ ){{0,2}}{_PASTIME}\b",
            r"\b(?:grew up in|hobby|hobbies|lives in an?)\b",
            r"\b(?:dog|cat|parrot|pet) (?:is |was )?(?:named|called)\b",
        ),
        "souvenirs": (
            r"\b(?:museum|gift|souvenir) shop\b|\bsouvenirs?\b|\bcommemorative\b",
            r"\bstamps? (?:was|were) issued\b|\bpatch (?:shows|depicts|has)\b",
        ),
        "an audience, not users": (r"\bfollowers\b",),
    }.items()
    for pattern in patterns
)
_OF_FORM = (
    "(?:is|was|has|had|uses|used|lasted|lasts|runs|ran|took|ends|ended|begins|starts|comes|came|costs|fills"
    "|looks)"
)
_ABOUT_DOCUMENT = re.compile(
    r"^(?:the|this) (?:[\w’'-]+ ){0,3}?(?P<noun>[\w-]+)(?: (?:on|about) (?:[\w’'-]+ ){1,4}?| )"
    rf"{_OF_FORM}\b",
    re.IGNORECASE,
)
_OF_CONTENT = re.compile(
    r"\b(?:led to|caused|decided|agreed|rejected|approved|changed|because|says?|said|finds?|found|showed"
    r"|argued|concluded|warned|recommended|predicted|expected|estimated|proposed)\b",
    re.IGNORECASE,
)


def examine(reading: Reading) -> list[Finding]:
    """Evidence of trivia in the claim's wording; English only."""
    if not reading.english:
        return []
    for what, pattern in _TRIVIA:
        if match := pattern.search(reading.take.claim):
            return [
                Finding(
                    f'"{clean(match.group(), 40)}" is about {what}; a take that something hangs on would fit',
                    7,
                )
            ]
    checkable = reading.kinds is None or "fact" in reading.kinds.fitting
    noun = _document(reading.take)
    if noun is None or not checkable:
        return []
    return [Finding(f"the claim is about the {noun} itself; what the {noun} says would fit", 5)]


def _document(take: Take) -> str | None:
    """The document or occasion that is the claim's subject, where the claim tells nothing of what it says.

    A document that might be the page's topic counts only when the take's source names it.
    """
    match = _ABOUT_DOCUMENT.match(take.claim)
    if match is None or _OF_CONTENT.search(take.claim):
        return None
    noun = fold(match.group("noun"))
    source = {fold(word.raw) for word in words(take.source)}
    return noun if noun in DOCUMENTS and (noun not in MEDIA or noun in source) else None
