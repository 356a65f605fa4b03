"""`list` names every group and option, with a line on each and where it comes from."""

from pathlib import Path

import pytest
from program import inside as evalrunner

from evalrunner.commands.list import options, summary


def test_every_packaged_option_says_what_it_is() -> None:
    silent = [
        f"{group}/{name}"
        for group, names in options().items()
        for name, (path, _) in names.items()
        if not summary(path)
    ]
    assert silent == []


def test_the_users_options_are_marked(tmp_path: Path) -> None:
    (tmp_path / "conf" / "panel").mkdir(parents=True)
    (tmp_path / "conf" / "panel" / "mine.yaml").write_text("# @package panel\n# Our own.\nmodels: [rules]\n")
    (tmp_path / "conf" / "panel" / "rules.yaml").write_text("models: [rules]\n")
    done = evalrunner(tmp_path, "list", "panel")
    lines = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()[1:]}
    assert lines["mine"] == ["yours", "Our", "own."]
    assert lines["rules"] == ["shadows"]
    assert lines["budget"][0] == "package"


def test_a_folder_of_options_is_listed_after_the_others(tmp_path: Path) -> None:
    for folder, name in (("conf", "mine"), ("more", "mine"), ("more", "rules"), ("more", "theirs")):
        (tmp_path / folder / "panel").mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "panel" / f"{name}.yaml").write_text(f"# Of {folder}.\nmodels: [rules]\n")
    done = evalrunner(tmp_path, "list", "panel", "--config-dir", "more")
    lines = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()[1:]}
    assert lines["theirs"] == ["given", "Of", "more."]
    assert lines["mine"] == ["yours", "Of", "conf."]
    assert lines["rules"][0] == "package"
    for option, code in (("theirs", 0), ("rules", 0)):
        chosen = ("validate", f"panel={option}", "--config-dir", "more")
        assert evalrunner(tmp_path, *chosen).code == code
    missing = evalrunner(tmp_path, "list", "--config-dir", "mroe")
    assert (missing.code, missing.out) == (3, "")
    assert "--config-dir: is no folder (found 'mroe')" in missing.err


@pytest.mark.parametrize(
    ("words", "message"),
    [(["panle"], "did you mean 'panel'"), (["panel", "--al"], "--al"), (["panel", "model"], "model")],
)
def test_what_it_does_not_know_is_exit_3(tmp_path: Path, words: list[str], message: str) -> None:
    done = evalrunner(tmp_path, "list", *words)
    assert (done.code, done.out) == (3, "")
    assert message in done.err


def test_help_teaches(tmp_path: Path) -> None:
    done = evalrunner(tmp_path, "list", "--help")
    assert done.code == 0
    assert "evalrunner list panel" in done.out
    assert "--config-dir DIR" in done.out
