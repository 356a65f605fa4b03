"""Every example of the guides runs, and prints what its page says that it prints."""

import re
import runpy
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from ci_machine import TOP, Machine

DOCS = TOP / "docs"
GUIDES = (
    "getting-started",
    "takes-quality",
    "rubrics-and-prompts",
    "costs",
    "resume",
    "scale",
    "plugins",
    "concepts",
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
OTHERS = {"code-review.md", "baselines.md", "performance.md"}
"""Pages that other parts of the documentation bring."""


@dataclass(frozen=True)
class Example:
    """A block that is run, and lines that its output holds."""

    language: str
    code: str
    told: tuple[str, ...]


def examples(name: str) -> list[Example]:
    found: list[Example] = []
    for language, code in BLOCK.findall((DOCS / f"{name}.md").read_text(encoding="utf-8")):
        if language in {"sh", "python"}:
            found.append(Example(language, code, ()))
        elif language == "text":
            found[-1] = Example(found[-1].language, found[-1].code, tuple(code.splitlines()))
    return found


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A user's machine; `pip install FOLDER` puts a plugin beside what is installed, without a network."""
    variables = {"PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path / "home")}
    made = Machine(tmp_path / "here", tmp_path / "home", variables)
    pip = f"{made.python} -m pip -q --disable-pip-version-check install --no-deps --no-build-isolation"
    made.program("pip", f'shift; exec {pip} --target "{tmp_path / "site"}" "$@"')
    made.program("python3", f'exec {made.python} -W error "$@"')
    shutil.copytree(DOCS / "example_plugin", made.folder / "example_plugin")
    return made


@pytest.mark.parametrize("name", GUIDES)
def test_the_examples_of_a_guide_run_in_the_order_of_the_page(name: str, machine: Machine) -> None:
    play = machine.run  # a plugin is there for a new process alone
    if name != "plugins":
        shutil.rmtree(machine.folder / "example_plugin")
        play = machine.play
    for number, example in enumerate(examples(name)):
        script = example.code
        if example.language == "python":
            (machine.folder.parent / f"{number}.py").write_text(example.code)
            script = f"python3 ../{number}.py"
        done = play(script)
        shown = f"{example.code}\n{done.out}{done.err}"
        assert done.code == 0, shown
        assert "Traceback" not in done.err, shown
        told = words(done.out + done.err)
        for line in example.told:
            assert words(line) in told, f"{line!r} is not in what was printed:\n{shown}"


def test_every_guide_but_the_words_has_examples() -> None:
    assert [name for name in GUIDES if not examples(name)] == ["concepts"]


def test_the_plugins_page_shows_the_files_of_the_example() -> None:
    blocks = dict(BLOCK.findall((DOCS / "plugins.md").read_text(encoding="utf-8")))
    assert blocks["yaml"] == (DOCS / "example_plugin/conf/reporter/csv.yaml").read_text()
    assert blocks["toml"] in (DOCS / "example_plugin/pyproject.toml").read_text()


def test_the_command_reference_is_what_the_program_says() -> None:
    made = runpy.run_path(str(DOCS / "commands.py"))["page"]()
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == made, "python docs/commands.py"


@pytest.mark.parametrize("name", [*GUIDES, "commands"])
def test_links_lead_to_pages(name: str) -> None:
    links = LINK.findall((DOCS / f"{name}.md").read_text(encoding="utf-8"))
    assert not [link for link in links if link not in OTHERS and not (DOCS / link).exists()]
