"""action.yml: fits the schema, passes an audit, and its script runs with inputs that try to be more."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from ci_machine import TOP, Machine, audited, linted
from program import Done

ACTION = yaml.safe_load((TOP / "action.yml").read_text(encoding="utf-8"))


def step(name: str) -> dict[str, Any]:
    [found] = [each for each in ACTION["runs"]["steps"] if each.get("name") == name]
    return dict(found)


def evaluate(machine: Machine, **inputs: str) -> Done:
    """Runs the step that evaluates, with inputs as the runner hands them over: through the environment."""
    machine.program("python", f'exec {machine.python} "$@"', machine.home / "evalrunner-venv" / "bin")
    values = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()} | inputs
    used = step("Evaluate")
    variables = {
        name: values[re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", text)[1]]  # type: ignore[index]
        for name, text in used["env"].items()
    }
    return machine.run(used["run"], variables, shell="bash --noprofile --norc -eo pipefail")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path / "checkout", tmp_path / "home")
    names = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary.md"}
    made.variables = {name: str(made.home / file) for name, file in names.items()}
    made.variables |= {"RUNNER_TEMP": str(made.home), "GITHUB_ACTIONS": "true"}
    return made


def outputs(machine: Machine) -> dict[str, str]:
    lines = (machine.home / "output").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_it_fits_the_schema_and_passes_an_audit() -> None:
    assert linted(TOP / "action.yml", "vendor.github-actions") == ""
    assert audited(TOP / "action.yml") == ""


def test_what_it_uses_is_pinned_and_no_script_holds_an_expression() -> None:
    for each in ACTION["runs"]["steps"]:
        assert re.search(r"@[0-9a-f]{40}$", each.get("uses", f"@{'0' * 40}"))
        assert "${{" not in each.get("run", "")


def test_a_run_leaves_receipt_reports_summary_and_annotations(machine: Machine) -> None:
    done = evaluate(machine, arguments="--slug-prefix=drafts/\n\n  sampler.limit=12  \n")
    assert done.code == 1, done.err
    told = outputs(machine)
    assert told["exit-code"] == "1"
    folder = Path(told["folder"])
    assert sorted(path.name for path in folder.iterdir()) == [
        "annotations.txt",
        "comment.md",
        "junit.xml",
        "receipt.json",
    ]
    assert ElementTree.parse(folder / "junit.xml").getroot().get("failures") == "6"
    assert (machine.home / "summary.md").read_text().startswith("**FAIL** ")
    fenced, _, rest = done.out.partition("\n::error ")
    fence = re.match(r"::stop-commands::([0-9a-f]{32})\n", fenced)
    assert fence is not None
    assert fenced.endswith(f"\n::{fence[1]}::")
    assert rest.count("::error ") == 4
    assert re.findall(r"steps\.evalrunner\.outputs\.([a-z-]+)", (TOP / "action.yml").read_text())
    assert set(ACTION["outputs"]) == set(told)


def test_regress_against_the_baseline_of_the_target_branch(machine: Machine) -> None:
    who = "git -c user.name=Tester -c user.email=tester@example.invalid"
    done = machine.play(
        "evalrunner run --limit 10\nevalrunner baseline save takes\n"
        f"git init -q -b main && git add conf && {who} commit -qm 'A bar'\n"
    )
    assert done.code == 0, done.err
    done = evaluate(machine, command="regress", arguments="baseline=takes\n--against-ref=main")
    assert done.code == 0, done.err
    assert "NO REGRESSION" in done.out
    assert "**NO REGRESSION**" in (machine.home / "summary.md").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        "$(touch owned)",
        "`touch owned`",
        "; touch owned",
        "--limit=5 && touch owned",
        "*",
        "'; touch owned; '",
    ],
)
def test_arguments_are_words_and_never_shell(machine: Machine, arguments: str) -> None:
    done = evaluate(machine, arguments=arguments)
    assert done.code == 3, done.err
    assert not (machine.folder / "owned").exists()
    assert outputs(machine)["exit-code"] == "3"


def test_a_command_that_is_neither_is_refused(machine: Machine) -> None:
    done = evaluate(machine, command="run; touch owned")
    assert done.code == 3
    assert "neither run nor regress" in done.err
    assert not (machine.folder / "owned").exists()
