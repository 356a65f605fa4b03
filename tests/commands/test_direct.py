"""A run against an endpoint of one's own goes through the direct client, and never imports litellm."""

import os
import subprocess
import sys
from pathlib import Path

from loopback import Loopback, error, score_all
from program import inside as evalrunner


def test_a_run_with_the_direct_client_passes_without_litellm(tmp_path: Path) -> None:
    with Loopback(score_all(9)) as server:
        seat = f"panel.models=[{{id:llama3:8b,api_base:'{server.url('openai')}'}}]"
        words = ["run", seat, "--limit", "4", "judge.chunk_size=1", "--json"]
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "evalrunner", *words],
            cwd=tmp_path,
            env=dict(os.environ),
            capture_output=True,
            text=True,
            check=False,
        )
        assert len(server.requests) == 4
        assert server.requests[0].model == "llama3:8b"
        assert server.requests[0].schema is not None
    assert done.returncode == 0, done.stderr
    assert " aiohttp\n" in done.stderr
    assert "litellm_errors" not in done.stderr
    assert " litellm\n" not in done.stderr
    assert " openai\n" not in done.stderr


def test_a_sweep_of_failures_is_told_as_through_litellm(tmp_path: Path) -> None:
    with Loopback(error(401, "who are you")) as server:
        seat = f"panel.models=[{{id:mine,api_base:'{server.url('openai')}'}}]"
        done = evalrunner(tmp_path, "run", seat, "--limit", "2", "--json")
        assert len(server.requests) == 1
    assert done.code == 2
    assert done.json["errors"] == [{"modelId": "mine", "error": "401: who are you"}]
