"""Sets the project up in .venv, then runs it or its tests. Needs nothing but Python 3.11+ and git.

python3 dev.py run [evalrunner arguments]   install once, then `evalrunner run ...`
python3 dev.py test [pytest arguments]      install once with the test tools, then the tests
python3 dev.py check                        lint, types and import rules
"""

import hashlib
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

TOP = Path(__file__).resolve().parent
VENV = TOP / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("lint-imports",),
)


def install(extra: str) -> None:
    """Installs the project, editable, with an extra; does nothing when pyproject.toml has not changed."""
    wanted = hashlib.sha256((TOP / "pyproject.toml").read_bytes()).hexdigest()
    stamp = VENV / f"installed-{extra or 'plain'}"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    start = time.monotonic()
    print("installing into .venv, once ...", file=sys.stderr, flush=True)
    if not (BIN / "python").exists() and not (BIN / "python.exe").exists():
        venv.create(VENV, with_pip=True)
    target = f"{TOP}[{extra}]" if extra else str(TOP)
    command = [str(BIN / "python"), "-m", "pip", "install", "--quiet", "--editable", target]
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        sys.exit("the installation failed; what pip said stands above")
    stamp.write_text(wanted)
    print(f"installed in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


def run(*command: str) -> int:
    """Runs a program of .venv here, and returns its exit code."""
    return subprocess.run([str(BIN / command[0]), *command[1:]], check=False).returncode


def main(argv: list[str]) -> int:
    """Dispatches on the first argument; see the top of this file."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the one file that an older Python may be asked to run
        sys.exit("evalrunner needs Python 3.11 or later")
    match argv:
        case ["run", *arguments]:
            install("")
            return run("evalrunner", "run", *arguments)
        case ["test", *arguments]:
            install("dev")
            workers = str((os.cpu_count() or 1) + 1)  # some of the tests wait
            return run("python", "-m", "pytest", *(arguments or ["-n", workers]))
        case ["check"]:
            install("dev")
            os.chdir(TOP)
            return max(run(*check) for check in CHECKS)
        case _:
            print(__doc__, file=sys.stderr)
            return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
