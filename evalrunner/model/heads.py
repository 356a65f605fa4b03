"""Whether two diffs of one base lead to the same tree, blanks at the ends of lines and of files aside.

Neither the base nor a repository is needed: lines of the base that neither diff shows stand in both heads
alike, so that files are compared with placeholders in their place. The answer is sound, not complete: True is
proven, False only says that the heads were not seen to be the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evalrunner.git.diff import SYMLINK, DiffError, FileDiff, numbered
from evalrunner.git.diff_parser import parse

Token = bytes | tuple[bytes, int]
"""A line's text; or, of a line that neither diff shows, its place: file of the base and number."""

REST = -1
"""The number that stands for all lines behind the last one that a diff speaks of."""

WHOLE_SHA = 40
"""Hex digits of a blob id that is not abbreviated, at least."""


@dataclass(frozen=True)
class Head:
    """One file of a head: its mode, and its lines or, for a binary, what stands for its content."""

    mode: str
    content: tuple[object, ...]


@dataclass
class Base:
    """What both diffs together tell of one file of the base.

    Attributes:
        lines: number -> text, of the lines that are shown.
        upto: the last line that a diff speaks of.
        end: how many lines the file has; None where that is not told.
    """

    path: bytes
    mode: str
    lines: dict[int, bytes] = field(default_factory=dict)
    upto: int = 0
    end: int | None = None

    def tokens(self, first: int, last: int) -> list[Token]:
        """The lines from `first` to `last`."""
        return [self.lines.get(number, (self.path, number)) for number in range(first, last + 1)]

    def tail(self, first: int) -> list[Token]:
        """The lines from `first` to the end."""
        known = self.tokens(first, self.upto)
        return known if self.end is not None else [*known, (self.path, REST)]

    def learn(self, file: FileDiff) -> None:
        """Takes in what a section says of the file.

        Raises:
            DiffError: an earlier section says otherwise.
        """
        if self.mode != file.old_mode:
            raise _differ(f"the mode of {file.name}")
        for number, _, line in numbered(file):
            if line.sign != "+":
                if self.lines.setdefault(number, line.text) != line.text:
                    raise _differ(f"line {number} of {file.name}")
                if not line.ended:
                    self._ends(number, file)
        self.upto = max([self.upto, *self.lines, *(hunk.old_first - 1 for hunk in file.hunks)])
        if file.change == "deleted" and file.hunks:
            self._ends(sum(hunk.old_count for hunk in file.hunks), file)
        if self.end is not None and self.upto > self.end:
            raise _differ(f"the length of {file.name}")

    def _ends(self, number: int, file: FileDiff) -> None:
        if self.end not in {None, number}:
            raise _differ(f"the length of {file.name}")
        self.end = number


def _differ(what: str) -> DiffError:
    return DiffError(0, f"the two diffs are not of one base: they differ in {what}")


def same_heads(one: bytes, other: bytes) -> bool:
    """Whether both diffs are seen to lead to the same tree; see the top of this file.

    Line ends (LF or CR LF), blanks and tabs at the end of a line, and blank lines and the line feed at the
    end of a file make no difference; in links they do.

    Raises:
        DiffError: one of them is no diff, or they are not of one base.
    """
    sides = parse(one), parse(other)
    bases: dict[bytes, Base] = {}
    for file in (*sides[0], *sides[1]):
        if file.old_path is not None:
            bases.setdefault(file.old_path, Base(file.old_path, file.old_mode)).learn(file)
    for files in sides:
        own = {file.old_path for file in files}
        if new := next((file for file in files if _is_new(file) and file.path in bases.keys() - own), None):
            raise _differ(f"whether there was a {new.name}")
    first, second = (_heads(files, bases) for files in sides)
    untouched = {path: _text(base.mode, base.tail(1)) for path, base in bases.items()}
    return all(
        first.get(path, untouched.get(path)) == second.get(path, untouched.get(path))
        for path in first.keys() | second.keys()
    )


def _is_new(file: FileDiff) -> bool:
    """Whether the file's path is none of the base's, as far as its section says."""
    return file.old_path is None or file.change in {"renamed", "copied"}


def _heads(files: Sequence[FileDiff], bases: dict[bytes, Base]) -> dict[bytes, Head | None]:
    """The files of the head that a diff touches; None for those that it takes away."""
    heads: dict[bytes, Head | None] = {
        file.old_path: None
        for file in files
        if file.old_path is not None and file.change in {"deleted", "renamed"}
    }
    for file in files:
        if file.new_path is not None:
            heads[file.new_path] = _head(file, None if file.old_path is None else bases[file.old_path])
    return heads


def _head(file: FileDiff, base: Base | None) -> Head:
    if file.binary is not None:
        return Head(file.new_mode, _binary(file))
    tokens: list[Token] = []
    at = 1
    for hunk in file.hunks:
        if base is not None:
            tokens += base.tokens(at, hunk.old_first - 1)
        tokens += [line.text for line in hunk.lines if line.sign != "-"]
        at = hunk.old_first + hunk.old_count
    return _text(file.new_mode, tokens if base is None else [*tokens, *base.tail(at)])


def _binary(file: FileDiff) -> tuple[object, ...]:
    """What stands for a binary content; equal only where the contents are."""
    if file.new_sha is not None and len(file.new_sha) >= WHOLE_SHA:
        return ("blob", file.new_sha)
    forward = file.binary.forward if file.binary is not None else None
    if forward is None:
        return (object(),)
    return (forward.method, forward.data, file.old_path if forward.method == "delta" else None)


def _text(mode: str, tokens: Sequence[Token]) -> Head:
    """A text with what makes no difference taken away."""
    if mode == SYMLINK:
        return Head(mode, tuple(tokens))
    lines = [token.rstrip(b" \t\r") if isinstance(token, bytes) else token for token in tokens]
    while lines and lines[-1] == b"":
        lines.pop()
    return Head(mode, tuple(lines))
