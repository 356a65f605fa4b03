"""Texts as Hydra overrides: every character of a text stays a character.

Two layers read an override. Hydra's grammar gives meaning to quotes, commas, brackets, blanks and
backslashes; OmegaConf gives it to `${`. Both are escaped here, so that no text can turn into a list, a sweep
or an interpolation.
"""

import re

from evalrunner.errors import Problem, UsageError, show


def literal(text: str) -> str:
    """The OmegaConf string that resolves to exactly `text`: `${` and backslashes before it are escaped."""
    return re.sub(r"(\\*)\$\{", lambda match: rf"{match[1] * 2}\${{", text)


def quoted(text: str) -> str:
    """The override value that Hydra reads as exactly `text`.

    Raises:
        UsageError: the text is `???`, which marks a missing value and cannot be written.
    """
    if text == "???":
        raise UsageError(Problem("", "??? marks a value that is missing and cannot be one", show(text)))
    escaped = re.sub(r"(\\*)('|\Z)", lambda match: match[1] * 2 + (r"\'" if match[2] else ""), literal(text))
    return f"'{escaped}'"


def assigned(key: str, text: str) -> str:
    """The override that sets `key` to exactly `text`."""
    return f"{key}={quoted(text)}"
