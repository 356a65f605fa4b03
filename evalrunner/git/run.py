"""The one way in which plain git is run: no configuration, hooks or helpers but our own, and a time limit.

Works with git 2.39 and later. Input and output are bytes, since neither paths nor contents need be UTF-8.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalrunner.errors import EvalrunnerError, Problem

IDENTITY_NAME = "evalrunner"
IDENTITY_EMAIL = "evalrunner@example.invalid"
IDENTITY_EPOCH = 946684800
"""2000-01-01T00:00:00Z: every commit that we make has this author and date, so that shas repeat."""

SETTINGS: Mapping[str, str] = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.symlinks": "true",
    "core.fileMode": "true",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "core.logAllRefUpdates": "false",
    "core.fsync": "none",
    "credential.helper": "",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
    "fetch.recurseSubmodules": "no",
    "submodule.recurse": "false",
    "apply.whitespace": "nowarn",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
}
"""What `-c` sets for every command. It beats a repository's own config, which may be untrusted."""

STDERR_SHOWN = 400
"""So many characters of stderr stand in an error."""


class GitError(EvalrunnerError):
    """A git command failed, ran out of time, or git is not there.

    Attributes:
        command: the git command, such as `fetch`.
        returncode: its exit code; None when it ran out of time or could not be started.
        stderr: what it wrote, cut.
    """

    code = "E-GIT"

    def __init__(self, command: str, what: str, returncode: int | None = None, stderr: str = "") -> None:
        self.command = command
        self.returncode = returncode
        self.stderr = stderr
        super().__init__(Problem(f"git {command}", f"{what}: {stderr}" if stderr else what))


def environment(cwd: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment of a git process that runs in `cwd`.

    Args:
        cwd: where it runs; git does not look for a repository above this folder.
        extra: what is added or replaced, such as GIT_INDEX_FILE, or a token as GIT_CONFIG_VALUE_0.
    """
    taken = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return {
        **taken,
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_ALLOW_PROTOCOL": "file:https",
        "GIT_CEILING_DIRECTORIES": str(cwd.resolve().parent),
        "GIT_AUTHOR_NAME": IDENTITY_NAME,
        "GIT_AUTHOR_EMAIL": IDENTITY_EMAIL,
        "GIT_AUTHOR_DATE": f"{IDENTITY_EPOCH} +0000",
        "GIT_COMMITTER_NAME": IDENTITY_NAME,
        "GIT_COMMITTER_EMAIL": IDENTITY_EMAIL,
        "GIT_COMMITTER_DATE": f"{IDENTITY_EPOCH} +0000",
        **(extra or {}),
    }


def git(
    cwd: Path,
    *arguments: str | bytes,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
    allowed: Sequence[int] = (0,),
) -> bytes:
    """Runs a git command and returns its stdout.

    Args:
        cwd: where it runs.
        arguments: the command and its arguments. Put `--` before anything that comes from outside.
        stdin: its input.
        env: added to the environment; see `environment`.
        settings: more `-c` settings; they win over `SETTINGS`.
        timeout_s: seconds after which the whole process group is killed.
        allowed: exit codes that are no error.

    Raises:
        GitError: any other exit code, no git, no such folder, or out of time.
    """
    name = os.fsdecode(arguments[0])
    argv: list[str | bytes] = ["git", "--no-pager"]
    for key, value in {**SETTINGS, **(settings or {})}.items():
        argv += ["-c", f"{key}={value}"]
    try:
        process = subprocess.Popen(
            [*argv, *arguments],
            cwd=cwd,
            env=environment(cwd, env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        missing = "git is not installed, or not on PATH" if Path(cwd).is_dir() else f"no such folder: {cwd}"
        what = missing if isinstance(error, FileNotFoundError | NotADirectoryError) else str(error)
        raise GitError(name, what) from error
    with process:
        try:
            stdout, stderr = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise GitError(name, f"was stopped after {timeout_s:g} s") from None
        except BaseException:
            _kill(process)
            raise
    if process.returncode not in allowed:
        text = stderr.decode("utf-8", "replace").strip()[:STDERR_SHOWN]
        raise GitError(name, f"failed with exit code {process.returncode}", process.returncode, text)
    return stdout


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills the process group, unless its leader was waited for: its id may be another's by then."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
