"""The agent `codex`: Codex without a terminal (`codex exec`)."""

from typing import Any

from pydantic import Field

from evalrunner.records import Spend, Usage
from evalrunner.subject.agent import Job
from evalrunner.subject.agent_hosted import HostedAgent, events, inner, objects, text
from evalrunner.subject.agent_program import Given, Places, Read, count
from evalrunner.subject.agent_variables import KeyVariable
from evalrunner.subject.transcript import Step

_QUIET = {"agent_message", "reasoning", "todo_list", "error", "file_change"}
"""Kinds of items that look at nothing."""


class Codex(HostedAgent):
    """Codex. Web search is off, and the user's own configuration, MCP servers included, is not loaded.

    In our box its own sandbox is switched off, since boxes do not nest. Elsewhere it may only write into
    the repository and has no network.
    """

    program: str = Field(default="codex", min_length=1)
    key_env: KeyVariable = "CODEX_API_KEY"
    egress: Places = ("api.openai.com:443",)

    def argv(self, job: Job, given: Given) -> list[str]:
        """The command line; the prompt comes through stdin."""
        box = (
            ["--dangerously-bypass-approvals-and-sandbox"]
            if given.isolated
            else ["--sandbox", "workspace-write"]
        )
        return [
            self.program, "exec", "--json", "--ephemeral", "--ignore-user-config", "--skip-git-repo-check",
            "--config", 'web_search="disabled"', *box, *given.model_args, "-",
        ]  # fmt: skip

    def read(self, stdout: bytes, stderr: bytes, given: Given) -> Read:
        """Commands and tools from the items, usage from the turns. It reports no cost."""
        steps: dict[Any, Step] = {}
        usage = Usage()
        error: str | None = None
        ended = False
        for at, event in events(stdout):
            kind = event.get("type")
            if kind in {"item.started", "item.completed"}:
                item = event.get("item")
                step = _step(at, item)
                if step is not None:
                    steps.setdefault(inner(item, "id") or at, step)
            elif kind == "turn.completed":
                ended = True
                told = {key: count(inner(event, "usage", key)) for key in (
                    "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens",
                )}  # fmt: skip
                usage += Usage(
                    calls=1,
                    input_tokens=told["input_tokens"],
                    output_tokens=told["output_tokens"],
                    cached_tokens=told["cached_input_tokens"],
                    reasoning_tokens=told["reasoning_output_tokens"],
                )
            elif kind == "turn.failed":
                error = text(inner(event, "error", "message"))
        if error is None and not ended:
            error = "its transcript has no completed turn"
        return Read(list(steps.values()), Spend(usage=usage, cost_usd=None), error)


def _step(at: int, item: Any) -> Step | None:
    kind = inner(item, "type")
    if kind == "command_execution":
        return Step(at, "command", text(item.get("command")))
    if kind == "file_change":
        paths = [each["path"] for each in objects(item.get("changes")) if isinstance(each.get("path"), str)]
        return Step(at, "path", paths[0]) if len(paths) == 1 else None
    if kind in _QUIET or not isinstance(kind, str):
        return None
    return Step(at, "tool", f"{kind} {text(item)}")
