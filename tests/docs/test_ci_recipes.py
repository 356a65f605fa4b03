"""The recipes of docs/ci.md: their files fit the CI systems' schemas, and their shell runs, green and red."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
import yaml
from ci_machine import TOP, Machine, audited, linted

PAGE = (TOP / "docs" / "ci.md").read_text(encoding="utf-8")


def blocks(section: str, language: str) -> list[str]:
    """The code blocks of a section, without those of its subsections."""
    text = re.split(rf"^#+ {re.escape(section)}\n", PAGE, flags=re.MULTILINE)[1]
    text = re.split(r"^## |^### ", text, flags=re.MULTILINE)[0]
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def steps(workflow: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load(workflow)["jobs"]["gate"]["steps"])


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that has the committed baseline of the page on its branch main, as its origin has."""
    top = tmp_path_factory.mktemp("committed")
    made = Machine(top / "checkout", top / "home")
    [baseline] = blocks("A baseline", "sh")
    made.run("git init -q -b main && git config user.name Tester && git config user.email t@example.invalid")
    done = made.run(baseline)
    assert done.code == 0, done.err
    assert made.run("git init -q --bare ../origin && git remote add origin ../origin").code == 0
    assert made.run("git push -q origin main && git switch -qc change").code == 0
    return top


@pytest.fixture
def machine(committed: Path, tmp_path: Path) -> Machine:
    """A machine with that repository, on a branch."""
    for name in ("checkout", "origin"):
        shutil.copytree(committed / name, tmp_path / name)
    return Machine(tmp_path / "checkout", tmp_path / "home")


def raise_the_bar(machine: Machine) -> None:
    """Makes the baseline of the target branch better than anything that a run can reach."""
    path = machine.folder / "conf" / "baseline" / "takes.yaml"
    head, text = path.read_text().split("\n", 1)
    option = yaml.safe_load(text)
    score = option["baseline"]["receipt"]["scores"]["accuracy"]
    score |= {"mean": 10, "min": 10, "max": 10, "scores": [10], "per_model": {"rules-v1": 10}}
    machine.run("git switch -q main")
    path.write_text(f"{head}\n{yaml.safe_dump(option, sort_keys=False)}")
    moved = machine.run("git commit -qam 'A higher bar' && git push -q origin main && git switch -q change")
    assert moved.code == 0, moved.err


def test_the_page_lists_every_reporter() -> None:
    options = {path.stem for path in (TOP / "conf" / "reporter").glob("*.yaml")}
    section = PAGE.split("## Reporters\n")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == options


