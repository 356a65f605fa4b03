"""Comparing a candidate change with the one that landed: what a seat is shown, and how its answer is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from evalrunner.calls.request import Message
from evalrunner.errors import show
from evalrunner.model.fence import fence
from evalrunner.model.prompts import Prompts
from evalrunner.model.reply import How, ReplyRejected, exact_keys, harmless, read_object

CORRECT: Final = "correct"
DEFECT: Final = "defect"

NO_CLASS = "none"
"""What a reply says in the place of a class when the change is correct."""


@dataclass(frozen=True)
class Point:
    """One point of the checklist: a class of defects, and the question that finds it."""

    id: str
    question: str


@dataclass(frozen=True)
class Comparison:
    """One sample as it is put to a seat. Nothing else of the item's truth is in it.

    Attributes:
        item, run: which sample.
        issue: the text of the issue that both changes are to resolve.
        candidate, landed: the two diffs, of one base, as text.
        exact: the same diffs as bytes; None where their text is not all of them.
        candidate_tree, landed_tree: the ids of the trees that they lead to; None where they are not known.
        checklist: what a defect can be.
    """

    item: str
    run: int
    issue: str
    candidate: str
    landed: str
    exact: tuple[bytes, bytes] | None
    candidate_tree: str | None
    landed_tree: str | None
    checklist: tuple[Point, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """The ids of the checklist, in its order."""
        return tuple(point.id for point in self.checklist)

    @property
    def size(self) -> int:
        """UTF-8 bytes of all that a model would be shown of the sample."""
        return sum(
            len(text.encode("utf-8", "surrogatepass")) for text in (self.issue, self.candidate, self.landed)
        )


@dataclass(frozen=True)
class Said:
    """A seat's verdict.

    Attributes:
        verdict: `correct` or `defect`.
        kind: the class of the defect; None when correct.
        reason: one line, never empty.
    """

    verdict: str
    kind: str | None
    reason: str
    how: How = "strict"


def comparison_messages(prompts: Prompts, name: str, comparison: Comparison) -> tuple[Message, ...]:
    """Renders the prompt `name` for a sample.

    A template gets `issue`, `candidate` and `landed`, `checklist` (a list of {id, question}), `no_class`, and
    `fence_open` and `fence_close`: lines that stand in none of the three texts.

    Raises:
        InputError: the template is missing or wrong, with file and line.
    """
    texts = (comparison.issue, comparison.landed, comparison.candidate)
    fence_open, fence_close = fence("\n".join(texts))
    return prompts.messages(
        name,
        issue=comparison.issue,
        landed=comparison.landed,
        candidate=comparison.candidate,
        checklist=[vars(point) for point in comparison.checklist],
        no_class=NO_CLASS,
        fence_open=fence_open,
        fence_close=fence_close,
    )


def read_said(text: str, finish_reason: str | None, classes: Sequence[str]) -> Said:
    """An answer: `{"reason": text, "verdict": "correct" or "defect", "class": id}` and nothing else.

    A correct change has the class `none`, a defective one a class of the checklist; the reason is not blank,
    and is made harmless (see `evalrunner.model.reply.harmless`).

    Raises:
        ReplyRejected: anything else; says what is wrong.
    """
    read = read_object(text, finish_reason)
    exact_keys(read.value, ("reason", "verdict", "class"), "the object")
    verdict, kind, reason = read.value["verdict"], read.value["class"], read.value["reason"]
    if verdict not in (CORRECT, DEFECT):
        raise ReplyRejected(f"the verdict is {show(verdict, 40)}, neither {CORRECT} nor {DEFECT}")
    said = harmless(reason) if isinstance(reason, str) else ""
    if not said:
        raise ReplyRejected("there is no reason")
    if verdict == CORRECT:
        if kind != NO_CLASS:
            raise ReplyRejected(
                f"the verdict is {CORRECT}, but the class is {show(kind, 40)}, not {NO_CLASS}"
            )
        return Said(CORRECT, None, said, read.how)
    if kind not in classes:
        raise ReplyRejected(f"the class is {show(kind, 40)}, none of {', '.join(classes)}")
    return Said(DEFECT, kind, said, read.how)


def said_schema(classes: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of the form that `read_said` takes, for providers that hold a model to one."""
    properties = {
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": [CORRECT, DEFECT]},
        "class": {"type": "string", "enum": [NO_CLASS, *classes]},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
