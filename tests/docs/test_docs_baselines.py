"""The page on baselines: its examples run in the order of the page, and print what it says."""

import re
from pathlib import Path

from ci_machine import TOP, Machine

BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_run_in_the_order_of_the_page(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "here", tmp_path / "home", {"HOME": str(tmp_path / "home")})
    machine.program("python3", f'exec {machine.python} "$@"')
    shown = ""
    for kind, text in BLOCK.findall((TOP / "docs" / "baselines.md").read_text(encoding="utf-8")):
        if kind == "sh":
            done = machine.play(text)
            shown = " ".join((done.err + done.out).split())
            assert done.code == 0, shown
            assert "Traceback" not in shown
        else:
            missing = [line for line in text.splitlines() if " ".join(line.split()) not in shown]
            assert not missing, shown
