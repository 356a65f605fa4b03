"""What Hydra and OmegaConf say in prose of their own, said in ours: place, value, what is right."""

import re
from collections.abc import Callable

from evalrunner.errors import Problem, show

GRAMMAR = "key=value; quote a value with blanks, commas, brackets or quotes: key='\"a, b\"'"

_KEY = re.compile(r"(~|\+{1,2})?[A-Za-z_$][\w$-]*(/\w[\w-]*|\.(\d+|[A-Za-z_]\w*))*(@[\w.-]*)?", re.ASCII)
_CALL = re.compile(r"(\w+) while evaluating '(.*?)': (.*)", re.DOTALL)
_QUOTED = re.compile(r"\\.|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_CLOSING = {"]": "[", "}": "{", ")": "("}
_DIGITS = re.compile(r"Exceeds the limit \(\d+ digits\) for integer string conversion")
_GROUP = re.compile(r"[~+]*([^=@]*)")

NO_SWEEP = "nothing is swept here"
TOO_LONG = "holds a number with thousands of digits, which is none that anything here could use"


def unreadable(override: str, message: str) -> Problem:
    """An override that Hydra's grammar does not know.

    Args:
        override: as given.
        message: what Hydra says of it.
    """
    key, equals, value = override.partition("=")
    called = _CALL.search(message)
    if not equals or not _KEY.fullmatch(key):
        return Problem("", "an override with a key that is none", show(override), GRAMMAR)
    if called is not None:
        return _called(key, called[2], called[3])
    return Problem(key, f"a value that cannot be read: {_unreadable(value)}", show(value), GRAMMAR)


def _called(key: str, call: str, said: str) -> Problem:
    """What went wrong where a value looks like a call, such as int(x)."""
    name, line = call.partition("(")[0], said.strip().splitlines()[0]
    known = said.partition("Available: ")[2].partition("\n")[0]
    if line.startswith("Unknown function"):
        what = f"there is no function {name!r}"
        return Problem(key, what, show(call), f"a text in quotes, or {known.replace(',', ', ')}")
    return Problem(key, f"{name}() does not take that", show(call), GRAMMAR)


def _unreadable(value: str) -> str:
    bare = _QUOTED.sub("", value)
    if "'" in bare or '"' in bare:
        return "a quote is not closed"
    opened: list[str] = []
    for sign in bare:
        if sign in _CLOSING.values():
            opened.append(sign)
        elif sign in _CLOSING and (not opened or opened.pop() != _CLOSING[sign]):
            return f"no {_CLOSING[sign]} stands before {sign}"
    if opened:
        return f"{opened[-1]} is not closed"
    if "${" in bare:
        return "an interpolation is ${key}, or ${oc.env:NAME}"
    if re.search(r"(^|,)\s*(,|$)", bare):
        return "a comma without a value beside it"
    return "it holds characters that only quotes let through"


def omegaconf_says(text: str) -> tuple[str, str | None]:
    """What is wrong, and what is allowed, of what OmegaConf says of a value or of an interpolation."""
    line = next((each.strip() for each in text.splitlines() if each.strip()), "")
    for pattern, said in _OMEGACONF:
        if (match := re.search(pattern, line)) is not None:
            what, allowed = said(match)
            return what, allowed
    return line, None


_Said = Callable[[re.Match[str]], tuple[str, str | None]]

_OMEGACONF: tuple[tuple[str, _Said], ...] = (
    (r"is not Optional", lambda _: ("may not be null", None)),
    (r"Cannot convert '\w+' to string", lambda _: ("is no text", None)),
    (r"expected one of \[(.*)\]", lambda found: ("is none of the known words", found[1])),
    (r"could not be converted to Integer", lambda _: ("is no whole number", None)),
    (r"could not be converted to Float", lambda _: ("is no number", None)),
    (r"is not a valid bool", lambda _: ("is neither true nor false", None)),
    (r"Cannot (?:assign \w+ to|merge \w+ with) (?:Dict)", lambda _: ("is no mapping", None)),
    (r"Cannot (?:assign \w+ to|merge \w+ with) (?:List)", lambda _: ("is no list", None)),
    (r"Key '.*' (?:not in|is not in) ", lambda _: ("no such key", None)),
    (r"does not support deletion", lambda _: ("cannot be deleted", None)),
    (r"Missing mandatory value", lambda _: ("is missing", None)),
    (
        r"Environment variable '(.*)' not found",
        lambda found: (f"needs the variable {found[1]}, which is not set", None),
    ),
    (
        r"Interpolation key '(.*)' not found",
        lambda found: (f"names the key {found[1]!r}, which is not there", None),
    ),
    (r"Recursive interpolation", lambda _: ("names itself", None)),
    (r"Unsupported interpolation type (\S+)", lambda found: (f"there is no resolver {found[1]!r}", None)),
)


def endless(text: str) -> bool:
    """Whether what was said is that a number has too many digits."""
    return _DIGITS.search(text) is not None


def hydra_says(text: str, *, sweeps: bool = False) -> Problem:
    """What Hydra says in prose only, on one line; `sweeps` where `-m` can be given."""
    for pattern, said in _HYDRA if sweeps else (*_ONCE, *_HYDRA):
        if (match := re.search(pattern, text)) is not None:
            return said(match)
    return Problem("", text)


def _ambiguous(found: re.Match[str]) -> Problem:
    key, _, values = found[1].partition("=")
    ways = (f"-m {key}={values} to sweep over them", f"{key}=[{values}] for a list", f"{key}=\"'{values}'\"")
    what = "values between commas are a sweep, and it needs -m"
    return Problem(key, what, show(values), f"{', '.join(ways)} for a text")


def _sweep(found: re.Match[str]) -> Problem:
    key, _, value = found[1].partition("=")
    return Problem(key, "is a sweep, and it needs -m", show(value))


def _no_sweep(found: re.Match[str]) -> Problem:
    key, _, values = found[1].partition("=")
    return Problem(key, f"is given a sweep of values, and {NO_SWEEP}", show(values), "one value")


def _not_one(found: re.Match[str]) -> Problem:
    key, _, values = found[1].partition("=")
    ways = f"one value, {key}=[{values}] for a list, {key}=\"'{values}'\" for a text"
    return Problem(key, f"values between commas are a sweep, and {NO_SWEEP}", show(values), ways)


def _again(found: re.Match[str]) -> Problem:
    return Problem(found[1], "is chosen already", allowed=f"{found[1]}=OPTION, without a +")


def _forced(found: re.Match[str]) -> Problem:
    match = _GROUP.match(found[1])
    group = match[1] if match else found[1]
    return Problem(group, "is a group, and ++ is for keys", allowed=f"{group}=OPTION")


def _other_place(found: re.Match[str]) -> Problem:
    return Problem(found[1], "no such place of a group", allowed=f"{found[2]}=OPTION", nearest=found[2])


def _kept(found: re.Match[str]) -> Problem:
    return Problem(found[1], f"cannot be deleted so: its value is {found[2]}", show(found[3]), f"~{found[1]}")


def _unused(found: re.Match[str]) -> Problem:
    key, equals, option = found[2].partition("=")
    if found[1] == "delete":
        what = (
            "is not chosen so, and cannot be deleted" if equals else "is no single choice that can be deleted"
        )
        return Problem(key, what, show(option) if equals else None)
    return Problem(key, "is no group of this command")


_ONCE: tuple[tuple[str, Callable[[re.Match[str]], Problem]], ...] = (
    (r"Ambiguous value for argument '(.*?)' 1\.", _not_one),
    (r"Sweep parameters '(.*)' requires --multirun", _no_sweep),
)

_HYDRA: tuple[tuple[str, Callable[[re.Match[str]], Problem]], ...] = (
    (r"Ambiguous value for argument '(.*?)' 1\.", _ambiguous),
    (r"Could not (override|delete) '([^']+)'\.? No match in the defaults list", _unused),
    (r"Sweep parameters '(.*)' requires --multirun", _sweep),
    (r"Could not override '([^']+)'\. Did you mean to override ([^?]+)\?", _other_place),
    (r"Multiple values for (\S+?)\. To override", _again),
    (r"force-add of config groups is not supported: '(.*)'", _forced),
    (r"Could not delete from config\. The value of '([^']+)' is (.*) and not (.*)\.$", _kept),
    (
        r"Could not delete from config\. '([^']+)' does not exist",
        lambda found: Problem(found[1], "has no value that could be deleted"),
    ),
    (
        r"Could not append to config\. An item is already at '([^']+)'",
        lambda found: Problem(
            found[1], "is there already, and + adds what is not", allowed=f"{found[1]}=VALUE"
        ),
    ),
    (
        r"does not support sweep type",
        lambda _: Problem(
            "-m", "interval() names no values that could be swept over", allowed="range(), choice()"
        ),
    ),
    (
        r"Sweeping over Hydra's configuration is not supported : '[+]*([^'=]+)",
        lambda found: Problem(found[1], "a key of Hydra's own cannot be swept"),
    ),
    (
        r"hydra\.searchpath must be a list of strings\. Got: (.*)",
        lambda found: Problem("hydra.searchpath", "is no list of folders", show(found[1])),
    ),
)
