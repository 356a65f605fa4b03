"""`evalrunner produce`: runs the subject on selected items."""

from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.attempt import open_session
from evalrunner.commands.records import read, write
from evalrunner.config.tree import StageConfig, load
from evalrunner.pipeline.runner import run_produce
from evalrunner.pipeline.via import Piped, lines
from evalrunner.source.unused import UnusedSource


def main(config: DictConfig, *, folder: Path) -> int:
    """Writes each record again with its outcomes."""
    piped, out = produced(config, folder)
    write(lines(piped.items, piped.outcomes, piped.via), out)
    return 0


def produced(config: DictConfig, folder: Path, given: Piped | None = None) -> tuple[Piped, Path | None]:
    """The outcomes of what is given, or else read, and the file that they should go to."""
    asked = load(config, StageConfig, {"source": UnusedSource()})
    session = open_session(asked, folder)
    return run_produce(session, read(asked.input) if given is None else given), asked.out
