"""Paths as diffs write them: quoting, and what is refused before it gets near git or a file system."""

import re

MAX_PART = 255
"""Bytes in one part of a path: file systems take no more."""

MAX_PATH = 1024
"""Bytes in a whole path."""

_LETTERS = {"n": "\n", "t": "\t", "a": "\a", "b": "\b", "r": "\r", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}
_QUOTED = re.compile(rb'"((?:[^"\\]|\\[0-3][0-7]{2}|\\[ntabrfv"\\])*)"')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_DRIVE = re.compile(rb"[A-Za-z]:[\\/]")


def split_quoted(text: bytes) -> tuple[bytes, bytes] | None:
    """The path that a text starts with in C-style quotes, and what follows; None when it starts with none."""
    found = _QUOTED.match(text)
    if found is None:
        return None
    return _ESCAPE.sub(_unescaped, found[1]), text[found.end() :]


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _LETTERS[code.decode()].encode()


def quote(path: bytes) -> bytes:
    """The path in C-style quotes, every byte that is not plain ASCII as an octal escape."""
    return b'"%s"' % b"".join(
        b"%c" % byte if 32 <= byte < 127 and byte not in b'"\\' else b"\\%03o" % byte for byte in path
    )


def show_path(path: bytes) -> str:
    """The path for messages: as it is where that is plain text, else quoted."""
    text = path.decode("utf-8", "replace")
    return text if text.isprintable() else quote(path).decode()


def unsafe(path: bytes) -> str | None:
    """Why a path must not be used inside a repository, as a clause; None for one that may.

    Refused is what leaves the repository, what any system could take for its `.git` folder (upper case, a
    trailing dot or blank, `git~1`, a stream such as `.git::$INDEX_ALLOCATION`, characters that HFS+ ignores),
    and what is not one path (empty or `.` parts, NUL). A backslash is looked at as a separator as well.
    """
    parts = path.split(b"/")
    pieces = [piece for part in parts for piece in part.split(b"\\")]
    checks = (
        (not path, "is empty"),
        (b"\0" in path, "holds a NUL byte"),
        (path[:1] in {b"/", b"\\"} or _DRIVE.match(path), "is absolute"),
        (len(path) > MAX_PATH, f"is longer than {MAX_PATH} bytes"),
        (any(len(part) > MAX_PART for part in parts), f"has a part longer than {MAX_PART} bytes"),
        (b"" in parts or b"." in parts, "has an empty part or a `.` part"),
        (b".." in pieces, "has a `..` part"),
        (any(map(_is_dot_git, pieces)), "has a part that is, or can be taken for, `.git`"),
    )
    return next((why for wrong, why in checks if wrong), None)


def _is_dot_git(part: bytes) -> bool:
    text = _IGNORED_BY_HFS.sub("", part.decode("utf-8", "replace")).lower()
    text = text.split(":", 1)[0].rstrip(". ")
    return text == ".git" or re.fullmatch(r"git~[0-9]+", text) is not None
