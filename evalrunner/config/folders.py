"""Names of run folders: two runs never share one, however close together they start.

A run folder's name is the attempt's run id: `outputs/run/20260102T030405-123-9f3a0c1d`. The jobs of a sweep
lie in the sweep's folder, each under the sweep's id and its own number: `.../20260102T030405-123-9f3a0c1d.2`.
"""

import re
import uuid
from datetime import UTC, datetime
from pathlib import Path

from omegaconf import OmegaConf

RESOLVER = "run_id"
_RUN_ID = re.compile(r"\d{8}T\d{6}-\d{3}-[0-9a-f]{8}(\.\d+)?")


def new_run_id(start: datetime) -> str:
    """A run id: start to the millisecond in UTC, and eight random hex digits."""
    return f"{start:%Y%m%dT%H%M%S}-{start.microsecond // 1000:03d}-{uuid.uuid4().hex[:8]}"


def is_run_id(text: str) -> bool:
    """Whether a text is a run id, and so a plain name."""
    return _RUN_ID.fullmatch(text) is not None


def run_id(folder: Path) -> str:
    """The run id that names a run folder; a new one where somebody configured other names."""
    return folder.name if is_run_id(folder.name) else new_run_id(datetime.now(UTC))


def register_resolver() -> None:
    """Makes `${run_id:}` a new run id, the same wherever one configuration and its jobs mention it."""
    OmegaConf.register_new_resolver(
        RESOLVER, lambda: new_run_id(datetime.now(UTC)), use_cache=True, replace=True
    )
