"""What a unified or git diff says, as typed values; `evalrunner.git.diff_parser` reads them.

Paths and contents are bytes. A line's text goes up to its line feed: a carriage return, a form feed or any
other character belongs to the text.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evalrunner.errors import InputError, Problem, show
from evalrunner.git.paths import show_path

Change = Literal["modified", "added", "deleted", "renamed", "copied"]

FILE, EXECUTABLE, SYMLINK, SUBMODULE = "100644", "100755", "120000", "160000"


class DiffError(InputError):
    """A diff that cannot be used.

    Attributes:
        line: the number of the line of the diff that is wrong, from 1; 0 for the diff as a whole.
        what: what is wrong there, as one clause.
    """

    code = "E-DIFF"

    def __init__(self, line: int, what: str, found: bytes | None = None, allowed: str | None = None) -> None:
        self.line = line
        self.what = what
        shown = None if found is None else show(found.decode("utf-8", "replace"))
        super().__init__(Problem(f"line {line}" if line else "", what, shown, allowed))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk.

    Attributes:
        sign: " " stands on both sides, "-" in the base, "+" in the head.
        text: without its line feed.
        ended: whether a line feed follows; False only for the last line of a file.
    """

    sign: Literal[" ", "-", "+"]
    text: bytes
    ended: bool = True

    @property
    def content(self) -> bytes:
        """The line as it stands in the file."""
        return self.text + b"\n" if self.ended else self.text


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk, with the numbers of its header as written.

    Attributes:
        at: the line of the diff that its header stands on.
    """

    at: int
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[Line, ...] = ()

    @property
    def old_first(self) -> int:
        """The number in the base before which nothing of the hunk lies; a count of 0 names the one before."""
        return self.old_start if self.old_count else self.old_start + 1

    @property
    def new_first(self) -> int:
        """As `old_first`, in the head."""
        return self.new_start if self.new_count else self.new_start + 1


@dataclass(frozen=True, slots=True)
class Payload:
    """One direction of a binary patch, inflated: a whole content (`literal`) or a `delta` between the two."""

    method: Literal["literal", "delta"]
    data: bytes


@dataclass(frozen=True, slots=True)
class Binary:
    """That a file is binary, with the contents where the diff has them.

    Attributes:
        forward: what gives the head's content. reverse: what gives the base's.
    """

    forward: Payload | None = None
    reverse: Payload | None = None


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a diff says of one file.

    Attributes:
        at: the line of the diff that its section starts on.
        old_path: its path in the base; None when it was added. new_path: in the head; None when deleted.
        old_mode, new_mode: git's octal modes; a regular file's where the diff has none.
        old_sha, new_sha: the (mostly abbreviated) blob ids of the index line.
        binary: None for text.
    """

    at: int
    change: Change
    old_path: bytes | None
    new_path: bytes | None
    old_mode: str = FILE
    new_mode: str = FILE
    old_sha: str | None = None
    new_sha: str | None = None
    hunks: tuple[Hunk, ...] = ()
    binary: Binary | None = None

    @property
    def path(self) -> bytes:
        """Its path in the head, else in the base."""
        path = self.old_path if self.new_path is None else self.new_path
        assert path is not None
        return path

    @property
    def name(self) -> str:
        """`path` for messages."""
        return show_path(self.path)


def numbered(file: FileDiff) -> Iterator[tuple[int, int, Line]]:
    """The lines of all hunks, each with its number in the base and in the head.

    For a line that one side does not have, the number on that side is that of the line that comes next there.
    """
    for hunk in file.hunks:
        old, new = hunk.old_first, hunk.new_first
        for line in hunk.lines:
            yield old, new, line
            old += line.sign != "+"
            new += line.sign != "-"


def head_lines(file: FileDiff) -> dict[int, bytes]:
    """The text of every head line that the diff shows, by its number from 1."""
    return {new: line.text for _, new, line in numbered(file) if line.sign != "-"}


def added_lines(file: FileDiff) -> dict[int, bytes]:
    """The text of every head line that the diff adds or changes, by its number from 1."""
    return {new: line.text for _, new, line in numbered(file) if line.sign == "+"}


def removed_lines(file: FileDiff) -> dict[int, bytes]:
    """The text of every base line that the diff removes or changes, by its number in the base from 1."""
    return {old: line.text for old, _, line in numbered(file) if line.sign == "-"}


def diff_payload(diff: bytes) -> dict[str, str]:
    """A diff as the payload of an item carries it: `diff`, and `diff_base64` where that is not all of it.

    JSON texts cannot hold bytes that are not UTF-8; `diff` then shows U+FFFD in their place.
    """
    try:
        return {"diff": diff.decode()}
    except UnicodeDecodeError:
        return {"diff": diff.decode("utf-8", "replace"), "diff_base64": base64.b64encode(diff).decode()}


def payload_diff(payload: Mapping[str, Any]) -> bytes:
    """The exact bytes of the diff in an item's payload.

    Raises:
        DiffError: `diff_base64` is not base64.
    """
    encoded = payload.get("diff_base64")
    if encoded is None:
        return str(payload["diff"]).encode("utf-8", "surrogateescape")
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise DiffError(0, "`diff_base64` is not base64") from None
