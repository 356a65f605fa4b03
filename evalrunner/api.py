"""The commands as functions, for Python programs and notebooks.

    import evalrunner

    receipt = evalrunner.run(["source.path=takes.jsonl", "sampler.limit=50"])
    receipt.verdict, receipt.scores["accuracy"].mean

Each composes its configuration as the command does, from overrides in Hydra's grammar, the user's conf/ and
the packaged one; flags are none of theirs. Nothing is printed: reporters that write to files do, the others
are left out, and what the command would say on stderr goes to `note`, by default a warning of the logger
`evalrunner`. A verdict is a value, never an exception; what is wrong is raised as the class of
`evalrunner.errors` that gives the command its exit code. Hydra's global state and logging stay as they were.

The functions may be called where an event loop runs, such as in a notebook; they return when they are done.
Calls from several threads follow one another.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalrunner.commands.output import exit_code
from evalrunner.commands.regress import Compared
from evalrunner.errors import EXIT_OK, Problem, UsageError, show
from evalrunner.pipeline.forecast import Forecast
from evalrunner.pipeline.via import Piped
from evalrunner.quiet import Note, checked, done, warn, write
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.base import Against
from evalrunner.store.frames import Tables
from evalrunner.store.reader import TrendRow

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = [
    "Compared",
    "Forecast",
    "Piped",
    "Receipt",
    "Tables",
    "TrendRow",
    "judge_items",
    "produce",
    "regress",
    "replay",
    "run",
    "select",
    "tables",
    "trend",
    "validate",
]


def run(overrides: Sequence[str] = (), *, note: Note = warn) -> Receipt:
    """Runs an eval, keeps its receipt in run folder and store, and returns it.

    Args:
        overrides: such as `["eval=takes_quality", "sampler.limit=50"]`.
        note: is told what the command would say on stderr, line by line.

    Raises:
        EvalrunnerError: as the command would end with exit code 3 or 4.
        KeyboardInterrupt: the user stopped it; an inconclusive receipt is kept, and `resume=auto` goes on.
    """
    from evalrunner.commands.run import evaluate

    def work(config: "DictConfig", folder: Path) -> tuple[Receipt, int]:
        session, receipt, kept = evaluate(config, folder)
        if session.halt.because is not None:
            raise session.halt.because
        if receipt.interrupted:
            raise KeyboardInterrupt
        write(receipt, session.config.reporter, kept, session.warnings)
        return receipt, exit_code(receipt)

    return done("run", overrides, work, note)


def regress(overrides: Sequence[str] = (), *, note: Note = warn) -> Compared:
    """Runs again as a baseline or a receipt did, and compares: `["baseline=NAME"]`, `["against=FILE"]`.

    `comparison.outcome` of what is returned is `ok`, `regression` or `inconclusive`.

    Raises:
        EvalrunnerError: as `run`.
    """
    from evalrunner.commands.regress import held_to

    def work(config: "DictConfig", folder: Path) -> tuple[Compared, int]:
        done = held_to(config, folder)
        against = Against(done.baseline.to_json(), done.comparison, done.advisory)
        write(done.receipt, done.session.config.reporter, done.kept, done.session.warnings, against)
        return done, done.exit_code

    return done("regress", overrides, work, note)


def validate(overrides: Sequence[str] = (), *, note: Note = warn) -> Forecast:
    """Checks all that a run would need, calls nothing, and returns what it would call and cost at most.

    Raises:
        EvalrunnerError: what is wrong, all of it at once.
    """
    from evalrunner.commands.validate import foreseen

    return done("validate", overrides, lambda config, folder: (foreseen(config, folder)[1], EXIT_OK), note)


def select(overrides: Sequence[str] = (), *, note: Note = warn) -> Piped:
    """Takes the sample, and returns its items with what the next stage must know of where they came from.

    Raises:
        EvalrunnerError: as `run`.
    """
    from evalrunner.commands.select import selected

    return done("select", overrides, lambda config, folder: (selected(config, folder)[0], EXIT_OK), note)


def produce(piped: Piped, overrides: Sequence[str] = (), *, note: Note = warn) -> Piped:
    """Runs the subject on selected items, and returns them with its outcomes.

    Raises:
        EvalrunnerError: as `run`.
    """
    from evalrunner.commands.produce import produced

    def work(config: "DictConfig", folder: Path) -> tuple[Piped, int]:
        return produced(config, folder, piped)[0], EXIT_OK

    return done("produce", overrides, work, note)


def judge_items(piped: Piped, overrides: Sequence[str] = (), *, note: Note = warn) -> Receipt:
    """Judges what was selected or produced, keeps the receipt, and returns it.

    Raises:
        EvalrunnerError: as `run`.
        KeyboardInterrupt: as `run`.
    """
    from evalrunner.commands.judge import judged

    def work(config: "DictConfig", folder: Path) -> tuple[Receipt, int]:
        session, receipt, kept = judged(config, folder, piped)
        if session.halt.because is not None:
            raise session.halt.because
        if receipt.interrupted:
            raise KeyboardInterrupt
        write(receipt, session.config.reporter, kept, session.warnings)
        return receipt, exit_code(receipt)

    return done("judge", overrides, work, note)


def replay(
    path: str | os.PathLike[str] | None = None, overrides: Sequence[str] = (), *, note: Note = warn
) -> Receipt:
    """Reads a receipt again.

    Args:
        path: its file; None where overrides name a stored one, such as `["from_db.id=12"]`.
        overrides: as of the other functions.
        note: is told what is doubtful about it.

    Raises:
        InputError: it is no receipt, or the store holds none such.
    """
    from evalrunner.commands.replay import again
    from evalrunner.config.quoting import assigned
    from evalrunner.config.tree import ReplayConfig, load

    named = [] if path is None else [assigned("receipt", os.fspath(path))]

    def work(config: "DictConfig", folder: Path) -> tuple[Receipt, int]:
        asked = load(config, ReplayConfig)
        receipt = again(asked)
        write(receipt, asked.reporter, None if asked.receipt is None else str(asked.receipt))
        return receipt, EXIT_OK

    return done("replay", [*named, *checked(overrides)], work, note)


def trend(overrides: Sequence[str] = (), *, note: Note = warn) -> list[TrendRow]:
    """Stored receipts, the newest first: `["trend.eval=takes_quality", "trend.limit=20"]`.

    Raises:
        StoreError: the store cannot be read.
        UsageError: `trend.group` is set: each receipt holds its own cells, in `groups`.
    """
    from evalrunner.commands.output import say
    from evalrunner.commands.trend import matching
    from evalrunner.config.tree import TrendConfig, load

    def work(config: "DictConfig", folder: Path) -> tuple[list[TrendRow], int]:
        asked = load(config, TrendConfig)
        if asked.trend.group is not None:
            what = "is for the command; each receipt holds its cells in `groups`"
            raise UsageError(Problem("trend.group", what, show(asked.trend.group), "null"))
        with asked.store.reading(say) as reader:
            return matching(reader, asked.trend), EXIT_OK

    return done("trend", overrides, work, note)


def tables(
    path: str | os.PathLike[str] | None = None, overrides: Sequence[str] = (), *, note: Note = warn
) -> Tables:
    """The store's tables, as rows and data frames; called as `evalrunner.store()`.

    Args:
        path: the database; None takes the configured one.
        overrides: such as `["store.path=FILE"]`, for the configured one.
        note: is told what waits, and what was taken in.

    Raises:
        ConfigError: the overrides do not fit.
    """
    from evalrunner.config.tree import TrendConfig, load
    from evalrunner.store.duckdb_store import DuckdbStore

    if path is not None:
        return Tables(DuckdbStore(path=Path(path)), note)
    store = done("trend", overrides, lambda config, _: (load(config, TrendConfig).store, EXIT_OK), note)
    return Tables(store, note)
