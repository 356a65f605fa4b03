"""The agent `mini_swe_agent`: mini-SWE-agent, whose only tool is the shell."""

import json
import stat
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from evalrunner.records import Spend, Usage
from evalrunner.subject.agent import Job
from evalrunner.subject.agent_hosted import HostedAgent, inner, objects, text
from evalrunner.subject.agent_program import UNKNOWN_COST, Given, Read, cost, count
from evalrunner.subject.transcript import Step

TRAJECTORY = "trajectory.json"
MOST_BYTES = 64 * 1024 * 1024


class MiniSweAgent(HostedAgent):
    """mini-SWE-agent, version 2. The model's key and `egress` depend on the model that the aliases choose."""

    program: str = Field(default="mini", min_length=1)

    def install_hint(self) -> str | None:
        """The extra."""
        return "install evalrunner[mini_swe_agent]"

    def argv(self, job: Job, given: Given) -> list[str]:
        """The command line. The prompt is a file: it could be too long for an argument."""
        task = given.issue_file.with_name("task.yaml")
        task.write_text(json.dumps({"run": {"task": self.asked(job)}}), encoding="utf-8")
        return [
            self.program, "--config", "mini.yaml", "--config", str(task), "--yolo", "--exit-immediately",
            "--cost-limit", "0", "--output", str(given.home / TRAJECTORY), *given.model_args,
        ]  # fmt: skip

    def stdin(self, job: Job) -> bytes:
        """Nothing."""
        return b""

    def own_environment(self) -> Mapping[str, str]:
        """No questions at the first start; models without a known price are no error."""
        return {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }

    def read(self, stdout: bytes, stderr: bytes, given: Given) -> Read:
        """Commands, calls and cost from the trajectory that it saves after each step."""
        told = _trajectory(given)
        if told is None:
            return Read([], UNKNOWN_COST, "it left no trajectory")
        steps = [
            Step(at, "command", text(action.get("command")))
            for at, message in enumerate(objects(told.get("messages")), start=1)
            for action in objects(inner(message, "extra", "actions"))
        ]
        price = cost(inner(told, "info", "model_stats", "instance_cost"))
        usage = Usage(calls=count(inner(told, "info", "model_stats", "api_calls")), estimated=True)
        status = inner(told, "info", "exit_status")
        error = None if status == "Submitted" else f"it ended as {text(status)}"
        return Read(steps, Spend(usage=usage, cost_usd=price or None), error)


def _trajectory(given: Given) -> dict[str, Any] | None:
    """The trajectory, or None. The agent could have put anything in its place, but runs no more."""
    try:
        found = (given.home / TRAJECTORY).lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            return None
        told = json.loads((given.home / TRAJECTORY).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None
