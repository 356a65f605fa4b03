"""The hosted agents against stand-in programs: argv, environment, prompt, and reading what they write."""

import json
import os
import shutil
from decimal import Decimal
from pathlib import Path

import pytest
from agents_kit import AGENT_KEY, command, item_of, program
from blind_origin import FIX
from pydantic import ValidationError

from evalrunner.errors import ConfigError
from evalrunner.records import Usage
from evalrunner.subject.agent_claude_code import ClaudeCode
from evalrunner.subject.agent_codex import Codex
from evalrunner.subject.agent_command import CommandAgent
from evalrunner.subject.agent_mini_swe import MiniSweAgent
from evalrunner.subject.agent_program import Given, ProgramAgent

ALIASES = {"sonnet": ["--model", "model-of-the-day"]}

STAND_IN = """#!/usr/bin/python3
import json, os, sys
prompt = sys.stdin.read()
env = {key: value[::-1] for key, value in os.environ.items()}
told = {"argv": sys.argv[1:], "env": env, "prompt": prompt}
open("told.json", "w").write(json.dumps(told))
open("calc.py", "w").write(%r)
sys.stdout.write(%r)
"""

CLAUDE = [
    {"type": "system", "subtype": "init", "tools": ["Bash"], "mcp_servers": []},
    {"type": "assistant", "message": {"content": [
        {"type": "text", "text": "I could git fetch, but I will not."},
        {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "calc.py"}},
        {"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": "python -m pytest -q"}},
    ]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "content": "see https://github.com/a/b"}]}},
    {"type": "result", "subtype": "success", "is_error": False, "num_turns": 3, "result": "Done.",
     "total_cost_usd": 0.0125, "usage": {
         "input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000,
         "output_tokens": 50,
     }},
]  # fmt: skip

CODEX = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    {"type": "item.started", "item": {"id": "i0", "type": "command_execution", "command": "bash -lc 'ls'"}},
    {"type": "item.completed", "item": {"id": "i0", "type": "command_execution", "command": "bash -lc 'ls'"}},
    {"type": "item.completed", "item": {"id": "i1", "type": "file_change", "changes": [{"path": "calc.py"}]}},
    {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "No github.com."}},
    {"type": "turn.completed", "usage": {
        "input_tokens": 900, "cached_input_tokens": 700, "output_tokens": 40, "reasoning_output_tokens": 7,
    }},
]  # fmt: skip

MINI = {
    "info": {"exit_status": "Submitted", "model_stats": {"instance_cost": 0.25, "api_calls": 4}},
    "messages": [
        {"role": "system", "content": "..."},
        {
            "role": "assistant",
            "content": "git fetch?",
            "extra": {"actions": [{"command": "sed -n 1p calc.py"}]},
        },
        {"role": "exit", "extra": {"exit_status": "Submitted"}},
    ],
}


def lines(events) -> str:
    return "".join(json.dumps(each) + "\n" for each in events)


def told_of(outcome) -> dict:
    """What a stand-in was given. It wrote values backwards, since no candidate may hold the agent's token."""
    diff = outcome.payload["candidate_diff"]
    found = next(line[1:] for line in diff.splitlines() if line.startswith('+{"argv"'))
    told = json.loads(found)
    return {**told, "env": {key: value[::-1] for key, value in told["env"].items()}}


@pytest.fixture
def keys(monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "CODEX_API_KEY"):
        monkeypatch.setenv(name, AGENT_KEY)
    monkeypatch.setenv("GITHUB_TOKEN", "forge-secret")


def on_path(monkeypatch, file: Path) -> None:
    monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")


def given(tmp_path: Path, isolated: bool = True) -> Given:
    (tmp_path / "home").mkdir(exist_ok=True)
    return Given(tmp_path / "issue.md", tmp_path / "home", ("--model", "m"), isolated)


