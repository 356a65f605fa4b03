"""Completion, in a real bash."""

import os
import pty
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalrunner.cli import main
from evalrunner.config.completion import candidates
from evalrunner.config.table import COMMANDS

BIN = Path(sys.executable).parent
ENVIRON = {
    **{name: value for name, value in os.environ.items() if not name.startswith("EVALRUNNER_")},
    "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
}


def completed(line: str, cwd: Path) -> list[str]:
    """What bash offers for the last word of a line, as it would insert it."""
    script = f"""
        eval "$(evalrunner -sc install=bash)"
        complete -p evalrunner >/dev/null || exit 9
        COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=(evalrunner)
        COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
        _evalrunner_complete
        for each in "${{COMPREPLY[@]}}"; do printf '%s\\n' "$each"; done
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=cwd, env=ENVIRON, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_commands_groups_options_keys_and_flags(tmp_path: Path) -> None:
    own = tmp_path / "conf" / "panel" / "fine.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("_target_: evalrunner.model.panel.Panel\nmodels: [openai:gpt-4o]\n")
    assert completed("evalrunner re", tmp_path) == ["regress ", "replay "]
    assert completed("evalrunner run pane", tmp_path) == ["panel.", "panel="]
    assert completed("evalrunner run panel=f", tmp_path) == ["fine ", "frontier "]
    assert completed("evalrunner run sampler.l", tmp_path) == ["sampler.limit="]
    assert completed("evalrunner run --limit 5 --source d", tmp_path) == ["db "]
    assert completed("evalrunner run --slug", tmp_path) == ["--slug-prefix "]
    assert completed("evalrunner run --models gpt-4o,claude-o", tmp_path) == ["gpt-4o,claude-opus-4-7 "]


def test_a_half_written_line_is_no_error() -> None:
    assert candidates("evalrunner ") == [*COMMANDS, "--help", "--version"]
    assert candidates("evalrunner nothing x") == []
    assert candidates("evalrunner run --limit five panel=ru") == []
    assert candidates("evalrunner run nothing=1 panel=ru") == ["panel=rules"]
    assert candidates("evalrunner run --limit ") == []


def test_unknown_requests(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-sc", "install=zsh"]) == 3
    assert "install=bash, uninstall=bash, query=bash" in capsys.readouterr().err


def test_the_tab_key_in_an_interactive_bash(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    shell = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"], cwd=tmp_path, env={**ENVIRON, "PS1": "> ", "TERM": "dumb"},
        stdin=follower, stdout=follower, stderr=follower, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    try:
        os.write(leader, b'eval "$(evalrunner -sc install=bash)"; echo re""ady\n')
        _until(leader, b"ready\r\n")
        os.write(leader, b"evalrunner run panel=front\t")
        assert b"panel=frontier" in _until(leader, b"panel=frontier ")
    finally:
        shell.kill()
        shell.wait()
        os.close(leader)


def _until(leader: int, wanted: bytes) -> bytes:
    seen, end = b"", time.monotonic() + 20
    while wanted not in seen:
        assert time.monotonic() < end, seen
        if select.select([leader], [], [], 1)[0]:
            seen += os.read(leader, 4096)
    return seen
