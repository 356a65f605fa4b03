"""README.md: short, its commands do what it says, and its picture is what the program prints now."""

import re
import runpy
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ci_machine import TOP
from program import inside

from evalrunner.paths import demo

TEXT = (TOP / "README.md").read_text(encoding="utf-8")
PICTURE = runpy.run_path(str(TOP / "docs" / "picture.py"))
NO_KEYS = 3


def commands(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


def test_it_begins_with_two_sentences_and_two_commands() -> None:
    top = TEXT.split("\n## ")[0]
    first = top.split("\n\n")[1].replace("\n", " ")
    assert len(re.findall(r"[.?!](?= |$)", first)) == 2
    assert commands(top) == ["python3 dev.py run", "python3 dev.py test"]
    assert TEXT.count("\n") < 75
    known = (TOP / "dev.py").read_text(encoding="utf-8")
    assert all(f"\n{command} [" in known for command in commands(top))


def test_its_links_and_its_picture_are_there() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert "docs/run.svg" in targets
    assert not [target for target in targets if not (TOP / target).exists()]
    pages = {path.name for path in (TOP / "docs").glob("*.md")}
    linked = {Path(target).name for target in targets}
    inside_others = {"coding-agents.md"}  # a page of blind re-implementation
    assert pages - linked <= inside_others


def test_the_commands_of_use_do_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "takes.jsonl").write_bytes(demo("takes.jsonl").read_bytes())
    lines = [line for line in commands(TEXT.split("## Use")[1]) if line.startswith("evalrunner ")]
    assert len(lines) == 9
    codes = {}
    for line in lines:
        [_, *words] = shlex.split(line, comments=True)
        done = inside(tmp_path, *words)
        assert "Traceback" not in done.err
        codes[" ".join(words)] = done.code
        if done.code == NO_KEYS:
            assert "the API key is missing" in done.err
    assert [code for words, code in codes.items() if "frontier" not in words] == [0, 1, 0, 0, 0, 0]
    keyless = {words: code for words, code in codes.items() if "frontier" in words}
    assert {words.split()[0]: code for words, code in keyless.items()} == {"validate": 0, "run": NO_KEYS}


@pytest.fixture(scope="module")
def drawing() -> str:
    return PICTURE["PICTURE"].read_text(encoding="utf-8")


def test_the_picture_is_what_the_program_prints_now(drawing: str) -> None:
    """Up to the run's own id, and in every line that stands in it."""
    own, words = PICTURE["OWN"], PICTURE["words"]
    now = PICTURE["drawn"](PICTURE["printed"]())
    masked = [[own.sub("RUN", line) for line in words(each)] for each in (drawing, now)]
    assert masked[0] == masked[1], "python docs/picture.py"
    assert masked[0][0] == f"$ {PICTURE['COMMAND']}"
    assert masked[0][-1] == "exit 1"
    assert any("RUN" in line for line in masked[0])


def test_the_picture_fetches_nothing_and_runs_nothing(drawing: str) -> None:
    tags = {each.tag.removeprefix(PICTURE["SVG"]) for each in ElementTree.fromstring(drawing).iter()}
    assert tags == {"svg", "style", "defs", "clipPath", "rect", "g", "circle", "text"}
    assert not re.search(r"url\((?!#)|href|@font-face|@import", drawing)
