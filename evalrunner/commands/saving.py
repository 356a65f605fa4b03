"""Writing a baseline from a run, and reading the two sides of a difference."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalrunner.baseline.attribution import Side, recovered
from evalrunner.baseline.pinned import parameters, repeated, settings
from evalrunner.baseline.repository import Repository, author
from evalrunner.baseline.written import BLOCK, Saved, dump, load, plain, receipt_block, rows_sha
from evalrunner.commands.origin import Origin, named, origin
from evalrunner.commands.output import near
from evalrunner.errors import EvalrunnerError, InputError, Problem, UsageError, nearest, show
from evalrunner.paths import data_root, user_conf
from evalrunner.pipeline.locked import text_shas, texts
from evalrunner.receipt.files import write_atomic
from evalrunner.receipt.fingerprint import of_text
from evalrunner.receipt.schema import timestamp


def home() -> Path:
    """The folder of the user's baselines, whether it is there or not.

    Raises:
        UsageError: the user's configuration is switched off.
    """
    conf = user_conf()
    if conf is None:
        raise UsageError(
            Problem("EVALRUNNER_CONF", "switches your conf/ off, and baselines lie in it", "none")
        )
    return conf / "baseline"


def file_of(name: str) -> Path:
    """The YAML file of a baseline, whether it is there or not."""
    return home() / f"{name}.yaml"


def names() -> list[str]:
    """The baselines that are there, in alphabetical order."""
    return sorted(path.stem for path in home().glob("*.yaml"))


def text_of(name: str) -> str:
    """The text of a baseline's YAML file.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    path = file_of(name)
    text = _read(path)
    if text is None:
        known = names()
        what = f"no such baseline in {near(path.parent)}"
        raise InputError(
            Problem("baseline", what, show(name), ", ".join(known) or "none yet", nearest(name, known))
        )
    return text


def read(name: str) -> Saved:
    """A baseline of the user's.

    Raises:
        InputError, ConfigError: there is none, or it is not valid.
    """
    path = file_of(name)
    return load(name, text_of(name), _read(path.with_suffix(".jsonl")), near(path))


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem(near(path), f"cannot be read: {error}")) from None


def write(
    name: str, run: Origin, reason: str | None, previous: str | None, kept: Mapping[str, Any]
) -> list[Path]:
    """Writes a baseline, once it is clear that it composes and repeats its run, and returns its files.

    Args:
        name: of the baseline.
        run: what it is saved from.
        reason: why.
        previous: the fingerprint of the one that it takes the place of.
        kept: settings of that one that stay as they are.

    Raises:
        InputError: the run is inconclusive, or cannot be repeated any more; says why.
        ReceiptNotKeptError: a file cannot be written.
    """
    receipt = run.receipt
    if receipt.verdict == "inconclusive":
        what = "the run is inconclusive: nothing can be held to it"
        raise InputError(Problem(receipt.run_id or "the receipt", what, receipt.verdictMessage))
    told, rows = receipt_block(receipt)
    title = (
        f"The bar of {receipt.eval or 'a run'}, measured {receipt.ts[:10]}. `evalrunner baseline` writes it."
    )
    option = {**settings(run.config, run.choices, receipt), **kept}
    block = {
        "saved": timestamp(datetime.now(UTC)),
        "author": author(Path.cwd()),
        "reason": reason,
        "previous": previous,
        "rows": None if rows is None else rows_sha(rows),
    }

    def text(shas: Mapping[str, str]) -> str:
        return dump(title, {**option, BLOCK: {**plain({**block, "texts": shas}), "receipt": told}})

    session, lost = repeated(name, text({}), receipt, corpus=not run.exact)
    if lost:
        what = "what the run was measured with is not here any more: run again, and save that"
        raise InputError(
            [Problem(f"{each.part} fingerprint", what, each.now[:8], each.then[:8]) for each in lost]
        )
    path = file_of(name)
    beside = path.with_suffix(".jsonl")
    whole = text(text_shas(texts(session)))
    load(name, whole, rows, near(path))
    if rows is not None:
        write_atomic(beside, rows)
    write_atomic(path, whole)
    if rows is None:
        beside.unlink(missing_ok=True)
    return [path] if rows is None else [path, beside]


def side(name: str) -> Side:
    """A side of a difference: a baseline by its name, or a run by whatever name it has.

    Raises:
        InputError: there is nothing of that name.
    """
    return of_baseline(read(name)) if name in names() else of_run(origin(named(name), name), name)


def of_baseline(saved: Saved) -> Side:
    """A baseline, with the texts of its rubric and prompts as far as files or git's history have them."""
    shas = saved.block.texts
    found = recovered(shas, _versions, lambda text: of_text(text).full)
    return Side(f"baseline {saved.name}", saved.receipt, shas, found, parameters(saved.option))


def of_run(run: Origin, name: str) -> Side:
    """A run, with the texts of its rubric and prompts where those that are here now are still the same."""
    receipt, label = run.receipt, f"run {run.receipt.run_id or name}"
    option = settings(run.config, run.choices, receipt)
    told = parameters(option)
    try:
        session, lost = repeated("run", dump(label, option), receipt, corpus=False)
    except EvalrunnerError:
        return Side(label, receipt, parameters=told)
    gone = {
        "rubrics/" if each.part == "rubric" else "prompts/"
        for each in lost
        if each.part in {"rubric", "prompt"}
    }
    found = {file: text for file, text in texts(session).items() if not file.startswith(tuple(gone))}
    return Side(label, receipt, text_shas(found), found, told)


def _versions(name: str) -> Iterator[str]:
    """Every text of a rubric's or prompt's file: yours, the packaged one, those of git's history."""
    path = home().parent.parent / name
    for file in (path, data_root() / name):
        text = _read(file)
        if text is not None:
            yield text
    repository = Repository.around(path)
    if repository is not None:
        yield from repository.versions(path)
