"""Reads unified and git diffs, byte for byte, and refuses what does not say exactly what base and head are."""

import re
from collections.abc import Sequence
from typing import Literal

from evalrunner.git.binary_patch import read_binary
from evalrunner.git.diff import EXECUTABLE, FILE, SUBMODULE, SYMLINK, Change, DiffError, FileDiff, Hunk, Line
from evalrunner.git.diff_check import check_file, check_total
from evalrunner.git.diff_names import header_names, line_name, paired_names, safe_path

MODES = {FILE, "100664", EXECUTABLE, SYMLINK, SUBMODULE}

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: .*|)", re.DOTALL)
_INDEX = re.compile(rb"([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{6}))?")
_EXTENDED = re.compile(
    rb"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    rb"|similarity index|dissimilarity index|index) (.*)",
    re.DOTALL,
)
_BETWEEN = re.compile(rb"|diff -.*|Index: .*|=+|Only in .*|\\ No newline.*", re.DOTALL)
_SIGNS: dict[bytes, Literal[" ", "-", "+"]] = {b" ": " ", b"-": "-", b"+": "+", b"": " "}
_CRLF = "the lines of the diff itself end in CR LF"


def parse(diff: bytes) -> tuple[FileDiff, ...]:
    """The files of a diff, in its order.

    Taken are git diffs (renames, copies, modes, symlinks, submodules, binary patches, quoted paths, any
    prefix of one part or none) and plain `---`/`+++` diffs, with or without text before the first file.

    Raises:
        DiffError: the first thing that is wrong, with its line.
    """
    files = _Reader(diff).files()
    if not files:
        raise DiffError(0, "there is no file in the diff", diff, "a git diff, or a unified diff with `---` and `+++`")
    check_total(files)
    return files


class _Reader:
    def __init__(self, diff: bytes) -> None:
        self.lines: Sequence[bytes] = diff.removesuffix(b"\n").split(b"\n")
        self.at = 0

    @property
    def line(self) -> bytes | None:
        """The next line; None behind the last one."""
        return self.lines[self.at] if self.at < len(self.lines) else None

    def fail(self, what: str, allowed: str | None = None, at: int | None = None) -> DiffError:
        """A refusal of the next line, or of the line at an index."""
        at = self.at if at is None else at
        return DiffError(at + 1, what, self.lines[at] if at < len(self.lines) else None, allowed)

    def files(self) -> tuple[FileDiff, ...]:
        """Every section. Text before the first one, and behind a mail's `-- `, is passed over."""
        files: list[FileDiff] = []
        prose = True
        while (line := self.line) is not None:
            if line.startswith(b"diff --git "):
                files.append(self.git_section())
            elif self.plain_header():
                files.append(self.plain_section())
            elif line.startswith((b"@@ ", b"@@@ ")) or line.startswith((b"diff --cc ", b"diff --combined ")):
                raise self.fail(
                    "a hunk stands outside of a file" if line.startswith(b"@@ ") else "is a combined diff",
                    "a diff between two versions",
                )
            elif line == b"-- ":
                prose = True
                self.at += 1
            elif prose or _BETWEEN.fullmatch(line):
                self.at += 1
            else:
                raise self._stray(line)
            prose = prose and not files or line == b"-- "
        return tuple(files)

    def _stray(self, line: bytes) -> DiffError:
        if line.startswith(b"Submodule "):
            return self.fail("a submodule is told in prose", "`git diff --submodule=short`")
        if line.endswith(b"\r"):
            return self.fail(_CRLF)
        if line[:1] in _SIGNS:
            return self.fail("a line too many for the counts of the hunk above")
        return self.fail("is no line of a diff")

    def plain_header(self) -> bool:
        """Whether the next two lines are `---` and `+++`."""
        following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else b""
        return self.lines[self.at].startswith(b"--- ") and following.startswith(b"+++ ")

    def names(self) -> tuple[bytes | None, bytes | None]:
        """The names of `---` and `+++`, prefixes still on; None for /dev/null."""
        old = line_name(self.lines[self.at][4:], self.at + 1)
        new = line_name(self.lines[self.at + 1][4:], self.at + 2)
        self.at += 2
        return old, new

    def plain_section(self) -> FileDiff:
        """A file without a `diff --git` line."""
        start = self.at
        old, new = self.names()
        if old is None and new is None:
            raise self.fail("both names are /dev/null", at=start)
        hunks = self.hunks()
        old, new = paired_names(old, new, start + 1)
        only = hunks[0] if len(hunks) == 1 else None
        change: Change = "modified"
        if old is None or (only is not None and only.old_start == only.old_count == 0):
            change, old = "added", None
        elif new is None or (only is not None and only.new_start == only.new_count == 0):
            change, new = "deleted", None
        file = FileDiff(start + 1, change, old, new, hunks=hunks)
        check_file(file)
        return file

    def git_section(self) -> FileDiff:
        """A file with a `diff --git` line."""
        start = self.at
        header = self.lines[start][len(b"diff --git ") :]
        if header.endswith(b"\r"):
            raise self.fail(_CRLF)
        self.at += 1
        facts = self.extended()
        change, old, new = self.renamed(facts, start)
        names = header_names(header)
        if change is None:
            added, deleted = b"new file mode" in facts, b"deleted file mode" in facts
            if added and deleted:
                raise self.fail("a file is both new and deleted", at=start)
            change = "added" if added else "deleted" if deleted else "modified"
            old, new = names or (None, None)
        named = None
        if self.line is not None and self.plain_header():
            at, named = self.at + 1, self.names()
            old, new = self._agreed(change, (old, new), named, at)
        elif old is None or new is None:
            raise self.fail("the two names differ, and no rename is named", at=start)
        old, new = (safe_path(each, start + 1) for each in (old, new))
        binary = None
        hunks: tuple[Hunk, ...] = ()
        line = self.line
        if named is not None:
            hunks = self.hunks()
        elif line == b"GIT binary patch":
            binary, self.at = read_binary(self.lines, self.at + 1)
        elif line is not None and line.startswith(b"Binary files ") and line.endswith(b" differ"):
            from evalrunner.git.diff import Binary

            binary = Binary()
            self.at += 1
        index = facts.get(b"index")
        shas = _INDEX.fullmatch(index[1]) if index else None
        old_mode, new_mode = self.modes(facts, shas[3] if shas else None)
        file = FileDiff(
            start + 1,
            change,
            None if change == "added" else old,
            None if change == "deleted" else new,
            old_mode,
            new_mode,
            shas[1].decode() if shas else None,
            shas[2].decode() if shas else None,
            hunks,
            binary,
        )
        check_file(file)
        return file
