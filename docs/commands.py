"""Writes docs/commands.md from the program: `python docs/commands.py`."""

import io
import os
from contextlib import redirect_stdout, suppress
from pathlib import Path
from unittest.mock import patch

from evalrunner.config.flags import FLAGS
from evalrunner.config.table import COMMANDS, VARIABLES

PAGE = Path(__file__).with_suffix(".md")
ACTIONS = {
    "baseline": ("save", "list", "show", "diff", "bless"),
    "store": ("check", "import", "vacuum", "export"),
}

_HEAD = """\
# Commands

`docs/commands.py` writes this page from the program.

Commands that compose a configuration take `key=value` for every key, and the flags below, which are other
spellings of keys. `evalrunner COMMAND --help` also lists the groups and options that can be chosen where you
are.

Exit codes of every command: 0 pass or ok, 1 fail or regression, 2 inconclusive, 3 bad usage, configuration
or input, 4 crash, 130 interrupted.
"""


def page() -> str:
    """The whole page."""
    listed = "".join(f"| [`{name}`](#{name}) | {_cell(row.summary)} |\n" for name, row in COMMANDS.items())
    variables = "".join(f"| `{name}` | {_cell(text)} |\n" for name, text in VARIABLES.items())
    parts = [_HEAD, f"| command | what it does |\n|---|---|\n{listed}"]
    parts += [_plain(name) if row.plain else _composed(name) for name, row in COMMANDS.items()]
    parts.append(f"## Environment\n\n| variable | meaning |\n|---|---|\n{variables}")
    return "\n".join(parts)


def _composed(name: str) -> str:
    row = COMMANDS[name]
    flags = "".join(
        f"| `{_cell(' '.join([flag.name, flag.metavar]).strip())}` | `{' '.join([*flag.also, flag.key])}` "
        f"| {_cell(flag.text)} |\n"
        for flag in FLAGS[name]
    )
    sweeps = "It can be swept with `-m`.\n\n" if row.sweeps else ""
    return (
        f"## {name}\n\n{row.summary[0].upper()}{row.summary[1:]}.\n\n{sweeps}"
        f"```text\n{row.examples}\n```\n\n| flag | key | what it does |\n|---|---|---|\n{flags}"
    )


def _plain(name: str) -> str:
    helps = [_help(name, *action) for action in ((), *((each,) for each in ACTIONS.get(name, ())))]
    return f"## {name}\n\n" + "\n".join(f"```text\n{text.rstrip()}\n```\n" for text in helps)


def _help(*words: str) -> str:
    """What the program prints with --help, at a width of its own."""
    from evalrunner.cli import dispatch

    out = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": "100"}), redirect_stdout(out), suppress(SystemExit):
        dispatch(words[0], [*words[1:], "--help"])
    return out.getvalue()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
