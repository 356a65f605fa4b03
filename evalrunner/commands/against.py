"""What `regress` compares with: a receipt, or a baseline of the working tree or of a git ref."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from evalrunner.baseline import written
from evalrunner.baseline.changes import listed, since, uncovered
from evalrunner.baseline.pinned import PINNED, raw
from evalrunner.baseline.repository import Point, Repository
from evalrunner.baseline.written import Saved
from evalrunner.commands.output import near, say
from evalrunner.commands.rerun import overridden, overrides_of, recomposed, refuse_endpoints, refuse_overrides
from evalrunner.config.tree import RegressConfig, load
from evalrunner.errors import ConfigError, InputError, Problem
from evalrunner.git.run import GitError
from evalrunner.paths import data_root, user_conf
from evalrunner.pipeline.locked import texts
from evalrunner.pipeline.session import Session
from evalrunner.receipt.files import read_receipt
from evalrunner.receipt.schema import Receipt


@dataclass(frozen=True)
class Bar:
    """What is compared with, and how it is run again.

    Attributes:
        config: what runs.
        receipt: what it is compared with.
        untold: what the receipt does not tell of its run, a line each.
        warnings: what the comparison has to say of the baseline, a line each.
        path: the baseline's YAML file; None where a receipt is compared with.
        ref: where the baseline was read; None in the working tree.
    """

    config: RegressConfig
    receipt: Receipt
    untold: Sequence[str] = ()
    warnings: Sequence[str] = ()
    path: Path | None = None
    ref: Point | None = None

    def named(self, session: Session) -> list[str]:
        """The files behind the bar that differ from the ref, or else from the merge base with the default."""
        repository = None if self.path is None else Repository.around(self.path)
        if self.path is None or repository is None:
            return []
        untold = "so it cannot be told whether this change moves its own bar"
        try:
            point = self.ref or repository.base()
            if point is not None:
                return since(repository, point, _behind(self.path, session))
        except GitError as error:
            return [f"{error}, {untold}"]
        return [
            "git knows no merge base with a default branch (origin/HEAD, main, master),"
            f" {untold}: fetch that branch, or use --against-ref"
        ]


def bar(config: DictConfig, given: RegressConfig) -> Bar:
    """What the configuration says to compare with.

    Raises:
        InputError: the receipt cannot be used, or the baseline's rows are not its own.
        UsageError: overrides of what the comparison must keep; a ref that git does not know.
        ConfigError: the baseline of a ref is not valid, or the working tree overrules it.
    """
    if given.against is not None:
        return _receipt(given.against, given)
    return _baseline(config, given)


def _receipt(path: Path, given: RegressConfig) -> Bar:
    receipt, _ = read_receipt(path)  # the comparison says what is doubtful about it
    refuse_overrides(given.overrides, receipt)
    refuse_endpoints(receipt, given)
    derived, untold = overrides_of(receipt)
    return Bar(load(recomposed(derived), RegressConfig), receipt, untold)


def _baseline(config: DictConfig, given: RegressConfig) -> Bar:
    name = given.choices["baseline"]
    path = _place(name)
    ref: Point | None = None
    if given.against_ref is None:
        rows = path.with_suffix(".jsonl")
        text = path.read_text(encoding="utf-8-sig")
        saved = written.load(name, text, _read(rows), near(path))
        asked = given
    else:
        saved, ref = _at(given.against_ref, name, path)
        with tempfile.TemporaryDirectory(prefix="evalrunner-") as folder:
            file = Path(folder) / "baseline" / path.name
            file.parent.mkdir()
            file.write_text(saved.text, encoding="utf-8")
            config = recomposed(ahead=Path(folder))
        asked = load(config, RegressConfig)
    if ref is not None and HydraConfig.get().sweeper.get("params"):
        what = "in a configuration of the working tree could overrule the baseline"
        raise ConfigError(Problem("hydra.sweeper.params", what, None, "-m key=a,b on the command line"))
    refuse_overrides(given.overrides, saved.receipt)
    warnings = []
    pinned = {key: saved.option[key] for key in PINNED if key in saved.option}
    others = uncovered(pinned, raw(config), overridden(given.overrides))
    if others and ref is not None:
        raise ConfigError(
            Problem(
                f"baseline {name}",
                f"configurations of the working tree overrule it as it stands in {ref}: {listed(others)}",
                allowed="the baseline's own settings, or an override on the command line",
            )
        )
    if others:
        warnings.append(f"configurations of yours overrule baseline {name}: {listed(others)}")
    warnings += _age(saved, asked.regress.max_age_days)
    return Bar(asked, saved.receipt, (), warnings, path, ref)


def _place(name: str) -> Path:
    """The YAML file of the option that was chosen."""
    for source in HydraConfig.get().runtime.config_sources:
        file = Path(source.path) / "baseline" / f"{name}.yaml"
        if source.schema == "file" and file.is_file():
            return file
    return (user_conf() or data_root() / "conf") / "baseline" / f"{name}.yaml"


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem(near(path), f"cannot be read: {error}")) from None


def _at(ref: str, name: str, path: Path) -> tuple[Saved, Point]:
    """The baseline as it stands in a git ref."""
    repository = Repository.around(path)
    if repository is None:
        raise InputError(Problem("--against-ref", "lies in no git repository", near(path)))
    point = repository.point(ref)
    text, rows = repository.texts(point, [path, path.with_suffix(".jsonl")])
    if text is None:
        raise InputError(
            Problem("--against-ref", f"{point} has no {near(path)}: there is nothing to compare with")
        )
    return written.load(name, text, rows, f"{ref}:{near(path)}"), point


def _age(saved: Saved, most: int | None) -> list[str]:
    """Says how old the figures are; a warning where they are too old."""
    block, ts = saved.block, saved.receipt.ts
    days = (datetime.now(UTC) - datetime.fromisoformat(ts)).days
    by = f" by {block.author}" if block.author else ""
    why = f": {block.reason}" if block.reason else ""
    say(f"baseline {saved.name}: measured {ts[:10]}, {days} days ago; saved {block.saved[:10]}{by}{why}")
    if most is None or days <= most:
        return []
    return [
        f"the baseline is {days} days old, more than regress.max_age_days={most}; `baseline bless` renews it"
    ]


def _behind(path: Path, session: Session) -> list[Path]:
    """The files that make the bar: the baseline's own, the threshold's option, the rubric, the prompts."""
    conf = path.parent.parent
    rule = session.config.choices.get("threshold")
    files = [path, path.with_suffix(".jsonl")]
    files += [conf / "threshold" / f"{rule}.yaml"] if rule else []
    return files + [conf.parent / name for name in texts(session)]