@pytest.mark.usefixtures("boxed", "keys")
def test_claude_code(landed_issue, trial, tmp_path, monkeypatch):
    origin, landed = landed_issue
    file = program(tmp_path, STAND_IN % (FIX, lines(CLAUDE)), "claude")
    on_path(monkeypatch, file)
    agent = ClaudeCode(aliases=ALIASES, read_only=[str(file.parent)])
    agent.check_installed()
    outcome = trial(agent, item_of(origin, landed))
    assert (outcome.status, outcome.error, outcome.payload["flags"]) == ("ok", None, [])
    told = told_of(outcome)
    tools = "Read,Edit,Write,Grep,Glob,Bash"
    assert told["argv"] == [
        "-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config",
        "--permission-mode", "acceptEdits", "--tools", tools, "--allowedTools", tools,
        "--model", "model-of-the-day",
    ]  # fmt: skip
    assert told["env"]["ANTHROPIC_API_KEY"] == AGENT_KEY
    assert told["env"]["HTTPS_PROXY"].startswith("http://127.0.0.1:")
    assert "forge-secret" not in json.dumps(told)
    assert "CODEX_API_KEY" not in told["env"]
    assert "## Implementation plan" in told["prompt"]
    assert landed.sha not in json.dumps(told)
    usage = Usage(calls=3, input_tokens=1110, output_tokens=50, cached_tokens=1000)
    assert (outcome.spend.usage, outcome.spend.cost_usd) == (usage, Decimal("0.0125"))
    assert outcome.payload["checks"]["isolation"]["egress"] == ["api.anthropic.com:443"]
    assert AGENT_KEY not in json.dumps(outcome.payload["checks"])


@pytest.mark.usefixtures("boxed", "keys")
def test_codex(landed_issue, trial, tmp_path, monkeypatch):
    origin, landed = landed_issue
    file = program(tmp_path, STAND_IN % (FIX, lines(CODEX)), "codex")
    on_path(monkeypatch, file)
    outcome = trial(Codex(aliases=ALIASES, read_only=[str(file.parent)]), item_of(origin, landed))
    assert (outcome.status, outcome.error, outcome.payload["flags"]) == ("ok", None, [])
    told = told_of(outcome)
    assert told["argv"] == [
        "exec", "--json", "--ephemeral", "--ignore-user-config", "--skip-git-repo-check",
        "--config", 'web_search="disabled"',
        "--dangerously-bypass-approvals-and-sandbox", "--model", "model-of-the-day", "-",
    ]  # fmt: skip
    assert told["env"]["CODEX_API_KEY"] == AGENT_KEY
    usage = Usage(calls=1, input_tokens=900, output_tokens=40, cached_tokens=700, reasoning_tokens=7)
    assert (outcome.spend.usage, outcome.spend.cost_usd) == (usage, None)


@pytest.mark.usefixtures("weak", "keys")
def test_codex_keeps_its_own_sandbox_where_there_is_none_of_ours(landed_issue, trial, tmp_path, monkeypatch):
    origin, landed = landed_issue
    file = program(tmp_path, STAND_IN % (FIX, lines(CODEX)), "codex")
    on_path(monkeypatch, file)
    outcome = trial(Codex(aliases=ALIASES), item_of(origin, landed))
    argv = told_of(outcome)["argv"]
    assert argv[argv.index("--sandbox") + 1] == "workspace-write"
    assert "--dangerously-bypass-approvals-and-sandbox" not in argv


@pytest.mark.usefixtures("boxed")
def test_mini_swe_agent(landed_issue, trial, tmp_path, monkeypatch):
    origin, landed = landed_issue
    script = f"""#!/usr/bin/python3
import json, os, sys
argv = sys.argv[1:]
task = argv[[at for at, word in enumerate(argv) if word == "--config"][1] + 1]
env = {{key: value[::-1] for key, value in os.environ.items()}}
told = {{"argv": argv, "env": env, "prompt": json.load(open(task))["run"]["task"]}}
open("told.json", "w").write(json.dumps(told))
open(argv[argv.index("--output") + 1], "w").write({json.dumps(MINI)!r})
"""
    file = program(tmp_path, script, "mini")
    on_path(monkeypatch, file)
    monkeypatch.setenv("MODEL_KEY", AGENT_KEY)
    agent = MiniSweAgent(
        aliases=ALIASES, read_only=[str(file.parent)], key_env="MODEL_KEY", egress=["models.invalid"]
    )
    outcome = trial(agent, item_of(origin, landed))
    assert (outcome.status, outcome.error, outcome.payload["flags"]) == ("ok", None, [])
    told = told_of(outcome)
    assert told["argv"][:3] == ["--config", "mini.yaml", "--config"]
    assert told["argv"][4:9] == ["--yolo", "--exit-immediately", "--cost-limit", "0", "--output"]
    assert told["argv"][-2:] == ["--model", "model-of-the-day"]
    assert "## Implementation plan" in told["prompt"]
    assert told["env"]["MODEL_KEY"] == AGENT_KEY
    assert told["env"]["MSWEA_CONFIGURED"] == "true"
    assert (outcome.spend.usage.calls, outcome.spend.cost_usd) == (4, Decimal("0.25"))


