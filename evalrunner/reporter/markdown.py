"""Markdown that shows untrusted text as text: no markup, no link, no mention, no reference, no command.

GitHub and GitLab look for mentions, references and addresses in text that is already rendered, where escapes
no longer help. A zero-width space inside them is what does.
"""

import re
from collections.abc import Callable, Sequence

from evalrunner.reporter.text import plain

GAP = "&#8203;"
"""A zero-width space: nothing to see, and no longer the word that it was."""

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}
_ACTIVE = re.compile(
    r"(?P<entity>[&<>$])"
    r"|(?P<markup>[\\`*{}\[\]|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))"
    r"|(?P<symbol>[@#!%](?=\S)|:(?=//|[\w+-]+:))"
    r"|(?P<word>www(?=\.)|GH(?=-\d))",
    re.IGNORECASE,
)
_AT_START = re.compile(r"^(?P<bullet>[#+\-/!=:])|^(?P<digits>\d+)(?P<point>[.)])(?=\s|$)")


def escaped(text: str, limit: int | None = None) -> str:
    """One line of Markdown that reads as the text does.

    Args:
        text: anything; control characters are dropped and blanks joined.
        limit: longer texts are cut to so many characters, with an ellipsis.
    """
    line = cut(plain(text), limit)
    return _AT_START.sub(_start, _ACTIVE.sub(_harmless, line))


def _harmless(match: re.Match[str]) -> str:
    found = match[0]
    followed = match.string[match.end() : match.end() + 1].strip()
    gap = GAP if followed and found in "&$[~" else ""
    if match["entity"]:
        return _ENTITIES[found] + gap
    if match["markup"]:
        return f"\\{found}{gap}"
    return found + GAP


def _start(match: re.Match[str]) -> str:
    return f"\\{match[0]}" if match["bullet"] else f"{match['digits']}\\{match['point']}"


def cut(text: str, limit: int | None) -> str:
    """The text, with an ellipsis where it is longer than the limit."""
    return text if limit is None or len(text) <= limit else f"{text[: limit - 1]}…"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """A table in Markdown.

    Args:
        headings, rows: cells that are Markdown already, on one line each.
        numbers: the columns that are aligned to the right.
    """
    rule = ["--:" if place in numbers else ":--" for place in range(len(headings))]
    return "\n".join(map(_line, [headings, rule, *rows]))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def within(limit: int, blocks: Sequence[str], note: Callable[[int], str]) -> str:
    """The blocks, with a blank line between them, as far as they fit; what is left out is counted.

    Args:
        limit: most characters.
        blocks: Markdown; the first always stands.
        note: says how many blocks were left out.
    """
    room = limit - 200
    kept: list[str] = []
    for block in blocks:
        if kept and sum(map(len, kept)) + 2 * len(kept) + len(block) > room:
            kept.append(note(len(blocks) - len(kept)))
            break
        kept.append(block)
    return "\n\n".join(kept) + "\n"
