"""The agent `claude_code`: Claude Code without a terminal (`claude -p`)."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from evalrunner.records import Spend, Usage
from evalrunner.subject.agent import Job
from evalrunner.subject.agent_hosted import HostedAgent, events, inner, objects, text
from evalrunner.subject.agent_program import UNKNOWN_COST, Given, Places, Read, cost, count
from evalrunner.subject.agent_variables import KeyVariable
from evalrunner.subject.transcript import Step

TOOLS = ("Read", "Edit", "Write", "Grep", "Glob", "Bash")
"""All that it may use: no web, no MCP, no other agents."""

_HARMLESS = {
    *TOOLS,
    "MultiEdit",
    "NotebookEdit",
    "TodoWrite",
    "BashOutput",
    "KillShell",
    "KillBash",
    "TaskOutput",
    "TaskStop",
}
"""Tools that do nothing that those do not."""


class ClaudeCode(HostedAgent):
    """Claude Code. Its tools are allow-listed, and it loads no MCP servers."""

    program: str = Field(default="claude", min_length=1)
    key_env: KeyVariable = "ANTHROPIC_API_KEY"
    egress: Places = ("api.anthropic.com:443",)

    def argv(self, job: Job, given: Given) -> list[str]:
        """The command line; the prompt comes through stdin."""
        tools = ",".join(TOOLS)
        return [
            self.program, "-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config",
            "--permission-mode", "acceptEdits", "--tools", tools, "--allowedTools", tools, *given.model_args,
        ]  # fmt: skip

    def own_environment(self) -> Mapping[str, str]:
        """No updates, no telemetry."""
        return {
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def read(self, stdout: bytes, stderr: bytes, given: Given) -> Read:
        """Tool uses from the messages, usage and cost from the last event of type `result`."""
        steps: list[Step] = []
        result: dict[str, Any] | None = None
        for at, event in events(stdout):
            if event.get("type") == "assistant":
                steps += _steps(at, objects(inner(event, "message", "content")))
            elif event.get("type") == "result":
                result = event
        if result is None:
            return Read(steps, UNKNOWN_COST, "its transcript has no result")
        usage = {key: count(inner(result, "usage", key)) for key in (
            "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
        )}  # fmt: skip
        spend = Spend(
            usage=Usage(
                calls=count(result.get("num_turns")),
                input_tokens=sum(value for key, value in usage.items() if key != "output_tokens"),
                output_tokens=usage["output_tokens"],
                cached_tokens=usage["cache_read_input_tokens"],
            ),
            cost_usd=cost(result.get("total_cost_usd")),
        )
        failed = result.get("is_error") is not False or result.get("subtype") != "success"
        return Read(steps, spend, text(result.get("result") or result.get("subtype")) if failed else None)


def _steps(at: int, blocks: list[dict[str, Any]]) -> Iterator[Step]:
    for block in blocks:
        if block.get("type") not in {"tool_use", "server_tool_use"}:
            continue
        name, given = text(block.get("name")), block.get("input")
        if name not in _HARMLESS:
            yield Step(at, "tool", f"{name} {text(given)}")
        elif name == "Bash":
            yield Step(at, "command", text(inner(given, "command")))
        else:
            paths = [inner(given, key) for key in ("file_path", "notebook_path", "path")]
            if name == "Glob":
                paths.append(inner(given, "pattern"))
            yield from (Step(at, "path", path) for path in paths if isinstance(path, str))