def read(agent: ProgramAgent, events, tmp_path: Path):
    return agent.read(lines(events).encode(), b"", given(tmp_path))


def test_what_claude_code_did_is_read_from_its_tool_uses(tmp_path):
    uses = [
        ("Bash", {"command": "git fetch origin"}),
        ("Read", {"file_path": "/etc/hostname"}),
        ("Grep", {"pattern": "x", "path": "/srv"}),
        ("Glob", {"pattern": "/home/**/.netrc"}),
        ("WebFetch", {"url": "https://github.com/a/b/pull/1"}),
        ("mcp__forge__get_pr", {}),
        ("TodoWrite", {"todos": []}),
        ("Bash", "no object"),
    ]
    blocks = [{"type": "tool_use", "name": name, "input": value} for name, value in uses]
    got = read(ClaudeCode(), [{"type": "assistant", "message": {"content": blocks}}, CLAUDE[-1]], tmp_path)
    assert [(step.kind, step.text.split()[0]) for step in got.steps] == [
        ("command", "git"),
        ("path", "/etc/hostname"),
        ("path", "/srv"),
        ("path", "/home/**/.netrc"),
        ("tool", "WebFetch"),
        ("tool", "mcp__forge__get_pr"),
        ("command", "null"),
    ]


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ([], "its transcript has no result"),
        ([{"type": "result", "subtype": "error_max_turns", "is_error": True}], "error_max_turns"),
        ([{"type": "result", "subtype": "success", "is_error": True, "result": "Too low"}], "Too low"),
        ([{"type": "result"}], "null"),
        ([CLAUDE[-1], {"type": "assistant", "message": "rubbish"}, {"type": 3}], None),
    ],
)  # fmt: skip
def test_how_claude_code_ended(tmp_path, events, error):
    assert read(ClaudeCode(), events, tmp_path).error == error


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ([], "its transcript has no completed turn"),
        ([{"type": "turn.failed", "error": {"message": "quota"}}], "quota"),
        ([{"type": "turn.completed", "usage": {"input_tokens": "many"}}], None),
        ([{"type": "item.completed", "item": None}, {"type": "turn.completed"}], None),
    ],
)
def test_how_codex_ended(tmp_path, events, error):
    assert read(Codex(), events, tmp_path).error == error


def test_codex_tools_that_are_not_allowed(tmp_path):
    items = [
        {"id": "a", "type": "web_search", "query": "x"},
        {"id": "b", "type": "mcp_tool_call", "tool": "y"},
    ]
    got = read(Codex(), [{"type": "item.completed", "item": each} for each in items], tmp_path)
    assert [step.kind for step in got.steps] == ["tool", "tool"]


@pytest.mark.parametrize("content", [None, "{", "[]", "link", "pipe", "folder"])
def test_a_trajectory_that_cannot_be_read_is_none(tmp_path, content):
    file = given(tmp_path).home / "trajectory.json"
    if content == "link":
        file.symlink_to("/etc/passwd")
    elif content == "pipe":
        os.mkfifo(file)
    elif content == "folder":
        file.mkdir()
    elif content is not None:
        file.write_text(content)
    got = MiniSweAgent().read(b"", b"", given(tmp_path))
    assert (got.error, got.spend.cost_usd) == ("it left no trajectory", None)


def test_a_model_without_an_alias_is_an_error_of_one_sample(landed_issue, trial):
    origin, landed = landed_issue
    outcome = trial(Codex(aliases={"sonet": ["--model", "x"]}), item_of(origin, landed))
    assert outcome.status == "error"
    assert "no entry for the model 'sonnet'; known: sonet; did you mean 'sonet'?" in str(outcome.error)


