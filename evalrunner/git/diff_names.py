"""Which file a section of a diff is about: names with and without prefixes, quoted or not."""

from evalrunner.git.diff import DiffError
from evalrunner.git.paths import MAX_PATH, split_quoted, unsafe

NULL = b"/dev/null"


def safe_path(path: bytes, line: int) -> bytes:
    """The path, if it may be used.

    Raises:
        DiffError: it may not; says why.
    """
    why = unsafe(path)
    if why is not None:
        raise DiffError(line, f"the path {why}", path[:MAX_PATH], "a path inside the repository")
    return path


def plain_name(text: bytes, line: int) -> bytes:
    """The name in a `rename from`, `copy to` or similar line.

    Raises:
        DiffError: it is quoted, and not rightly.
    """
    if not text.startswith(b'"'):
        return text
    quoted = split_quoted(text)
    if quoted is None or quoted[1].strip(b"\t"):
        raise DiffError(line, "the quoted name is broken", text, "C-style quotes and escapes")
    return quoted[0]


def line_name(text: bytes, line: int) -> bytes | None:
    """The name in a `---` or `+++` line, with its prefix; None for /dev/null. A tab and a date may follow it.

    Raises:
        DiffError: it is quoted, and not rightly, or the diff's own lines end in CR LF.
    """
    if text.endswith(b"\r"):
        raise DiffError(
            line, "the lines of the diff itself end in CR LF", text, "LF; only files may have CR LF"
        )
    if text.startswith(b'"'):
        quoted = split_quoted(text)
        if quoted is not None and quoted[1][:1] in {b"", b"\t"}:
            return quoted[0]
    name = plain_name(text, line).split(b"\t")[0]
    return None if name == NULL else name


def without_prefixes(old: bytes, new: bytes) -> bytes | None:
    """The one path that two prefixed names stand for (`a/x` and `b/x`, or `x` twice), or None."""
    if old == new:
        return old
    rest = old.partition(b"/")[2]
    return rest if rest and rest == new.partition(b"/")[2] else None


def is_name_of(name: bytes, path: bytes) -> bool:
    """Whether a name is the path, alone or behind a prefix of one part."""
    return name == path or name.partition(b"/")[2] == path


def header_path(text: bytes, line: int) -> bytes | None:
    """The path of a `diff --git` line whose two names are the same but for prefixes; None when they are not.

    Raises:
        DiffError: the line is too long.
    """
    if len(text) > 8 * MAX_PATH:
        raise DiffError(line, "the line is too long", text, f"at most {8 * MAX_PATH} bytes")
    quoted = split_quoted(text)
    if quoted is not None:
        second = split_quoted(quoted[1][1:])
        return without_prefixes(quoted[0], second[0]) if second and not second[1] else None
    splits = (at for at, byte in enumerate(text) if byte == ord(" "))
    paths = {without_prefixes(text[:at], text[at + 1 :]) for at in splits} - {None}
    return paths.pop() if len(paths) == 1 else None


def plain_path(old: bytes | None, new: bytes | None, line: int) -> bytes:
    """The path of a section without `diff --git`, from the names of its `---` and `+++` lines.

    Raises:
        DiffError: the names are of two files.
    """
    if old is None or new is None:
        name = new if old is None else old
        if name is None:
            raise DiffError(line, "both names are /dev/null")
        return name.removeprefix(b"b/" if old is None else b"a/")
    path = without_prefixes(old, new)
    if path is None:
        raise DiffError(
            line, "the names of `---` and `+++` differ", new, f"the path of {old[:80]!r}, or /dev/null"
        )
    return path
