"""Asserts on the objects themselves that an agent could not know, and did not fetch, what landed.

Before the agent nothing of the squash commit may be there: neither it, nor its tree, nor any blob that it
brought. Afterwards the commit must still not be there, and nothing that was fetched. A blob or a tree of it
may be: a good small fix is often byte-identical, and agents commit. Such objects are recorded, and flagged
where the candidate itself lacks them.

The agent's git directory is not trusted. Objects are looked at through an empty repository of ours that
borrows nothing but the folder of objects; configuration is read as a file. No setting of the agent's acts.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from evalrunner.git.object_store import ObjectStore, find_stores, not_its_own, raised
from evalrunner.git.run import GitError, git
from evalrunner.git.sealed import ALLOWED_CONFIG, BRANCH, Vault

SHOWN = 10
"""So many objects are named in a flag."""

SHOWN_CHARS = 300
"""So much of an error stands in a hit."""

MOST_BYTES = 1024 * 1024
"""A file of a git directory that we read holds no more."""

_FOLDERS = ("branches", "info", "modules", "refs", "refs/remotes", "remotes", "worktrees")
"""What we look into, and so must be no link out of the git directory."""

_REMOTE = re.compile(r"(remote|url|include|includeif)\..*|extensions\.partialclone", re.DOTALL)


@dataclass
class Checks:
    """What was looked at, and what it says.

    Attributes:
        hits: each makes the sample contaminated.
        flags: each is for a person to look at.
        record: everything that it takes to repeat the checks: JSON-ready.
        objects: the list whose digest stands in the record, one `ID TYPE` a line.
    """

    hits: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)
    objects: bytes = b""

    def attempt(self, name: str, check: Callable[[], None]) -> None:
        """Runs a check. One that cannot run is a hit."""
        try:
            check()
        except (GitError, OSError, ValueError, RecursionError) as error:
            told = " ".join(str(error).split())[:SHOWN_CHARS]
            self.hits.append(f"the check of {name} could not run: {told}")

    def list_objects(self, store: ObjectStore) -> dict[str, list[str]]:
        """Records the list of all objects; returns each commit's parents."""
        self.objects = store.listed()
        lines = self.objects.decode("ascii").splitlines()
        self.record["objects"] = len(lines)
        self.record["objects_sha256"] = sha256(self.objects).hexdigest()
        commits = [line.split()[0] for line in lines if line.endswith(" commit")]
        self.record["commits"] = commits
        return store.parents(commits)

    def look_for_landed(self, store: ObjectStore, vault: Vault) -> list[str]:
        """Looks for everything that landed, records each result, and returns what is there."""
        looked = [vault.squash_sha, *vault.introduced_trees, *vault.introduced]
        there = store.there(looked)
        self.record["cat-file -e"] = {oid: 0 if oid in there else 1 for oid in looked}
        return there


def before(vault: Vault, path: Path, lens: Path) -> Checks:
    """Looks at a freshly sealed repository; any hit means that its agent must not be started.

    Args:
        path: its worktree.
        lens: where a repository of ours is made to look through.
    """
    checks = Checks()
    store = ObjectStore(lens, path / ".git" / "objects", len(vault.parent_sha))

    def refs() -> None:
        found = git(path, "rev-list", "--all").decode().split()
        checks.record["rev-list --all"] = found
        if found != [vault.parent_sha]:
            checks.hits.append(f"rev-list --all gives {len(found)} commits, not the parent alone")

    def contents() -> None:
        commits = checks.list_objects(store)
        there = checks.look_for_landed(store, vault)
        if there:
            checks.hits.append(f"objects that landed are in the repository: {_some(there)}")
        if list(commits) != [vault.parent_sha]:
            checks.hits.append(f"{len(commits)} commits are in the repository, not the parent alone")

    def files() -> None:
        folder = path / ".git"
        checks.hits += _git_dir(checks, folder, vault, packs=None)
        names = (
            "packed-refs",
            "FETCH_HEAD",
            "ORIG_HEAD",
            "logs",
            "hooks",
            "branches",
            "modules",
            "worktrees",
        )
        checks.hits += [f"the git directory holds {name}" for name in names if os.path.lexists(folder / name)]
        if others := sorted(set(_config(folder / "config", vault)) - ALLOWED_CONFIG):
            checks.hits.append(f"the git directory is configured with {', '.join(others)}")
        heads = sorted(each.name for each in (folder / "refs").rglob("*") if not each.is_dir())
        if heads != [BRANCH]:
            checks.hits.append(f"there are other refs than {BRANCH}: {', '.join(heads)}")

    checks.attempt("the objects", contents)
    checks.attempt("the refs", refs)
    checks.attempt("the git directory", files)
    return checks