def test_every_block_of_the_page_is_run_here() -> None:
    sections = ("A baseline", "A receipt as the bar", "GitHub", "Code scanning", "GitLab", "Plain shell")
    known = [block for name in sections for language in ("sh", "yaml") for block in blocks(name, language)]
    assert sorted(known) == sorted(re.findall(r"^```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("number", [0, 1])
def test_the_workflows_fit_the_schema_and_pass_an_audit(tmp_path: Path, number: int) -> None:
    path = tmp_path / ".github" / "workflows" / "evals.yml"
    path.parent.mkdir(parents=True)
    path.write_text(blocks("GitHub", "yaml")[number])
    assert linted(path, "vendor.github-workflows") == ""
    assert audited(path) == ""


def test_the_workflow_gives_the_action_inputs_that_it_has() -> None:
    action = yaml.safe_load((TOP / "action.yml").read_text())
    [used] = [each for each in steps(blocks("GitHub", "yaml")[0]) if "evalrunner@" in each.get("uses", "")]
    assert set(used["with"]) <= set(action["inputs"])
    arguments = used["with"]["arguments"].splitlines()
    assert arguments[:2] == ["baseline=takes", "--against-ref=origin/${{ github.base_ref }}"]
    named = re.findall(r"steps\.evals\.outputs\.([a-z-]+)", blocks("GitHub", "yaml")[0])
    assert set(named) <= set(action["outputs"])


def test_github_comments_on_the_pull_request(machine: Machine) -> None:
    comment = steps(blocks("GitHub", "yaml")[0])[-1]
    (machine.folder / "comment.md").write_text("**PASS**\n")
    variables = {"NUMBER": "17", "FOLDER": str(machine.folder)}
    assert set(comment["env"]) == {"GH_TOKEN", "GH_REPO", *variables}
    assert machine.run(comment["run"], variables).code == 0
    body = f"{machine.folder}/comment.md"
    expected = ["pr", "comment", "17", "--edit-last", "--create-if-none", "--body-file", body]
    assert machine.calls("gh") == [expected]
    (machine.folder / "comment.md").unlink()
    assert machine.run(comment["run"], variables).code == 0
    assert len(machine.calls("gh")) == 1


def test_github_by_hand(machine: Machine) -> None:
    compare = steps(blocks("GitHub", "yaml")[1])[-1]
    summary = {"GITHUB_STEP_SUMMARY": str(machine.home / "summary.md")}
    assert compare["env"]["TARGET"] == "origin/${{ github.base_ref }}"
    summary["TARGET"] = "origin/main"
    green = machine.run(compare["run"], compare["env"] | summary)
    assert green.code == 0, green.err
    assert machine.calls("pip") == [["install", "evalrunner"]]
    raise_the_bar(machine)
    red = machine.run(compare["run"], compare["env"] | summary)
    assert red.code == 1, red.err
    assert "\n::error title=takes_quality%3A accuracy::baseline 10.00, now 9.00, delta -1.00;" in red.out
    shown = (machine.home / "summary.md").read_text()
    assert re.findall(r"^\*\*[A-Z ]+\*\*", shown, re.MULTILINE) == ["**NO REGRESSION**", "**REGRESSION**"]


def test_code_scanning(machine: Machine) -> None:
    [script] = blocks("Code scanning", "sh")
    assert machine.run(script).code == 0
    [made] = (machine.folder / "outputs" / "run").glob("*/receipt.json")
    receipt = json.loads(made.read_text())
    row = {"case": "c", "file": "a.py", "line": 3, "title": "Unused import", "runs": [1]}
    receipt |= {"eval": "code_review", "cases": [], "defects": [], "unmatched": [row]}
    (machine.folder / "receipt.json").write_text(json.dumps(receipt))
    assert machine.run(script).code == 0
    log = json.loads((machine.folder / "findings.sarif").read_text())
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["unmatched-finding"]


@contextmanager
def notes() -> Iterator[tuple[str, list[tuple[str, str | None, str]]]]:
    """A server that takes notes on merge requests: its address, and (path, token, body) of each."""
    taken: list[tuple[str, str | None, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            taken.append((self.path, self.headers["PRIVATE-TOKEN"], form["body"][0]))
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/api/v4", taken
        finally:
            server.shutdown()
            thread.join()


def test_gitlab(machine: Machine, tmp_path: Path) -> None:
    [text] = blocks("GitLab", "yaml")
    path = tmp_path / ".gitlab-ci.yml"
    path.write_text(text)
    assert linted(path, "vendor.gitlab-ci") == ""
    job = yaml.safe_load(text)["evals"]
    variables = job["variables"] | {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    assert machine.run("\n".join(job["script"]), variables).code == 0
    raise_the_bar(machine)
    assert machine.run("\n".join(job["script"]), variables).code == 1
    assert all((machine.folder / name).is_file() for name in job["artifacts"]["paths"])
    report = ElementTree.parse(machine.folder / job["artifacts"]["reports"]["junit"]).getroot()
    assert report.get("failures") == "2"
    with notes() as (address, taken):
        merge_request = {"CI_API_V4_URL": address, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "8"}
        assert machine.run("\n".join(job["after_script"]), merge_request).code == 0
        assert taken == []
        merge_request["COMMENT_TOKEN"] = "no-token"
        posted = machine.run("\n".join(job["after_script"]), merge_request)
        assert posted.code == 0, posted.err
    body = (machine.folder / "comment.md").read_text()
    assert taken == [("/api/v4/projects/5/merge_requests/8/notes", "no-token", body)]


def test_a_receipt_as_the_bar(machine: Machine) -> None:
    [script] = blocks("A receipt as the bar", "sh")
    done = machine.run(script)
    assert (done.code, "NO REGRESSION" in done.out) == (0, True), done.err


def test_plain_shell(machine: Machine) -> None:
    [script] = blocks("Plain shell", "sh")
    green = machine.run(script, shell="sh -eu")
    assert (green.code, green.out.splitlines()[-1]) == (0, "evals: no regression")
    raise_the_bar(machine)
    red = machine.run(script, shell="sh -eu")
    assert (red.code, red.out.splitlines()[-1]) == (1, "evals: regression")
    ElementTree.parse(machine.folder / "report.xml")
    assert machine.run("git rm -q conf/baseline/takes.yaml && git commit -qm 'No bar'").code == 0
    assert machine.run("git push -q origin change:main --force").code == 0
    broken = machine.run(script, shell="sh -eu")
    assert (broken.code, broken.out.splitlines()[-1]) == (3, "evals: did not run")
