import subprocess
import sys
from pathlib import Path

import pytest

from evalrunner import __version__
from evalrunner.cli import main
from evalrunner.config.flags import FLAGS
from evalrunner.config.table import COMMANDS, VARIABLES


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_programs_help_names_commands_variables_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in [*COMMANDS, *VARIABLES])
    assert "exit codes: 0 pass" in out
    assert max(map(len, out.splitlines())) <= 110


def test_no_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: evalrunner COMMAND" in captured.err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"evalrunner {__version__}\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rnu", "did you mean 'run'?"),
        ("Trend", "did you mean 'trend'?"),
        ("--limit", "flag before a command"),
    ],
)
def test_an_unknown_command(capsys: pytest.CaptureFixture[str], command: str, said: str) -> None:
    assert main([command]) == 3
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_commands_help_teaches_it(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert COMMANDS[command].summary[1:] in " ".join(out.split())
    assert COMMANDS[command].examples.splitlines()[0] in out
    if COMMANDS[command].plain:
        return
    for flag in FLAGS[command]:
        assert f"{flag.name} {flag.metavar}".strip() in out
        assert flag.key in out
    assert "--multirun" in out
    assert "duckdb" in out
    assert max(map(len, out.splitlines())) <= 110


def test_help_shows_the_users_own_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = tmp_path / "conf" / "panel" / "mine.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("models: [openai:gpt-4o]\n")
    assert main(["run", "--help"]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("  panel ")]
    assert "mine" in line.split(None, 1)[1].split(", ")


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "evalrunner", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    heavy = {
        "hydra",
        "omegaconf",
        "pydantic",
        "yaml",
        "litellm",
        "duckdb",
        "dataclasses",
        "inspect",
        "re",
        "json",
    }
    assert not imported & heavy
    assert "evalrunner.cli" in imported
