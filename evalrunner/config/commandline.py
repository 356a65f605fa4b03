"""Takes a command line apart: flags of ours, flags of Hydra's, overrides and positionals, in any order.

Flags become overrides in the place where they stand, so that the last one of a key wins, however it is
spelled.
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalrunner.config.flags import DEBUG, FLAGS, Flag, flags_of, overrides_of
from evalrunner.config.quoting import assigned
from evalrunner.config.table import COMMANDS
from evalrunner.errors import EvalrunnerError, Problem, UsageError, nearest, show

OVERRIDE = re.compile(r"(~|\+{1,2})?[A-Za-z_$][\w$@/.:-]*=|~[A-Za-z_$][\w$@/.:-]*$")
"""How an override starts: an optional `+`, `++` or `~`, a key or a group, and `=` (not needed after `~`)."""

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

_SHORT = {short: long for long, shorts in HYDRA_FLAGS.items() for short in shorts}
_CHOICES = {
    "--cfg": ("job", "hydra", "all"),
    "--info": ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath"),
}
_WITH_VALUE = {"--cfg", "--package", "--config-name", "--config-dir"}
_MODES = ("--run", "--multirun", "--cfg", "--info")


@dataclass
class Parsed:
    """A command line, taken apart.

    Attributes:
        hydra: Hydra's flags, by their long form; an empty value where a flag has none.
        overrides: Hydra's overrides, those made from flags among them, in the order given.
        positionals: what is neither a flag nor an override.
        flags: the flag by which a key was set, for messages.
        notes: what the user should know of the command line, though it is not wrong; a line each.
        debug: tracebacks are wanted.
    """

    hydra: dict[str, str] = field(default_factory=dict)
    overrides: list[str] = field(default_factory=list)
    positionals: list[str] = field(default_factory=list)
    flags: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    debug: bool = False


def parse(command: str, tokens: Sequence[str]) -> Parsed:
    """Takes the tokens after the command's name apart.

    Raises:
        UsageError: unknown flags, missing values, values of the wrong type: all of them at once.
    """
    parsed = Parsed()
    problems: list[Problem] = []
    rest = deque(tokens)
    while rest:
        token = rest.popleft()
        if token == "--":
            parsed.positionals += rest
            break
        try:
            if token.startswith("-") and token != "-":
                _flag(command, token, rest, parsed)
            else:
                _plain(command, token, parsed)
        except UsageError as error:
            problems += error.problems
    modes = [mode for mode in _MODES if mode in parsed.hydra]
    if len(modes) > 1:
        problems.append(Problem(" ".join(modes), "exclude one another", allowed="one of them"))
    if problems:
        raise UsageError(problems)
    parsed.notes += _contradictions(parsed)
    return parsed


def _contradictions(parsed: Parsed) -> list[str]:
    """A line for each key that a flag and another spelling set to different values: the last one counts."""
    notes = []
    for key, flag in parsed.flags.items():
        given = [each.lstrip("+") for each in parsed.overrides]
        values = [each.removeprefix(f"{key}=") for each in given if each.startswith(f"{key}=")]
        if len(dict.fromkeys(values)) > 1:
            listed = ", then ".join(map(show, values))
            notes.append(f"{flag} ({key}) is given more than once: {listed}; the last one counts")
    return notes


def _plain(command: str, token: str, parsed: Parsed) -> None:
    """An override or a positional: for `replay`, what exists as a file is one, whatever it looks like."""
    is_file = command == "replay" and _is_file(token)
    (parsed.overrides if OVERRIDE.match(token) and not is_file else parsed.positionals).append(token)


def _is_file(token: str) -> bool:
    try:
        return Path(token).is_file()
    except OSError:
        return False


def _flag(command: str, token: str, rest: deque[str], parsed: Parsed) -> None:
    name, equals, text = token.partition("=")
    value = text if equals else None
    name = _SHORT.get(name, name)
    known = flags_of(command)
    flag = known.get(name)
    if name == DEBUG and not equals:
        parsed.debug = True
    elif flag is not None:
        if value is None and flag.kind != "switch":
            value = _following(flag, rest, known)
        parsed.overrides += overrides_of(flag, value)
        parsed.flags[flag.key] = flag.name
    elif name in HYDRA_FLAGS:
        _of_hydra(name, value, rest, parsed)
    else:
        raise UsageError(_unknown(name, command, known))


def _following(flag: Flag, rest: deque[str], known: Mapping[str, Flag]) -> str:
    """The token after a flag is its value, unless it is a flag itself; a negative number is none."""
    if not rest or rest[0].startswith("--") or rest[0] in {*known, *_SHORT}:
        raise UsageError(Problem(flag.name, "needs a value", allowed=f"{flag.name} {flag.metavar}"))
    return rest.popleft()


def _of_hydra(name: str, value: str | None, rest: deque[str], parsed: Parsed) -> None:
    choices = _CHOICES.get(name, ())
    if value is None and name in _WITH_VALUE:
        if not rest:
            raise UsageError(Problem(name, "needs a value", allowed=", ".join(choices) or None))
        value = rest.popleft()
    elif value is None and name == "--info":
        value = rest.popleft() if rest and rest[0] in choices else "all"
    if value is not None and choices and value not in choices:
        allowed = ", ".join(choices)
        raise UsageError(Problem(name, "no such choice", show(value), allowed, nearest(value, choices)))
    parsed.hydra[name] = value or ""


def _unknown(name: str, command: str, known: Mapping[str, Flag]) -> Problem:
    others = [other for other in FLAGS if name in flags_of(other)]
    if others:
        return Problem(name, f"is no flag of {command}, but of {', '.join(others)}")
    names = [*known, DEBUG, *HYDRA_FLAGS]
    allowed = " ".join([*known, DEBUG])
    return Problem(name, f"no such flag of {command}", allowed=allowed, nearest=nearest(name, names))


def positional_overrides(command: str, positionals: Sequence[str]) -> list[str]:
    """The overrides that positionals stand for: the one of `replay` is its receipt.

    Raises:
        UsageError: positionals that nobody reads.
    """
    taken = 1 if command == "replay" else 0
    left = positionals[taken:]
    if left:
        raise UsageError([_unread(each, command) for each in left])
    return [assigned("receipt", each) for each in positionals[:taken]]


def _unread(word: str, command: str) -> Problem:
    if word in COMMANDS:
        return Problem(word, f"is a command, and {command} is one already", allowed="one command")
    if word.startswith("-"):
        return Problem(word, "stands behind --, where nothing is a flag", allowed=f"{word} without the --")
    known = [*flags_of(command), *HYDRA_FLAGS]
    return Problem(word, "is neither a flag nor key=value", nearest=nearest(f"--{word}", known))


def relabelled(error: EvalrunnerError, flags: Mapping[str, str]) -> EvalrunnerError:
    """The error with the flag named wherever it is about a key that a flag has set."""

    def place(where: str) -> str:
        named = next((key for key in flags if where == key or where.startswith(f"{key}.")), None)
        return where if named is None else f"{flags[named]} ({where})"

    error.problems = tuple(replace(problem, where=place(problem.where)) for problem in error.problems)
    return error
