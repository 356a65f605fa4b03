"""The agent `command`: any program, by a template of its command line."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from evalrunner.component import Many
from evalrunner.errors import nearest
from evalrunner.subject.agent import Job
from evalrunner.subject.agent_program import Given, ProgramAgent, Read
from evalrunner.subject.transcript import Step

PLACEHOLDERS = ("issue_file", "repository", "model", "model_args")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def _known(argv: tuple[str, ...]) -> tuple[str, ...]:
    for argument in argv:
        for name in _PLACEHOLDER.findall(argument):
            if name not in PLACEHOLDERS:
                near = nearest(name, PLACEHOLDERS)
                hint = f"; did you mean {{{near}}}?" if near else ""
                raise ValueError(
                    f"there is no placeholder {{{name}}}; there are {{{'}, {'.join(PLACEHOLDERS)}}}{hint}"
                )
        if "{model_args}" in argument and argument != "{model_args}":
            raise ValueError("{model_args} must be an argument of its own: it stands for several")
    if _PLACEHOLDER.search(argv[0]):
        raise ValueError("the program itself must be named, not be a placeholder")
    return argv


class CommandAgent(ProgramAgent):
    """Any program that changes the repository it is started in.

    Its exit code 0 says that it is done. What it writes is kept, and every line is looked through.

    Attributes:
        command: the program and its arguments. `{issue_file}` is the path of a file with the issue,
            `{repository}` that of the repository (also the working directory), `{model}` the implementation
            model, and the argument `{model_args}` is replaced by what the model's alias stands for.
    """

    command: Annotated[Many[Annotated[str, Field(min_length=1)]], Field(min_length=1), AfterValidator(_known)]

    @property
    def executable(self) -> str:
        """The first word of the template."""
        return self.command[0]

    def needs_alias(self) -> bool:
        """Only where the template asks for the alias's arguments."""
        return "{model_args}" in self.command

    def argv(self, job: Job, given: Given) -> list[str]:
        """The template, filled in once: what is put in is not looked at again."""
        values = {"issue_file": str(given.issue_file), "repository": str(job.path), "model": job.task.model}
        filled: list[str] = []
        for argument in self.command:
            if argument == "{model_args}":
                filled += given.model_args
            else:
                filled.append(_PLACEHOLDER.sub(lambda found: values[found[1]], argument))
        return filled

    def read(self, stdout: bytes, stderr: bytes, given: Given) -> Read:
        """Every line is a step; nothing is known of the cost."""
        lines = [*stdout.split(b"\n"), *stderr.split(b"\n")]
        return Read(
            [Step(at, "line", line.decode("utf-8", "replace")) for at, line in enumerate(lines, start=1)]
        )

    def described(self) -> Mapping[str, Any]:
        """Template and aliases."""
        aliases = {name: list(value) for name, value in self.aliases.items()}
        return {"subject": "agent_command", "command": list(self.command), "aliases": aliases}
