"""What a KEEP/REJECT judge is asked and what it answers: the system under test of the eval `review_judge`.

A batch is one diff and all findings on it; they are judged together. Whoever judges answers for every
finding, or the call has failed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalrunner.errors import show
from evalrunner.model.reply import How, ReplyRejected, closed, exact_keys, harmless, read_object
from evalrunner.model.seat import SeatKind
from evalrunner.receipt.said import shown
from evalrunner.records import Item, Outcome, OutcomeStatus, Spend

Word = Literal["KEEP", "REJECT"]
WORDS: tuple[Word, ...] = ("KEEP", "REJECT")

FIELDS = ("id", "file", "line", "title", "body")
"""What of a finding is shown; nothing else of a row reaches a judge, whatever the row holds."""

_NAMED = 5


@dataclass(frozen=True)
class Verdict:
    """What a judge says of one finding, and why."""

    id: str
    verdict: Word
    reason: str


@dataclass(frozen=True)
class Verdicts:
    """A complete answer: one verdict for each finding of the batch, in the batch's order."""

    each: tuple[Verdict, ...]
    how: How = "strict"


def question(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What a judge is shown of a batch: its diff, and of its findings the fields in FIELDS."""
    shown = {name: payload[name] for name in ("diff", "diff_base64") if name in payload}
    findings = [{name: finding.get(name) for name in FIELDS} for finding in payload["findings"]]
    return {**shown, "findings": findings}


def ids_of(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids of a batch's findings, in its order."""
    return tuple(finding["id"] for finding in payload["findings"])


def read_verdicts(text: str, finish_reason: str | None, ids: Sequence[str]) -> Verdicts:
    """An answer: `{"verdicts": [{"id", "verdict", "reason"}, ...]}` and nothing else, in any order.

    Every id of the batch stands in it exactly once, with KEEP or REJECT, and with a reason that is not blank.
    Reasons are made harmless (see `evalrunner.model.reply.harmless`).

    Raises:
        ReplyRejected: anything else; says what is wrong.
    """
    read = read_object(text, finish_reason)
    exact_keys(read.value, ("verdicts",), "the object")
    given = read.value["verdicts"]
    if not isinstance(given, list):
        raise ReplyRejected("verdicts is not a list")
    by_id: dict[str, Verdict] = {}
    for place, entry in enumerate(given, start=1):
        verdict = _verdict(entry, f"verdict {place}")
        if verdict.id in by_id:
            raise ReplyRejected(f"finding {show(verdict.id, 40)} has two verdicts")
        by_id[verdict.id] = verdict
    unknown = [each for each in by_id if each not in ids]
    missing = [each for each in ids if each not in by_id]
    if unknown:
        raise ReplyRejected(f"there is no finding {_listed(unknown)}")
    if missing:
        raise ReplyRejected(f"{len(missing)} of {len(ids)} findings have no verdict: {_listed(missing)}")
    return Verdicts(tuple(by_id[each] for each in ids), read.how)


def _verdict(entry: Any, where: str) -> Verdict:
    if not isinstance(entry, dict):
        raise ReplyRejected(f"{where} is not an object")
    exact_keys(entry, ("id", "verdict", "reason"), where)
    name, word, reason = entry["id"], entry["verdict"], entry["reason"]
    if not isinstance(name, str):
        raise ReplyRejected(f"the id of {where} is not a text")
    if word not in WORDS:
        raise ReplyRejected(f"{where} is {shown(word, 40)}, neither KEEP nor REJECT")
    said = harmless(reason) if isinstance(reason, str) else ""
    if not said:
        raise ReplyRejected(f"{where} has no reason")
    return Verdict(name, word, said)


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(show(each, 40) for each in ids[:_NAMED]) + (", ..." if len(ids) > _NAMED else "")


def verdicts_schema(ids: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of the form that `read_verdicts` takes, for providers that hold a model to one."""
    verdict = {
        "id": {"type": "string", "enum": list(ids)},
        "verdict": {"type": "string", "enum": list(WORDS)},
        "reason": {"type": "string"},
    }
    return closed({"verdicts": {"type": "array", "items": closed(verdict)}})


def described(subject: str, seat: SeatKind, **settings: Any) -> dict[str, Any]:
    """What tells one KEEP/REJECT judge from another.

    `seat` says what speaks: these subjects are judges themselves, and the receipt's `judge_kind` is theirs.
    """
    return {"subject": subject, "seat": seat, **settings}


def outcome(
    item: Item,
    run: int,
    *,
    seat: str,
    status: OutcomeStatus = "ok",
    verdicts: Verdicts | None = None,
    error: str | None = None,
    detail: Mapping[str, Any] | None = None,
    spend: Spend | None = None,
    duration_s: float = 0.0,
) -> Outcome:
    """The outcome of one call.

    Its payload holds `seat`, what speaks, and for a complete answer `verdicts` as they were read.

    Args:
        detail: what else is worth keeping of the call, JSON-ready.
    """
    payload: dict[str, Any] = {"seat": seat, **(detail or {})}
    if verdicts is not None:
        payload["verdicts"] = [vars(each) for each in verdicts.each]
        payload["parse"] = verdicts.how
    return Outcome(
        item_id=item.id,
        run=run,
        status=status,
        payload=payload,
        spend=spend or Spend(),
        duration_s=duration_s,
        error=error,
    )
