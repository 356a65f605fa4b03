"""A sealed scratch repository: one revision and nothing from after it.

Two repositories are made for a sample, each fetched one commit deep, so that what landed was never in it.
The scratch repository is the agent's. The vault is ours: it lies where the agent cannot reach, and the
agent's work is harvested into it. What landed is looked at before, in a third repository, which is gone when
the agent starts: only ids and a diff remain of it, in memory.
"""

import base64
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from evalrunner.git.run import GitError, git
from evalrunner.git.scratch import discard

BRANCH = "work"
FETCH_TIMEOUT_S = 600.0
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}

_ATTRIBUTES = "* !diff !filter\n"
"""Diffs show every file for what it holds, whatever the repository's own attributes say. No filter acts."""

ALLOWED_CONFIG = {
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "extensions.objectformat",
    "gc.auto",
    "maintenance.auto",
}
"""All that a sealed repository's own configuration says."""


@dataclass(frozen=True)
class Origin:
    """Where a repository is cloned from.

    Attributes:
        url: path, `file://` or `https://` URL, without credentials. `http://` only on this machine.
        token: sent to that URL and to no other; None sends none.
    """

    url: str
    token: str | None = None


def clean_origin(url: str) -> str:
    """A path or URL that may be cloned from, as given.

    Raises:
        ValueError: credentials in it, a scheme that could run programs or is not encrypted, an option.
    """
    if not url or url.startswith("-") or "\0" in url or "\n" in url:
        raise ValueError("a path or a URL is needed")
    if "::" in url.partition("/")[0]:
        raise ValueError("a path, a file:// or an https:// URL is needed, not a remote helper")
    if "://" not in url:
        return url
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL must not hold credentials: put the token into the variable for cloning")
    if parts.scheme in {"file", "https"} or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return url
    raise ValueError("a path, a file:// or an https:// URL is needed (http:// only on this machine)")


def check_sha(sha: str) -> str:
    """A full object id, as given.

    Raises:
        GitError: it is none, and could be read as an option or a ref.
    """
    if not _SHA.fullmatch(sha):
        raise GitError("fetch", f"{sha!r} is no full object id")
    return sha


@dataclass(frozen=True)
class Vault:
    """Our own repository of the parent commit, and what we know of the squash commit.

    Attributes:
        path: a bare repository with the parent alone.
        landed_tree, parent_tree: the trees of the two commits.
        landed_diff: from the one to the other; see `tree_diff`.
        introduced: every blob that the squash commit brought; blobs of the parent, wherever, are none.
        introduced_trees: every tree that it brought, its own first.
    """

    path: Path
    parent_sha: str
    squash_sha: str
    parent_tree: str
    landed_tree: str
    landed_diff: bytes
    introduced: tuple[str, ...]
    introduced_trees: tuple[str, ...]


def places(url: str) -> tuple[Path, ...]:
    """The folders of this machine that a path or URL has its objects in; none where it is another machine's.

    A worktree has them in its repository, and a repository may borrow from others.
    """
    parts = urlsplit(url) if "://" in url else None
    if parts is not None and parts.scheme != "file":
        return ()
    path = Path(url).expanduser() if parts is None else Path(unquote(parts.path))
    found = [path.resolve()]
    safe = {"safe.directory": "*"}
    with suppress(GitError):
        common = git(path, "rev-parse", "--path-format=absolute", "--git-common-dir", settings=safe)
        found.append(Path(os.fsdecode(common.rstrip(b"\n"))))
        counted = git(path, "count-objects", "-v", settings=safe).splitlines()
        found += [Path(os.fsdecode(line[11:])) for line in counted if line.startswith(b"alternate: ")]
    return tuple(dict.fromkeys(found))


def fill_vault(path: Path, origin: Origin, parent_sha: str, squash_sha: str) -> Vault:
    """Fetches the squash commit with its parent, looks at them, and keeps the parent alone.

    Args:
        path: a new folder for the vault.

    Raises:
        GitError: the origin cannot be read, has not these commits, or they are no parent and child.
    """
    full = path.with_name(f"{path.name}-landed")
    try:
        _init(full, check_sha(squash_sha), bare=True)
        safe = full / "safe.config"
        safe.write_text("[safe]\n\tdirectory = *\n")  # whose the named repository is does not matter
        _fetch(
            full,
            _location(origin.url),
            squash_sha,
            2,
            {"GIT_CONFIG_GLOBAL": str(safe.resolve()), **_access(origin)},
        )
        parents = git(full, "rev-list", "--parents", "--max-count=1", squash_sha, "--").decode().split()[1:]
        if parents != [check_sha(parent_sha)]:
            raise GitError("fetch", f"{squash_sha} has not the one parent {parent_sha}")
        earlier, own = _tree(full, parent_sha), _tree(full, squash_sha)
        before, after = _contents(full, earlier), _contents(full, own)
        _init(path, parent_sha, bare=True)
        _fetch(path, str(full.resolve()), parent_sha, 1, {})
        git(path, "update-ref", f"refs/heads/{BRANCH}", parent_sha)
        return Vault(
            path,
            parent_sha,
            squash_sha,
            earlier,
            own,
            tree_diff(full, earlier, own),
            tuple(sorted(after["blob"] - before["blob"])),
            tuple(sorted(after["tree"] - before["tree"], key=lambda tree: (tree != own, tree))),
        )
    finally:
        discard(full)


