"""Samples of a blind re-implementation as agents leave them, for tests that start behind `produce`."""

import json
from collections.abc import Iterable
from typing import Any

from evalrunner.receipt.fingerprint import content_sha
from evalrunner.records import Item, Outcome, outcome_adapter

LANDED = (
    "diff --git a/page.py b/page.py\n"
    "--- a/page.py\n"
    "+++ b/page.py\n"
    "@@ -1,4 +1,4 @@\n"
    " def pages(total, size):\n"
    '     """How many pages hold `total` rows."""\n'
    "-    return total // size\n"
    "+    return -(-total // size)\n"
    " \n"
)
OTHER_WAY = LANDED.replace("-(-total // size)", "(total + size - 1) // size")
WRONG = LANDED.replace("-(-total // size)", "total // size + 1")
BLANKS = LANDED.replace("-(-total // size)", "-(-total // size)  ")

BODY = (
    "The last, partial page is lost: 21 rows at 10 a page give 2 pages.\n\n"
    "## Implementation plan\n\n**Size:** {size}\n**Implementation model:** {model}\n**Routing reason:** x\n"
)


def blind_item(issue: int, size: str = "s", model: str = "sonnet", body: str | None = None) -> Item:
    payload = {
        "issue": issue,
        "pr": issue + 100,
        "parent_sha": "a" * 40,
        "model": model,
        "size": size,
        "issue_body": BODY.format(size=size, model=model) if body is None else body,
        "repository": "repository",
    }
    truth = {"squash_sha": f"{issue:040x}"}
    return Item(
        id=f"issue-{issue}",
        content_sha=content_sha(payload, truth),
        payload=payload,
        truth=truth,
        groups={"size": size, "model": model, "cell": f"{size} x {model}"},
    )


def blind_outcome(item: Item, candidate: str = LANDED, *, run: int = 1, **fields: Any) -> Outcome:
    """An outcome; what is no field of outcomes goes into its payload."""
    own = {name: fields.pop(name) for name in ("status", "error", "spend") if name in fields}
    payload = {
        "issue": item.payload["issue"],
        "candidate_diff": candidate,
        "landed_diff": LANDED,
        "model": item.payload["model"],
        "size": item.payload["size"],
        "contaminated": False,
        "flags": [],
        "checks": {},
        "isolation": "bubblewrap",
        "candidate_tree": None,
        "landed_tree": None,
        **fields,
    }
    return Outcome(item_id=item.id, run=run, payload=payload, **own)


def blind_lines(pairs: Iterable[tuple[Item, list[Outcome]]]) -> str:
    """The samples as another program would hand them to `evalrunner judge`."""
    return "".join(
        json.dumps(
            {
                **item.model_dump(mode="json", exclude={"text"}),
                "outcomes": [outcome_adapter().dump_python(each, mode="json") for each in outcomes],
            }
        )
        + "\n"
        for item, outcomes in pairs
    )
