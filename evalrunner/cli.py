"""The command line: dispatches to commands, and is the one boundary where errors become text and exit codes.

Nothing heavy is imported before it is known that a command runs: `--help` starts as fast as Python does.
"""

import os
import sys

from evalrunner import garbage
from evalrunner.config.table import COMMANDS, CYCLES_ON_A_TERMINAL, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from omegaconf import DictConfig

    from evalrunner.config.app import App
    from evalrunner.config.commandline import Parsed


def main(argv: "Sequence[str] | None" = None) -> int:
    """Runs a command line and returns its exit code.

    Args:
        argv: without the program's name; None takes the process's own, and then its streams and signals are
            set up: a closed pipe is no error, and SIGTERM interrupts as Ctrl-C does.
    """
    if argv is not None:
        return _ended(list(argv))
    garbage.at_start()
    try:
        return _ended(sys.argv[1:], own=True)
    finally:
        garbage.at_end()


def _ended(arguments: "list[str]", *, own: bool = False) -> int:
    """The exit code of a command line; `own` where the process is there for it alone."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        (sys.stdout if arguments else sys.stderr).write(usage())
        return 0 if arguments else 3
    if own:
        from evalrunner.config.process import set_up

        set_up()
    try:
        return _flushed(dispatch(arguments[0], arguments[1:]))
    except SystemExit as done:  # after the --help of a plain command
        return _flushed(int(done.code or 0))
    except KeyboardInterrupt:
        sys.stderr.write("evalrunner: interrupted\n")
        return _flushed(130)
    except Exception as error:
        return _flushed(fail(error))


def _flushed(code: int) -> int:
    """The exit code, once stdout has taken everything; a crash when it did not, as on a full disk."""
    try:
        sys.stdout.flush()
    except OSError as error:
        from evalrunner.errors import EvalrunnerError, Problem

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what it holds is lost already
        return fail(EvalrunnerError(Problem("stdout", f"could not be written: {error.strerror}")))
    return code


def dispatch(command: str, tokens: "Sequence[str]") -> int:
    """Does what a command line says; what is wrong with it is raised."""
    from evalrunner import __version__
    from evalrunner.config import commandline, completion
    from evalrunner.config.process import check_environment
    from evalrunner.errors import Problem, UsageError, nearest

    if command == "--version":
        sys.stdout.write(f"evalrunner {__version__}\n")
        return 0
    if command in {"-sc", "--shell-completion"}:
        return completion.main(tokens)
    check_environment(os.environ, tokens)
    if command not in COMMANDS:
        what = "no such flag before a command" if command.startswith("-") else "no such command"
        raise UsageError(Problem(command, what, None, ", ".join(COMMANDS), nearest(command, COMMANDS)))
    if COMMANDS[command].plain:
        return plain(command, tokens)
    parsed = commandline.parse(command, tokens)
    sys.stderr.writelines(f"evalrunner: {note}\n" for note in parsed.notes)
    if parsed.debug:
        os.environ["EVALRUNNER_DEBUG"] = "1"
    parsed.overrides += commandline.positional_overrides(command, parsed.positionals)
    return start(command, parsed)


def plain(command: str, tokens: "Sequence[str]") -> int:
    """Runs a command that composes no configuration; its module takes the tokens themselves."""
    from importlib import import_module

    module = import_module(f"evalrunner.commands.{command}")
    garbage.at_work()
    return int(module.main(tokens))


def start(command: str, parsed: "Parsed") -> int:
    """Composes, and then shows, runs or sweeps.

    Raises:
        EvalrunnerError: the configuration is wrong; flags are named where they set the keys.
    """
    from evalrunner.config.app import App, shadowed
    from evalrunner.config.commandline import relabelled
    from evalrunner.config.explain import CONFIG_FAULTS, explained
    from evalrunner.config.help import command_help
    from evalrunner.errors import EvalrunnerError, Problem

    sweeps = COMMANDS[command].sweeps
    try:
        with App(command, parsed.hydra.get("--config-dir"), sweeps=sweeps) as app:
            if "--help" in parsed.hydra:
                sys.stdout.write(command_help(command, app))
                return 0
            if hidden := shadowed():
                sys.stderr.write(
                    f"evalrunner: your conf/ shadows packaged options: {', '.join(hidden)}"
                    " (EVALRUNNER_CONF=none switches it off)\n"
                )
            name = parsed.hydra.get("--config-name", command)
            if app.show(name, parsed):
                return 0
            overrides = [*_decided_once(command), *parsed.overrides]
            task = Task(command, parsed.flags)
            if "--multirun" in parsed.hydra or app.is_sweep(name, overrides):
                return sweep(app, task, name, overrides)
            try:
                return int(app.run(name, task, overrides).return_value)
            except OSError as error:  # the task raises none: it is Hydra that cannot save the configuration
                where = str(error.filename or "the run folder")
                what = f"cannot be written: {error.strerror or error}"
                raise EvalrunnerError(Problem(where, what)) from error
    except (*CONFIG_FAULTS, EvalrunnerError) as error:
        raise relabelled(explained(error, sweeps=sweeps), parsed.flags) from error


def _decided_once(command: str) -> list[str]:
    """The overrides that the process decides, before any job: they come first, so that a user's own win."""
    overrides = []
    if COMMANDS[command].counts_cycles and sys.stdout.isatty():
        overrides.append(f"cycles.default_max={CYCLES_ON_A_TERMINAL}")
    if not COMMANDS[command].keeps:
        overrides += ["hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=quiet"]
    return overrides


