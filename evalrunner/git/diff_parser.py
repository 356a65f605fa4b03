"""Reads unified and git diffs byte for byte; refuses what does not tell exactly what base and head are."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from evalrunner.git.binary_patch import read_binary
from evalrunner.git.diff import (
    EXECUTABLE,
    FILE,
    SUBMODULE,
    SYMLINK,
    Binary,
    Change,
    DiffError,
    FileDiff,
    Hunk,
    Line,
)
from evalrunner.git.diff_check import MAX_LINES, check_file, check_total
from evalrunner.git.diff_names import header_path, is_name_of, line_name, plain_name, plain_path, safe_path

Facts = Mapping[str, tuple[int, bytes]]
"""The extended header of a section: keyword -> index of its line, and what follows the keyword."""

_MODES = {mode.encode(): mode for mode in (FILE, EXECUTABLE, SYMLINK, SUBMODULE)} | {b"100664": FILE}
_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: .*)?", re.DOTALL)
_INDEX = re.compile(rb"([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]+))?")
_EXTENDED = re.compile(
    rb"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    rb"|similarity index|dissimilarity index|index) (.*)",
    re.DOTALL,
)
_BETWEEN = re.compile(rb"|diff -.*|Index: .*|=+|Only in .*", re.DOTALL)
_SIGNS: dict[bytes, Literal[" ", "-", "+"]] = {b" ": " ", b"-": "-", b"+": "+", b"": " "}
_BY_SECTION = (b"diff --cc ", b"diff --combined ", b"@@@ ")
_EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)  # git's ids of an empty file
_CRLF = "the lines of the diff itself end in CR LF"


def parse(diff: bytes) -> tuple[FileDiff, ...]:
    """The files of a diff, in its order.

    Taken are git diffs (renames, copies, modes, symlinks, submodules, binary patches, quoted paths, prefixes
    of one part or none) and plain `---`/`+++` diffs, with or without a message before the first file.

    Raises:
        DiffError: the first thing that is wrong, with its line.
    """
    files = _Reader(diff).files()
    if not files:
        raise DiffError(0, "there is no file in the diff", diff, "a git diff, or one with `---` and `+++`")
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

    def refusal(self, what: str, allowed: str | None = None, at: int | None = None) -> DiffError:
        """The error for the next line, or for the line at an index."""
        at = self.at if at is None else at
        return DiffError(at + 1, what, self.lines[at] if at < len(self.lines) else None, allowed)

    def files(self) -> tuple[FileDiff, ...]:
        """All sections. A message before the first one, and what follows a mail's `-- `, is passed over."""
        files: list[FileDiff] = []
        message = True
        while (line := self.line) is not None:
            if line.startswith(_BY_SECTION):
                raise self.refusal("is of a combined diff", "a diff between two versions")
            if line.startswith(b"diff --git "):
                files.append(self.git_section())
                message = False
            elif self.has_names():
                files.append(self.plain_section())
                message = False
            elif line.startswith(b"@@ -"):
                raise self.refusal("a hunk has no file")
            else:
                message = message or line == b"-- "
                if not message and not _BETWEEN.fullmatch(line):
                    raise self.stray(line)
                self.at += 1
        return tuple(files)

    def stray(self, line: bytes) -> DiffError:
        """The error for a line that belongs to no section."""
        if line.endswith(b"\r"):
            return self.refusal(_CRLF)
        if line[:1] in _SIGNS or line[:1] == b"\\":
            return self.refusal("is a line more than the hunk above counts")
        if line.startswith(b"Submodule "):
            return self.refusal("tells of a submodule in words", "git diff --submodule=short")
        return self.refusal("is no line of a diff")

    def has_names(self) -> bool:
        """Whether the next two lines are `---` and `+++`."""
        two = self.lines[self.at : self.at + 2]
        return len(two) == 2 and two[0].startswith(b"--- ") and two[1].startswith(b"+++ ")

    def names(self) -> tuple[bytes | None, bytes | None]:
        """The names of `---` and `+++` with their prefixes; None for /dev/null."""
        self.at += 2
        return (
            line_name(self.lines[self.at - 2][4:], self.at - 1),
            line_name(self.lines[self.at - 1][4:], self.at),
        )

    def plain_section(self) -> FileDiff:
        """A file without a `diff --git` line."""
        start = self.at + 1
        old, new = self.names()
        path = safe_path(plain_path(old, new, start), start)
        hunks = self.hunks()
        first = hunks[0]
        file = FileDiff(start, "modified", path, path, hunks=hunks)
        if old is None or (len(hunks) == 1 and first.old_start == first.old_count == 0):
            file = replace(file, change="added", old_path=None)
        elif new is None or (len(hunks) == 1 and first.new_start == first.new_count == 0):
            file = replace(file, change="deleted", new_path=None)
        check_file(file)
        return file

    def git_section(self) -> FileDiff:
        """A file with a `diff --git` line."""
        start = self.at
        facts = self.extended()
        change, old, new = self.change(start, facts)
        hunks: tuple[Hunk, ...] = ()
        binary = None
        if self.has_names():
            self.check_names(old, new)
            hunks = self.hunks()
        elif self.line == b"GIT binary patch":
            binary, self.at = read_binary(self.lines, self.at + 1)
        elif self.line is not None and re.fullmatch(rb"Binary files .* differ", self.line, re.DOTALL):
            binary = Binary()
            self.at += 1
        shas = self.shas(facts)
        old_mode, new_mode = self.modes(facts, change, shas[3] if shas else None)
        file = FileDiff(
            at=start + 1,
            change=change,
            old_path=old,
            new_path=new,
            old_mode=old_mode,
            new_mode=new_mode,
            old_sha=shas[1].decode() if shas else None,
            new_sha=shas[2].decode() if shas else None,
            hunks=hunks,
            binary=binary,
        )
        if not hunks and binary is None:
            self.check_empty(file)
        check_file(file)
        return file

    def extended(self) -> Facts:
        """The lines between `diff --git` and the hunks."""
        facts: dict[str, tuple[int, bytes]] = {}
        if self.lines[self.at].endswith(b"\r"):
            raise self.refusal(_CRLF)
        self.at += 1
        while self.line is not None and (found := _EXTENDED.fullmatch(self.line)):
            key = found[1].decode()
            if self.line.endswith(b"\r"):
                raise self.refusal(_CRLF)
            if key in facts:
                raise self.refusal("stands twice in the header of one file")
            facts[key] = (self.at, found[2])
            self.at += 1
        return facts

    def change(self, start: int, facts: Facts) -> tuple[Change, bytes | None, bytes | None]:
        """How a file changed, with its path in the base and in the head."""
        kinds = [key for key in ("new file mode", "deleted file mode") if key in facts]
        kinds += [key for key in ("rename", "copy") if f"{key} from" in facts or f"{key} to" in facts]
        if len(kinds) > 1:
            raise self.refusal(f"a file cannot have both `{kinds[0]}` and `{kinds[1]}`", at=start)
        kind = kinds[0] if kinds else ""
        if kind in {"rename", "copy"}:
            if f"{kind} from" not in facts or f"{kind} to" not in facts:
                raise self.refusal(f"`{kind} from` and `{kind} to` belong together", at=start)
            old, new = (
                safe_path(plain_name(text, at + 1), at + 1)
                for at, text in (facts[f"{kind} from"], facts[f"{kind} to"])
            )
            return "renamed" if kind == "rename" else "copied", old, new
        path = header_path(self.lines[start][len(b"diff --git ") :], start + 1)
        if path is None:
            raise self.refusal("the two names differ, and no rename is told", at=start)
        safe_path(path, start + 1)
        if kind == "new file mode":
            return "added", None, path
        return ("deleted", path, None) if kind else ("modified", path, path)

    def check_names(self, old: bytes | None, new: bytes | None) -> None:
        """Reads `---` and `+++`, which must tell what the header tells."""
        for at, name, path in zip((self.at, self.at + 1), self.names(), (old, new), strict=True):
            right = name is path if name is None or path is None else is_name_of(name, path)
            if not right:
                allowed = (
                    "/dev/null, as the file is not there" if path is None else path.decode("utf-8", "replace")
                )
                raise self.refusal("is not the name that the header of the file tells", allowed, at)

    def check_empty(self, file: FileDiff) -> None:
        """Refuses a section that was cut off before its content."""
        told = file.change != "modified" or file.old_mode != file.new_mode
        sha = file.old_sha if file.change == "deleted" else file.new_sha
        is_one_side = file.change in {"added", "deleted"}
        if sha is not None and not (is_one_side and any(empty.startswith(sha) for empty in _EMPTY)):
            told = False
        if not told:
            raise self.refusal("the content of the file is missing", "hunks, or a binary patch", file.at - 1)

    def shas(self, facts: Facts) -> re.Match[bytes] | None:
        """The `index` line: the two blob ids and the mode."""
        if "index" not in facts:
            return None
        at, text = facts["index"]
        found = _INDEX.fullmatch(text)
        if found is None:
            raise self.refusal("is no `index` line", "index OLD..NEW MODE", at)
        return found

    def modes(self, facts: Facts, change: Change, shared: bytes | None) -> tuple[str, str]:
        """The modes in the base and in the head."""
        told = {key: self.mode(*facts[key]) for key in facts if key.endswith("mode")}
        if change == "added":
            return FILE, told["new file mode"]
        if change == "deleted":
            return told["deleted file mode"], FILE
        if ("old mode" in told) != ("new mode" in told):
            alone = facts["old mode" if "old mode" in told else "new mode"]
            raise self.refusal("`old mode` and `new mode` belong together", at=alone[0])
        if "old mode" not in told:
            mode = FILE if shared is None else self.mode(facts["index"][0], shared)
            return mode, mode
        if told["old mode"][:3] != told["new mode"][:3]:
            raise self.refusal(
                "a file turns into a link, or the like, by its mode",
                "a deletion and an addition",
                facts["new mode"][0],
            )
        return told["old mode"], told["new mode"]

    def mode(self, at: int, text: bytes) -> str:
        """A mode that is written at the end of the line at an index."""
        if text not in _MODES:
            raise self.refusal("is no mode of a file", ", ".join(sorted(set(_MODES.values()))), at)
        return _MODES[text]

    def hunks(self) -> tuple[Hunk, ...]:
        """The hunks that follow; at least one."""
        hunks = []
        while self.line is not None and self.line.startswith(b"@@ "):
            hunks.append(self.hunk())
        if not hunks:
            raise self.refusal("no hunk follows `---` and `+++`", "@@ -LINE,COUNT +LINE,COUNT @@")
        return tuple(hunks)

    def hunk(self) -> Hunk:
        """One hunk."""
        start = self.at
        header = self.lines[start]
        found = _HUNK.fullmatch(header)
        if found is None:
            crlf = header.endswith(b"@@\r")
            raise self.refusal(
                _CRLF if crlf else "is no header of a hunk",
                f"@@ -LINE,COUNT +LINE,COUNT @@, up to {MAX_LINES}",
            )
        old_start, old_count, new_start, new_count = (
            1 if each is None else int(each) for each in found.groups()
        )
        if max(old_count, new_count) > MAX_LINES:
            raise self.refusal("counts too many lines", f"at most {MAX_LINES}")
        self.at += 1
        lines: list[Line] = []
        old, new = old_count, new_count
        while old or new:
            line = self.line
            if line is None:
                raise self.refusal("the diff ends inside this hunk", at=start)
            if line.startswith(b"\\"):
                self.unended(lines)
                continue
            sign = _SIGNS.get(line[:1])
            if sign is None:
                raise self.refusal("is no line of a hunk, and the hunk above counts more lines", at=self.at)
            old -= sign != "+"
            new -= sign != "-"
            if old < 0 or new < 0:
                raise self.refusal("is a line more than the hunk above counts")
            lines.append(Line(sign, line[1:]))
            self.at += 1
        if self.line is not None and self.line.startswith(b"\\"):
            self.unended(lines)
        return Hunk(start + 1, old_start, old_count, new_start, new_count, tuple(lines))

    def unended(self, lines: list[Line]) -> None:
        """Takes `\\ No newline at end of file`, in any language, for the line before it."""
        if not lines or not lines[-1].ended or not lines[-1].text:
            raise self.refusal("no line that can lack its newline stands before this")
        lines[-1] = replace(lines[-1], ended=False)
        self.at += 1