def tree_diff(path: Path, before: str, after: str) -> bytes:
    """The diff between two trees of a bare repository: `git diff --binary --full-index -M`.

    No worktree and no configuration takes part in it.
    """
    return git(
        path, "diff-tree", "-p", "-r", "-M", "--unified=3", "--binary", "--full-index", "--no-ext-diff",
        "--no-textconv", "--no-color", before, after, "--", timeout_s=FETCH_TIMEOUT_S,
    )  # fmt: skip


def objects_of(path: Path, tree: str) -> set[str]:
    """The ids of a tree, its subtrees and its blobs."""
    found = _contents(path, tree)
    return found["tree"] | found["blob"]


def _contents(path: Path, tree: str) -> dict[str, set[str]]:
    """The ids in a tree, by type, its own included."""
    known: dict[str, set[str]] = {"tree": {tree}, "blob": set(), "commit": set()}
    for line in git(path, "ls-tree", "-r", "-t", "-z", tree).split(b"\0"):
        if line:
            _, kind, oid = line.partition(b"\t")[0].decode().split()
            known[kind].add(oid)
    return known


def seal(vault: Vault, path: Path) -> None:
    """Makes the scratch repository at `path`: the vault's parent commit, checked out, and nothing else.

    It has no remote, reflog, alternates, packed refs, FETCH_HEAD, hooks or configuration but git's own.

    Raises:
        GitError: git failed.
    """
    _init(path, vault.parent_sha, bare=False)
    _fetch(path, str(vault.path.resolve()), vault.parent_sha, 1, {})
    git(path, "update-ref", f"refs/heads/{BRANCH}", vault.parent_sha)
    git(path, "reset", "--quiet", "--hard", timeout_s=FETCH_TIMEOUT_S)
    folder = path / ".git"
    for name in ("FETCH_HEAD", "ORIG_HEAD"):
        (folder / name).unlink(missing_ok=True)
    for name in ("logs", "branches", "hooks"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _init(path: Path, sha: str, *, bare: bool) -> None:
    path.mkdir(parents=True)
    kind = ["--bare"] if bare else [f"--initial-branch={BRANCH}"]
    length = "sha256" if len(sha) == 64 else "sha1"
    git(path, "init", "--quiet", "--template=", f"--object-format={length}", *kind, ".")
    if bare:
        (path / "info").mkdir(exist_ok=True)
        (path / "info" / "attributes").write_text(_ATTRIBUTES)
    config = path / "config" if bare else path / ".git" / "config"
    made = config.read_text()
    config.write_text(f"{made}[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n")
    for name in ("symlinks", "ignorecase", "precomposeunicode"):  # what git found out about this file system
        if name in made:
            git(path, "config", "--unset-all", f"core.{name}")


def _fetch(path: Path, url: str, sha: str, depth: int, env: dict[str, str]) -> None:
    git(
        path, "fetch", "--quiet", "--no-tags", f"--depth={depth}", "--no-write-fetch-head", "--no-auto-gc",
        "--", url, sha, env=env, timeout_s=FETCH_TIMEOUT_S,
    )  # fmt: skip


def _location(url: str) -> str:
    """A path becomes absolute, since git runs elsewhere."""
    return url if "://" in url else str(Path(url).expanduser().resolve())


def _access(origin: Origin) -> dict[str, str]:
    """The environment that lets git fetch from an origin: its protocol, and the token as a header."""
    parts = urlsplit(origin.url)
    env = {"GIT_ALLOW_PROTOCOL": "file:https:http"} if parts.scheme == "http" else {}
    if parts.scheme in {"http", "https"}:
        env |= {
            name: os.environ[name]
            for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
            if name in os.environ
        }
    if origin.token is not None and parts.scheme in {"http", "https"}:
        basic = base64.b64encode(f"x-access-token:{origin.token}".encode()).decode()
        env |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{parts.scheme}://{parts.netloc}/.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
        }
    return env


def _tree(path: Path, sha: str) -> str:
    return git(path, "rev-parse", "--verify", "--end-of-options", f"{sha}^{{tree}}").decode().strip()
