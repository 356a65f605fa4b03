"""A throwaway repository of two commits, base and head, from nothing but a diff.

git stores the contents that `trees` computed (one fast-import) and writes the head into the empty worktree
(one read-tree). Nothing else writes there, so nothing is written through a link, and no path leads outside.
The repository has no remote, no hooks and no reflog, and its own attributes switch off every conversion, so
that files in the worktree hold the bytes of the diff.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from evalrunner.git.diff import SUBMODULE
from evalrunner.git.paths import quote
from evalrunner.git.run import IDENTITY_EMAIL, IDENTITY_EPOCH, IDENTITY_NAME, git
from evalrunner.git.scratch import discard, scratch
from evalrunner.git.trees import Blob, Trees, rebuild

BRANCH = "main"

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\tsymlinks = true
\tautocrlf = false
\thooksPath = /dev/null
\tfsmonitor = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
_PACKED = {"fastimport.unpackLimit": "1"}  # one pack is quicker than many loose objects
_ATTRIBUTES = "* -text !eol -ident -filter !working-tree-encoding\n"


@dataclass(frozen=True)
class CaseRepository:
    """A repository that was built from a diff. As a context manager it is removed at the end.

    Attributes:
        path: its worktree, which holds the head; HEAD is the head commit, HEAD~1 the base.
        base_sha, head_sha: the two commits; they depend on the diff alone.
        trees: base, head and the parsed diff, for those who need not read files.
        warnings: what of the diff is not in the repository.
        keep: leaves it where it is.
    """

    path: Path
    base_sha: str
    head_sha: str
    trees: Trees
    warnings: tuple[str, ...] = ()
    keep: bool = False

    def remove(self) -> None:
        """Removes it, whatever `keep` says."""
        discard(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.keep:
            self.remove()


def build(diff: bytes, folder: Path | None = None, *, keep: bool = False) -> CaseRepository:
    """Builds the repository of a diff.

    Args:
        diff: the whole diff.
        folder: where: a folder that is empty or not there yet. None takes a temporary one, which goes with
            this process at the latest.
        keep: as a context manager, it stays. Needs a `folder`, since temporary ones never stay.

    Raises:
        DiffError: the diff cannot be used; nothing was written.
        GitError: git failed; the folder was removed again.
        ValueError: `keep` without a folder.
    """
    if keep and folder is None:
        raise ValueError("a repository that is kept needs a folder")
    trees = rebuild(diff)
    path = scratch().folder("case") if folder is None else folder
    try:
        _initialise(path)
        marks = git(
            path, "fast-import", "--quiet", "--done", stdin=b"".join(_stream(trees)), settings=_PACKED
        )
        git(path, "read-tree", "--reset", "-u", "HEAD")
    except BaseException:
        discard(path)
        raise
    base_sha, head_sha = marks.decode("ascii").split()
    return CaseRepository(path, base_sha, head_sha, trees, trees.warnings, keep)


def _initialise(path: Path) -> None:
    """What `git init` makes, without templates."""
    folder = path / ".git"
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text(f"ref: refs/heads/{BRANCH}\n")
    (folder / "config").write_text(_CONFIG)
    (folder / "info" / "attributes").write_text(_ATTRIBUTES)


def _stream(trees: Trees) -> Iterator[bytes]:
    """The two commits in the language of fast-import; it answers with their shas."""
    for number, (message, tree) in enumerate((("base", trees.base), ("head", trees.head)), start=1):
        yield f"commit refs/heads/{BRANCH}\nmark :{number}\n".encode()
        yield f"committer {IDENTITY_NAME} <{IDENTITY_EMAIL}> {IDENTITY_EPOCH} +0000\n".encode()
        yield f"data {len(message)}\n{message}\ndeleteall\n".encode()
        yield from _entries(tree)
    yield b"get-mark :1\nget-mark :2\ndone\n"


def _entries(tree: Mapping[bytes, Blob]) -> Iterator[bytes]:
    for path, blob in tree.items():
        if blob.mode == SUBMODULE:
            yield b"M %s %s %s\n" % (SUBMODULE.encode(), blob.data.split()[-1], quote(path))
        else:
            yield b"M %s inline %s\ndata %d\n" % (blob.mode.encode(), quote(path), len(blob.data))
            yield blob.data
            yield b"\n"
