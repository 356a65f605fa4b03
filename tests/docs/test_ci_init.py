"""The workflow that `init` writes: it fits GitHub's schema, and its shell is a gate, green and red."""

from pathlib import Path

import pytest
import yaml
from ci_machine import Machine, audited, linted

WORKFLOW = ".github/workflows/quality.yml"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    top = tmp_path_factory.mktemp("init")
    made = Machine(top / "checkout", top / "home")
    assert made.play("evalrunner init\ngit init -q -b main\n").code == 0
    return made


def script(machine: Machine) -> str:
    steps = yaml.safe_load((machine.folder / WORKFLOW).read_text())["jobs"]["gate"]["steps"]
    return str(steps[-1]["run"])


def gate(machine: Machine) -> tuple[int, str]:
    done = machine.run(script(machine), {"PACKAGE": "evalrunner", "TARGET": "main"})
    return done.code, done.out + done.err


def commit(machine: Machine, what: str) -> None:
    who = "git -c user.name=Tester -c user.email=tester@example.invalid"
    assert machine.run(f"git add -A && {who} commit -qm '{what}'").code == 0


def test_it_fits_the_schema_and_the_audit(machine: Machine) -> None:
    path: Path = machine.folder / WORKFLOW
    assert linted(path, "vendor.github-workflows") == ""
    assert audited(path) == ""


def test_a_branch_cannot_lower_its_own_bar(machine: Machine) -> None:
    commit(machine, "begin")
    code, told = gate(machine)
    assert code == 0, told
    assert "PASS my_takes" in told
    assert machine.play("evalrunner baseline save my_takes --reason first\n").code == 0
    commit(machine, "baseline")
    code, told = gate(machine)
    assert code == 0, told
    assert "NO REGRESSION" in told
    assert machine.run("git switch -qc change").code == 0
    takes = machine.folder / "data" / "takes.jsonl"
    takes.write_text(takes.read_text().replace('"weight": 0.', '"weight": 0.00'))
    assert machine.play("evalrunner run eval=my_takes\n").code == 1
    assert machine.play("evalrunner baseline bless my_takes --reason lower\n").code == 0
    commit(machine, "worse, with a lower bar")
    code, told = gate(machine)
    assert code == 1, told
    assert "weight_calibration" in told
