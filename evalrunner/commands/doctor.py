"""`evalrunner doctor`: what evalrunner needs here, and whether it is there."""

import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evalrunner.commands.arguments import Arguments
from evalrunner.commands.calling import announce, answers, llms
from evalrunner.commands.composed import composed
from evalrunner.commands.output import say
from evalrunner.config.tree import RunConfig, load
from evalrunner.errors import EXIT_CRASH, EXIT_OK, EvalrunnerError, MissingKeyError, Problem
from evalrunner.git.run import git
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.reporter.text import plain
from evalrunner.sandbox.bubblewrap import probe
from evalrunner.store import database, pending
from evalrunner.store.duckdb_store import DuckdbStore
from evalrunner.store.migrations import is_current

PACKAGES = ("evalrunner", "hydra-core", "omegaconf", "pydantic", "litellm", "duckdb")
GIT = (2, 39)


def main(tokens: Sequence[str]) -> int:
    """Looks at everything, and says all of it; with `--call` asks the models as well.

    Returns:
        0 when all is well, 4 when a model does not answer.

    Raises:
        EvalrunnerError: the store is broken.
        MissingKeyError: `--call` was given, and keys are missing; nothing was called.
    """
    arguments = Arguments("doctor")
    arguments.add_argument("--call", action="store_true", help="ask each model one small question, for money")
    arguments.add_argument("--config-dir", metavar="DIR", help="also the options of this folder, as of run")
    arguments.add_argument("overrides", nargs="*", help="such as panel=frontier or store.path=FILE")
    given = arguments.read(tokens)
    config = load(composed("validate", given.overrides, given.config_dir), RunConfig)
    for line in looked(config):
        _show(*line)
    return _called(config) if given.call else EXIT_OK


def looked(config: RunConfig) -> Iterator[tuple[str, str]]:
    """What is needed -> whether it is there, line by line. Calls nothing, and changes nothing.

    Raises:
        EvalrunnerError: the store is broken; after a line that says so.
    """
    yield from _versions()
    yield _git()
    yield _isolation()
    for speaker in (*config.subject.models(), *config.panel.models):
        told = "; ".join(each.what for each in speaker.check_ready(os.environ)) or _ready(speaker)
        yield "model", f"{speaker.id}: {told}"
    try:
        yield from _store(config.store)
    except EvalrunnerError:
        yield "store", "is broken"
        raise


def _called(config: RunConfig) -> int:
    speakers = (*config.subject.models(), *config.panel.models)
    missing: list[Problem] = [each for speaker in speakers for each in speaker.check_ready(os.environ)]
    if missing:
        raise MissingKeyError(missing)
    models = llms(config)
    announce(models, config, say)
    found = answers(models, config, say)
    for model, told in found:
        _show("asked", f"{model.id}: {told.text}")
    return EXIT_OK if all(told.ok for _, told in found) else EXIT_CRASH


def _show(name: str, text: str) -> None:
    sys.stdout.write(f"{name:<12} {plain(text)}\n")
    sys.stdout.flush()


def _versions() -> Iterator[tuple[str, str]]:
    yield "python", f"{platform.python_version()} ({sys.executable})"
    for name in PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, "is not installed as a package"


def _git() -> tuple[str, str]:
    needs = ".".join(map(str, GIT))
    try:
        told = git(Path.cwd(), "version").decode("utf-8", "replace")
    except EvalrunnerError as error:
        return "git", f"{error}; evals of code need {needs} or later"
    found = re.search(r"(\d+)\.(\d+)[\w.]*", told)
    if found is None or (int(found[1]), int(found[2])) < GIT:
        return "git", f"{told.strip()}; evals of code need {needs} or later"
    return "git", found[0]


def _isolation() -> tuple[str, str]:
    isolation = probe()
    return "bubblewrap", isolation.reason or "isolates the programs that are evaluated"


def _ready(speaker: object) -> str:
    if not isinstance(speaker, LitellmModel):
        return "needs no key"
    names = [name for name in speaker.key_variables() if os.environ.get(name, "").strip()]
    return f"{names[0]} is set" if names else "no key is named for it"


def _store(store: object) -> Iterator[tuple[str, str]]:
    """What is to be said of the store, which is left as it is: nothing is made, and nothing is taken in."""
    if not isinstance(store, DuckdbStore):
        yield "store", "keeps nothing"
        return
    path, waits = store.path, len(pending.waiting(store.path))
    waiting = f"; {waits} waiting in {pending.folder(path)}" if waits else ""
    if not path.exists():
        yield "store", f"{path} is not there yet; the first run makes it{waiting}"
        return
    try:
        with database.told(path), database.locked(path, 0), database.reading(path, 0) as connection:
            current = is_current(connection, path)
            row = connection.execute("select count(*) from attempts").fetchone() if current else None
    except database.BusyError as busy:
        yield "store", f"{path} is in use{waiting}"
        holder = database.holder(path)
        yield "lock", f"{busy}{f': {holder}' if holder else ''}"
        return
    if row is None:
        counted = "is of an older layout; the next run brings it up to date"
    else:
        counted = f"{row[0]} attempt{'' if row[0] == 1 else 's'}"
    yield "store", f"{path}: {counted}{waiting}"
    yield "lock", "nobody holds it"
