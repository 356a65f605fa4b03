"""Hands a report to the configured reporters, each on its own stream: stdout, a file, or stderr."""

import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from evalrunner.commands.found import whole
from evalrunner.commands.output import say
from evalrunner.config.jobs import number_in_sweep
from evalrunner.errors import EvalrunnerError
from evalrunner.receipt.files import write_atomic
from evalrunner.receipt.schema import Receipt, parse
from evalrunner.reporter.base import Against, FiledReporter, Report, Reporter
from evalrunner.reporter.json import JsonReporter


def show(
    receipt: Receipt,
    reporters: Mapping[str, Reporter],
    *,
    as_json: bool,
    kept: str | None = None,
    warnings: Sequence[str] = (),
    against: Against | None = None,
) -> None:
    """Hands a receipt to each reporter in turn. One that fails says so on stderr and stops no other.

    Stdout is taken with `as_json`, by the JSON document, and in a sweep, by the parent's summary. Then those
    reporters that write to files still do, those for a CI system write to stderr, and the others are silent.
    In a sweep each job's files carry its number: report.xml becomes report.0.xml.
    """
    if any(isinstance(each, FiledReporter) and each.lists_items for each in reporters.values()):
        receipt = whole(receipt, kept)
        if against is not None:
            against = replace(against, baseline=whole(parse(against.baseline)).to_json())
    report = Report(receipt.to_json(), tuple(warnings), kept, against)
    job = number_in_sweep()
    if as_json and job is None:
        _run("json", JsonReporter(), report, sys.stdout)
    taken = as_json or job is not None
    before, after = _fence(reporters.values())
    places: dict[Path, str] = {}
    for name, reporter in reporters.items():
        path = reporter.path if isinstance(reporter, FiledReporter) else None
        if path is not None:
            file = path if job is None else path.with_name(f"{path.stem}.{job}{path.suffix}")
            other = places.setdefault(file.absolute(), name)
            if other == name:
                _file(name, reporter, report, file)
            else:
                _failed(name, f"reporter {other} writes to {file} already")
        elif not taken:
            fenced = not (isinstance(reporter, FiledReporter) and reporter.for_ci)
            sys.stdout.write(before if fenced else "")
            _run(name, reporter, report, sys.stdout)
            sys.stdout.write(after if fenced else "")
        elif isinstance(reporter, FiledReporter) and reporter.for_ci:
            _run(name, reporter, report, sys.stderr)


def _fence(reporters: Iterable[Reporter]) -> tuple[str, str]:
    """What stands around the text of other reporters on stdout; nothing where no CI system reads there."""
    for each in reporters:
        if isinstance(each, FiledReporter) and each.for_ci and each.path is None:
            return each.fence()
    return "", ""


def _file(name: str, reporter: Reporter, report: Report, path: Path) -> None:
    """A regular file is written whole or not at all; devices and pipes are written to."""
    text = io.StringIO()
    if not _run(name, reporter, report, text):
        return
    try:
        write_atomic(path, text.getvalue())
    except OSError as error:
        _failed(name, f"{path} cannot be written: {error.strerror or error}")
    except EvalrunnerError as error:
        _failed(name, str(error))


def _run(name: str, reporter: Reporter, report: Report, stream: TextIO) -> bool:
    """Runs a reporter and says whether it went well: whatever goes wrong, the verdict stands."""
    try:
        reporter.report(report, stream)
    except BrokenPipeError:
        raise
    except EvalrunnerError as error:
        return _failed(name, str(error))
    except Exception as error:  # a reporter, a plugin's too, never changes the verdict's exit code
        return _failed(name, f"{type(error).__name__}: {error}")
    return True


def _failed(name: str, why: str) -> bool:
    say(f"warning: reporter {name} failed, and the verdict stands: {why}")
    return False
