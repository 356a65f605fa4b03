"""Base and head as a diff shows them: every content computed from the hunks alone, without git or files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1, sha256
from types import MappingProxyType

from evalrunner.git.diff import SUBMODULE, SYMLINK, DiffError, FileDiff, Payload, numbered
from evalrunner.git.diff_check import MAX_TARGET
from evalrunner.git.diff_parser import parse
from evalrunner.git.paths import show_path

_SUBMODULE = re.compile(rb"Subproject commit ([0-9a-f]{40})\n")


@dataclass(frozen=True, slots=True)
class Blob:
    """One file of a tree.

    Attributes:
        data: its content, a link's target, or `Subproject commit SHA` for a submodule.
        whole: whether this is known to be all of the real file, as far as the diff can prove it: it was
            added, or its hash is the one of the index line. Elsewhere lines outside the hunks are blank, and
            the file ends with its last hunk.
    """

    mode: str
    data: bytes
    whole: bool = False

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.data.count(b"\n") + (self.data[-1:] not in {b"", b"\n"})


@dataclass(frozen=True, slots=True)
class Trees:
    """Both versions.

    Attributes:
        files: the diff's files that the trees hold, in its order.
        base, head: path -> file.
        warnings: what of the diff could not be rebuilt, and so stands in neither tree.
    """

    files: tuple[FileDiff, ...]
    base: Mapping[bytes, Blob]
    head: Mapping[bytes, Blob]
    warnings: tuple[str, ...] = ()
