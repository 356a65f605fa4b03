"""Flags: another spelling of configuration keys, translated into Hydra overrides.

Tokens of a command line are flags of ours, flags of Hydra's, overrides (`key=value`), or positionals; they may
stand in any order. Overrides keep theirs, so that the last one of a key wins however it is spelled.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from evalrunner.config.quoting import assigned, quoted
from evalrunner.errors import EvalrunnerError, Problem, UsageError, nearest, show

Kind = Literal["integer", "number", "seed", "text", "switch", "list", "origin", "stored"]

OVERRIDE = re.compile(r"(~|\+{1,2})?[A-Za-z_$][\w$@/.:-]*=|~[A-Za-z_$][\w$@/.:-]*$")
"""How an override starts: an optional `+`, `++` or `~`, a key or a group, and `=` (not needed after `~`)."""

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
THRESHOLD = Flag("--threshold", "regress.threshold", "number", "X", "the largest drop that is no regression")

SELECTING = (LIMIT, SEED, SOURCE, SLUG_PREFIX, CASES, MAX_CASES)
JUDGING = (CYCLES, BUDGET, MAX_COST, MODELS)
RUNNING = (*SELECTING, *JUDGING, MODEL, RUNS, JSON, OUT)

FLAGS: dict[str, tuple[Flag, ...]] = {
    "run": RUNNING,
    "validate": RUNNING,
    "select": (*SELECTING, OUT),
    "produce": (MODEL, RUNS, BUDGET, MAX_COST, INPUT, OUT),
    "judge": (*JUDGING, INPUT, JSON, OUT),
    "regress": (AGAINST, THRESHOLD, *RUNNING),
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
        JSON,
        OUT,
    ),
}
"""The flags of each command, in the order of its help."""

DEBUG = "--debug"

HYDRA_FLAGS: dict[str, tuple[str, ...]] = {
    "--help": ("-h",),
    "--multirun": ("-m",),
    "--run": ("-r",),
    "--cfg": ("-c",),
    "--resolve": (),
    "--package": ("-p",),
    "--info": ("-i",),
    "--config-name": ("-cn",),
    "--config-dir": ("-cd",),
    "--hydra-help": (),
    "--shell-completion": ("-sc",),
}
"""Hydra's flags that are let through, with their short forms."""

_CHOICES = {
    "--cfg": ("job", "hydra", "all"),
    "--info": ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath"),
}
_WITH_VALUE = {"--cfg", "--package", "--config-name", "--config-dir"}
_MODES = ("--run", "--multirun", "--cfg", "--info")
_SHORT = {short: long for long, shorts in HYDRA_FLAGS.items() for short in shorts}
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SHAS = re.compile(r"(?:[a-z_-]*-)?([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})")


@dataclass
class Parsed:
    """A command line, taken apart.

    Attributes:
        hydra: Hydra's flags, by their long form; an empty value where a flag has none.
        overrides: Hydra's overrides, those made from flags among them, in the order given.
        positionals: what is neither a flag nor an override.
        flags: the flag by which a key was set, for messages.
        debug: tracebacks are wanted.
    """

    hydra: dict[str, str] = field(default_factory=dict)
    overrides: list[str] = field(default_factory=list)
    positionals: list[str] = field(default_factory=list)
    flags: dict[str, str] = field(default_factory=dict)
    debug: bool = False


def flags_of(command: str) -> dict[str, Flag]:
    """The command's flags by name."""
    return {flag.name: flag for flag in FLAGS.get(command, ())}


def parse(command: str, tokens: Sequence[str]) -> Parsed:
    """Takes the tokens after the command's name apart.

    Raises:
        UsageError: unknown flags, missing values, values of the wrong type: all of them at once.
    """
    parsed, problems = Parsed(), []
    known = flags_of(command)
    rest = iter(enumerate(tokens))
    for at, token in rest:
        if token == "--":
            parsed.positionals += tokens[at + 1 :]
            break
        if not token.startswith("-") or token == "-":
            _plain(token, command, parsed)
            continue
        name, equals, value = token.partition("=")
        name = _SHORT.get(name, name)
        flag = known.get(name)
        try:
            if name == DEBUG and not equals:
                parsed.debug = True
            elif flag is not None:
                given = value if equals else _next(rest, tokens, at, flag, known)
                parsed.overrides += [*flag.also, *_overrides(flag, given)]
                parsed.flags[flag.key] = flag.name
            elif name in HYDRA_FLAGS:
                _hydra(name, value if equals else None, rest, tokens, at, parsed)
            else:
                raise UsageError(_unknown(name, command, known))
        except UsageError as error:
            problems += error.problems
    if problems:
        raise UsageError(problems)
    return parsed


def _plain(token: str, command: str, parsed: Parsed) -> None:
    """An override or a positional: for `replay`, what exists as a file is one, whatever it looks like."""
    is_file = command == "replay" and _is_file(token)
    (parsed.overrides if OVERRIDE.match(token) and not is_file else parsed.positionals).append(token)


def _is_file(token: str) -> bool:
    try:
        return Path(token).is_file()
    except OSError:
        return False


def _next(
    rest: Iterator[tuple[int, str]], tokens: Sequence[str], at: int, flag: Flag, known: dict[str, Flag]
) -> str | None:
    """The value after a flag; None for a switch."""
    if flag.kind == "switch":
        return None
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if following is None or following.startswith("--") or following in {*known, *_SHORT}:
        raise UsageError(Problem(flag.name, "needs a value", allowed=f"{flag.name} {flag.metavar}"))
    next(rest)
    return following


