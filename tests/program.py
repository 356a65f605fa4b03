"""The program as a user starts it: real processes, in a folder and an environment of their own."""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

PROGRAM = [sys.executable, "-X", "dev", "-W", "error", "-m", "evalrunner"]
FAST = [sys.executable, "-m", "evalrunner"]
KEPT = ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", "LANG", "LC_ALL")


@dataclass(frozen=True)
class Done:
    """A finished process."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout as one JSON document."""
        return json.loads(self.out)


def environment(**variables: str) -> dict[str, str]:
    """The environment of the tests, without keys or anything of ours, and with these variables."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | variables


def evalrunner(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, stdin: str = "", timeout: float = 120
) -> Done:
    """Runs `evalrunner WORDS` in a folder and waits for it."""
    done = subprocess.run(
        [*FAST, *words],
        cwd=folder,
        env=environment(**(env or {})),
        input=stdin.encode(),
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


PEAK = """
import sys
from evalrunner.cli import main
code = main(sys.argv[2:])
status = open("/proc/self/status").read()
open(sys.argv[1], "w").write(status.partition("VmHWM:")[2].split()[0])
sys.exit(code)
"""


def peak(folder: Path, *words: str) -> tuple[Done, int]:
    """Runs `evalrunner WORDS` in a process of its own; with it the most memory that this held, in bytes.

    The process tells it: what its parent is told counts the parent's own memory, of before the child began.
    """
    told = folder / "peak"
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(told), *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr), 1024 * int(told.read_text())


def inside(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, stdin: str = "", timeout: float = 0
) -> Done:
    """Runs `evalrunner WORDS` in this process, where nothing is asked that only a process can show.

    What it saves is the start: half a second, and some more where litellm is imported.
    """
    from evalrunner.cli import main

    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    changed = environment(**(env or {}))
    given = patch.object(sys, "stdin", io.StringIO(stdin))
    with patch.dict(os.environ, changed, clear=True), given, redirect_stdout(out), redirect_stderr(err):
        os.chdir(folder)
        try:
            code = main(list(words))
        finally:
            os.chdir(before)
            for handler in list(logging.getLogger().handlers):
                if isinstance(handler, logging.FileHandler | logging.StreamHandler):
                    logging.getLogger().removeHandler(handler)
                    handler.close()
    return Done(code, out.getvalue(), err.getvalue())
