"""Writes docs/run.svg, the picture of a terminal in README.md, from a real run: `python docs/picture.py`."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

PICTURE = Path(__file__).with_name("run.svg")
COMMAND = 'evalrunner run --slug-prefix drafts/ --limit 10; echo "exit $?"'
WIDTH = 100
LETTER = 12.2
"""How wide the SVG draws a letter."""

SVG = "{http://www.w3.org/2000/svg}"
OWN = re.compile(r"\d{8}T\d{6}-\d{3}-[0-9a-f]{8}")
"""What each run has of its own: its id, which says when it started. It is as wide in every run."""


def printed() -> str:
    """What a terminal shows of the command, in an empty folder, with the codes of its colours."""
    program = f'evalrunner() {{ {shlex.quote(sys.executable)} -m evalrunner "$@" 2>/dev/null; }}'
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    env = {**kept, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(WIDTH), "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryDirectory(prefix="evalrunner-") as folder:
        done = subprocess.run(
            ["sh", "-c", f"{program}\n{COMMAND}"],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        )
    return f"$ {COMMAND}\n{done.stdout}"


def drawn(output: str) -> str:
    """The output as an SVG, which fetches nothing: letters come from a font that is there."""
    from rich.console import CONSOLE_SVG_FORMAT, Console
    from rich.text import Text

    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(
            file=nowhere, record=True, width=WIDTH, force_terminal=True, color_system="truecolor"
        )
        for line in output.splitlines():
            console.print(Text.from_ansi(line), soft_wrap=True)
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    form = form.replace("font-family: Fira Code, monospace", "font-family: Menlo, Consolas, monospace")
    drawing = console.export_svg(title="evalrunner", code_format=form, unique_id="run")
    return "\n".join(line.rstrip() for line in drawing.splitlines()) + "\n"


def words(drawing: str) -> list[str]:
    """The lines that an SVG of `drawn` shows, without colours and blanks at their ends."""
    rows: dict[float, str] = {}
    for each in ElementTree.fromstring(drawing).iter(f"{SVG}text"):
        if "clip-path" in each.attrib:
            row, column = float(each.attrib["y"]), round(float(each.attrib["x"]) / LETTER)
            rows[row] = rows.get(row, "").ljust(column) + (each.text or "").replace("\xa0", " ")
    return [text.rstrip() for _, text in sorted(rows.items())]


if __name__ == "__main__":
    PICTURE.write_text(drawn(printed()), encoding="utf-8")
