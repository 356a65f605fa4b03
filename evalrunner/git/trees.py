"""Base and head as a diff shows them: every content computed from the hunks alone, without git or files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1, sha256

from evalrunner.git.diff import FILE, SUBMODULE, SYMLINK, DiffError, FileDiff, Payload, numbered
from evalrunner.git.diff_parser import parse
from evalrunner.git.paths import show_path

MAX_TARGET = 4095
"""Bytes of a symbolic link's target."""

_SUBMODULE = re.compile(rb"Subproject commit [0-9a-f]{40}\n")


@dataclass(frozen=True, slots=True)
class Blob:
    """One file of a tree.

    Attributes:
        data: its content; a link's target; `Subproject commit SHA` for a submodule.
        whole: the diff proves that this is all of the real file: it was added or deleted, or the content has
            the hash of the index line. Elsewhere lines outside the hunks are blank, and the file ends with
            its last hunk.
    """

    mode: str
    data: bytes
    whole: bool = False

    @property
    def line_count(self) -> int:
        """How many lines it has; a last one without a line feed counts."""
        return self.data.count(b"\n") + (self.data[-1:] not in {b"", b"\n"})


@dataclass(frozen=True, slots=True)
class Trees:
    """Both versions.

    Attributes:
        files: what the diff says of the files that the trees hold, in its order.
        base, head: path -> file.
        warnings: what of the diff cannot be rebuilt, and so stands in neither tree.
    """

    files: tuple[FileDiff, ...]
    base: Mapping[bytes, Blob]
    head: Mapping[bytes, Blob]
    warnings: tuple[str, ...] = ()


def rebuild(diff: bytes) -> Trees:
    """The two versions that a diff tells of.

    Raises:
        DiffError: the diff cannot be read, contradicts itself, or holds nothing that can be rebuilt.
    """
    files: list[FileDiff] = []
    warnings: list[str] = []
    for file in parse(diff):
        if file.binary is None or _payloads(file) is not None:
            files.append(file)
        else:
            warnings.append(f"{file.name}: a binary change without both contents is left out")
    if not files:
        raise DiffError(0, "holds only binary changes without contents", allowed="git diff --binary")
    base = _base(files)
    head = _head(files, base)
    for tree, side in ((base, "base"), (head, "head")):
        _check_folders(tree, side)
    return Trees(tuple(files), base, head, tuple(warnings))


def _payloads(file: FileDiff) -> tuple[bytes, bytes] | None:
    """The contents of a binary file in the base and in the head; None where the diff does not have them.

    A delta needs the other side, and that one is a delta as well, or it would have been written out.
    """
    assert file.binary is not None
    old = b"" if file.change == "added" else _literal(file.binary.reverse)
    new = b"" if file.change == "deleted" else _literal(file.binary.forward)
    if old is None or new is None:
        return None
    for content, sha, there in (
        (old, file.old_sha, file.old_path is not None),
        (new, file.new_sha, file.new_path is not None),
    ):
        if there and sha is not None and not _has_sha(content, sha):
            raise DiffError(file.at, "the binary content has not the hash of the `index` line", sha.encode())
    return old, new


def _literal(payload: Payload | None) -> bytes | None:
    return payload.data if payload is not None and payload.method == "literal" else None


def _has_sha(content: bytes, sha: str | None) -> bool:
    """Whether git's id of a blob starts with these digits; never for fewer than 7."""
    if sha is None or len(sha) < 7:
        return False
    digest = sha256 if len(sha) > 40 else sha1
    return digest(b"blob %d\0" % len(content) + content).hexdigest().startswith(sha)


def _base(files: Sequence[FileDiff]) -> dict[bytes, Blob]:
    """Every file of the base: what hunks show, at their numbers, and blank lines between them.

    A copy and a change may show different parts of one file.
    """
    sections: dict[bytes, list[FileDiff]] = {}
    for file in files:
        if file.old_path is None:
            continue
        others = sections.setdefault(file.old_path, [])
        if file.change != "copied" and any(each.change != "copied" for each in others):
            raise DiffError(file.at, f"{show_path(file.old_path)} stands twice in the diff")
        others.append(file)
    return {path: _merged(path, each) for path, each in sections.items()}