def sweep(app: "App", task: "Task", name: str, overrides: "Sequence[str]") -> int:
    """Runs every job, shows the summary on stdout, and returns the worst exit code."""
    import tempfile
    from contextlib import nullcontext
    from pathlib import Path

    from evalrunner.config.jobs import collect, summarise, worst
    from evalrunner.config.quoting import assigned
    from evalrunner.errors import Problem, UsageError

    command = COMMANDS[task.command]
    if not command.sweeps:
        raise UsageError(Problem("-m", f"{task.command} cannot be swept", None, "run, validate, regress"))
    keeps = nullcontext("") if command.keeps else tempfile.TemporaryDirectory(prefix="evalrunner-")
    with keeps as scratch:
        elsewhere = [assigned("hydra.sweep.dir", scratch)] if scratch else []
        codes: list[int] = []
        expected = 0
        asked = [*elsewhere, *overrides, "hydra.mode=MULTIRUN"]
        begin_sweep(app, name, asked)
        try:
            batches = app.multirun(name, task, asked)
            expected = sum(len(batch) for batch in batches or () if isinstance(batch, list | tuple))
            if not expected:
                raise UsageError(
                    Problem("-m", "the overrides give no job: nothing was run", allowed="a value or more")
                )
        except KeyboardInterrupt:
            sys.stderr.write("evalrunner: interrupted\n")
            codes.append(130)
        except Exception as error:
            if app.composed is None or not (jobs := collect(Path(str(app.composed.hydra.sweep.dir)))):
                raise
            codes.append(fail(error))
        assert app.composed is not None
        jobs = collect(Path(str(app.composed.hydra.sweep.dir)), expected)
        show = getattr(task.module(), "summarise", summarise)
        show(jobs, as_json=bool(app.composed.get("json")))
        return worst([*codes, *(job.code for job in jobs)])


def begin_sweep(app: "App", name: str, overrides: "list[str]") -> None:
    """Makes sure that the jobs can run, and makes the ledger that they share where they have one cap."""
    from pathlib import Path

    from hydra.types import RunMode

    from evalrunner.config.jobs import check_sweep

    config = app.compose_config(name, overrides, RunMode.MULTIRUN)
    check_sweep(config.hydra)
    budget = config.get("budget")
    if budget is not None and budget.get("scope") == "sweep":
        from evalrunner.budget.sweep import begin

        begin(Path(str(config.hydra.sweep.dir)))


