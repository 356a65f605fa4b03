"""Judge batches for a person who checks the verdicts: each finding with its label, verdict and reason.

Receipts of other programs may tell less of a batch; what they leave out is left out here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from evalrunner.errors import nearest
from evalrunner.reporter.findings import rows, text

Line = tuple[str, str]
"""A text and its style."""


def has_batches(receipt: Mapping[str, Any]) -> bool:
    """Whether the receipt's items are batches of findings with labels."""
    return any(
        finding.get("label") for item in rows(receipt.get("items")) for finding in rows(item.get("findings"))
    )


def batch_lines(receipt: Mapping[str, Any], name: str) -> Iterator[Line]:
    """One batch in full; where there is no such batch, a line that says so."""
    batches = {str(item.get("id")): item for item in rows(receipt.get("items"))}
    if name not in batches:
        close = nearest(name, batches)
        hint = f"; did you mean {text(close)!r}?" if close else ""
        yield f"The receipt: there is no batch {text(name)!r} in it{hint}", "yellow"
        return
    findings = list(rows(batches[name].get("findings")))
    yield f"Batch {text(name)} ({len(findings)} findings)", "bold"
    for call in rows(batches[name].get("calls")):
        if call.get("state") != "answered":
            yield f"call {call.get('run')}: {text(call.get('state'))}: {text(call.get('error'))}", "red"
    for finding in findings:
        place = ":".join(str(each) for each in (text(finding.get("file")), finding.get("line")) if each)
        label = text(finding.get("label")) or "of no label"
        title = f' "{each}"' if (each := text(finding.get("title"))) else ""
        yield f"{text(finding.get('id'))} is {label}: {place}{title}", "bold"
        for verdict in rows(finding.get("verdicts")):
            right = verdict.get("right") is True
            why = (
                "the call failed"
                if verdict.get("failed_call")
                else text(verdict.get("reason")) or "no reason"
            )
            word = f"{text(verdict.get('verdict'))}, {'right' if right else 'wrong'}"
            yield f"  run {verdict.get('run')}: {word}: {why}", "green" if right else "red"
