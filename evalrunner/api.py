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

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Generic, TypeVar

from evalrunner.commands.output import exit_code, said_to
from evalrunner.commands.regress import Compared
from evalrunner.config.table import COMMANDS
from evalrunner.errors import EXIT_CRASH, EXIT_OK, EvalrunnerError, Problem, UsageError, show
from evalrunner.pipeline.forecast import Forecast
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.base import Against, FiledReporter, Reporter
from evalrunner.store.frames import Tables
from evalrunner.store.reader import TrendRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omegaconf import DictConfig

    Work = Callable[["DictConfig", Path], tuple["T", int]]

__all__ = [
    "Compared",
    "Forecast",
    "Receipt",
    "Tables",
    "TrendRow",
    "regress",
    "replay",
    "run",
    "tables",
    "trend",
    "validate",
]

T = TypeVar("T")

Note = Callable[[str], None]

_ONE_AT_A_TIME = RLock()
_QUIET = ("hydra/job_logging=none", "hydra/hydra_logging=none")
_NO_FOLDER = ("hydra.run.dir=.", "hydra.output_subdir=null")


def _warn(line: str) -> None:
    logging.getLogger("evalrunner").warning("%s", line)


def run(overrides: Sequence[str] = (), *, note: Note = _warn) -> Receipt:
    """Runs an eval, keeps its receipt in run folder and store, and returns it.

    Args:
        overrides: such as `["eval=takes_quality", "sampler.limit=50"]`.
        note: is told what the command would say on stderr, line by line.

    Raises:
        EvalrunnerError: as the command would end with exit code 3 or 4.
    """
    from evalrunner.commands.run import evaluate

    def work(config: "DictConfig", folder: Path) -> tuple[Receipt, int]:
        session, receipt, kept = evaluate(config, folder)
        _write(receipt, session.config.reporter, kept, session.warnings)
        return receipt, exit_code(receipt)

    return _done("run", overrides, work, note)


def regress(overrides: Sequence[str] = (), *, note: Note = _warn) -> Compared:
    """Runs again as a baseline or a receipt did, and compares: `["baseline=NAME"]`, `["against=FILE"]`.

    `comparison.outcome` of what is returned is `ok`, `regression` or `inconclusive`.

    Raises:
        EvalrunnerError: as `run`.
    """
    from evalrunner.commands.regress import held_to

    def work(config: "DictConfig", folder: Path) -> tuple[Compared, int]:
        done = held_to(config, folder)
        against = Against(done.baseline.to_json(), done.comparison, done.advisory)
        _write(done.receipt, done.session.config.reporter, done.kept, done.session.warnings, against)
        return done, done.exit_code

    return _done("regress", overrides, work, note)


def validate(overrides: Sequence[str] = (), *, note: Note = _warn) -> Forecast:
    """Checks all that a run would need, calls nothing, and returns what it would call and cost at most.

    Raises:
        EvalrunnerError: what is wrong, all of it at once.
    """
    from evalrunner.commands.validate import foreseen

    return _done("validate", overrides, lambda config, folder: (foreseen(config, folder)[1], EXIT_OK), note)


def replay(
    path: str | os.PathLike[str] | None = None, overrides: Sequence[str] = (), *, note: Note = _warn
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
        _write(receipt, asked.reporter, None if asked.receipt is None else str(asked.receipt))
        return receipt, EXIT_OK

    return _done("replay", [*named, *_checked(overrides)], work, note)


def trend(overrides: Sequence[str] = (), *, note: Note = _warn) -> list[TrendRow]:
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

    return _done("trend", overrides, work, note)


def tables(
    path: str | os.PathLike[str] | None = None, overrides: Sequence[str] = (), *, note: Note = _warn
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
    store = _done("trend", overrides, lambda config, _: (load(config, TrendConfig).store, EXIT_OK), note)
    return Tables(store, note)


class _Job(Generic[T]):
    """What Hydra calls. It keeps what the work returns or raises: Hydra would print an error."""

    def __init__(self, command: str, work: "Work[T]") -> None:
        self.keeps = COMMANDS[command].keeps
        self.work = work
        self.results: list[T] = []
        self.error: Exception | None = None

    def __call__(self, config: "DictConfig") -> None:
        from hydra.core.hydra_config import HydraConfig

        folder = Path(HydraConfig.get().runtime.output_dir) if self.keeps else Path()
        try:
            result, code = self.work(config, folder)
            self.results.append(result)
        except Exception as error:
            self.error, code = error, getattr(error, "exit_code", EXIT_CRASH)
        if self.keeps:
            self._keep(folder, code)

    def _keep(self, folder: Path, code: int) -> None:
        """Leaves the exit code of the command beside the receipt, as the command does."""
        from evalrunner.config.jobs import RECEIPT, Job, given_overrides, keep

        receipt = folder / RECEIPT
        told = None if self.error is None else f"{type(self.error).__name__}: {self.error}"
        left = str(receipt) if receipt.is_file() else None
        keep(Job(0, code, tuple(given_overrides()), str(folder), left, told))

    def result(self) -> T:
        """What the work returned; what it raised is raised."""
        if self.error is not None:
            raise self.error
        return self.results[0]


def _done(command: str, overrides: Sequence[str], work: "Work[T]", note: Note) -> T:
    """Composes the command's configuration, and what the work makes of it."""
    from evalrunner.config.app import App, shadowed
    from evalrunner.config.borrowed import borrowed
    from evalrunner.config.explain import CONFIG_FAULTS, explained
    from evalrunner.config.process import check_environment

    given = _checked(overrides)
    check_environment(os.environ, given)
    decided = [*_QUIET, *(() if COMMANDS[command].keeps else _NO_FOLDER), *given]
    job = _Job(command, work)
    with _ONE_AT_A_TIME, borrowed(), said_to(note):
        if hidden := shadowed():
            switch = "(EVALRUNNER_CONF=none switches it off)"
            note(f"your conf/ shadows packaged options: {', '.join(hidden)} {switch}")
        try:
            with App(command) as app:
                if app.is_sweep(command, decided):
                    raise UsageError(
                        Problem("hydra.mode", "a function runs once", "MULTIRUN", "a call for each")
                    )
                app.run(command, job, decided)
        except (*CONFIG_FAULTS, EvalrunnerError) as error:
            raise explained(error) from error
    return job.result()


def _checked(overrides: Sequence[str]) -> list[str]:
    from evalrunner.config.commandline import OVERRIDE

    if isinstance(overrides, str):
        what = "are a list of texts, not one text"
        raise UsageError(Problem("overrides", what, show(overrides), show([overrides])))
    wrong = [
        Problem(
            "overrides",
            "is no override",
            show(each),
            "key=value, +key=value, ~key; flags are for the command line",
        )
        for each in overrides
        if not isinstance(each, str) or not OVERRIDE.match(each)
    ]
    if wrong:
        raise UsageError(wrong)
    return list(overrides)


def _write(
    receipt: Receipt,
    reporters: "Mapping[str, Reporter]",
    kept: str | None,
    warnings: Sequence[str] = (),
    against: Against | None = None,
) -> None:
    """Runs the reporters that write to files."""
    from evalrunner.commands.reporting import show as report

    filed = {
        name: each
        for name, each in reporters.items()
        if isinstance(each, FiledReporter) and each.path is not None
    }
    report(receipt, filed, as_json=False, kept=kept, warnings=warnings, against=against)
