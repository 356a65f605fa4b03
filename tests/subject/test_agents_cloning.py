"""Cloning over http with a token that nobody else gets to see."""

import json

import pytest
from agents_kit import command, item_of
from blind_origin import small
from git_server import GitServer

from evalrunner.records import outcome_adapter

TOKEN = "clone-secret"


@pytest.fixture
def remote(tmp_path):
    (tmp_path / "forge").mkdir()
    origin, landed = small(tmp_path / "forge")
    with GitServer(origin.path.parent, TOKEN) as server:
        yield origin, landed, server


@pytest.mark.usefixtures("boxed")
def test_the_token_for_cloning_is_used_and_stands_nowhere(remote, trial, tmp_path, monkeypatch):
    origin, landed, server = remote
    monkeypatch.setenv("EVALRUNNER_CLONING_TOKEN", TOKEN)
    item = item_of(origin, landed, repository=f"{server.url}/origin")
    script = "(env; cat /proc/*/environ .git/config) 2>/dev/null | tr '\\0' '\\n' > seen; exit 0"
    outcome = trial(command(tmp_path, script, keep_repos=True), item)
    assert (outcome.status, outcome.error) == ("ok", None)
    assert "return a + b" in outcome.payload["landed_diff"]
    assert TOKEN not in json.dumps(outcome_adapter().dump_python(outcome, mode="json"))
    kept = trial.kept(outcome)
    secrets = (TOKEN.encode(), server.wanted.split()[1].encode())
    for file in kept.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not any(secret in content for secret in secrets), file
    assert server.wanted in server.auth


def test_without_or_with_a_wrong_token_the_sample_is_an_error_at_once(remote, trial, tmp_path, monkeypatch):
    origin, landed, server = remote
    item = item_of(origin, landed, repository=f"{server.url}/origin")
    assert trial(command(tmp_path, "true"), item).status == "error"
    monkeypatch.setenv("EVALRUNNER_CLONING_TOKEN", "wrong-secret")
    outcome = trial(command(tmp_path, "true"), item)
    assert outcome.status == "error"
    assert "git fetch" in str(outcome.error)
    assert "secret" not in str(outcome.error)
