"""The commands beside a run as functions: looking at receipts, baselines, options; beginning a folder.

They print nothing, as those of `evalrunner.api`, and raise the errors of the command line.
"""

import os
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalrunner.baseline.written import Saved
from evalrunner.calls.cache import Entry, entries
from evalrunner.quiet import Note, checked, quietly, warn
from evalrunner.receipt.compare import Comparison, compare
from evalrunner.receipt.schema import Receipt
from evalrunner.store.checking import Findings
from evalrunner.store.importing import Imported
from evalrunner.store.vacuum import Sizes

Name = str | os.PathLike[str]
"""A receipt: a file, a run folder, a run id, or an id of the store."""


def show(run: Name, overrides: Sequence[str] = (), *, note: Note = warn) -> Receipt:
    """A receipt by whatever name it has. A notebook shows it as a table.

    Args:
        run: a receipt file, a run folder, a run id, or an id that trend shows.
        overrides: such as `["store.path=FILE"]`.
        note: is told what is doubtful about it.

    Raises:
        InputError: there is none of that name.
    """
    return _found([run], overrides, note)[0]


def explain(before: Name, after: Name, overrides: Sequence[str] = (), *, note: Note = warn) -> Comparison:
    """What changed between two receipts, named as `show` names one: `warnings` and `changes`.

    Raises:
        InputError: there is no receipt of such a name.
    """
    old, new = _found([before, after], overrides, note, doubted=False)
    return compare(old, new, Decimal(0))


def _found(
    names: Sequence[Name], overrides: Sequence[str], note: Note, *, doubted: bool = True
) -> list[Receipt]:
    from evalrunner.commands.composed import configured_store
    from evalrunner.commands.found import found, whole

    asked = [os.fspath(each) for each in names]
    with quietly(note):
        receipts = found(asked, configured_store(checked(overrides)), doubted=doubted)
        return [whole(each, name) for each, name in zip(receipts, asked, strict=True)]


def baselines(*, note: Note = warn) -> dict[str, Saved]:
    """The project's baselines by name; each has its receipt, its block, and its fingerprint.

    Raises:
        ConfigError, InputError: one of them cannot be read.
    """
    from evalrunner.commands import saving

    with quietly(note):
        return {name: saving.read(name) for name in saving.names()}


def save_baseline(
    name: str, run: Name | None = None, reason: str | None = None, *, note: Note = warn
) -> Saved:
    """Writes conf/baseline/NAME.yaml from a run, None for the newest attempt, and returns it.

    Raises:
        UsageError: there is one of that name; `bless_baseline` renews it.
        InputError: there is no such run, or it cannot be a bar.
    """
    from evalrunner.commands import baseline, saving

    with quietly(note):
        baseline.save(name, None if run is None else os.fspath(run), reason)
        return saving.read(name)


def bless_baseline(name: str, reason: str, run: Name | None = None, *, note: Note = warn) -> Saved:
    """Renews a baseline from a run, None for the newest attempt of its eval, and returns it.

    Raises:
        InputError: there is no such baseline or run, or they are of two evals.
    """
    from evalrunner.commands import baseline, saving

    with quietly(note):
        baseline.bless(name, None if run is None else os.fspath(run), reason)
        return saving.read(name)


def diff_baselines(a: Name, b: Name, *, note: Note = warn) -> Comparison:
    """What is behind the difference of two baselines, receipts or runs: `warnings` and `changes`.

    Raises:
        InputError: there is nothing of such a name.
    """
    from evalrunner.commands import baseline, saving

    with quietly(note):
        return baseline.difference(saving.side(os.fspath(a)), saving.side(os.fspath(b)))


def options(group: str | None = None, config_dir: Name | None = None) -> dict[str, dict[str, Path]]:
    """group -> option -> its file: what `evalrunner list` lists.

    Raises:
        UsageError: there is no such group, or `config_dir` is no folder.
    """
    from evalrunner.commands.list import chosen

    groups = chosen(group, None if config_dir is None else os.fspath(config_dir))
    return {name: {option: path for option, (path, _) in of.items()} for name, of in groups.items()}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of receipts, configuration, cases or takes.

    Raises:
        UsageError: there is none of that name.
    """
    from evalrunner.commands.schema import made

    return made(name)


def init(folder: Name = ".", *, note: Note = warn) -> list[Path]:
    """Begins a folder of one's own, and returns the files that were written.

    Raises:
        UsageError: one of them is there already; then none is written.
    """
    from evalrunner.commands.init import begun

    with quietly(note):
        return [Path(folder) / name for name in begun(Path(folder))]


def doctor(overrides: Sequence[str] = (), *, note: Note = warn) -> list[tuple[str, str]]:
    """What evalrunner needs here, and whether it is there: (what, how it is). Calls nothing.

    Raises:
        EvalrunnerError: the overrides do not fit, or the store is broken.
    """
    from evalrunner.commands.composed import composed
    from evalrunner.commands.doctor import looked
    from evalrunner.config.tree import RunConfig, load

    def lines() -> Iterator[tuple[str, str]]:
        yield from looked(load(composed("validate", checked(overrides)), RunConfig))

    with quietly(note):
        return list(lines())


def check_store(overrides: Sequence[str] = (), *, note: Note = warn) -> Findings:
    """Whether the store is whole; `problems` of what is returned is empty then. Nothing is changed.

    Raises:
        EvalrunnerError: the overrides do not fit.
    """
    from evalrunner.commands.store import configured
    from evalrunner.store.checking import check

    with quietly(note):
        return check(configured(checked(overrides)))


def import_runs(paths: Sequence[Name], overrides: Sequence[str] = (), *, note: Note = warn) -> Imported:
    """Takes runs in from elsewhere, each once: run folders, folders above some, receipts, pending folders.

    Raises:
        InputError: a path is not there, or holds no run.
        StoreError: the store cannot take them in.
    """
    from evalrunner.commands.store import configured
    from evalrunner.store.importing import bring_in

    with quietly(note):
        return bring_in(configured(checked(overrides)), [Path(each) for each in paths], note)


def vacuum_store(overrides: Sequence[str] = (), *, note: Note = warn) -> Sizes | None:
    """Rewrites the store without unused space: bytes before and after; None where there is no store.

    Raises:
        StoreError: it cannot be rewritten; it is as it was.
    """
    from evalrunner.commands.store import configured
    from evalrunner.store.vacuum import vacuum

    with quietly(note):
        return vacuum(configured(checked(overrides)), note)


def cached(overrides: Sequence[str] = (), *, note: Note = warn) -> list[Entry]:
    """The replies that `cache=read_write` keeps; `evalrunner.calls.cache.remove` removes one.

    Raises:
        EvalrunnerError: the overrides do not fit.
    """
    from evalrunner.commands.cache import configured_folder

    with quietly(note):
        return list(entries(configured_folder(checked(overrides))))
