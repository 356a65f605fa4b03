"""`evalrunner init`: a folder of one's own that runs at once, with one example of everything to change."""

import sys
from collections.abc import Sequence
from pathlib import Path

from evalrunner.commands.arguments import Arguments
from evalrunner.commands.output import near, say
from evalrunner.config.schemas import config_schema, written
from evalrunner.errors import EvalrunnerError, Problem, UsageError
from evalrunner.paths import data_root

FILES = {
    "conf/eval/my_takes.yaml": "eval.yaml",
    "conf/panel/mine.yaml": "panel.yaml",
    "conf/baseline/README.md": "baseline.md",
    "rubrics/my_takes.yaml": "rubric.yaml",
    "prompts/my_takes.j2": "prompt.j2",
    "prompts/my_takes.system.j2": "system.j2",
    "data/takes.jsonl": "takes.jsonl",
    ".github/workflows/quality.yml": "workflow.yml",
    ".gitignore": "gitignore",
}
"""What is written -> the file of evalrunner/starter/ that it begins with."""

CONTINUED = {
    "rubrics/my_takes.yaml": "rubrics/takes_quality.yaml",
    "prompts/my_takes.j2": "prompts/takes_quality.j2",
    "prompts/my_takes.system.j2": "prompts/takes_quality.system.j2",
}
"""What is written -> the packaged file that it goes on with."""

SCHEMA = "conf/schema.json"
IGNORE = ".gitignore"
IGNORED = frozenset({"outputs", "outputs/", "/outputs", "/outputs/", "outputs/*", "/outputs/*"})
"""Lines of a .gitignore that keep outputs/ out of commits."""

NEXT = """\
Next:
{go}  evalrunner validate eval=my_takes
  evalrunner run eval=my_takes
  evalrunner baseline save my_takes --reason "the first"
"""


def main(tokens: Sequence[str]) -> int:
    """Writes all files or, where one of them is there already, none; a .gitignore of yours stays."""
    arguments = Arguments("init")
    arguments.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where; made when missing")
    folder = Path(arguments.read(tokens).folder)
    names = begun(folder)
    sys.stdout.write("".join(f"wrote {near(folder / name)}\n" for name in names))
    sys.stdout.write(NEXT.format(go="" if folder.resolve() == Path.cwd() else f"  cd {folder}\n"))
    return 0


def begun(folder: Path) -> list[str]:
    """Writes all files into a folder, and returns their names there.

    Raises:
        UsageError: one of them is there already, or something is in their way; then none is written.
        EvalrunnerError: one cannot be written.
    """
    texts = contents()
    if (folder / IGNORE).exists() or (folder / IGNORE).is_symlink():
        del texts[IGNORE]
    problems = [problem for name in texts if (problem := in_the_way(folder, name)) is not None]
    if problems:
        raise UsageError([*dict.fromkeys(problems)])
    for name, text in texts.items():
        _write(folder / name, text)
    if IGNORE not in texts and not _ignored(folder / IGNORE):
        say(f"{near(folder / IGNORE)} is yours and stays as it is; add the line outputs/ to it")
    return list(texts)


def contents() -> dict[str, str]:
    """path -> text of all that init writes."""
    starter = Path(__file__).resolve().parent.parent / "starter"
    texts = {name: (starter / begin).read_text(encoding="utf-8") for name, begin in FILES.items()}
    for name, packaged in CONTINUED.items():
        lines = (data_root() / packaged).read_text(encoding="utf-8").splitlines(keepends=True)
        texts[name] += "".join(line for line in lines if not line.startswith(("version:", "title:")))
    return {**texts, SCHEMA: written(config_schema())}


def in_the_way(folder: Path, name: str) -> Problem | None:
    """What keeps a file from being written: it is there, or a file stands where its folder should be."""
    path = folder / name
    if path.exists() or path.is_symlink():
        return Problem(near(path), "is there already, and init overwrites nothing")
    for parent in path.parents:
        if parent.exists() or parent.is_symlink():
            return None if parent.is_dir() else Problem(near(parent), "is no folder")
    return None


def _ignored(path: Path) -> bool:
    """Whether a .gitignore speaks of outputs/."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return not IGNORED.isdisjoint(line.strip() for line in lines)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise EvalrunnerError(Problem(near(path), f"cannot be written: {error.strerror}")) from error
