"""Real repositories and diffs, made with git itself and checked with `git apply`."""

import os
from collections.abc import Mapping
from pathlib import Path

from evalrunner.git.case_repository import CaseRepository
from evalrunner.git.run import git

Files = Mapping[bytes, bytes | tuple[str, bytes]]
"""path -> content of a regular file, or mode and content; a submodule's content is its commit."""

SHARED = Path(__file__).resolve().parents[3] / "shared" / "cases" / "review"


def entry(value: bytes | tuple[str, bytes]) -> tuple[str, bytes]:
    return value if isinstance(value, tuple) else ("100644", value)


def write_tree(repository: Path, files: Files) -> str:
    git(repository, "read-tree", "--empty")
    info = b""
    for path, value in files.items():
        mode, content = entry(value)
        sha = content
        if mode != "160000":
            sha = git(repository, "hash-object", "-w", "--stdin", "--no-filters", stdin=content).strip()
        info += mode.encode() + b" " + sha + b"\t" + path + b"\0"
    git(repository, "update-index", "-z", "--index-info", stdin=info)
    return git(repository, "write-tree").decode().strip()


def diff_of(folder: Path, base: Files, head: Files, *options: str, quote_path: bool = True) -> bytes:
    """What git says of two trees, binary contents included."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--template=")
    trees = [write_tree(folder, files) for files in (base, head)]
    return git(
        folder,
        "diff-tree",
        "-p",
        "--binary",
        *options,
        *trees,
        settings={"core.quotePath": str(quote_path).lower()},
    )


def tree_by_git_apply(case: CaseRepository, diff: bytes) -> str:
    """The tree that git itself makes of the base commit and the diff."""
    git(case.path, "read-tree", case.base_sha)
    git(case.path, "apply", "--cached", "--unidiff-zero", "-", stdin=diff)
    tree = git(case.path, "write-tree").decode().strip()
    git(case.path, "read-tree", case.head_sha)
    return tree


def tree_of(case: CaseRepository, sha: str) -> str:
    return git(case.path, "rev-parse", f"{sha}^{{tree}}").decode().strip()


def contents(case: CaseRepository, sha: str) -> dict[bytes, tuple[str, bytes]]:
    """Every file of a commit, read with git."""
    found = {}
    for line in git(case.path, "ls-tree", "-r", "-z", sha).split(b"\0"):
        if not line:
            continue
        about, _, path = line.partition(b"\t")
        mode, _, blob = about.decode().split()
        content = blob.encode() if mode == "160000" else git(case.path, "cat-file", "blob", blob)
        found[path] = (mode, content)
    return found


def worktree(case: CaseRepository) -> dict[bytes, bytes]:
    """What lies in the worktree; links are not followed."""
    found = {}
    for path in case.path.rglob("*"):
        below = path.relative_to(case.path)
        if below.parts[0] == ".git":
            continue
        if path.is_symlink():
            found[os.fsencode(below)] = os.fsencode(path.readlink())
        elif path.is_file():
            found[os.fsencode(below)] = path.read_bytes()
    return found
