"""Reads the payload of a `GIT binary patch`: base-85 lines of deflated data."""

import base64
import re
import zlib
from collections.abc import Sequence

from evalrunner.git.diff import Binary, DiffError, Payload

MAX_BINARY = 32 * 1024 * 1024
"""Bytes of one inflated payload."""

_METHOD = re.compile(rb"(literal|delta) (\d{1,12})")


def read_binary(lines: Sequence[bytes], at: int) -> tuple[Binary, int]:
    """The patch whose first payload starts at index `at` of the diff's lines, and the index behind it.

    Raises:
        DiffError: a payload is broken, too large, or missing.
    """
    forward, at = _payload(lines, at)
    if forward is None:
        raise DiffError(at + 1, "a binary patch has no `literal` or `delta` line")
    reverse, at = _payload(lines, at)
    return Binary(forward, reverse), at


def _payload(lines: Sequence[bytes], at: int) -> tuple[Payload | None, int]:
    found = _METHOD.fullmatch(lines[at]) if at < len(lines) else None
    if found is None:
        return None, at
    size, start = int(found[2]), at
    if size > MAX_BINARY:
        raise DiffError(start + 1, "a binary payload is too large", found[2], f"at most {MAX_BINARY} bytes")
    packed = bytearray()
    at += 1
    while at < len(lines) and lines[at]:
        packed += _decoded(lines[at], at)
        at += 1
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(bytes(packed), size + 1)
    except zlib.error:
        raise DiffError(start + 1, "a binary payload cannot be inflated") from None
    if len(data) != size or not inflate.eof or inflate.unused_data:
        raise DiffError(start + 1, "a binary payload has not the size that its line says", found[2])
    return Payload("literal" if found[1] == b"literal" else "delta", data), at + 1


def _decoded(line: bytes, at: int) -> bytes:
    """The bytes of one line: a letter for their number, then groups of five characters."""
    letter = line[:1]
    if b"A" <= letter <= b"Z":
        count = letter[0] - ord("A") + 1
    elif b"a" <= letter <= b"z":
        count = letter[0] - ord("a") + 27
    else:
        raise DiffError(at + 1, "a line of a binary payload does not start with a letter", line)
    try:
        data = base64.b85decode(line[1:])
    except ValueError:
        raise DiffError(at + 1, "a line of a binary payload is not base 85", line) from None
    if len(line) - 1 != -(-count // 4) * 5:
        raise DiffError(at + 1, "a line of a binary payload has not the length that its letter says", line)
    return data[:count]