def test_what_is_missing_is_told_at_once(monkeypatch, tmp_path):
    monkeypatch.delenv("CODEX_API_KEY", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin")
    assert shutil.which("codex") is None
    with pytest.raises(ConfigError) as caught:
        Codex(read_only=[str(tmp_path / "none")]).check_installed()
    assert caught.value.exit_code == 3
    told = str(caught.value)
    for line in (
        "subject.read_only",
        "'codex' is not installed",
        "the agent's token is missing",
        "subject.aliases",
    ):
        assert line in told
    with pytest.raises(ConfigError, match=r"install evalrunner\[mini_swe_agent\]"):
        MiniSweAgent(aliases=ALIASES).check_installed()


@pytest.mark.usefixtures("boxed")
def test_a_program_that_a_box_does_not_show_is_told(tmp_path, monkeypatch):
    file = program(tmp_path, "true", "hidden-agent")
    on_path(monkeypatch, file)
    with pytest.raises(ConfigError, match=r"subject\.read_only: does not hold the agent's program"):
        CommandAgent(command=["hidden-agent"]).check_installed()
    CommandAgent(command=["hidden-agent"], read_only=[str(file.parent)]).check_installed()


@pytest.mark.usefixtures("boxed")
def test_a_folder_that_holds_the_repository_itself_is_not_shown(landed_issue, trial, tmp_path):
    origin, landed = landed_issue
    for shown in (tmp_path, origin.path, origin.path / ".git"):
        outcome = trial(
            command(tmp_path, "touch ran", read_only=[str(shown), str(tmp_path / "bin")]),
            item_of(origin, landed),
        )
        assert outcome.status == "error"
        assert "the agent could see what landed" in str(outcome.error)
        assert outcome.payload["candidate_diff"] == ""


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"env": ["GITHUB_TOKEN"]}, "no agent gets those"),
        ({"env": ["GH_ENTERPRISE_TOKEN"]}, "no agent gets those"),
        ({"env": ["AWS_SECRET_ACCESS_KEY"]}, "no agent gets those"),
        ({"env": ["GOOGLE_APPLICATION_CREDENTIALS"]}, "no agent gets those"),
        ({"env": ["SSH_AUTH_SOCK"]}, "no agent gets those"),
        ({"env": ["EVALRUNNER_LISTING_TOKEN"]}, "no agent gets those"),
        ({"env": ["not a name"]}, "env"),
        ({"key_env": "GITLAB_TOKEN"}, "no agent gets those"),
        ({"key_env": "EVALRUNNER_CLONING_TOKEN"}, "no agent gets those"),
        ({"key_env": "MINE", "clone_token_env": "MINE"}, "two variables"),
        ({"env": ["MINE"], "clone_token_env": "MINE"}, "no agent gets the token for cloning"),
        ({"egress": ["https://api.invalid"]}, "host:port"),
        ({"egress": ["api.invalid:99999"]}, "host:port"),
        ({"agent_timeout": 0}, "agent_timeout"),
        ({"isolation": "none"}, "isolation"),
        ({"command": []}, "command"),
        ({"command": ["{repository}/run"]}, "not be a placeholder"),
        ({"command": ["run", "{isue_file}"]}, "did you mean {issue_file}"),
        ({"command": ["run", "--args={model_args}"]}, "an argument of its own"),
    ],
)
def test_fields_that_are_refused(fields, what):
    with pytest.raises(ValidationError, match=what):
        CommandAgent(**{"command": ["run"], **fields})


def test_places_are_normal():
    assert CommandAgent(command=["run"], egress=["API.Example.com", "[::1]:80"]).egress == (
        "api.example.com:443",
        "[::1]:80",
    )


def test_what_tells_agents_apart():
    assert Codex(aliases=ALIASES).described() == {
        "subject": "agent_codex",
        "aliases": {"sonnet": ["--model", "model-of-the-day"]},
        "prompt": "implement_issue",
    }
    assert ClaudeCode().described()["subject"] == "agent_claude_code"
    one, two = (CommandAgent(command=["run", word], agent_timeout=5 if word else 9) for word in ("a", "b"))
    assert one.described() != two.described()
    assert ClaudeCode().prompts() == ["implement_issue"]
    assert (one.prompts(), one.models(), one.planned([], None)) == ((), (), [])
