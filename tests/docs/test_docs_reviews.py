"""The command lines of the pages on reviews work as they stand, in a folder that has what they name."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from ci_machine import TOP
from program import inside

from evalrunner.paths import demo

REVIEWER = """\
#!/bin/sh
echo '{"status": "done", "findings": []}'
"""
JUDGE = """\
import json, sys
findings = json.load(sys.stdin)["findings"]
said = {"verdict": "KEEP", "reason": "it is"}
print(json.dumps({"verdicts": [{"id": each["id"], **said} for each in findings]}))
"""
FEW = ("--max-cases", "2")


def lines(page: str) -> list[list[str]]:
    """The words of each command, without what explains it."""
    text = (TOP / "docs" / f"{page}.md").read_text(encoding="utf-8").replace("\\\n", "")
    found = re.findall(r"^    evalrunner (.*?)(?:   .*)?$", text, re.MULTILINE)
    return [shlex.split(line) for line in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reviews")
    shutil.copy(demo("review_cases.jsonl"), made / "cases.jsonl")
    shutil.copy(demo("judge_cases.jsonl"), made / "batches.jsonl")
    (made / "our-review.sh").write_text(REVIEWER)
    (made / "our-review.sh").chmod(0o755)
    (made / "our_judge.py").write_text(JUDGE)
    (made / "conf" / "subject").mkdir(parents=True)
    for name in ("ours", "theirs"):
        option = "_target_: evalrunner.subject.command_reviewer.CommandReviewer\nargv: [./our-review.sh]\n"
        (made / "conf" / "subject" / f"{name}.yaml").write_text(option)
    first = inside(made, "run", "eval=code_review", *FEW, "runs=1", "--out", "RECEIPT")
    assert first.code == 0, first.err
    return made


@pytest.mark.parametrize(
    ("words", "code"),
    [
        *zip(lines("code-review"), (0, 3, 0, 0, 0, 0), strict=True),
        *zip(lines("review-judge"), (0, 3, 0, 0, 1, 1), strict=True),
    ],
    ids=lambda value: " ".join(value)[:70] if isinstance(value, list) else str(value),
)
def test_a_command_of_the_page(folder: Path, words: list[str], code: int) -> None:
    given = [Path(sys.executable).name if word == "python" else word for word in words]
    case = demo("judge_cases.jsonl" if "review_judge" in " ".join(words) else "review_cases.jsonl")
    name = re.search(r'"id": ?"([^"]+)"', case.read_text(encoding="utf-8"))
    assert name is not None
    given = [name[1] if word in {"CASE", "BATCH"} else word for word in given]
    if words[0] == "run":
        given += [*FEW, "runs=1"]
    done = inside(folder, *given, env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"})
    assert done.code == code, done.out + done.err
    if code == 3:
        assert "the API key is missing" in done.err
