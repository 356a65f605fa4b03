"""What of a claim stands in lines of code: its words, roughly stemmed, and the test that it misses."""

import re
from collections.abc import Iterable

_TOKEN = re.compile(r"\w+")
_EDGE = re.compile(r"_+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[^\W\d])|(?<=[^\W\d])(?=\d)")
_ENDING = re.compile(r"(?:ing|ed|es|s|e)$")
_SHORTEST_STEM = 3

_COMMON = """
a about after again all also always an and any anything are as at be because been before being both but by
can cannot could did do does done down each either else even ever every everything few first for from get
gets given gives goes had has have here how however if in instead into is it its itself just keep keeps kept
last later leave leaves less let like made make makes many may means might more most much must need needs
neither never next no none nor not nothing now of off often on once one only onto or other others otherwise
out over own per please rather same see seem set shall should since so some something still such take takes
than that the their them then there these they thing this those though through thus to together too two
under until up upon us use used uses using very was way we well were what when where whether which while who
whole why will with within without would yet you your
add added adds bad bug call called calls case cases change changed changes check checked checks code comment
correct defect error errors expected fail fails file files fix function functions happen happens hold holds
incorrect issue line lines longer lost method missing name named names new number old problem read reads
real result results return returned returns right run runs say says stand stands test tests turn turns value
values variable variables work works write written wrong
auto bool break byte char class const continue def del elif end enum except export extends false final
finally float fn func import int interface lambda long match mut new nil null package private protected
public pub raise self short signed static struct super switch this throw true try type typedef unsigned var
void yield
"""


def stem(word: str) -> str:
    """The word in lower case without its ending, so that `escaped`, `escape` and `escapes` are one."""
    lowered = word.casefold()
    cut = _ENDING.sub("", lowered)
    kept = cut if len(cut) >= _SHORTEST_STEM else lowered
    return f"{kept[:-1]}i" if len(kept) > _SHORTEST_STEM and kept.endswith("y") else kept


COMMON = frozenset(stem(word) for word in _COMMON.split()) | frozenset(_COMMON.split())
"""Words that say nothing about a line: English function words, words of every review, keywords."""


def telling(text: str) -> dict[str, str]:
    """The telling words of a text: stem -> the word as written.

    A name in snake_case or camelCase counts whole and in its parts. Single letters, single digits and COMMON
    are left out.
    """
    found: dict[str, str] = {}
    for token in _TOKEN.findall(text):
        for part in (token, *_EDGE.split(token)):
            cut = stem(part)
            if len(part) > 1 and cut not in COMMON and part.casefold() not in COMMON:
                found.setdefault(cut, part)
    return found


def shared(claim: str, lines: Iterable[str]) -> list[str]:
    """The telling words of a claim that stand in the lines as well, as the claim writes them."""
    there = {cut for line in lines for cut in telling(line)}
    words = [word for cut, word in telling(claim).items() if cut in there]
    return list(dict.fromkeys(words))


_UNGUARDED = re.compile(
    r"\b(?:may|can|might|could) be (?:none|null|nil|undefined|empty|missing|zero)\b"
    r"|\b(?:not|never) (?:checked|handled|guarded|tested|validated)\b|\bunchecked\b|\bon an? empty\b",
    re.IGNORECASE,
)
_GUARD = (
    r"\b{name}\b *(?:is|===?|!==?|is not) *(?:None|NULL|null|nil|nullptr|undefined|0\b|\"\"|'')"
    r"|\bnot {name}\b|! ?{name}\b|\bif \(?{name}\)? *[:{{]|\blen\({name}\) *[>=!]"
    r"|\b{name}\.(?:is_empty|isEmpty|empty)\("
)


def guarded(claim: str, lines: Iterable[str]) -> str | None:
    """The line that tests what the claim says is not tested; None where it says no such thing, or none does.

    `if x is None`, `x == NULL`, `if not x`, `if (!x)`, `len(x) > 0` and the like test x.
    """
    if _UNGUARDED.search(claim) is None:
        return None
    names = [word for word in dict.fromkeys(_TOKEN.findall(claim)) if stem(word) not in COMMON]
    tests = [re.compile(_GUARD.format(name=re.escape(name))) for name in names if len(name) > 1]
    return next((line.strip() for line in lines if any(test.search(line) for test in tests)), None)
