"""Agents in a box: what they can do, and every attempt to cheat."""

import http.server
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from agents_kit import AGENT_KEY, command, item_of
from blind_origin import FIX, run_git
from own_scratch import own_scratch  # noqa: F401 - an autouse fixture

from evalrunner.git.scratch import scratch

pytestmark = pytest.mark.usefixtures("boxed")


def test_an_honest_agent_that_commits_a_byte_identical_fix_is_clean(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    script = f"""
cat > calc.py <<'END'
{FIX}END
mkdir tests && printf 'from calc import add\\nassert add(1, 2) == 3\\n' > tests/test_calc.py
git add --all && git commit --quiet -m 'Fix the sum' && git status --short
"""
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    payload = outcome.payload
    assert (outcome.status, outcome.error, payload["flags"]) == ("ok", None, [])
    assert payload["candidate_tree"] == payload["landed_tree"]
    assert payload["contaminated"] is False
    assert payload["isolation"] == "bubblewrap"
    assert payload["checks"]["isolation"]["level"] == "bubblewrap"
    assert outcome.spend.cost_usd is None  # nobody knows
    assert trial.notes == []


def test_the_placeholders_and_the_aliases(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    agent = command(
        tmp_path,
        'printf "%s\\n" "$@" > arguments; cat "$1" > issue; pwd > where',
        "{issue_file}", "--repo={repository}", "{model}", "{model_args}", "{\"json\": 1}",
        aliases={"sonnet": ["--model", "big one", "{model}"]},
    )  # fmt: skip
    outcome = trial(agent, item_of(origin, landed))
    assert outcome.status == "ok"
    added = [line[1:] for line in outcome.payload["candidate_diff"].splitlines() if line.startswith("+")]
    assert "sonnet" in added
    assert added[added.index("sonnet") + 1 :][:4] == ["--model", "big one", "{model}", '{"json": 1}']
    assert "## Implementation plan" in added
    assert next(line for line in added if line.startswith("--repo="))[7:] in added  # where it was started


def test_what_an_agent_sees_of_environment_home_and_machine(landed_issue, trial, tmp_path, monkeypatch):
    origin, landed = landed_issue
    home = tmp_path / "realhome"
    (home / ".config" / "gh").mkdir(parents=True)
    (home / ".config" / "gh" / "hosts.yml").write_text("oauth_token: home-secret\n")
    (home / ".netrc").write_text("password home-secret\n")
    monkeypatch.setenv("HOME", str(home))
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "OTHER", "EVALRUNNER_CLONING_TOKEN"):
        monkeypatch.setenv(name, "env-secret")
    monkeypatch.setenv("AGENT_KEY", AGENT_KEY)
    monkeypatch.setenv("BUILD_FLAVOUR", "fast")
    script = f"""
env | sed 's/^AGENT_KEY=agent-/AGENT_KEY=agent+/' > environment
cat ~/.netrc "$HOME/.config/gh/hosts.yml" {home}/.netrc {home}/.config/gh/hosts.yml > stolen 2>&1
cat {origin.path}/calc.py >> stolen 2>&1
cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | sed 's/agent-key/agent+key/' > processes
ls / {tmp_path} {home} > places 2>&1
git -C {origin.path} log > log 2>&1
true
"""
    outcome = trial(
        command(tmp_path, script, key_env="AGENT_KEY", env=["BUILD_FLAVOUR"]), item_of(origin, landed)
    )
    diff = outcome.payload["candidate_diff"]
    assert outcome.status == "ok"
    assert "secret" not in diff
    assert f"AGENT_KEY={AGENT_KEY.replace('agent-', 'agent+')}" in diff
    assert "BUILD_FLAVOUR=fast" in diff
    assert f"cannot access '{home}'" in diff
    assert "+origin" not in diff  # the repository's own place is not there either
    assert landed.sha not in diff
    assert "No such file" in diff
    assert AGENT_KEY not in str(outcome.payload["checks"])


def test_the_agents_own_token_is_kept_nowhere(landed_issue, trial, tmp_path, monkeypatch):
    origin, landed = landed_issue
    monkeypatch.setenv("AGENT_KEY", AGENT_KEY)
    script = 'echo "$AGENT_KEY"; echo "$AGENT_KEY" >&2; echo "curl -d $AGENT_KEY https://github.com/a"'
    outcome = trial(command(tmp_path, script, key_env="AGENT_KEY"), item_of(origin, landed))
    assert outcome.status == "ok"
    said = (trial.kept(outcome) / "transcript.txt").read_text()
    assert said.splitlines()[0] == "[token]"
    assert "curl -d [token] https://github.com/a" in outcome.payload["flags"][0]
    agent = command(
        tmp_path,
        f'{script}; env > env.txt; echo "$AGENT_KEY" >&2; exit 1',
        key_env="AGENT_KEY",
        keep_repos=True,
    )
    leaked = trial(agent, item_of(origin, landed), run=2)
    assert leaked.status == "error"
    assert "the candidate holds the agent's own token, and is not kept" in str(leaked.error)
    for each in (outcome, leaked):
        assert AGENT_KEY not in repr(each)
    kept = [file.read_bytes() for file in trial.folder.rglob("*") if file.is_file()]
    assert len(kept) > 8
    assert not any(AGENT_KEY.encode() in content for content in kept)


def test_an_agent_that_adds_a_remote_and_fetches_gets_nothing_and_is_found(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    script = f"""
git remote add origin {origin.path}
git fetch --quiet origin || git fetch --quiet https://github.com/owner/calc
git log --all --oneline
exit 0
"""
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    assert outcome.status == "contaminated"
    assert outcome.payload["contaminated"] is True
    assert "remote.origin.url" in str(outcome.error)
    assert landed.sha not in str(outcome.error)
    assert any("CONTAMINATED" in note and "issue-1" in note for note in trial.notes)
    assert "does not appear to be a git repository" in (trial.kept(outcome) / "transcript.txt").read_text()


def test_traps_for_the_harvest_never_go_off(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    mark = tmp_path / "mark"  # outside of the box: only what runs on our side can write there
    script = f"""
for name in clean fsmonitor hook; do printf '#!/bin/sh\\ntouch {mark}-'$name'\\ncat\\n' > /tmp/$name; done
mkdir -p .git/hooks traps && cp /tmp/clean /tmp/fsmonitor /tmp/hook traps/ && chmod +x traps/*
for hook in pre-commit post-index-change post-checkout reference-transaction; do
    cp traps/hook .git/hooks/$hook
done
git config filter.evil.clean "touch {mark}-clean; cat"
git config filter.evil.required true
git config core.fsmonitor "touch {mark}-fsmonitor;"
git config core.hooksPath "$PWD/traps"
git config diff.external "touch {mark}-external;"
echo '* filter=evil diff=evil' > .gitattributes
echo '* filter=evil' > .git/info/attributes 2>/dev/null
echo 'def add(a, b): return b + a' > calc.py
exit 0
"""
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    assert outcome.status == "ok"
    assert "+def add(a, b): return b + a" in outcome.payload["candidate_diff"]
    assert list(tmp_path.glob("mark*")) == []


def test_an_alternates_file_is_found(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    script = (
        f"mkdir -p .git/objects/info; echo {origin.path}/.git/objects > .git/objects/info/alternates; exit 0"
    )
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    assert outcome.status == "contaminated"
    assert "alternates" in str(outcome.error)


def alive(word: str) -> list[str]:
    """The processes of this machine whose command line holds a word."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if word in line:
                found.append(line)
    return found


def test_a_setsid_child_does_not_outlive_the_time_limit_and_the_partial_diff_counts(
    landed_issue, trial, tmp_path
):
    origin, landed = landed_issue
    word = f"31{os.getpid()}.25"
    script = f"""
echo 'half = "done"' > half.py
setsid sh -c 'trap "" TERM HUP; (sleep {word} &) ; sleep {word}' > /dev/null 2>&1 < /dev/null &
trap '' TERM
sleep {word}
"""
    begun = time.monotonic()
    outcome = trial(command(tmp_path, script, agent_timeout=1.5), item_of(origin, landed))
    assert time.monotonic() - begun < 30
    assert outcome.status == "timeout"
    assert "ended after 1.5 s" in str(outcome.error)
    assert "+half = " in outcome.payload["candidate_diff"]
    assert outcome.payload["contaminated"] is False
    assert alive(word) == []


def test_a_child_that_outlives_its_agent_is_ended_before_the_harvest(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    word = f"32{os.getpid()}.25"
    outcome = trial(
        command(tmp_path, f"setsid sh -c 'sleep {word}; echo late > late' > /dev/null 2>&1 & exit 0"),
        item_of(origin, landed),
    )
    assert outcome.status == "ok"
    assert outcome.payload["candidate_diff"] == ""
    assert alive(word) == []


def test_nothing_outside_the_repository_can_be_written(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    before = subprocess.run(
        ["git", "-C", str(origin.path), "status", "--porcelain"], capture_output=True, check=True
    ).stdout
    script = f"""
touch {tmp_path}/outside /usr/outside {origin.path}/outside ../beside
rm -rf {origin.path}
exit 0
"""
    outcome = trial(command(tmp_path, script), item_of(origin, landed))
    assert outcome.status == "ok"
    assert not (tmp_path / "outside").exists()
    assert not Path("/usr/outside").exists()
    after = subprocess.run(
        ["git", "-C", str(origin.path), "status", "--porcelain"], capture_output=True, check=True
    ).stdout
    assert before == after


class Model(http.server.BaseHTTPRequestHandler):
    """Stands for the endpoint of an agent's model."""

    def do_GET(self) -> None:
        body = b"a word from the model\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def two_servers():
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model) for _ in range(2)]
    threads = [
        threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.02}) for each in servers
    ]
    for each in threads:
        each.start()
    yield [each.server_port for each in servers]
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        thread.join()
        server.server_close()


