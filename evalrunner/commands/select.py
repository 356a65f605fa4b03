"""`evalrunner select`: the sample, as JSON lines for `produce`, `judge` or a file."""

from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.attempt import open_session
from evalrunner.commands.records import write
from evalrunner.config.tree import StageConfig, load
from evalrunner.pipeline.runner import select
from evalrunner.pipeline.via import Piped, lines
from evalrunner.subject.unknown import UnknownSubject


def main(config: DictConfig, *, folder: Path | None) -> int:
    """Writes one record an item. Calls nothing and keeps nothing."""
    piped, out = selected(config, folder or Path())
    write(lines(piped.items, None, piped.via), out)
    return 0


def selected(config: DictConfig, folder: Path) -> tuple[Piped, Path | None]:
    """The sample, and the file that it should go to."""
    asked = load(config, StageConfig, {"subject": UnknownSubject()})
    return select(open_session(asked, folder)), asked.out
