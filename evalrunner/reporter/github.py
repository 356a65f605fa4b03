"""GitHub Actions: a summary of the step, and annotations on what failed."""

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, TextIO

from evalrunner.receipt.jsontext import clean
from evalrunner.reporter.base import FiledReporter, Report
from evalrunner.reporter.checks import failing, of_eval
from evalrunner.reporter.findings import places
from evalrunner.reporter.markdown import cut
from evalrunner.reporter.page import page
from evalrunner.reporter.text import plain

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable that names the file of the step's summary."""

MOST_OF_A_LEVEL = 10
"""GitHub shows so many annotations of each level of a step, and drops the others in silence."""

MOST_CHARS = 2000


class GithubReporter(FiledReporter):
    """Appends a summary where GITHUB_STEP_SUMMARY names a file, and writes annotations as workflow commands.

    Annotations: an error for every dimension or metric that failed, regressed or could not be told (a warning
    where the comparison is advisory); of code reviews a warning for each missed defect and a notice for each
    finding that matches none, at file and line. Ten of each level at most, since GitHub shows no more.
    """

    for_ci: ClassVar[bool] = True
    lists_items: ClassVar[bool] = True

    def fence(self) -> tuple[str, str]:
        """Workflow commands are switched off, and on again with a word that nobody can guess."""
        word = secrets.token_hex(16)
        return f"::stop-commands::{word}\n", f"::{word}::\n"

    def report(self, report: Report, stream: TextIO) -> None:
        """The annotations, a line each. Nothing in them can start another command."""
        stream.write("".join(annotations(report)))
        summary = os.environ.get(SUMMARY)
        if summary:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(clean(page(report, feedback=True)) + "\n")


def annotations(report: Report) -> Iterator[str]:
    """The workflow commands, each with its line end."""
    what = of_eval(report.receipt)
    level = "warning" if report.against is not None and report.against.advisory else "error"
    yield from _some((level, {"title": f"{what}: {each.name}"}, each.message) for each in failing(report))
    found = [each for each in places(report.receipt) if each.kind != "found"]
    for kind, how in (("missed", "warning"), ("unmatched", "notice")):
        yield from _some(
            (how, {"file": each.file, "line": each.line, "title": f"{what}: {each.kind}"}, each.told)
            for each in found
            if each.kind == kind
        )


def _some(every: Iterable[tuple[str, Mapping[str, str | int | None], str]]) -> Iterator[str]:
    """As many as are shown; where there are more, the last one says how many."""
    given = list(every)
    whole = len(given) <= MOST_OF_A_LEVEL
    shown = given if whole else given[: MOST_OF_A_LEVEL - 1]
    for level, properties, message in shown:
        yield _command(level, properties, message)
    if not whole:
        level, properties, _ = given[0]
        left = len(given) - len(shown)
        yield _command(level, {"title": properties["title"]}, f"{left} more like these stand in the receipt")


def _command(level: str, properties: Mapping[str, str | int | None], message: str) -> str:
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value is not None)
    return f"::{level} {told}::{_data(cut(plain(message), MOST_CHARS))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str | int) -> str:
    return _data(cut(plain(str(value)), MOST_CHARS)).replace(":", "%3A").replace(",", "%2C")
