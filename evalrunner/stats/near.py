"""Near-duplicate short texts, merged: several judges say one thing in nearly the same words."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

SIMILAR = (3, 4)
"""Two texts are near-duplicates when they share at least 3/4 of the words that either has."""

MOST_COMPARED = 2000
"""So many different texts are compared, which bounds time and memory; thousands of judgements say as many."""


@dataclass
class _Group:
    text: str
    words: frozenset[str]
    count: int


def merge_near_duplicates(texts: Iterable[str], limit: int = 10) -> list[str]:
    """At most `limit` of the texts, near-duplicates merged, those said most often first, then in given order.

    Case, punctuation, blanks and Unicode compatibility forms do not matter. Words are compared as sets, by
    their Jaccard index (`SIMILAR`). Texts with different numbers, or ids that hold a digit, are never merged:
    they speak of different things. The first text of a group stands for it, as it was written. Empty texts
    are dropped.

    A text is compared only with groups that share one of its rarest words, which two similar texts must
    (prefix filtering), so that thousands of texts take well under a second. Of more than MOST_COMPARED
    different texts only those said most often are looked at, the first ones among equals.
    """
    said = Counter(text.strip() for text in texts)
    if len(said) > MOST_COMPARED:
        often = dict(said.most_common(MOST_COMPARED))
        said = Counter({text: count for text, count in said.items() if text in often})
    given = [(text, _words(text), count) for text, count in said.items()]
    rarity = Counter(word for _, words, _ in given for word in words)
    groups: list[_Group] = []
    by_words: dict[frozenset[str], _Group] = {}
    by_word: dict[tuple[str, frozenset[str]], list[_Group]] = defaultdict(list)
    for text, words, count in given:
        if not text:
            continue
        rarest = sorted(words, key=lambda word: (rarity[word], word))[: _prefix(len(words))]
        keys = [(word, _numbers(words)) for word in rarest]
        found = by_words.get(words) or next(
            (group for key in keys for group in by_word[key] if _similar(group.words, words)), None
        )
        if found:
            found.count += count
            by_words[words] = found
            continue
        group = _Group(text, words, count)
        groups.append(group)
        by_words[words] = group
        for key in keys:
            by_word[key].append(group)
    return [group.text for group in sorted(groups, key=lambda group: -group.count)[:limit]]


def _words(text: str) -> frozenset[str]:
    """The words of a text; of one without any, its characters, so that `!` and `?` stay apart."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return frozenset(re.findall(r"\w+", plain)) or frozenset(plain.split())


def _prefix(size: int) -> int:
    """How many of the rarest words must be looked up so that no similar text is missed."""
    needed = -(-size * SIMILAR[0] // SIMILAR[1])
    return size - needed + 1


def _similar(first: frozenset[str], second: frozenset[str]) -> bool:
    return SIMILAR[1] * len(first & second) >= SIMILAR[0] * len(first | second)


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if any(letter.isdigit() for letter in word))
