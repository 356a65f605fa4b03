"""The agent `patch`: applies a given diff. It needs no key, and shows the eval's way without any agent."""

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from evalrunner.component import FilePath
from evalrunner.git.run import GitError, git
from evalrunner.subject.agent import Agent, Job, Work

SUFFIXES = (".diff", ".patch")


class PatchAgent(Agent):
    """Applies the file `<issue number>.diff` (or `.patch`) of a folder. An empty file changes nothing.

    Attributes:
        patches: the folder.
    """

    patches: FilePath

    async def work(self, job: Job) -> Work:
        """Applies the diff with git; no program is run."""
        files = [self.patches / f"{job.task.issue}{suffix}" for suffix in SUFFIXES]
        file = next((each for each in files if each.is_file()), None)
        if file is None:
            return Work(status="error", error=f"there is no {files[0]}")
        try:
            diff = await asyncio.to_thread(file.read_bytes)
            if diff.strip():
                await asyncio.to_thread(git, job.path, "apply", "--whitespace=nowarn", "-", stdin=diff)
        except OSError as error:
            return Work(status="error", error=f"{file} cannot be read: {error.strerror}")
        except GitError as error:
            return Work(status="error", error=f"{file} does not apply: {' '.join(error.stderr.split())}")
        return Work(transcript=diff)

    def described(self) -> Mapping[str, Any]:
        """The patches by their content: the same ones elsewhere are the same agent."""
        digest = sha256()
        for file in sorted(self.patches.glob("*")) if self.patches.is_dir() else ():
            if file.suffix in SUFFIXES and file.is_file():
                digest.update(f"{file.stem}\0".encode() + file.read_bytes() + b"\0")
        return {"subject": "agent_patch", "patches_sha256": digest.hexdigest()}
