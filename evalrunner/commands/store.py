"""`evalrunner store`: checks the store, takes in runs, reclaims space, writes tables to files."""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evalrunner.commands.arguments import Arguments
from evalrunner.commands.composed import configured_store
from evalrunner.commands.output import near, say
from evalrunner.config.commandline import OVERRIDE
from evalrunner.config.table import COMMANDS
from evalrunner.errors import EXIT_OK, Problem, StoreError, UsageError, nearest, show
from evalrunner.receipt.jsontext import readable_json
from evalrunner.reporter.text import plain
from evalrunner.store import checking, importing
from evalrunner.store.base import Store
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.export import FORMATS, export
from evalrunner.store.frames import TABLES, Tables
from evalrunner.store.vacuum import vacuum

_MOST_SHOWN = 20
"""So many problems are shown; `--json` has all."""


def main(tokens: Sequence[str]) -> int:
    """Does what the first word says."""
    word = tokens[0] if tokens else ""
    if word not in _ACTIONS:
        if tokens and not word.startswith("-"):
            what, close = "store has no such action", nearest(word, _ACTIONS)
            raise UsageError(Problem(word, what, None, ", ".join(_ACTIONS), close))
        arguments = Arguments("store")
        arguments.add_argument("action", choices=list(_ACTIONS), help="then --help says more")
        arguments.read(tokens)
    action = _ACTIONS[word]
    arguments = Arguments("store", word)
    arguments.description = action.text
    own = [line for line in COMMANDS["store"].examples.splitlines() if line.split()[2] == word]
    arguments.epilog = "examples:\n" + "".join(f"  {line}\n" for line in own)
    action.arguments(arguments)
    return action.run(arguments.read(tokens[1:]))


def _overrides(arguments: Arguments) -> None:
    arguments.add_argument("overrides", nargs="*", help="such as store.path=FILE")


def _checked(arguments: Arguments) -> None:
    arguments.add_argument("--json", action="store_true", help="the findings as one JSON object")
    _overrides(arguments)


def _check(given: Namespace) -> int:
    """Prints what was found.

    Raises:
        StoreError: the store is broken.
    """
    found = checking.check(configured(given.overrides))
    if given.json:
        sys.stdout.write(readable_json(checking.as_json(found), indent=True) + "\n")
    else:
        for name, text in _lines(found):
            sys.stdout.write(f"{name:<12} {plain(text)}\n")
    if found.problems:
        sys.stdout.flush()
        more = len(found.problems) - _MOST_SHOWN
        rest = [Problem("", f"and {more} more, which --json has")] if more > 0 else []
        raise StoreError([*found.problems[:_MOST_SHOWN], *rest])
    return EXIT_OK


def _lines(found: checking.Findings) -> Iterator[tuple[str, str]]:
    if not found.exists:
        yield "database", f"{near(found.path)} is not there yet; the first run makes it"
    else:
        yield "database", f"{near(found.path)}: {_size(found.bytes)}"
    if found.older:
        yield "layout", "of an older evalrunner; the next run brings it up to date"
    elif found.layout:
        yield "layout", found.layout[-1]
    if found.scores is not None:
        yield "rows", f"attempts {found.attempts}, receipts {found.receipts}, scores {found.scores}"
        copies = found.copies
        yield "copies", f"equal {copies.equal}, missing {copies.missing}, different {copies.different}"
    for file, reason in found.waiting:
        yield "waiting", f"{near(file)}: {reason or 'the next command takes it in'}"
    for file in found.refused:
        yield "refused", near(file)
    for file in found.left:
        yield "left behind", near(file)
    yield "lock", found.lock or "nobody holds it"
    yield "store", "is broken" if found.problems else "is healthy"


def _imported(arguments: Arguments) -> None:
    what = "a run folder, a folder above some, a receipt, or a <store>.pending folder or a file of it"
    arguments.add_argument("paths", nargs="*", metavar="PATH", help=what)
    _overrides(arguments)


def _import(given: Namespace) -> int:
    """Says how many runs were new, and how many were in the store already."""
    words = [*given.paths, *given.overrides]
    overrides = [each for each in words if OVERRIDE.match(each) and not importing.is_there(Path(each))]
    paths = [Path(each) for each in words if each not in overrides]
    if not paths:
        raise UsageError(Problem("store import", "needs a PATH", None, "evalrunner store import --help"))
    store = configured(overrides)
    try:
        done = importing.bring_in(store, paths, say)
    except importing.NothingThereError as error:
        _told(error.done)
        raise
    _told(done)
    return EXIT_OK


