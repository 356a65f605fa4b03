"""`evalrunner baseline`: saves, lists, shows, compares and renews the baselines of a project."""

import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

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
from evalrunner.receipt.compare import compare
from evalrunner.receipt.fingerprint import canonical_json, of_text
from evalrunner.reporter.difference import print_difference
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


def _save(given: Namespace) -> int:
    """Writes a new baseline; one that is there is left alone."""
    if not _NAME.fullmatch(given.name):
        allowed = "a word of letters, digits, - and _ that starts with a letter"
        raise UsageError(Problem("baseline", "is no name for a baseline", show(given.name), allowed))
    path = saving.file_of(given.name)
    if path.exists():
        what = "is there already, and is renewed with a reason"
        raise UsageError(
            Problem(near(path), what, None, f"evalrunner baseline bless {given.name} --reason TEXT")
        )
    _written(given.name, saving.write(given.name, _run(given.run), given.reason, None, {}))
    return EXIT_OK


def _bless(given: Namespace) -> int:
    """Renews a baseline from a run, and says what that changes. Its bar for `regress` stays as it is."""
    path = saving.file_of(given.name)
    text = saving.text_of(given.name)
    old = content(text, near(path))
    before = saving.of_baseline(saving.read(given.name)) if "baseline" in old else None
    run = _run(given.run, None if before is None else before.receipt.eval)
    if before is not None and before.receipt.eval != run.receipt.eval:
        what = f"is of {run.receipt.eval}, and baseline {given.name} of {before.receipt.eval}"
        raise InputError(Problem("--from", what))
    kept = {"regress": old["regress"]} if isinstance(old.get("regress"), dict) else {}
    previous = of_text(canonical_json(old)).full
    files = saving.write(given.name, run, given.reason, previous, kept)
    if before is not None:
        after = saving.of_baseline(saving.read(given.name))
        _differing(replace(before, label=f"{before.label} before"), after)
    _written(given.name, files)
    return EXIT_OK


def _run(name: str | None, eval_name: str | None = None) -> Origin:
    return origin(newest(eval_name) if name is None else named(name), name)


def _written(name: str, files: Sequence[object]) -> None:
    for path in files:
        sys.stdout.write(f"{near(path)}\n")  # type: ignore[arg-type]
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
    print_whole(saved.receipt.to_json(), sys.stdout)
    return EXIT_OK


def _diff(given: Namespace) -> int:
    """What is behind the difference of two baselines, receipts or runs, and the texts that differ."""
    _differing(saving.side(given.a), saving.side(given.b))
    return EXIT_OK


def _differing(before: Side, after: Side) -> None:
    comparison = compare(before.receipt, after.receipt, Decimal(0))
    comparison = replace(comparison, warnings=tuple(attributed(before, after)))
    print_difference(comparison, before.receipt.to_json(), after.receipt.to_json(), sys.stdout)
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
