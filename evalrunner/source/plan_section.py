"""The managed plan section of an issue's body, and the issues that a pull request's body closes. Pure."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

HEADING = "## Implementation plan"
SIZES = ("s", "m", "l")

_SIZE = re.compile(r"\*\*Size:\*\* +(.+)")
_MODEL = re.compile(r"\*\*Implementation model:\*\* +(.+)")
_REASON = re.compile(r"\*\*Routing reason:\*\* +(.+)")
_ENDS = (("Size", _SIZE), ("Implementation model", _MODEL), ("Routing reason", _REASON))
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#{1,2}(?:[ \t].*)?")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_CLOSES = re.compile(
    r"(?<![\w/-])(?:closes|fixes|resolves):?[ \t]+#([1-9][0-9]{0,9})(?![\w-])", re.IGNORECASE
)


class NotEligible(Exception):  # noqa: N818 - an outcome of reading, not a failure
    """Why an issue or a pull request is left out, as a clause."""


@dataclass(frozen=True)
class Plan:
    """What the plan section of an issue says.

    Attributes:
        size: how large the work is.
        model: the implementation model that it was routed to.
        reason: why.
    """

    size: Literal["s", "m", "l"]
    model: str
    reason: str


def read_plan(body: str, models: Collection[str]) -> Plan:
    """The plan of an issue.

    There is exactly one heading `## Implementation plan`. Its section goes up to the next heading of level 1
    or 2, or the end. The section's last three lines that are not blank are, in this order, `**Size:** s|m|l`,
    `**Implementation model:** NAME` and `**Routing reason:** ...`, and each of the three stands nowhere else
    in the section. What is fenced as code counts as neither heading nor any of these lines.

    Args:
        body: the issue's body, Markdown.
        models: the names that a plan may give.

    Raises:
        NotEligible: anything else; says what.
    """
    lines = list(_lines(body))
    starts = [at for at, (line, code) in enumerate(lines) if not code and line.strip() == HEADING]
    if len(starts) != 1:
        raise NotEligible(f"its body has {len(starts) or 'no'} headings `{HEADING}`; exactly one is needed")
    section = list(_section(lines[starts[0] + 1 :]))
    last = [(line, code) for line, code in section if line.strip()][-len(_ENDS) :]
    found = []
    for place, (name, pattern) in enumerate(_ENDS):
        count = sum(1 for line, code in section if not code and line.startswith(f"**{name}:**"))
        if count != 1:
            raise NotEligible(
                f"its plan section has {count or 'no'} lines `**{name}:**`; exactly one is needed"
            )
        line, code = last[place] if place < len(last) else ("", False)
        match = None if code else pattern.fullmatch(line.rstrip())
        if match is None:
            raise NotEligible(
                f"its plan section does not end with size, implementation model and reason: `**{name}:**`"
            )
        found.append(match[1])
    size, model, reason = found
    if size not in SIZES:
        raise NotEligible(f"its size is {size!r}, none of {', '.join(SIZES)}")
    if model not in models:
        raise NotEligible(f"its implementation model {model!r} is none of {', '.join(models)}")
    return Plan(size, model, reason)  # type: ignore[arg-type]


def closed_issues(body: str) -> list[int]:
    """The numbers of the issues that a pull request's body closes, in its order, each once.

    `closes`, `fixes` or `resolves`, in any case, then `#N`. Comments and code do not count.
    """
    text = _COMMENT.sub(" ", body)
    text = "\n".join(line for line, code in _lines(text) if not code)
    text = _INLINE_CODE.sub(" ", text)
    return list(dict.fromkeys(int(number) for number in _CLOSES.findall(text)))


def _section(lines: list[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    for line, code in lines:
        if not code and _HEADING.fullmatch(line):
            return
        yield line, code


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a fenced block of code, the fences included."""
    fence = ""
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        found = _FENCE.fullmatch(line)
        if fence:
            yield line, True
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            yield line, True
        else:
            yield line, False