class Task:
    """What Hydra calls for each job, in this process or in a launcher's worker.

    It never raises an Exception: what goes wrong becomes an exit code, a message on stderr, and a file in the
    job's folder, since a launcher would lose it or stop the sweep.
    """

    def __init__(self, command: str, flags: "Mapping[str, str]") -> None:
        self.command = command
        self.flags = dict(flags)
        self.process = os.getpid()

    def module(self) -> "ModuleType":
        """The command's module: it has `main`, and may have `summarise`."""
        from importlib import import_module

        return import_module(f"evalrunner.commands.{self.command}")

    def __call__(self, config: "DictConfig") -> int:
        """Runs the job and returns its exit code."""
        from contextlib import nullcontext, redirect_stdout
        from pathlib import Path

        from hydra.core.hydra_config import HydraConfig

        from evalrunner.config.commandline import relabelled
        from evalrunner.config.jobs import given_overrides, in_sweep
        from evalrunner.errors import EvalrunnerError

        if os.getpid() != self.process:  # a launcher's worker
            from evalrunner.config.process import ready_streams

            self.process = os.getpid()
            ready_streams()
        hydra, swept = HydraConfig.get(), in_sweep()
        folder = Path(hydra.runtime.output_dir)
        overrides = tuple(given_overrides())
        number = int(hydra.job.num) if swept else 0
        where = f"job {number} ({' '.join(overrides)}): " if swept else ""
        error: str | None = None
        try:
            with redirect_stdout(sys.stderr) if swept else nullcontext():
                command = self.module()
                garbage.at_work()
                code = int(command.main(config, folder=folder if COMMANDS[self.command].keeps else None))
            if swept and code:
                sys.stderr.write(f"evalrunner: {where}exit {code}\n")
        except KeyboardInterrupt:
            self._keep(number, 130, overrides, folder, "interrupted", swept=swept)
            raise
        except Exception as caught:
            if isinstance(caught, EvalrunnerError):
                relabelled(caught, self.flags)
            code, error = fail(caught, where), f"{type(caught).__name__}: {caught}"
        self._keep(number, code, overrides, folder, error, swept=swept)
        if swept and code == 130:
            raise KeyboardInterrupt
        return code

    def _keep(
        self,
        number: int,
        code: int,
        overrides: tuple[str, ...],
        folder: "Path",
        error: str | None,
        *,
        swept: bool,
    ) -> None:
        from evalrunner.config.jobs import RECEIPT, Job, keep

        if not (swept or COMMANDS[self.command].keeps):
            return
        receipt = folder / RECEIPT
        keep(Job(number, code, overrides, str(folder), str(receipt) if receipt.is_file() else None, error))


def fail(error: BaseException, where: str = "") -> int:
    """Shows an error on stderr and returns its exit code; a traceback only when debugging."""
    from evalrunner.errors import EXIT_CRASH, EvalrunnerError

    debugging = os.environ.get("EVALRUNNER_DEBUG") == "1" or os.environ.get("HYDRA_FULL_ERROR") == "1"
    if debugging:
        import traceback

        traceback.print_exception(error)
    if not isinstance(error, EvalrunnerError):
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        hint = "" if debugging else "; --debug shows where"
        sys.stderr.write(f"evalrunner: {where}crashed: {what}{hint} [E-CRASH]\n")
        return EXIT_CRASH
    lines = [str(problem) for problem in error.problems]
    if len(lines) == 1:
        sys.stderr.write(f"evalrunner: {where}{lines[0]} [{error.code}]\n")
    else:
        listed = "".join(f"  - {line}\n" for line in lines)
        sys.stderr.write(f"evalrunner: {where}{len(lines)} problems [{error.code}]\n{listed}")
    return error.exit_code
