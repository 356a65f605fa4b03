"""The wheel carries all that the program needs: it works in an empty folder, far from any checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from program import environment

TOP = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built wheel, unpacked as an installer does."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(TOP)]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evalrunner", *words],
        cwd=folder,
        env=environment(PYTHONPATH=str(installed)),
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "run")
    assert done.returncode == 0, done.stderr
    assert "PASS" in done.stdout
    where = run(installed, tmp_path, "validate").stdout
    assert str(installed / "evalrunner" / "_data" / "rubrics") in where


TRANSCRIPT = """\
$ evalrunner init
  evalrunner validate eval=my_takes
[0]
$ evalrunner validate eval=my_takes
The configuration is valid.
[0]
$ evalrunner run eval=my_takes
PASS my_takes, rubric my-1
[0]
$ evalrunner baseline save my_takes --reason first
conf/baseline/my_takes.yaml
[0]
$ evalrunner regress baseline=my_takes
NO REGRESSION
[0]
$ sed -i.bak s/0[.]/0.00/ data/takes.jsonl
[0]
$ evalrunner regress baseline=my_takes
- weight_calibration got worse by 9, more than 0.5
[1]
"""
"""From an empty folder to a red gate: commands, a line that each prints, and exit codes."""


def test_from_an_empty_folder_to_a_red_gate(installed: Path, tmp_path: Path) -> None:
    printed = ""
    for line in TRANSCRIPT.splitlines():
        if line.startswith("$ "):
            program, *words = line[2:].split()
            if program == "evalrunner":
                done = run(installed, tmp_path, *words)
            else:
                done = subprocess.run(
                    [program, *words], cwd=tmp_path, capture_output=True, text=True, check=False
                )
            printed = done.stdout
        elif line.startswith("["):
            assert line == f"[{done.returncode}]", done.stderr
        else:
            assert line in printed


def test_it_holds_every_data_file_and_no_test(installed: Path) -> None:
    for kind in ("conf", "prompts", "rubrics"):
        packaged = {path.relative_to(TOP / kind) for path in (TOP / kind).rglob("*") if path.is_file()}
        shipped = installed / "evalrunner" / "_data" / kind
        assert {path.relative_to(shipped) for path in shipped.rglob("*") if path.is_file()} == packaged
    demo = {path.name for path in (TOP / "evalrunner" / "demo").iterdir() if path.is_file()}
    assert {path.name for path in (installed / "evalrunner" / "demo").iterdir()} == demo
    starter = {path.name for path in (TOP / "evalrunner" / "starter").iterdir()}
    assert {path.name for path in (installed / "evalrunner" / "starter").iterdir()} == starter
    assert not (installed / "tests").exists()
    assert (installed / "evalrunner" / "py.typed").is_file()
