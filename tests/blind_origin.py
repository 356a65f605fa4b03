"""A small repository with squash-merged pull requests, made with plain git, and the issues they closed."""

import json
import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

NOW = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)
UNTIL = NOW.isoformat()

PLAN = """Something is wrong.

## Implementation plan

Change the code.

**Size:** {size}
**Implementation model:** {model}
**Routing reason:** small and local
"""


def plan(size: str = "s", model: str = "sonnet") -> str:
    """The body of an issue with a plan."""
    return PLAN.format(size=size, model=model)


def run_git(folder: Path, *arguments: str, env: dict[str, str] | None = None, check: bool = True) -> str:
    """Plain git without anybody's configuration; its stdout."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": "dev",
            "GIT_AUTHOR_EMAIL": "dev@example.invalid",
            "GIT_COMMITTER_NAME": "dev",
            "GIT_COMMITTER_EMAIL": "dev@example.invalid",
            **(env or {}),
        },
        capture_output=True,
        check=False,
    )
    if check and done.returncode:
        raise AssertionError(done.stderr.decode())
    return done.stdout.decode("utf-8", "replace")


@dataclass(frozen=True)
class Landed:
    """A squash commit."""

    sha: str
    parent: str


class Origin:
    """The repository, and the file with its issues."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "origin"
        self.issues_file = folder / "issues.json"
        self.issues: list[dict[str, Any]] = []
        self.at = NOW - timedelta(days=6)
        self.path.mkdir(parents=True)
        run_git(self.path, "init", "--quiet", "--initial-branch=main", ".")
        self.commit(
            "start", {"calc.py": "def add(a, b):\n    return a - b\n", "README.md": "calc\n"}, days_ago=60
        )
        self.save()

    def commit(
        self,
        message: str,
        files: dict[str, str | bytes | None],
        *,
        days_ago: float | None = None,
    ) -> Landed:
        """A commit on the trunk; None removes a file."""
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                file.unlink()
            else:
                file.write_bytes(content.encode() if isinstance(content, str) else content)
        if days_ago is None:
            self.at += timedelta(hours=1)
            moment = self.at
        else:
            moment = NOW - timedelta(days=days_ago)
        date = {"GIT_AUTHOR_DATE": moment.isoformat(), "GIT_COMMITTER_DATE": moment.isoformat()}
        run_git(self.path, "add", "--all")
        run_git(self.path, "commit", "--quiet", "--allow-empty", "-m", message, env=date)
        return self.head()

    def head(self) -> Landed:
        """The newest commit of the trunk."""
        sha, *parents = run_git(self.path, "rev-list", "--parents", "--max-count=1", "HEAD").split()
        return Landed(sha, parents[0] if parents else "")

    def issue(self, number: int, body: str | None, **fields: Any) -> None:
        """Adds an issue to the file."""
        self.issues.append({"number": number, "title": f"issue {number}", "body": body, **fields})
        self.save()

    def save(self) -> None:
        """Writes the file."""
        self.issues_file.write_text(json.dumps(self.issues), encoding="utf-8")

    def merge(
        self,
        pr: int,
        issue: int,
        files: dict[str, str | bytes | None],
        *,
        size: str = "s",
        model: str = "sonnet",
        days_ago: float | None = None,
    ) -> Landed:
        """A pull request that closes an issue, squashed onto the trunk."""
        self.issue(issue, plan(size, model))
        return self.commit(f"Change something (#{pr})\n\nCloses #{issue}\n", files, days_ago=days_ago)


FIX = "def add(a, b):\n    return a + b\n"
"""What landed for the first issue."""


def small(folder: Path) -> tuple[Origin, Landed]:
    """A repository in which pull request 11 fixed issue 1, and more came after it."""
    origin = Origin(folder)
    landed = origin.merge(
        11, 1, {"calc.py": FIX, "tests/test_calc.py": "from calc import add\nassert add(1, 2) == 3\n"}
    )
    origin.commit("Later work", {"later.py": "later = True\n"})
    return origin, landed