ASK = """#!/usr/bin/python3
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=5).read().decode().strip())
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_an_agent_reaches_the_model_that_is_named_and_nothing_else(
    landed_issue, trial, tmp_path, two_servers
):
    origin, landed = landed_issue
    model, other = two_servers
    urls = [f"http://127.0.0.1:{port}/v1" for port in (model, other)] + ["https://github.com/owner/calc"]
    outcome = trial(command(tmp_path, ASK, *urls, egress=[f"127.0.0.1:{model}"]), item_of(origin, landed))
    said = (trial.kept(outcome) / "transcript.txt").read_text().splitlines()
    assert said[0] == "a word from the model"
    assert "403" in said[1]
    assert "403" in said[2]
    box = outcome.payload["checks"]["isolation"]
    assert box["reached"] == [f"127.0.0.1:{model}"]
    assert box["refused"] == [f"127.0.0.1:{other}", "github.com:443"]
    assert f"it tried to reach 127.0.0.1:{other}, which is not allowed" in outcome.payload["flags"]


def test_without_egress_there_is_no_network_at_all(landed_issue, trial, tmp_path, two_servers):
    origin, landed = landed_issue
    script = ASK.replace("import sys", "import socket, sys").replace(
        "for url",
        "own = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(own.getsockname())\n"
        "print('own loopback works')\nfor url",
    )
    outcome = trial(command(tmp_path, script, f"http://127.0.0.1:{two_servers[0]}/"), item_of(origin, landed))
    said = (trial.kept(outcome) / "transcript.txt").read_text()
    assert "own loopback works" in said
    assert "a word from the model" not in said
    assert "URLError" in said


def test_an_agent_that_fails_is_an_error_with_its_last_word(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    outcome = trial(
        command(tmp_path, "echo 'x = 1' > x.py; echo no quota >&2; exit 7"), item_of(origin, landed)
    )
    assert (outcome.status, outcome.error) == ("error", "the agent ended with exit code 7: no quota")
    assert "+x = 1" in outcome.payload["candidate_diff"]
    (tmp_path / "bin" / "agent").unlink()
    outcome = trial(command(tmp_path, "#!/nonexistent\n"), item_of(origin, landed))
    assert outcome.status == "error"


def test_an_agent_that_floods_is_ended(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    outcome = trial(command(tmp_path, "exec cat /dev/zero"), item_of(origin, landed))
    assert outcome.status == "error"
    assert "wrote too much" in str(outcome.error)


def test_contamination_wins_over_a_timeout(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    script = "git remote add x https://github.com/owner/calc; sleep 60"
    outcome = trial(command(tmp_path, script, agent_timeout=1), item_of(origin, landed))
    assert outcome.status == "contaminated"


def test_folders_too_deep_to_look_through_end_no_evaluation_and_leave_nothing(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    script = "for i in $(seq 1200); do mkdir d && cd -P d || exit 0; done; exit 0"
    for place in (".", '"$HOME"'):
        outcome = trial(command(tmp_path, f"cd {place}; {script}"), item_of(origin, landed))
        assert outcome.status == "contaminated"
        assert "the check of other stores of objects could not run" in str(outcome.error)
        assert list(scratch().path.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "status"), [("git remote add x /nowhere", "contaminated"), ("exit 0", "ok")]
)
def test_a_repository_that_cannot_be_kept_whole_changes_no_outcome(
    landed_issue, trial, tmp_path, script, status
):
    origin, landed = landed_issue
    agent = command(tmp_path, f"mkfifo .git/pipe; {script}", keep_repos=True)
    outcome = trial(agent, item_of(origin, landed))
    assert outcome.status == status
    assert "but not all of it" in trial.notes[-1]
    assert (trial.kept(outcome) / "repository" / "calc.py").is_file()


@pytest.mark.parametrize("kind", ["path", "url", "worktree", "borrowed", "runs", "above"])
def test_no_agent_starts_that_would_be_shown_where_the_answer_lies(landed_issue, trial, tmp_path, kind):
    origin, landed = landed_issue
    repository, shown = origin.path, origin.path
    if kind == "worktree":
        repository = tmp_path / "tree"
        run_git(origin.path, "worktree", "add", "--quiet", str(repository))
    elif kind == "borrowed":
        repository = tmp_path / "borrowed"
        run_git(tmp_path, "clone", "--quiet", "--shared", str(origin.path), str(repository))
    elif kind == "runs":
        shown = trial.folder
    elif kind == "above":
        shown = tmp_path.parent
    url = f"file://{repository}" if kind == "url" else str(repository)
    agent = command(tmp_path, "touch ran")
    agent = agent.model_copy(update={"read_only": (*agent.read_only, shown)})
    outcome = trial(agent, item_of(origin, landed, repository=url))
    assert outcome.status == "error"
    assert "could see what landed" in str(outcome.error)
    assert outcome.payload["candidate_diff"] == ""
