"""The flags of each command: another spelling of configuration keys, and how their values are read."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from evalrunner.config.quoting import assigned, quoted
from evalrunner.errors import Problem, UsageError, nearest, show

Kind = Literal["integer", "number", "seed", "text", "switch", "list", "origin", "stored"]

ORIGINS = {"db": "source=db", "fs": "source=file"}


@dataclass(frozen=True)
class Flag:
    """A flag.

    Attributes:
        name: with its dashes.
        key: the key that it spells; a group, for `origin`.
        kind: how its value is read.
        metavar: what stands for the value in the help.
        text: what it does, for the help.
        also: overrides that come with it.
    """

    name: str
    key: str
    kind: Kind
    metavar: str
    text: str
    also: tuple[str, ...] = ()


LIMIT = Flag("--limit", "sampler.limit", "integer", "N", "take at most N items")
SEED = Flag("--seed", "sampler.seed", "seed", "N", "seed of the sample, or fresh to draw one")
SOURCE = Flag("--source", "source", "origin", "fs|db", "items from files or from a database")
SLUG_PREFIX = Flag("--slug-prefix", "source.slug_prefix", "text", "TEXT", "only items whose slug starts so")
CASES = Flag("--cases", "source.path", "text", "FILE", "the file that the items come from")
MAX_CASES = Flag("--max-cases", "sampler.limit", "integer", "N", "take the first N items", ("sampler=all",))
CYCLES = Flag("--cycles", "cycles.max", "integer", "N", "panel calls at most: 3 on a terminal, else 1")
BUDGET = Flag("--budget-usd", "budget.cap_usd", "number", "USD", "never spend more than this")
MAX_COST = Flag("--max-cost", "budget.cap_usd", "number", "USD", "the same as --budget-usd")
MODELS = Flag("--models", "panel.models", "list", "A,B,C", "the panel: model ids or options of group model")
MODEL = Flag("--model", "subject.model", "text", "ID", "the model under test")
RUNS = Flag("--runs", "runs", "integer", "N", "run the subject N times on each item")
JSON = Flag("--json", "json", "switch", "", "print the result as JSON and nothing else")
OUT = Flag("--out", "out", "text", "FILE", "write the result to FILE instead of stdout")
INPUT = Flag("--input", "input", "text", "FILE", "read records from FILE instead of stdin")
AGAINST = Flag("--against", "against", "text", "RECEIPT", "the receipt to compare with")
AGAINST_REF = Flag(
    "--against-ref", "against_ref", "text", "REF", "the baseline counts as it stands in this git ref"
)
LOCKED = Flag("--locked", "locked", "switch", "", "run nothing but what the baseline was measured with")
RESUME = Flag(
    "--resume", "resume", "text", "RUN", "go on with an unfinished run: its id, its folder, or auto"
)
THRESHOLD = Flag("--threshold", "regress.threshold", "number", "X", "the largest drop that is no regression")
EXPLAIN = Flag("--explain", "reporter.terminal.explain", "text", "CASE", "show one case or batch in full")

SELECTING = (LIMIT, SEED, SOURCE, SLUG_PREFIX, CASES, MAX_CASES)
JUDGING = (CYCLES, BUDGET, MAX_COST, MODELS)
RUNNING = (*SELECTING, *JUDGING, MODEL, RUNS, JSON, OUT)

FLAGS: dict[str, tuple[Flag, ...]] = {
    "run": (*RUNNING, RESUME, LOCKED, EXPLAIN),
    "validate": (*RUNNING, LOCKED),
    "select": (*SELECTING, OUT),
    "produce": (MODEL, RUNS, BUDGET, MAX_COST, INPUT, OUT),
    "judge": (*JUDGING, INPUT, JSON, OUT, EXPLAIN),
    "regress": (AGAINST, AGAINST_REF, THRESHOLD, *RUNNING, LOCKED),
    "replay": (
        Flag(
            "--from-db",
            "from_db",
            "stored",
            "ID|SHAS",
            "the stored receipt: its id, or its four fingerprints",
        ),
        JSON,
        OUT,
        EXPLAIN,
    ),
    "trend": (
        Flag("--eval", "trend.eval", "text", "NAME", "only this eval"),
        Flag("--rubric-version", "trend.rubric_version", "text", "V", "only this version of the rubric"),
        Flag(
            "--panel", "trend.panel", "text", "MODEL", "only panels with this model, or with this models_sha8"
        ),
        Flag("--corpus", "trend.corpus", "text", "SHA8", "only this corpus"),
        Flag("--limit", "trend.limit", "integer", "N", "at most N rows"),
        Flag("--attempts", "trend.attempts", "switch", "", "every attempt, not one row a receipt"),
        Flag("--group", "trend.group", "text", "NAME", "by the cells of a rollup, such as cell or language"),
        JSON,
        OUT,
    ),
}
"""The flags of each command, in the order of its help."""

DEBUG = "--debug"

MOST_DIGITS = 40
"""A whole number with more digits than this is no limit, seed or id."""

_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SHAS = re.compile(r"(?:[a-z_-]*-)?([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})")


def flags_of(command: str) -> dict[str, Flag]:
    """The command's flags by name."""
    return {flag.name: flag for flag in FLAGS.get(command, ())}


