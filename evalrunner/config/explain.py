"""Puts what Hydra, OmegaConf and YAML say of a configuration into our words: place, value, what is right."""

import re
from pathlib import Path

import yaml
from hydra.errors import (
    CompactHydraException,
    HydraException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf.errors import OmegaConfBaseException

from evalrunner.config.hydra_words import TOO_LONG, endless, hydra_says, omegaconf_says, unreadable
from evalrunner.errors import ConfigError, EvalrunnerError, Problem, UsageError, nearest, show
from evalrunner.paths import data_root, user_folder

CONFIG_FAULTS = (CompactHydraException, HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError)
"""What composing a wrong configuration may raise."""

_OPTION = re.compile(r"Could not (?:find|load) '([^']+)'")
_IN = re.compile(r"^In '([^']+)': ")
_ENDLESS = re.compile(r"\d[\d_]{4000}")
_MERGING = re.compile(r"Error merging override (.*)", re.DOTALL)


def explained(error: BaseException, *, sweeps: bool = False) -> EvalrunnerError:
    """The error of ours that says the same; only where `sweeps`, it may advise a sweep."""
    cause = error.__cause__
    if isinstance(error, EvalrunnerError):
        return error
    if isinstance(cause, EvalrunnerError):
        return cause
    if isinstance(error, OverrideParseException):
        return UsageError(_override(error))
    return ConfigError(_problem(error, cause, sweeps))


def _problem(error: BaseException, cause: BaseException | None, sweeps: bool) -> Problem:
    if isinstance(error, MissingConfigException):
        return _missing(error)
    if isinstance(error, yaml.MarkedYAMLError):
        return _yaml(error)
    if isinstance(error, yaml.reader.ReaderError | UnicodeDecodeError):
        return Problem(_not_text(), f"is no text in UTF-8: {error.reason}")
    if isinstance(error, OmegaConfBaseException):
        return _omegaconf(error)
    if isinstance(cause, OmegaConfBaseException):
        return _omegaconf(cause, str(error))
    said = " ".join(str(error).split()) or type(error).__name__
    return Problem(_endless_in(), TOO_LONG) if endless(said) else hydra_says(said, sweeps=sweeps)


def _override(error: OverrideParseException) -> Problem:
    return unreadable(error.override, error.message)


def _missing(error: MissingConfigException) -> Problem:
    """A file of a defaults list, or the primary configuration, is not there."""
    text = str(error)
    inside = _IN.match(text)
    named = _OPTION.search(text)
    if named is None:
        names = primaries()
        name = error.missing_cfg_file or ""
        return Problem(
            "--config-name", "no such configuration", show(name), ", ".join(names), nearest(name, names)
        )
    group, _, option = named[1].rpartition("/")
    options = [str(each) for each in error.options or ()]
    if inside and named[0].startswith("Could not load"):
        return Problem(f"{inside[1]}.yaml: defaults", "no such file", show(f"{named[1]}.yaml"))
    what = "no such option, chosen in a defaults list"
    return Problem(group, what, show(option), ", ".join(options) or None, nearest(option, options))


def primaries() -> list[str]:
    """The configurations that `--config-name` can name."""
    folders = (data_root() / "conf", user_folder("conf"))
    return sorted({file.stem for folder in folders if folder is not None for file in folder.glob("*.yaml")})


def _yaml(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    where = f"{mark.name}:{mark.line + 1}:{mark.column + 1}" if mark else ""
    what = error.problem or error.context or "is no YAML"
    if "\\t" in what:
        what += " (YAML is indented with blanks, never with tabs)"
    return Problem(where, f"is no YAML: {what}")


def _files() -> list[Path]:
    """The files of the user's conf/."""
    folder = user_folder("conf")
    return sorted(folder.rglob("*.yaml")) if folder is not None else []


def _endless_in() -> str:
    """The files of the user's conf/ with a number of thousands of digits: nobody else says which it was."""
    wrong = []
    for file in _files():
        try:
            if _ENDLESS.search(file.read_text(encoding="utf-8")):
                wrong.append(str(file))
        except (OSError, UnicodeDecodeError):
            continue
    return ", ".join(wrong)


def _not_text() -> str:
    """The files of the user's conf/ that are no text: nobody else says which it was."""
    wrong = []
    for file in _files():
        try:
            list(yaml.scan(file.read_text(encoding="utf-8")))
        except (UnicodeDecodeError, yaml.reader.ReaderError):
            wrong.append(str(file))
        except (OSError, yaml.YAMLError):
            continue
    return ", ".join(wrong)


def _omegaconf(error: OmegaConfBaseException, around: str = "") -> Problem:
    """What OmegaConf says; `around` is what Hydra was doing, which may name the override."""
    where = str(error.full_key or error.key or "")
    merging = _MERGING.match(around)
    found = show(merging[1].partition("=")[2]) if merging and "=" in merging[1] else None
    what, allowed = omegaconf_says(str(error.msg or error))
    return Problem(where, what, found, allowed)
