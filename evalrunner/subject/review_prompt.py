"""The conversation in which an LLM is asked for a review, and the reply that it must give."""

from collections.abc import Iterator, Sequence
from typing import Any

from evalrunner.calls.request import Message
from evalrunner.git.diff import EXECUTABLE, FILE, FileDiff, head_lines
from evalrunner.git.trees import Blob, Trees
from evalrunner.model.fence import fence
from evalrunner.model.prompts import Prompts
from evalrunner.model.reply import ReplyRejected, closed, exact_keys, read_object
from evalrunner.subject.findings import (
    FIELDS,
    BrokenReview,
    Finding,
    Review,
    finding,
    last_line_marker,
    marker_in,
    review,
)

STATUSES = ("complete", "blocked")
SEVERITIES = ("high", "medium", "low")
ASKED = FIELDS[1:]
"""The fields of a finding that a model is asked for; its id is made from what it says."""


def messages(
    prompts: Prompts, name: str, diff: str, trees: Trees, *, diff_bytes: int, context_bytes: int
) -> tuple[Message, ...]:
    """Renders the prompt `name` for a case.

    A template gets `diff`, `diff_cut` (whether its end is left out), `files` (texts: what is known of each
    file of the head), `files_left_out` (how many are not shown, or not to their end), and `fence_open` and
    `fence_close`: lines that stand in none of these texts.

    Args:
        diff_bytes, context_bytes: the most UTF-8 bytes of the diff, and of all files together.

    Raises:
        InputError: the template is missing, wrong, or shows nothing of the case; with its file.
    """
    shown = _cut(diff, diff_bytes)
    files, left_out = head_files(trees, context_bytes)
    fence_open, fence_close = fence("\n".join([shown, *files]))
    return prompts.messages(
        name,
        ("diff", "files"),
        diff=shown,
        diff_cut=len(shown) < len(diff),
        files=files,
        files_left_out=left_out,
        fence_open=fence_open,
        fence_close=fence_close,
    )


def head_files(trees: Trees, most_bytes: int) -> tuple[list[str], int]:
    """What is known of the head's text files, in the diff's order; how many are not shown to their end."""
    texts: list[str] = []
    left_out, room = 0, most_bytes
    for file in trees.files:
        blob = trees.head.get(file.new_path) if file.new_path is not None else None
        if blob is None or blob.mode not in {FILE, EXECUTABLE} or b"\0" in blob.data or not blob.data:
            continue
        text = "\n".join(_numbered(file, blob))
        shown = _cut(text, room)
        left_out += len(shown) < len(text)
        if any(line.lstrip()[:1].isdigit() for line in shown.split("\n")[1:]):
            texts.append(shown)
            room -= len(shown.encode("utf-8", "replace"))
    return texts, left_out


def _numbered(file: FileDiff, blob: Blob) -> Iterator[str]:
    yield f"{file.name} ({'whole' if blob.whole else 'not whole'})"
    lines = head_lines(file)
    if blob.whole:
        lines = dict(enumerate(blob.data.removesuffix(b"\n").split(b"\n"), start=1))
    width = len(str(max(lines, default=1)))
    last = 0
    for number, text in lines.items():
        if number != last + 1:
            yield "..."
        yield f"{number:>{width}} {text.decode('utf-8', 'replace')}".rstrip("\r")
        last = number
    if not blob.whole:
        yield "..."


def _cut(text: str, most_bytes: int) -> str:
    """The text, cut after the last line that fits whole into so many UTF-8 bytes."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return text
    return data[:most_bytes].rpartition(b"\n")[0].decode()


def read_review(text: str, finish_reason: str | None, markers: Sequence[str]) -> Review:
    """A reply: `{"status": ..., "findings": [...]}` and nothing else; or nothing but a marker.

    A reply that the provider's filter stopped is a blocked review.

    Raises:
        ReplyRejected: the reply is in neither form; says what is wrong.
    """
    if finish_reason == "content_filter":
        return Review(status="blocked", error="the provider's content filter stopped the reply")
    rest, marker = last_line_marker(text, markers)
    try:
        if marker is not None and not rest.strip():
            return review((), marker, markers)
        value = read_object(rest, finish_reason).value
        exact_keys(value, ("status", "findings"), "the object")
        if value["status"] not in STATUSES:
            raise ReplyRejected('status is neither "complete" nor "blocked"')
        if not isinstance(value["findings"], list):
            raise ReplyRejected("findings is not a list")
        found = [
            _finding(each, f"finding {number}") for number, each in enumerate(value["findings"], start=1)
        ]
        ended = "blocked" if value["status"] == "blocked" else marker_in((value["status"],), markers)
        return review(found, marker or ended, markers)
    except BrokenReview as error:
        raise ReplyRejected(error.reason) from None


def _finding(value: Any, where: str) -> Finding:
    if not isinstance(value, dict):
        raise ReplyRejected(f"{where} is not an object")
    exact_keys(value, ASKED, where)
    line = value["line"]
    whole = (
        line is not None
        and not isinstance(line, str | bool | list | dict)
        and line == line.to_integral_value()
    )
    return finding({**value, "line": int(line) if whole else line}, where)


def review_schema() -> dict[str, Any]:
    """The JSON schema of the form that `read_review` takes, for providers that hold a model to one."""
    text = {"type": "string"}
    one = {
        "file": text,
        "line": {"type": ["integer", "null"]},
        "title": text,
        "body": text,
        "severity": {"type": "string", "enum": list(SEVERITIES)},
    }
    status = {"type": "string", "enum": list(STATUSES)}
    return closed({"status": status, "findings": {"type": "array", "items": closed(one)}})