def overrides_of(flag: Flag, value: str | None) -> list[str]:
    """The overrides that a flag with this value stands for; None is a switch without one.

    Raises:
        UsageError: the value is none of the flag's kind.
    """
    try:
        return [*flag.also, *_READERS[flag.kind](flag.key, "true" if value is None else value)]
    except UsageError as error:
        usage = f"{flag.name} {flag.metavar}".strip()
        raise UsageError(
            [
                replace(problem, where=flag.name, allowed=problem.allowed or usage)
                for problem in error.problems
            ]
        ) from None


def _wrong(what: str, value: str, allowed: str | None = None, close: str | None = None) -> UsageError:
    return UsageError(Problem("", what, show(value), allowed, close))


def _switch(key: str, value: str) -> list[str]:
    if value not in {"true", "false"}:
        raise _wrong("is a switch", value, "no value, true or false")
    return [f"{key}={value}"]


def _integer(key: str, value: str) -> list[str]:
    if not _INTEGER.fullmatch(value):
        raise _wrong("is no whole number", value)
    if len(value) > MOST_DIGITS:
        raise _wrong(f"is a number of {len(value)} digits", value, f"at most {MOST_DIGITS} digits")
    return [f"{key}={int(value)}"]


def _seed(key: str, value: str) -> list[str]:
    return _integer(key, value) if _INTEGER.fullmatch(value) else [assigned(key, value)]


def _number(key: str, value: str) -> list[str]:
    if _INTEGER.fullmatch(value):
        return _integer(key, value)
    if not _NUMBER.fullmatch(value) or float(value) in {float("inf"), float("-inf")}:
        raise _wrong("is no finite number", value)
    return [f"{key}={float(value)!r}"]


def _text(key: str, value: str) -> list[str]:
    return [assigned(key, value)]


def _list(key: str, value: str) -> list[str]:
    entries = [entry.strip() for entry in value.split(",")]
    if not all(entries):
        raise _wrong("has an empty entry", value)
    return [f"{key}=[{','.join(map(quoted, entries))}]"]


def _origin(key: str, value: str) -> list[str]:
    if value not in ORIGINS:
        allowed = "fs, db (other options of the group: source=NAME)"
        raise _wrong("no such origin", value, allowed, nearest(value, ORIGINS))
    return [ORIGINS[value]]


def _stored(key: str, value: str) -> list[str]:
    if value.isdecimal() and value.isascii():
        return _integer(f"{key}.id", value)
    shas = _SHAS.fullmatch(value)
    if shas is None:
        raise _wrong("names no receipt", value, "an id of trend, or CORPUS-PROMPT-MODELS-RUBRIC")
    parts = ("corpus", "prompt", "models", "rubric")
    return [assigned(f"{key}.{part}", sha) for part, sha in zip(parts, shas.groups(), strict=True)]


_READERS: dict[Kind, Callable[[str, str], list[str]]] = {
    "switch": _switch,
    "integer": _integer,
    "seed": _seed,
    "number": _number,
    "text": _text,
    "list": _list,
    "origin": _origin,
    "stored": _stored,
}