def after(  # noqa: PLR0917 - a check needs all that it compares
    vault: Vault, path: Path, lens: Path, earlier: Checks, candidate: set[str], elsewhere: Sequence[Path] = ()
) -> Checks:
    """Looks at the repository after its agent has ended.

    Args:
        path: its worktree.
        lens: as in `before`.
        earlier: what `before` said.
        candidate: the ids of the candidate's own tree, subtrees and blobs.
        elsewhere: other folders that hold what the agent wrote: git directories that the harvest took out of
            the worktree, a home folder.
    """
    checks = Checks()
    folder = path / ".git"
    store = ObjectStore(lens, folder / "objects", len(vault.parent_sha))

    def git_dir() -> None:
        checks.hits += _git_dir(checks, folder, vault, earlier.record["packs"])

    def contents() -> None:
        if not _sound(folder) or not_its_own(store.objects):
            return  # said by the check of the git directory
        commits = checks.list_objects(store)
        if stray := _stray(commits, vault.parent_sha):
            checks.hits.append(f"commits that do not descend from the parent: {_some(stray)}")
        there = checks.look_for_landed(store, vault)
        if vault.squash_sha in there:
            checks.hits.append(f"the squash commit {vault.squash_sha} is in the repository")
        strange = [oid for oid in there if oid != vault.squash_sha and oid not in candidate]
        if strange:
            checks.flags.append(
                f"objects that landed are in the repository but not in the candidate: {_some(strange)}"
            )

    def others() -> None:
        own = folder / "objects"
        for number, (root, other) in enumerate(find_stores([path, *elsewhere], own)):
            name = os.path.relpath(other, root)
            if problem := not_its_own(other):
                checks.hits.append(f"a second store of objects, {name}, {problem}")
                continue
            second = ObjectStore(lens.with_name(f"{lens.name}-{number}"), other, store.digits)
            there = second.there([vault.squash_sha, *vault.introduced_trees, *vault.introduced])
            if vault.squash_sha in there:
                checks.hits.append(f"the squash commit is in a second store of objects, {name}")
            checks.flags.append(
                f"there is a second store of objects, {name}"
                + (f", with {_some(there)} of what landed" if there else "")
            )

    checks.attempt("the git directory", git_dir)
    checks.attempt("the objects", contents)
    checks.attempt("other stores of objects", others)
    return checks


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(ids[:SHOWN]) + more


def _stray(commits: Mapping[str, Sequence[str]], root: str) -> list[str]:
    """The commits that are neither the root nor descend from it alone."""
    good = {root} & commits.keys()
    waiting = set(commits) - good
    while grown := {
        sha for sha in waiting if commits[sha] and all(parent in good for parent in commits[sha])
    }:
        good |= grown
        waiting -= grown
    return sorted(waiting) + ([] if root in commits else [f"{root} (the parent itself is gone)"])


def _git_dir(checks: Checks, folder: Path, vault: Vault, packs: Sequence[str] | None) -> list[str]:
    """What a git directory says of having got objects from elsewhere; `packs` are those it had before."""
    if not _sound(folder):
        return ["the git directory was replaced by something else"]
    hits = [f"the store of objects {problem}"] if (problem := not_its_own(folder / "objects")) else []
    found = sorted(
        each.name for each in (folder / "objects" / "pack").glob("*") if each.suffix in {".pack", ".promisor"}
    )
    checks.record["packs"] = found
    if packs is not None and (new := sorted(set(found) - set(packs))):
        hits.append(f"there are packs that were not there before: {', '.join(new)}")
    if replaced := [
        name for name in _FOLDERS if os.path.lexists(folder / name) and not _real_folder(folder / name)
    ]:
        return [*hits, f"the git directory has something else in the place of {', '.join(replaced)}"]
    configs = [folder / "config", folder / "config.worktree"]
    for name in ("worktrees", "modules"):
        configs += _found(folder / name, {"config", "config.worktree"})
    keys = [key for file in configs if os.path.lexists(file) for key in _config(file, vault)]
    checks.record["config"] = sorted(set(keys))
    if remotes := sorted({key for key in keys if _REMOTE.fullmatch(key)}):
        hits.append(f"the git directory is configured with {', '.join(remotes)}")
    hits += [
        f"the git directory holds {name}"
        for name in ("remotes", "branches")
        if _real_folder(folder / name) and any((folder / name).iterdir())
    ]
    if _found(folder / "refs" / "remotes"):
        hits.append("there are refs of a remote")
    for fetched in (folder / "FETCH_HEAD", *_found(folder / "worktrees", {"FETCH_HEAD"})):
        if not os.path.lexists(fetched):
            continue
        if _regular(fetched) and not fetched.stat().st_size:
            checks.flags.append("a fetch was tried, and got nothing (FETCH_HEAD is empty)")
        else:
            hits.append("something was fetched (FETCH_HEAD)")
    shallow = folder / "shallow"
    lines = _bounded(shallow).read_text(encoding="ascii").split() if _regular(shallow) else []
    if os.path.lexists(shallow) and (not _regular(shallow) or set(lines) - {vault.parent_sha}):
        hits.append("the history is cut at another commit than the parent")
    return hits


def _config(file: Path, vault: Vault) -> list[str]:
    """The keys of a configuration file. Reading it runs nothing, and includes are not followed."""
    if not _regular(file):
        raise OSError(f"{file.name} is no file")
    path = str(_bounded(file).absolute())
    out = git(vault.path, "config", "--no-includes", "--file", path, "--name-only", "-z", "--list")
    return [key for key in out.decode("utf-8", "replace").split("\0") if key]


def _found(top: Path, names: Collection[str] = ()) -> list[Path]:
    """The files below a folder, those of some names where any are given; no links are followed.

    Raises:
        OSError: a folder cannot be read.
    """
    return [
        Path(folder) / name
        for folder, _, files in (os.walk(top, onerror=raised) if _real_folder(top) else ())
        for name in files
        if not names or name in names
    ]


def _bounded(file: Path) -> Path:
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file.name} is larger than {MOST_BYTES} bytes")
    return file


def _sound(folder: Path) -> bool:
    """Whether a git directory is a folder that has a folder of objects. No link stands for either."""
    return _real_folder(folder) and _real_folder(folder / "objects")


def _real_folder(path: Path) -> bool:
    return os.path.lexists(path) and stat.S_ISDIR(path.lstat().st_mode)


def _regular(path: Path) -> bool:
    return os.path.lexists(path) and stat.S_ISREG(path.lstat().st_mode)
