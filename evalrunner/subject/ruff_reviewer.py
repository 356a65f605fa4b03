"""The keyless reviewer: the linter ruff, over the changed Python files of a case."""

import os
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from evalrunner.component import Component, Many
from evalrunner.errors import MissingExtraError, Problem
from evalrunner.git.diff import DiffError
from evalrunner.git.run import GitError
from evalrunner.model.reply import harmless
from evalrunner.model.seat import Bench, PlannedCall, Speaker
from evalrunner.records import Item, Outcome
from evalrunner.sandbox.process import ProcessResult, environment, run, run_async
from evalrunner.subject.findings import BrokenReview, Review
from evalrunner.subject.program import MOST_OUTPUT, wrong_end
from evalrunner.subject.ruff_report import PythonFile, python_files, ruff_review
from evalrunner.subject.workspace import Workspace, workspace

PYTHON = "py314"
"""The newest Python that ruff knows the syntax of, so that no valid head is taken for a broken one."""


class RuffReviewer(Component):
    """Lints the head's changed Python files in the case's repository, and reports what is on added lines.

    It reads no configuration and no cache. It is a linter: it does not know what code is for, and finds what
    is wrong in any program.

    Attributes:
        select: codes or prefixes of the rules that are checked. ignore: of those that are not.
        whole_file_rules: prefixes of rules that are left out where the diff shows a file in part.
        timeout_s: seconds for one case.
        keep_repos: whether repositories are moved into the run folder rather than removed.
    """

    judged_itself: ClassVar[bool] = False

    select: Many[str] = Field(min_length=1)
    ignore: Many[str] = ()
    whole_file_rules: Many[str] = ()
    timeout_s: float = Field(default=60.0, gt=0)
    keep_repos: bool = False

    def check_installed(self) -> None:
        """Looks for ruff before anything runs.

        Raises:
            MissingExtraError: it is not installed.
        """
        ruff()

    async def produce(self, item: Item, run: int, bench: Bench) -> Outcome:
        """One review. What goes wrong in it is the outcome's status."""
        bench.note("ruff is a linter: its figures show that the way works, not what a code reviewer finds")
        duration_s = 0.0
        try:
            with workspace(item, run, bench, keep=self.keep_repos) as place:
                review, duration_s = await self._review(place)
        except (DiffError, GitError) as error:
            review = Review(status="error", error=harmless(str(error)))
        return Outcome(
            item_id=item.id,
            run=run,
            status=review.status,
            payload=review.payload(),
            duration_s=duration_s,
            error=review.error,
        )

    async def _review(self, place: Workspace) -> tuple[Review, float]:
        files = python_files(place.repository.trees)
        if not files:
            return Review(status="blocked", error="unreviewable: no Python file is changed"), 0.0
        root = place.repository.path.resolve()
        done = await run_async(
            [ruff(), *self._arguments(files)],
            cwd=root,
            env=environment(place.home),
            timeout_s=self.timeout_s,
            output_limit=MOST_OUTPUT,
        )
        return _read(done, files, str(root), self.whole_file_rules), done.duration_s

    def _arguments(self, files: Sequence[PythonFile]) -> list[str]:
        rules = [f"--select={','.join(self.select)}"]
        rules += [f"--ignore={','.join(self.ignore)}"] if self.ignore else []
        fixed = [
            "--isolated",
            "--no-cache",
            "--exit-zero",
            "--output-format=json",
            f"--target-version={PYTHON}",
        ]
        return ["check", *fixed, *rules, "--", *(os.fsdecode(each.path) for each in files)]

    def described(self) -> Mapping[str, Any]:
        """The version of ruff and its rules."""
        return {
            "subject": "ruff_reviewer",
            "ruff": version(),
            "select": list(self.select),
            "ignore": list(self.ignore),
            "whole_file_rules": list(self.whole_file_rules),
        }

    def prompts(self) -> Sequence[str]:
        """None: nothing is asked."""
        return ()

    def planned(self, items: Sequence[Item], bench: Bench) -> list[PlannedCall]:
        """No calls."""
        return []

    def models(self) -> Sequence[Speaker]:
        """None: rules, and no model whose place they would take."""
        return ()


def _read(
    done: ProcessResult, files: Sequence[PythonFile], root: str, whole_file_rules: Sequence[str]
) -> Review:
    if wrong := wrong_end(done):
        return Review(status="timeout" if done.status == "timeout" else "error", error=f"ruff: {wrong}")
    try:
        return ruff_review(files, done.stdout, root, whole_file_rules)
    except BrokenReview as error:
        return Review(status="error", error=harmless(error.reason))


def ruff() -> str:
    """The path of the program: of the one installed beside us, else of the first on PATH.

    Raises:
        MissingExtraError: there is none.
    """
    own = Path(sysconfig.get_path("scripts")) / "ruff"
    found = str(own) if own.is_file() else shutil.which("ruff")
    if found is None:
        raise MissingExtraError(
            Problem(
                "subject", "ruff is not installed", None, "install evalrunner[lint], or choose subject=OPTION"
            )
        )
    return str(Path(found).absolute())


@cache
def version() -> str:
    """What ruff says of its version.

    Raises:
        MissingExtraError: there is no ruff.
    """
    done = run([ruff(), "--version"], cwd=Path.cwd(), env=environment(Path.cwd()), timeout_s=20.0)
    return done.stdout.decode("utf-8", "replace").strip().removeprefix("ruff ") or "unknown"