def _told(done: importing.Imported) -> None:
    for run_id in done.taken:
        sys.stdout.write(f"{run_id}\n")
    known = f"; {_runs(len(done.known))} in the store already" if done.known else ""
    say(f"took in {_runs(len(done.taken))}{known}")


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _vacuum(given: Namespace) -> int:
    """Says how large the database was, and is."""
    store = configured(given.overrides)
    sizes = vacuum(store, say)
    if sizes is None:
        say("no runs yet")
    else:
        sys.stdout.write(f"{near(store.path)}: {_size(sizes.before)} before, {_size(sizes.after)} after\n")
    return EXIT_OK


def _exported(arguments: Arguments) -> None:
    arguments.add_argument("file", metavar="FILE", help="where to; its folder is made where it is missing")
    tables = ", ".join(TABLES)
    arguments.add_argument(
        "--table", metavar="NAME", default="attempts", help=f"{tables}; attempts if not given"
    )
    formats = ", ".join(FORMATS)
    arguments.add_argument(
        "--format", metavar="NAME", help=f"{formats}; as the file's name ends if not given"
    )
    arguments.add_argument("--force", action="store_true", help="replace a file that is there")
    _overrides(arguments)


def _export(given: Namespace) -> int:
    """Writes the file, and says how many rows it has."""
    file, ending = Path(given.file), Path(given.file).suffix.removeprefix(".").lower()
    form = next((each for each in FORMATS if each == (given.format or ending)), None)
    problems = []
    if given.table not in TABLES:
        close = nearest(given.table, TABLES)
        problems.append(Problem("--table", "no such table", show(given.table), ", ".join(TABLES), close))
    if form is None and given.format is not None:
        close = nearest(given.format, FORMATS)
        problems.append(Problem("--format", "no such format", show(given.format), ", ".join(FORMATS), close))
    elif form is None:
        endings = " or ".join(f".{each}" for each in FORMATS)
        what = "does not say the format by its ending"
        problems.append(Problem(given.file, what, None, f"a name that ends in {endings}, or --format"))
    if problems or form is None:
        raise UsageError(problems)
    table = Tables(configured_store(given.overrides), say).named(given.table)
    rows = export(table, file, form, force=given.force)
    sys.stdout.write(f"{near(file)}: {rows} row{'' if rows == 1 else 's'}\n")
    return EXIT_OK


def configured(overrides: Sequence[str]) -> DuckdbStore:
    """The configured store.

    Raises:
        UsageError, ConfigError: the overrides do not fit, or the store is none in a file.
    """
    store: Store = configured_store(overrides)
    if not isinstance(store, DuckdbStore):
        raise UsageError(Problem("store", "is none in a DuckDB file", type(store).__name__, "store=duckdb"))
    return store


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


class _Action(NamedTuple):
    run: Callable[[Namespace], int]
    arguments: Callable[[Arguments], None]
    text: str


_ACTIONS = {
    "check": _Action(
        _check,
        _checked,
        """\
Looks whether the store is whole: its layout, that every receipt can be read and says what its columns say,
that nothing is there twice, that the copies on disk equal the database, what waits, what was refused, and who
holds the lock. Nothing is changed. Exit code 0 when the store is healthy, 4 when it is broken.""",
    ),
    "import": _Action(
        _import,
        _imported,
        """\
Takes in runs from elsewhere, such as another machine or a job of CI, each once, however often it is asked.
Folders are searched at any depth for run folders (those with a receipt.json) and for <store>.pending folders.
What is no run is named on stderr with its reason, and keeps no other out. The ids of runs that are new are
printed. Exit code 3 when a PATH is not there or holds no run, 4 when the store cannot take the runs.""",
    ),
    "vacuum": _Action(
        _vacuum,
        _overrides,
        """\
Rewrites the database without the space that nothing uses any more. The new file takes the place of the old
one when it is whole: killed at any moment, one of them is there. It needs room for both.""",
    ),
    "export": _Action(
        _export,
        _exported,
        """\
Writes a table to a Parquet or CSV file, whole or not at all. docs/store.md explains tables and columns.""",
    ),
}