def _hydra(
    name: str,
    value: str | None,
    rest: Iterator[tuple[int, str]],
    tokens: Sequence[str],
    at: int,
    parsed: Parsed,
) -> None:
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    choices = _CHOICES.get(name)
    if value is None and (name in _WITH_VALUE or (name == "--info" and following in _CHOICES["--info"])):
        if following is None:
            raise UsageError(Problem(name, "needs a value", allowed=", ".join(choices or ()) or None))
        value = following
        next(rest)
    if value is not None and choices and value not in choices:
        raise UsageError(
            Problem(name, "no such choice", show(value), ", ".join(choices), nearest(value, choices))
        )
    parsed.hydra[name] = value or ("all" if name == "--info" else "")
    modes = [mode for mode in _MODES if mode in parsed.hydra]
    if len(modes) > 1:
        raise UsageError(Problem(" ".join(modes), "exclude one another", allowed="one of them"))


def _unknown(name: str, command: str, known: dict[str, Flag]) -> Problem:
    others = [other for other in FLAGS if name in flags_of(other)]
    if others:
        return Problem(name, f"is no flag of {command}, but of {', '.join(others)}")
    names = [*known, DEBUG, *HYDRA_FLAGS]
    return Problem(
        name, f"no such flag of {command}", allowed=" ".join([*known, DEBUG]), nearest=nearest(name, names)
    )


def _overrides(flag: Flag, value: str | None) -> list[str]:
    """The overrides that a flag with this value stands for."""
    if flag.kind == "switch":
        if value not in {None, "true", "false"}:
            raise UsageError(Problem(flag.name, "is a switch", show(value), "no value, true or false"))
        return [f"{flag.key}={value or 'true'}"]
    assert value is not None
    try:
        if flag.kind == "integer":
            return [f"{flag.key}={_integer(flag, value)}"]
        if flag.kind == "seed":
            return [f"{flag.key}={int(value) if _INTEGER.fullmatch(value) else quoted(value)}"]
        if flag.kind == "number":
            return [f"{flag.key}={_number(flag, value)}"]
        if flag.kind == "list":
            return [f"{flag.key}=[{','.join(map(quoted, _entries(flag, value)))}]"]
        if flag.kind == "origin":
            return [_origin(flag, value)]
        if flag.kind == "stored":
            return _stored(flag, value)
        return [assigned(flag.key, value)]
    except UsageError as error:
        raise UsageError(
            [Problem(flag.name, each.what, each.found, each.allowed, each.nearest) for each in error.problems]
        ) from None


def _integer(flag: Flag, value: str) -> int:
    if not _INTEGER.fullmatch(value):
        raise UsageError(Problem(flag.name, "is no whole number", show(value), f"{flag.name} {flag.metavar}"))
    return int(value)


def _number(flag: Flag, value: str) -> str:
    if not _NUMBER.fullmatch(value) or float(value) in {float("inf"), float("-inf")}:
        raise UsageError(
            Problem(flag.name, "is no finite number", show(value), f"{flag.name} {flag.metavar}")
        )
    return str(int(value)) if _INTEGER.fullmatch(value) else repr(float(value))


def _entries(flag: Flag, value: str) -> list[str]:
    entries = [entry.strip() for entry in value.split(",")]
    if not all(entries):
        raise UsageError(
            Problem(
                flag.name, "has an empty entry", show(value), f"{flag.name} {flag.metavar}, no empty ones"
            )
        )
    return entries


def _origin(flag: Flag, value: str) -> str:
    if value not in ORIGINS:
        raise UsageError(
            Problem(
                flag.name,
                "no such origin",
                show(value),
                "fs, db (other options of the group: source=NAME)",
                nearest(value, ORIGINS),
            )
        )
    return ORIGINS[value]


def _stored(flag: Flag, value: str) -> list[str]:
    if value.isdecimal() and value.isascii():
        return [f"{flag.key}.id={int(value)}"]
    shas = _SHAS.fullmatch(value)
    if shas is None:
        raise UsageError(
            Problem(
                flag.name, "names no receipt", show(value), "an id of trend, or CORPUS-PROMPT-MODELS-RUBRIC"
            )
        )
    parts = ("corpus", "prompt", "models", "rubric")
    return [assigned(f"{flag.key}.{part}", sha) for part, sha in zip(parts, shas.groups(), strict=True)]


def positional_overrides(command: str, positionals: Sequence[str]) -> list[str]:
    """The overrides that positionals stand for: the one of `replay` is its receipt.

    Raises:
        UsageError: positionals that nobody reads.
    """
    taken = 1 if command == "replay" else 0
    left = positionals[taken:]
    if left:
        known = [*flags_of(command), *HYDRA_FLAGS]
        raise UsageError(
            [
                Problem(each, "is neither a flag nor key=value", nearest=nearest(f"--{each}", known))
                for each in left
            ]
        )
    return [assigned("receipt", each) for each in positionals[:taken]]


def relabelled(error: EvalrunnerError, flags: Mapping[str, str]) -> EvalrunnerError:
    """The error with the flag named wherever it is about a key that a flag has set."""

    def place(where: str) -> str:
        named = next((key for key in flags if where == key or where.startswith(f"{key}.")), None)
        return where if named is None else f"{flags[named]} ({where})"

    error.problems = tuple(replace(problem, where=place(problem.where)) for problem in error.problems)
    return error
