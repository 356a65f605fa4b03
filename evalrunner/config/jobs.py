"""What a job leaves behind, so that its exit code survives every launcher.

Workers of a launcher return nothing that can be relied on; a file in each job's folder can.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from evalrunner.errors import EXIT_CRASH, EXIT_OK, Problem, UsageError, show

if TYPE_CHECKING:
    from omegaconf import DictConfig

_SAME_FOR_ALL = re.compile(
    r"\$\{(now:|oc\.env:|run_id:|hydra[.:](?!job\.(num|id|override_dirname)|overrides|runtime\.choices))[^{}]*\}"
)
"""The interpolations that give every job of a sweep the same text."""

RESULT = "result.json"
RECEIPT = "receipt.json"
"""The name under which a command keeps the receipt of its attempt in the run folder."""

WORST_FIRST = (130, 4, 3, 1, 2, 0)


@dataclass(frozen=True)
class Job:
    """One finished job.

    Attributes:
        number: its place in the sweep, from 0; 0 for a single run.
        code: its exit code.
        overrides: as given to it.
        folder: its run folder.
        receipt: the file of its receipt; None when it left none.
        error: what went wrong, for people; None when nothing did.
    """

    number: int
    code: int
    overrides: tuple[str, ...]
    folder: str
    receipt: str | None = None
    error: str | None = None

    def written(self) -> dict[str, Any] | None:
        """The receipt, read from its file; None when the job left none."""
        if self.receipt is None:
            return None
        loaded = json.loads(Path(self.receipt).read_text(encoding="utf-8"))
        return loaded if isinstance(loaded, dict) else None


def keep(job: Job) -> None:
    """Writes a job's result into its folder, whole or not at all."""
    path = Path(job.folder) / RESULT
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(asdict(job), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def collect(folder: Path, expected: int = 0) -> list[Job]:
    """The jobs of a sweep's folder, in their order.

    A job that left no result counts as a crash: its folder is there without one, or there are fewer than
    `expected`.
    """
    results = {path.parent: _read(path) for path in folder.rglob(RESULT)}
    begun = {path.parent for path in folder.rglob(".hydra") if path.is_dir()} - {folder}
    jobs = [
        *results.values(),
        *(_lost(place, str(path)) for place, path in enumerate(sorted(begun - set(results)))),
    ]
    jobs.sort(key=lambda job: job.number)
    missing = range(len(jobs), expected)
    return jobs + [_lost(number, str(folder)) for number in missing]


def _read(path: Path) -> Job:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return Job(**{**values, "overrides": tuple(values["overrides"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        return Job(0, EXIT_CRASH, (), str(path.parent), error=f"{path} cannot be read: {error}")


def _lost(number: int, folder: str) -> Job:
    """A job without a result, as far as Hydra has noted what it was."""
    name = Path(folder).name.rpartition(".")[2]
    place = int(name) if name.isdecimal() else number
    try:
        noted = yaml.safe_load((Path(folder) / ".hydra" / "overrides.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        noted = None
    overrides = tuple(map(str, noted)) if isinstance(noted, list) else ()
    return Job(place, EXIT_CRASH, overrides, folder, error="left no result")


def worst(codes: Iterable[int]) -> int:
    """The exit code of a sweep: the worst of its jobs'; a code that is none of ours counts as a crash."""
    found = {code if code in WORST_FIRST else EXIT_CRASH for code in codes}
    return next((code for code in WORST_FIRST if code in found), EXIT_OK)


def in_sweep() -> bool:
    """Whether the running job is part of a sweep: then only the parent writes to stdout."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    return bool(HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN)


def number_in_sweep() -> int | None:
    """The running job's place in its sweep, from 0; None when it is part of none."""
    from hydra.core.hydra_config import HydraConfig

    return int(HydraConfig.get().job.num) if in_sweep() else None


def check_sweep(hydra: "DictConfig") -> None:
    """Whether the jobs of a sweep can run beside one another.

    Raises:
        UsageError: they would share a folder, or the launcher may start none.
    """
    problems = []
    named = hydra.sweep._get_node("subdir")._value()
    if "${" not in _SAME_FOR_ALL.sub("", str(named)):
        what = "is one folder for all jobs, in which each would overwrite the others"
        allowed = "a name with ${hydra.job.num} in it, in single quotes"
        problems.append(Problem("hydra.sweep.subdir", what, show(named), allowed))
    if hydra.launcher.get("n_jobs") == 0:
        allowed = "1 or more at a time; -1 for one a core"
        problems.append(Problem("hydra.launcher.n_jobs", "no job would ever run", "0", allowed))
    if problems:
        raise UsageError(problems)


def sweep_folder() -> Path | None:
    """The folder of the sweep that the running job is part of; None when it is part of none."""
    from hydra.core.hydra_config import HydraConfig

    return Path(str(HydraConfig.get().sweep.dir)) if in_sweep() else None


def given_overrides() -> list[str]:
    """The running job's overrides, letter by letter.

    Hydra keeps them in a configuration, where reading one resolves its interpolations: it would show what
    `${oc.env:KEY}` stands for, and lose the escapes of texts.
    """
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import OmegaConf

    if not HydraConfig.initialized():
        return []
    overrides = OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False)
    return [str(each) for each in overrides] if isinstance(overrides, list) else []


def summarise(jobs: Sequence[Job], *, as_json: bool) -> None:
    """The summary of a sweep on stdout: a line a job, or with `as_json` a receipt a line, in job order."""
    for job in jobs:
        if not as_json:
            what = " ".join(job.overrides) or "no overrides"
            sys.stdout.write(f"{job.number}  exit {job.code}  {what}  {job.receipt or ''}".rstrip() + "\n")
        elif (receipt := job.written()) is not None:
            sys.stdout.write(json.dumps(receipt, ensure_ascii=False, separators=(",", ":")) + "\n")
