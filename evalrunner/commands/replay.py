"""`evalrunner replay`: shows a receipt again, with its verdict's exit code."""

from pathlib import Path

from omegaconf import DictConfig

from evalrunner.commands.output import exit_code, say
from evalrunner.commands.reporting import show
from evalrunner.config.tree import FromDb, ReplayConfig, load
from evalrunner.errors import InputError, Problem, UsageError
from evalrunner.receipt.files import dumps, loads, read_receipt, write_atomic
from evalrunner.receipt.schema import Receipt
from evalrunner.threshold.replay import second_opinion


def main(config: DictConfig, *, folder: Path | None) -> int:
    """Reads a receipt from a file, or from the store, and shows it. Needs no database for a file."""
    asked = load(config, ReplayConfig)
    receipt = again(asked)
    show(receipt, asked.reporter, as_json=asked.json, kept=str(asked.receipt) if asked.receipt else None)
    return exit_code(receipt)


def again(asked: ReplayConfig) -> Receipt:
    """The receipt that is meant, also written to `out`; what is doubtful about it is said.

    Raises:
        UsageError: none is named, or two are.
        InputError: it cannot be read, or the store holds none such.
    """
    stored = asked.from_db != FromDb()
    if stored == (asked.receipt is not None):
        raise UsageError(
            Problem(
                "replay",
                "names both a file and a stored receipt" if stored else "is not told which receipt",
                allowed="evalrunner replay FILE, or --from-db ID, or --from-db CORPUS-PROMPT-MODELS-RUBRIC",
            )
        )
    receipt, doubts = read_receipt(asked.receipt) if asked.receipt is not None else _stored(asked)
    for line in doubts:
        say(f"warning: {line}")
    opinion = second_opinion(receipt)
    if opinion is not None:
        say(f"warning: {opinion}")
    if asked.out is not None:
        write_atomic(asked.out, dumps(receipt, indent=True))
    return receipt


def _stored(asked: ReplayConfig) -> tuple[Receipt, list[str]]:
    named = asked.from_db
    with asked.store.reading(say) as reader:
        if named.id is not None:
            found = [each for each in [reader.by_id(named.id)] if each is not None]
            what = f"id {named.id}"
        else:
            assert named.shas is not None
            corpus, prompt, models, rubric = named.shas
            found = reader.by_shas(corpus=corpus, prompt=prompt, models=models, rubric=rubric)
            what = "-".join(named.shas)
    if not found:
        raise InputError(
            Problem("--from-db", "the store holds no such receipt", what, "an id that trend --json shows")
        )
    if len(found) > 1:
        ids = ", ".join(str(each.id) for each in found)
        say(f"warning: {len(found)} receipts carry these fingerprints, ids {ids}; the newest is shown")
    return loads(found[0].text, f"receipt {found[0].id} of the store")
