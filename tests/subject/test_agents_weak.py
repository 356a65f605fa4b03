"""Agents on a machine without bubblewrap: said aloud, recorded, or refused; the objects still speak."""

import os
import signal
import time
from contextlib import suppress

import pytest
from agents_kit import command, item_of
from test_agents_boxed import alive

from evalrunner.errors import ConfigError
from evalrunner.sandbox.bubblewrap import probe

pytestmark = pytest.mark.usefixtures("weak")


def test_the_weaker_level_is_said_and_recorded(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    outcome = trial(command(tmp_path, "echo 'x = 1' > x.py"), item_of(origin, landed))
    assert outcome.status == "ok"
    assert outcome.payload["isolation"] == "none"
    assert "cannot be started" in outcome.payload["checks"]["isolation"]["reason"]
    assert len(trial.notes) == 1
    assert "WEAK ISOLATION (none)" in trial.notes[0]


def test_required_isolation_refuses(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    agent = command(tmp_path, "touch ran", isolation="required")
    with pytest.raises(
        ConfigError, match=r"subject\.isolation: is required, but bubblewrap cannot be started"
    ):
        agent.check_installed()
    outcome = trial(agent, item_of(origin, landed))
    assert outcome.status == "error"
    assert "isolation is required" in str(outcome.error)
    assert outcome.payload["candidate_diff"] == ""
    assert probe().kind == "none"


def test_a_fetch_from_the_repository_itself_works_and_is_found(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    script = (
        f"git fetch --quiet --no-write-fetch-head {origin.path} main; git show {landed.sha}:calc.py > calc.py"
    )
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    assert outcome.status == "contaminated"
    assert f"the squash commit {landed.sha} is in the repository" in str(outcome.error)


def test_a_clone_in_the_home_folder_is_found(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    script = f"cd && git clone --quiet file://{origin.path} peek"
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    assert outcome.status == "contaminated"
    assert "second store of objects, peek/.git/objects" in str(outcome.error)


def test_reading_the_answer_from_its_place_shows_in_the_transcript(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    script = f"set -x; cat {origin.path}/calc.py > calc.py"
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    assert outcome.status == "ok"  # no object tells of it
    assert any(
        "names the place that the repository was cloned from" in flag for flag in outcome.payload["flags"]
    )


def test_environment_and_home_are_no_others_than_in_a_box(landed_issue, trial, tmp_path, monkeypatch):
    origin, landed = landed_issue
    home = tmp_path / "realhome"
    home.mkdir()
    (home / ".netrc").write_text("home-secret\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GITHUB_TOKEN", "env-secret")
    outcome = trial(command(tmp_path, "env > seen; cat ~/.netrc >> seen 2>&1; true"), item_of(origin, landed))
    assert "secret" not in outcome.payload["candidate_diff"]


def test_a_setsid_child_does_not_outlive_the_time_limit(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    word = f"33{os.getpid()}.25"
    script = f"""
echo 'half = 1' > half.py
setsid sh -c 'trap "" TERM HUP; (setsid sleep {word} &); sleep {word}' > /dev/null 2>&1 < /dev/null &
trap '' TERM
sleep {word}
"""
    begun = time.monotonic()
    outcome = trial(command(tmp_path, script, agent_timeout=1.5), item_of(origin, landed))
    assert time.monotonic() - begun < 30
    assert outcome.status == "timeout"
    assert "+half = 1" in outcome.payload["candidate_diff"]
    assert alive(word) == []


def test_an_agent_that_ends_its_keeper_is_not_judged(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    word = f"34{os.getpid()}.25"
    pids = tmp_path / "pids"
    script = f"""
setsid sh -c 'echo $$ > {pids}; exec sleep {word}' > /dev/null 2>&1 < /dev/null &
while [ ! -s {pids} ]; do sleep 0.01; done
echo $$ >> {pids}
kill -9 $PPID
exec sleep {word}
"""
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    assert outcome.status == "contaminated"
    assert "may still be running" in str(outcome.error)
    assert outcome.payload["candidate_diff"] == ""
    for pid in map(int, pids.read_text().split()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_home_that_was_replaced_is_not_looked_through(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    script = 'cd / && mv "$HOME" "$HOME.away" && ln -s / "$HOME"'
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    assert outcome.status == "contaminated"
    assert "home was replaced by a link" in str(outcome.error)
