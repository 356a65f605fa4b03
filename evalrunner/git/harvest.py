"""What an agent left in its worktree, as a tree and a diff, made without running anything of the agent's.

The worktree is read with the vault's git directory and an index of our own, so that configuration, hooks,
filters, attributes and ignore lists that the agent put into its own git directory are never looked at.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from evalrunner.git.paths import show_path
from evalrunner.git.run import GitError, git
from evalrunner.git.sealed import Vault, tree_diff

TIMEOUT_S = 300.0
MOST_BYTES = 64 * 1024 * 1024
"""The new contents of a candidate may come to so much; build products that nobody ignores come to more."""

MOST_FLAGS = 20


@dataclass(frozen=True)
class Harvest:
    """What an agent made.

    Attributes:
        tree: the id of the tree in the vault.
        diff: from the parent to it, `git diff --binary --full-index -M`.
        flags: what a person should know of it.
    """

    tree: str
    diff: bytes
    flags: tuple[str, ...]


def place_of(path: Path) -> tuple[int, int]:
    """What tells a folder from another that is put in its place: device and inode."""
    found = path.lstat()
    return found.st_dev, found.st_ino


def harvest(vault: Vault, path: Path, place: tuple[int, int], aside: Path) -> Harvest:
    """The worktree at `path` as a tree, with its diff. Nothing of the agent's may still be running.

    Args:
        place: what `place_of` said of the worktree before the agent ran.
        aside: a folder beside the worktree that takes git directories found below the top, under their paths,
            so that what lies beside them counts as the agent's.

    Raises:
        GitError: the worktree is not there any more, holds too much, or git failed.
    """
    if not path.exists() or not stat.S_ISDIR(path.lstat().st_mode) or place_of(path) != place:
        raise GitError("add", "the worktree was replaced by something else")
    flags = _tidied(path, aside)
    index = vault.path / "candidate.index"
    index.unlink(missing_ok=True)
    env = {
        "GIT_DIR": str(vault.path.resolve()),
        "GIT_WORK_TREE": str(path.resolve()),
        "GIT_INDEX_FILE": str(index.resolve()),
    }
    settings = {"core.bare": "false", "advice.addEmbeddedRepo": "false"}
    git(path, "read-tree", vault.parent_sha, env=env, settings=settings)
    if filled := _filled_submodules(vault, path):
        git(path, "update-index", "--force-remove", "-z", "--stdin", stdin=filled, env=env, settings=settings)
    try:
        git(
            path,
            "add",
            "--all",
            "--ignore-errors",
            "--",
            ".",
            env=env,
            settings=settings,
            timeout_s=TIMEOUT_S,
        )
    except GitError as error:
        if error.returncode != 1:
            raise
        flags.append(f"some files could not be harvested: {' '.join(error.stderr.split())}")
    tree = git(path, "write-tree", env=env, settings=settings).decode().strip()
    _check_size(vault, tree)
    if len(flags) > MOST_FLAGS:
        flags[MOST_FLAGS:] = [f"and {len(flags) - MOST_FLAGS} more of the like"]
    return Harvest(tree, tree_diff(vault.path, vault.parent_tree, tree), tuple(flags))


def _filled_submodules(vault: Vault, path: Path) -> bytes:
    """The submodules in whose empty folders the agent put files, which git would not see; NUL after each."""
    entries = git(vault.path, "ls-tree", "-r", "-z", vault.parent_sha).split(b"\0")
    names = [entry.partition(b"\t")[2] for entry in entries if entry.startswith(b"160000 ")]
    top = os.fsencode(path)
    folders = [(name, os.path.join(top, name)) for name in names]  # noqa: PTH118 - bytes
    return b"".join(
        name + b"\0"
        for name, folder in folders
        if os.path.lexists(folder) and stat.S_ISDIR(os.lstat(folder).st_mode) and os.listdir(folder)  # noqa: PTH208
    )


def _check_size(vault: Vault, tree: str) -> None:
    raw = git(vault.path, "diff-tree", "-r", "-z", "--no-renames", vault.parent_tree, tree, "--").split(b"\0")
    new = [
        entry.split()[3]
        for entry in raw
        if entry.startswith(b":") and entry.split()[1] not in {b"000000", b"160000"}
    ]
    sizes = git(vault.path, "cat-file", "--batch-check=%(objectsize)", stdin=b"\n".join(new))
    total = sum(map(int, sizes.split()))
    if total > MOST_BYTES:
        raise GitError("add", f"the candidate changes files of {total} bytes in all, more than {MOST_BYTES}")


def _tidied(path: Path, aside: Path) -> list[str]:
    """Takes out of the worktree what git would trip over, without following links; says what it was."""
    flags: list[str] = []
    aside.mkdir(parents=True, exist_ok=True)
    top = os.fsencode(path)
    for folder, folders, files in os.walk(top, onerror=None):
        os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) | stat.S_IRWXU)  # noqa: PTH101 - bytes
        if folder == top:
            folders[:] = [name for name in folders if name != b".git"]
            files = [name for name in files if name != b".git"]  # noqa: PLW2901
        for name in [*folders, *files]:
            full = os.path.join(folder, name)  # noqa: PTH118
            mode = os.lstat(full).st_mode
            shown = show_path(os.path.relpath(full, top))
            if name == b".git":
                target = os.path.join(os.fsencode(aside), os.path.relpath(full, top))  # noqa: PTH118
                os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
                os.rename(full, target)  # noqa: PTH104
                flags.append(f"a git directory lay in the worktree: {shown}")
                if name in folders:
                    folders.remove(name)
            elif stat.S_ISDIR(mode):
                os.chmod(full, stat.S_IMODE(mode) | stat.S_IRWXU)  # noqa: PTH101
            elif not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                os.unlink(full)  # noqa: PTH108
                flags.append(f"neither a file nor a link, so left out: {shown}")
    return flags
