"""`evalrunner produce`: runs the subject on selected items."""

from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.attempt import open_session
from evalrunner.commands.records import read, write
from evalrunner.config.tree import StageConfig, load
from evalrunner.pipeline.runner import run_produce
from evalrunner.pipeline.via import lines
from evalrunner.source.unused import UnusedSource


def main(config: DictConfig, *, folder: Path) -> int:
    """Writes each record again with its outcomes."""
    asked = load(config, StageConfig, {"source": UnusedSource()})
    piped = run_produce(open_session(asked, folder), read(asked.input))
    write(lines(piped.items, piped.outcomes, piped.via), asked.out)
    return 0
