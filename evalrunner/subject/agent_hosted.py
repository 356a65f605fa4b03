"""What agents with a model service behind them have in common: a prompt, and a transcript of JSON lines."""

import json
from abc import ABC
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from evalrunner.model.fence import fence
from evalrunner.subject.agent import Job
from evalrunner.subject.agent_program import ProgramAgent


class HostedAgent(ProgramAgent, ABC):
    """An agent that is asked with a prompt.

    Attributes:
        program: its program: a name on the PATH, or a path.
        prompt: the prompt template, in prompts/; it gets `issue`, `fence_open` and `fence_close`.
    """

    program: str = Field(min_length=1)
    prompt: str = Field(default="implement_issue", pattern=r"^[a-z][a-z0-9_]*$")

    @property
    def executable(self) -> str:
        """The program."""
        return self.program

    def prompts(self) -> list[str]:
        """The one that it is asked with."""
        return [self.prompt]

    def asked(self, job: Job) -> str:
        """The prompt for a sample."""
        fence_open, fence_close = fence(job.task.issue_body)
        return job.bench.prompts.render(
            self.prompt, issue=job.task.issue_body, fence_open=fence_open, fence_close=fence_close
        )

    def stdin(self, job: Job) -> bytes:
        """The prompt."""
        return self.asked(job).encode("utf-8", "replace")

    def described(self) -> Mapping[str, Any]:
        """Kind, aliases and prompt."""
        kind = type(self).__module__.rpartition(".")[2]
        aliases = {name: list(value) for name, value in self.aliases.items()}
        return {"subject": kind, "aliases": aliases, "prompt": self.prompt}


def events(transcript: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a transcript of JSON lines, with the numbers of their lines. Others do not count."""
    for at, line in enumerate(transcript.split(b"\n"), start=1):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield at, event


def inner(value: Any, *keys: str) -> Any:
    """A value deep inside of objects; None where one of them is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """A text, and of anything else its JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str)