def _merged(path: bytes, sections: Sequence[FileDiff]) -> Blob:
    first = sections[0]
    if first.binary is not None:
        payloads = _payloads(first)
        if len(sections) > 1 or payloads is None:
            raise DiffError(sections[-1].at, f"{show_path(path)} is binary, and stands twice in the diff")
        return Blob(first.old_mode, payloads[0], whole=True)
    known: dict[int, bytes] = {}
    length = 0
    for file in sections:
        for old, _, line in numbered(file):
            if line.sign != "+" and known.setdefault(old, line.content) != line.content:
                raise DiffError(file.at, f"line {old} of {show_path(path)} is told in two ways")
        length = max(length, *(each.old_first + each.old_count - 1 for each in file.hunks), 0)
    content = b"".join(known.get(number, b"\n") for number in range(1, length + 1))
    if any(number < length and not line.endswith(b"\n") for number, line in known.items()):
        raise DiffError(sections[-1].at, f"a line follows the end of {show_path(path)}")
    mode = next((each.old_mode for each in sections if each.old_mode != FILE), FILE)
    whole = first.change == "deleted" or any(_has_sha(content, each.old_sha) for each in sections)
    return _checked(Blob(mode, content, whole), first)


def _head(files: Sequence[FileDiff], base: Mapping[bytes, Blob]) -> dict[bytes, Blob]:
    """The base with every section applied."""
    gone = {file.old_path for file in files if file.change in {"deleted", "renamed"}}
    head = {path: blob for path, blob in base.items() if path not in gone}
    done: set[bytes] = set()
    for file in files:
        path = file.new_path
        if path is None:
            continue
        if path in done:
            raise DiffError(file.at, f"{file.name} stands twice in the diff")
        if path in head and file.change != "modified":
            raise DiffError(file.at, f"{file.name} is there already in the base")
        done.add(path)
        head[path] = _applied(file, base)
    return head


def _applied(file: FileDiff, base: Mapping[bytes, Blob]) -> Blob:
    if file.binary is not None:
        payloads = _payloads(file)
        assert payloads is not None
        return Blob(file.new_mode, payloads[1], whole=True)
    before = b"" if file.old_path is None else base[file.old_path].data
    old = [line + b"\n" for line in before.split(b"\n")]
    old[-1] = old[-1][:-1]  # what follows the last line feed: nothing, or a line that is not ended
    new: list[bytes] = []
    done = 0
    for hunk in file.hunks:
        new += old[done : hunk.old_first - 1]
        new += [line.content for line in hunk.lines if line.sign != "-"]
        done = hunk.old_first - 1 + hunk.old_count
    new += old[done:]
    content = b"".join(new)
    filled = [line for line in new if line]
    if any(not line.endswith(b"\n") for line in filled[:-1]):
        raise DiffError(file.at, f"a line follows the end of {file.name}")
    whole = file.change == "added" or _has_sha(content, file.new_sha)
    return _checked(Blob(file.new_mode, content, whole), file)


def _checked(blob: Blob, file: FileDiff) -> Blob:
    """The blob, when what it holds fits its mode.

    Raises:
        DiffError: it does not.
    """
    if blob.mode == SYMLINK:
        if not blob.data or len(blob.data) > MAX_TARGET or b"\0" in blob.data:
            raise DiffError(file.at, "the target of a symbolic link is empty, too long or holds a NUL byte")
        if file.path.rpartition(b"/")[2].lower() == b".gitmodules":
            raise DiffError(file.at, "a symbolic link has the name `.gitmodules`")
    if blob.mode == SUBMODULE:
        content = blob.data if blob.data.endswith(b"\n") else blob.data + b"\n"
        if not _SUBMODULE.fullmatch(content):
            raise DiffError(file.at, "a submodule has no commit", content[:80], "Subproject commit SHA")
        return replace(blob, data=content)
    return blob


def _check_folders(tree: Mapping[bytes, Blob], side: str) -> None:
    for path in tree:
        parts = path.split(b"/")
        for count in range(1, len(parts)):
            folder = b"/".join(parts[:count])
            if folder in tree:
                raise DiffError(0, f"{show_path(folder)} is both a file and a folder in the {side}")
