"""How a command is called as a function: composed, run once, nothing printed, nothing left behind."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Generic, TypeVar

from evalrunner.commands.output import said_to
from evalrunner.config.table import COMMANDS
from evalrunner.errors import EXIT_CRASH, EvalrunnerError, Problem, UsageError, show
from evalrunner.receipt.schema import Receipt
from evalrunner.reporter.base import Against, FiledReporter, Reporter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omegaconf import DictConfig

    Work = Callable[["DictConfig", Path], tuple["T", int]]

T = TypeVar("T")

Note = Callable[[str], None]
"""Is told what a command would say on stderr, line by line."""

_ONE_AT_A_TIME = RLock()
_QUIET = ("hydra/job_logging=none", "hydra/hydra_logging=none")
_NO_FOLDER = ("hydra.run.dir=.", "hydra.output_subdir=null")


def warn(line: str) -> None:
    """What is noted where nobody says how: a warning of the logger `evalrunner`."""
    logging.getLogger("evalrunner").warning("%s", line)


@contextmanager
def quietly(note: Note) -> Iterator[None]:
    """Inside, commands may do their work: lines go to `note`, and Hydra's global state comes back as it was.

    Raises:
        EvalrunnerError: as the commands do; Hydra's own errors become ours.
    """
    from evalrunner.config.borrowed import borrowed
    from evalrunner.config.explain import CONFIG_FAULTS, explained

    with _ONE_AT_A_TIME, borrowed(), said_to(note):
        try:
            yield
        except (*CONFIG_FAULTS, EvalrunnerError) as error:
            raise explained(error) from error


class Job(Generic[T]):
    """What Hydra calls. It keeps what the work returns or raises: Hydra would print an error."""

    def __init__(self, command: str, work: "Work[T]") -> None:
        self.keeps = COMMANDS[command].keeps
        self.work = work
        self.results: list[T] = []
        self.error: Exception | None = None

    def __call__(self, config: "DictConfig") -> None:
        """Does the work; what it raises is kept for `result`."""
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


def done(command: str, overrides: Sequence[str], work: "Work[T]", note: Note) -> T:
    """Composes the command's configuration, and what the work makes of it."""
    from evalrunner.config.app import App, shadowed
    from evalrunner.config.process import check_environment

    given = checked(overrides)
    check_environment(os.environ, given)
    decided = [*_QUIET, *(() if COMMANDS[command].keeps else _NO_FOLDER), *given]
    job = Job(command, work)
    with quietly(note):
        if hidden := shadowed():
            switch = "(EVALRUNNER_CONF=none switches it off)"
            note(f"your conf/ shadows packaged options: {', '.join(hidden)} {switch}")
        with App(command) as app:
            if app.is_sweep(command, decided):
                raise UsageError(Problem("hydra.mode", "a function runs once", "MULTIRUN", "a call for each"))
            app.run(command, job, decided)
    return job.result()


def checked(overrides: Sequence[str]) -> list[str]:
    """The overrides, as a list.

    Raises:
        UsageError: they are one text, or some are no overrides.
    """
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


def write(
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
