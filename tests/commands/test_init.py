"""What `init` writes runs at once, and what is there already stays as it is."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from program import Done
from program import inside as evalrunner

from evalrunner.commands.init import CONTINUED, contents
from evalrunner.model.panel_prompt import panel_messages
from evalrunner.model.prompts import Prompts
from evalrunner.rubric import load_rubric, read_rubric
from evalrunner.source.takes import take_item


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("begun")
    return folder, evalrunner(folder, "init")


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_it_writes_an_example_of_everything(begun: tuple[Path, Done]) -> None:
    folder, done = begun
    assert done.code == 0, done.err
    assert set(contents()) <= files(folder)
    assert [line for line in done.out.splitlines() if line.startswith("  ")] == [
        "  evalrunner validate eval=my_takes",
        "  evalrunner run eval=my_takes",
        '  evalrunner baseline save my_takes --reason "the first"',
    ]


def test_the_next_commands_work_as_printed(begun: tuple[Path, Done]) -> None:
    folder = begun[0]
    checked = evalrunner(folder, "validate", "eval=my_takes")
    assert checked.code == 0, checked.err
    assert "8 from data/takes.jsonl" in checked.out
    assert "my-1, 5 dimensions" in checked.out
    ran = evalrunner(folder, "run", "eval=my_takes")
    assert ran.code == 0, ran.out + ran.err
    assert "PASS my_takes" in ran.out
    saved = evalrunner(folder, "baseline", "save", "my_takes", "--reason", "the first")
    assert saved.code == 0, saved.err
    assert evalrunner(folder, "regress", "baseline=my_takes").code == 0


def test_a_worse_corpus_is_red(begun: tuple[Path, Done]) -> None:
    folder = begun[0]
    rows = (folder / "data" / "takes.jsonl").read_text()
    (folder / "worse.jsonl").write_text(rows.replace('"weight": 0.', '"weight": 0.00'))
    done = evalrunner(folder, "run", "eval=my_takes", "source.path=worse.jsonl")
    assert done.code == 1, done.out + done.err


def test_the_own_panel_is_asked_with_the_own_prompt(begun: tuple[Path, Done]) -> None:
    done = evalrunner(begun[0], "validate", "eval=my_takes", "panel=mine")
    assert done.code == 0, done.err
    assert "openai:gpt-4o-mini, anthropic:claude-haiku-4-5" in done.out
    listed = evalrunner(begun[0], "list", "panel").out
    assert "yours    My panel" in listed


def test_the_prompt_differs_from_the_packaged_one_by_its_comment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("conf", "prompts"):
        (tmp_path / name).mkdir()
    for name in CONTINUED:
        if name.startswith("prompts/"):
            (tmp_path / name).write_text(contents()[name])
    prompts, rubric = Prompts(), load_rubric("takes_quality")
    [line, *_] = contents()["data/takes.jsonl"].splitlines()
    items = [take_item(json.loads(line))]
    own = panel_messages(prompts, "my_takes", rubric, items)
    assert own == panel_messages(prompts, "takes_quality", rubric, items)


def test_the_rubric_has_a_version_of_its_own(begun: tuple[Path, Done]) -> None:
    rubric = read_rubric(begun[0] / "rubrics" / "my_takes.yaml")
    assert (rubric.version, len(rubric.names)) == ("my-1", 5)


def test_nothing_is_overwritten_and_nothing_else_is_written(tmp_path: Path) -> None:
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "my_takes.yaml").write_text("mine")
    (tmp_path / "data").write_text("a file where a folder should be")
    done = evalrunner(tmp_path, "init")
    assert (done.code, done.out) == (3, "")
    assert "rubrics/my_takes.yaml: is there already" in done.err
    assert "data: is no folder" in done.err
    assert files(tmp_path) == {"rubrics/my_takes.yaml", "data"}
    assert (tmp_path / "rubrics" / "my_takes.yaml").read_text() == "mine"


def test_outputs_are_ignored_by_git(begun: tuple[Path, Done]) -> None:
    folder = begun[0]
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    asked = [
        "git",
        "check-ignore",
        "outputs/evalrunner.duckdb",
        "conf/baseline/my_takes.yaml",
        "data/takes.jsonl",
    ]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "outputs/evalrunner.duckdb\n"


@pytest.mark.parametrize(("own", "said"), [("*.pyc\n", True), ("*.pyc\n/outputs\n", False)])
def test_a_gitignore_of_ones_own_stays(tmp_path: Path, own: str, said: bool) -> None:
    (tmp_path / ".gitignore").write_text(own)
    done = evalrunner(tmp_path, "init")
    assert done.code == 0
    assert (tmp_path / ".gitignore").read_text() == own
    assert "wrote .gitignore" not in done.out
    assert ("add the line outputs/ to it" in done.err) is said


def test_a_dangling_link_is_in_the_way_too(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "my_takes.j2").symlink_to(tmp_path / "elsewhere.j2")
    assert evalrunner(tmp_path, "init").code == 3
    assert not (tmp_path / "elsewhere.j2").exists()


def test_another_folder_is_made_and_named(tmp_path: Path) -> None:
    done = evalrunner(tmp_path, "init", "team/evals")
    assert done.code == 0, done.err
    assert "\n  cd team/evals\n" in done.out
    assert (tmp_path / "team" / "evals" / "data" / "takes.jsonl").is_file()


def test_every_yaml_file_is_yaml(begun: tuple[Path, Done]) -> None:
    for name in contents():
        if name.endswith((".yaml", ".yml")):
            assert isinstance(yaml.safe_load((begun[0] / name).read_text()), dict)
