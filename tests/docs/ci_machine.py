"""A stand-in for a CI machine: a folder, an environment, and the programs that recipes call."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from program import Done, environment, inside

TOP = Path(__file__).parents[2]


@dataclass
class Machine:
    """Runs the shell parts of recipes in `folder`; `pip` and `gh` only note how they were called.

    Attributes:
        folder: the working directory, a checkout of a team's repository.
        home: where programs and notes lie.
        variables: part of the environment of every script.
        python: the interpreter that has evalrunner, quoted for a shell.
    """

    folder: Path
    home: Path
    variables: dict[str, str] = field(default_factory=dict)
    python: str = shlex.quote(sys.executable)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program("evalrunner", f'exec {self.python} -m evalrunner "$@"')
        note = f"{self.python} -c 'import json, sys; print(json.dumps(sys.argv[1:]))' \"$@\""
        for name in ("pip", "gh"):
            self.program(name, f'{note} >> "{self.home}/{name}.jsonl"')

    def program(self, name: str, script: str, folder: Path | None = None) -> None:
        """Puts a program of one line on the machine's PATH, or into another folder."""
        place = folder or self.home / "bin"
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)

    def calls(self, name: str) -> list[list[str]]:
        """The arguments of each call of `pip` or `gh`."""
        notes = self.home / f"{name}.jsonl"
        return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []

    def run(
        self, script: str, variables: Mapping[str, str] | None = None, shell: str = "bash -eo pipefail"
    ) -> Done:
        """Runs a script as the CI system does."""
        path = f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [*shell.split(), "-c", script],
            cwd=self.folder,
            env=environment(**{**self.variables, **(variables or {}), "PATH": path}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def play(self, script: str) -> Done:
        """Runs a script whose plain `evalrunner` lines run in this process, which saves their start.

        All else in it is the shell's. It ends at the first line that fails.
        """
        out = err = ""
        for part in _parts(script):
            line = PLAIN.fullmatch(part)
            if line is None or not set(line["words"]).isdisjoint(OF_THE_SHELL):
                done = self.run(part)
            else:
                done = inside(self.folder, *shlex.split(line["words"]), env=self.variables)
                if line["link"] and (done.code == 0) is (line["link"] == "&&"):
                    done = Done(0, f"{done.out}exit {done.code}\n", done.err)
            out, err = out + done.out, err + done.err
            if done.code:
                return Done(done.code, out, err)
        return Done(0, out, err)


PLAIN = re.compile(r'evalrunner (?P<words>.*?)(?: (?P<link>\|\||&&) echo "exit \$\?")?\n')
OF_THE_SHELL = "|<>;&$`\\*~"


def _parts(script: str) -> Iterator[str]:
    """Lines that call evalrunner, each alone, and what stands between them, with its here-documents whole."""
    rest, end = "", None
    for line in script.splitlines(keepends=True):
        if end is None and PLAIN.fullmatch(line):
            if rest:
                yield rest
            yield line
            rest = ""
            continue
        rest += line
        begun = re.search(r"<<'(\w+)'", line)
        if end is None and begun:
            end = begun[1]
        elif line.strip() == end:
            end = None
    if rest:
        yield rest


def linted(path: Path, schema: str) -> str:
    """What a schema that check-jsonschema ships says against a file; empty when nothing."""
    tool = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    done = subprocess.run(tool, capture_output=True, text=True, timeout=120, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def audited(path: Path) -> str:
    """What zizmor finds in an action or a workflow, offline and pedantic; empty when nothing."""
    tool = [
        str(Path(sys.executable).parent / "zizmor"),
        "--offline",
        "--persona",
        "pedantic",
        "--no-progress",
    ]
    done = subprocess.run([*tool, str(path)], capture_output=True, text=True, timeout=120, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr
