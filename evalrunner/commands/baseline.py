"""`evalrunner baseline`: saves, lists, shows, compares and renews the baselines of a project."""

import re
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalrunner.baseline.attribution import Side, attributed, text_diffs
from evalrunner.baseline.written import Saved, content
from evalrunner.commands import saving
from evalrunner.commands.arguments import Arguments
from evalrunner.commands.origin import Origin, named, newest, origin
from evalrunner.commands.output import near, say
from evalrunner.errors import (
    EXIT_OK,
    EXIT_USAGE,
    EvalrunnerError,
    InputError,
    Problem,
    UsageError,
    nearest,
    show,
)
from evalrunner.receipt.compare import Comparison, compare
from evalrunner.receipt.fingerprint import canonical_json, of_text
from evalrunner.reporter.difference import print_difference
from evalrunner.reporter.items import untold
from evalrunner.reporter.text import as_it_stands, plain
from evalrunner.reporter.whole import print_whole
from evalrunner.stats.rounding import shown

FROM = "a receipt file, a run folder, a run id, or an id that trend shows; the newest attempt if not given"
_NAME = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z][a-z0-9_-]*", re.IGNORECASE)


def main(tokens: Sequence[str]) -> int:
    """Does what the first word says."""
    word = tokens[0] if tokens else ""
    if word not in _ACTIONS:
        if tokens and not word.startswith("-"):
            what, close = "baseline has no such action", nearest(word, _ACTIONS)
            raise UsageError(Problem(word, what, None, ", ".join(_ACTIONS), close))
        arguments = Arguments("baseline")
        arguments.add_argument("action", choices=list(_ACTIONS), help="then --help says more")
        arguments.read(tokens)
    action, wanted, has_reason = _ACTIONS[word]
    arguments = Arguments("baseline", word)
    for name, text in wanted.items():
        arguments.add_argument(name, help=text)
    if word in {"save", "bless"}:
        arguments.add_argument("--from", dest="run", metavar="RUN", help=FROM)
        arguments.add_argument(
            "--reason", metavar="TEXT", required=has_reason, help="why, for those who read it"
        )
    return action(arguments.read(tokens[1:]))


def save(name: str, run: str | None, reason: str | None) -> list[Path]:
    """Writes a new baseline, and returns its files; one that is there is left alone.

    Args:
        name: of the baseline.
        run: what it is saved from, by whatever name it has; None takes the newest attempt.
        reason: why.

    Raises:
        UsageError: it is no name, or that of a baseline.
        InputError: there is no such run, or it cannot be a bar.
    """
    if not _NAME.fullmatch(name):
        allowed = "a word of letters, digits, - and _ that starts with a letter"
        raise UsageError(Problem("baseline", "is no name for a baseline", show(name), allowed))
    path = saving.file_of(name)
    if path.exists():
        what = "is there already, and is renewed with a reason"
        raise UsageError(Problem(near(path), what, None, f"evalrunner baseline bless {name} --reason TEXT"))
    return _kept(name, _run(run), reason, None, {})


def bless(name: str, run: str | None, reason: str) -> tuple[Side | None, list[Path]]:
    """Renews a baseline from a run; its bar for `regress` stays as it is.

    Args:
        name, run, reason: as of `save`; None takes the newest attempt of the baseline's eval.

    Returns:
        What it was, None where it held no figures, and its files.

    Raises:
        InputError: there is no such baseline or run, or they are of two evals.
    """
    path = saving.file_of(name)
    text = saving.text_of(name)
    old = content(text, near(path))
    before = saving.of_baseline(saving.read(name)) if "baseline" in old else None
    origin = _run(run, None if before is None else before.receipt.eval)
    if before is not None and before.receipt.eval != origin.receipt.eval:
        what = f"is of {origin.receipt.eval}, and baseline {name} of {before.receipt.eval}"
        raise InputError(Problem("--from", what))
    kept = {"regress": old["regress"]} if isinstance(old.get("regress"), dict) else {}
    return before, _kept(name, origin, reason, of_text(canonical_json(old)).full, kept)


def _save(given: Namespace) -> int:
    """Saves, and names the files."""
    _written(given.name, save(given.name, given.run, given.reason))
    return EXIT_OK


def _bless(given: Namespace) -> int:
    """Renews, says what that changes, and names the files."""
    before, files = bless(given.name, given.run, given.reason)
    if before is not None:
        after = saving.of_baseline(saving.read(given.name))
        _differing(replace(before, label=f"{before.label} before"), after)
    _written(given.name, files)
    return EXIT_OK


def _kept(
    name: str, run: Origin, reason: str | None, previous: str | None, kept: Mapping[str, Any]
) -> list[Path]:
    files = saving.write(name, run, reason, previous, kept)
    if why := untold(run.receipt):
        say(why)
    return files


def _run(name: str | None, eval_name: str | None = None) -> Origin:
    return origin(newest(eval_name) if name is None else named(name), name)


def _written(name: str, files: Sequence[Path]) -> None:
    for path in files:
        sys.stdout.write(f"{near(path)}\n")
    say(f"commit it, and compare with it: evalrunner regress baseline={name}")


def _list(given: Namespace) -> int:
    """A line a baseline. What cannot be read is said on stderr, and the exit code is 3."""
    code, rows = EXIT_OK, []
    for name in saving.names():
        try:
            rows.append(_row(saving.read(name)))
        except EvalrunnerError as error:
            code = EXIT_USAGE
            for problem in error.problems:
                say(str(problem))
    if not saving.names():
        say("no baselines yet: evalrunner baseline save NAME")
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
    return code


def _row(saved: Saved) -> tuple[str, ...]:
    receipt, block = saved.receipt, saved.block
    head = receipt.overall_score if receipt.headline is None else receipt.headline.value
    figure = "-" if head is None else shown(head)
    age = f"{_days(saved)} days"
    who = ": ".join(plain(each) for each in (block.author, block.reason) if each)
    return saved.name, receipt.eval or "-", receipt.verdict or "no verdict", figure, receipt.ts[:10], age, who


def _days(saved: Saved) -> int:
    return (datetime.now(UTC) - datetime.fromisoformat(saved.receipt.ts)).days


def _show(given: Namespace) -> int:
    """Where a baseline comes from, and its run as far as it is kept."""
    saved = saving.read(given.name)
    block = saved.block
    lines = {
        "baseline": f"{saved.name}, {near(saving.file_of(saved.name))}",
        "fingerprint": saved.fingerprint,
        "previous": block.previous or "none",
        "measured": f"{saved.receipt.ts}, {_days(saved)} days ago",
        "saved": f"{block.saved}, {block.author or 'by nobody whom git knows'}",
        "reason": block.reason or "none given",
    }
    for name, text in lines.items():
        sys.stdout.write(f"{name:<12} {plain(text)}\n")
    for part, sha in (saved.receipt.fingerprints.model_dump() if saved.receipt.fingerprints else {}).items():
        sys.stdout.write(f"{part:<12} {sha or '-'}\n")
    print_whole(saved.receipt, sys.stdout)
    return EXIT_OK


def _diff(given: Namespace) -> int:
    """What is behind the difference of two baselines, receipts or runs, and the texts that differ."""
    _differing(saving.side(given.a), saving.side(given.b))
    return EXIT_OK


def difference(before: Side, after: Side) -> Comparison:
    """All that differs; its warnings say what is behind it."""
    comparison = compare(before.receipt, after.receipt, Decimal(0))
    return replace(comparison, warnings=tuple(attributed(before, after)))


def _differing(before: Side, after: Side) -> None:
    comparison = difference(before, after)
    print_difference(comparison, before.receipt, after.receipt, sys.stdout)
    for line in text_diffs(before, after):
        sys.stdout.write(f"{as_it_stands(line)}\n")


_SIDE = "a baseline's name, a receipt file, a run folder, a run id, or an id that trend shows"
_ACTIONS = {
    "save": (_save, {"name": "of the baseline: conf/baseline/NAME.yaml"}, False),
    "list": (_list, {}, False),
    "show": (_show, {"name": "of the baseline"}, False),
    "diff": (_diff, {"a": _SIDE, "b": _SIDE}, False),
    "bless": (_bless, {"name": "of the baseline"}, True),
}
