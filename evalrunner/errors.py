"""The error tree: every error that a user can cause or meet, with its exit code and its data.

Exit codes (docs/architecture.md): 3 is bad usage, configuration or input, found before anything was called;
4 is a crash, a source that failed as a whole, or a receipt that could not be kept. Verdicts own 0, 1 and 2,
so no error ever carries those.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

EXIT_OK = 0
EXIT_FAIL = 1
EXIT_INCONCLUSIVE = 2
EXIT_USAGE = 3
EXIT_CRASH = 4
EXIT_INTERRUPTED = 130


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None when nothing is close enough to be a typo of it."""
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        where: the place a user would mend: a dotted key, a flag, `file:line` or `file:line: field`.
        what: what is wrong there, as one clause.
        found: the value found, already shortened for display; None when there is none.
        allowed: what would be accepted, in words or as a list; None when the clause says it.
        nearest: the closest known name, for typos.
    """

    where: str
    what: str
    found: str | None = None
    allowed: str | None = None
    nearest: str | None = None

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.found is not None:
            text += f" (found {self.found})"
        if self.allowed is not None:
            text += f"; allowed: {self.allowed}"
        if self.nearest is not None:
            text += f"; did you mean {self.nearest!r}?"
        return text


def show(value: object, limit: int = 80) -> str:
    """`repr` of a value found, cut to `limit` characters, for use as `Problem.found`."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class EvalrunnerError(Exception):
    """Base of the tree. Carries one or more problems; `str()` shows one a line.

    Attributes:
        exit_code: what the process returns.
        code: a stable identifier for programs and for docs.
        problems: all that is wrong, never only the first.
    """

    exit_code = EXIT_CRASH
    code = "E-CRASH"

    def __init__(self, problems: Sequence[Problem] | Problem | str) -> None:
        if isinstance(problems, str):
            problems = Problem("", problems)
        if isinstance(problems, Problem):
            problems = (problems,)
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class UsageError(EvalrunnerError):
    """The command line is wrong: an unknown command, flag or environment variable, or a missing argument."""

    exit_code = EXIT_USAGE
    code = "E-USAGE"


class ConfigError(UsageError):
    """The composed config is wrong: unknown keys or options, wrong types, values out of range."""

    code = "E-CONFIG"


class UnknownKeyError(ConfigError):
    """The config names keys that nothing reads, and is right otherwise."""

    code = "E-CONFIG-UNKNOWN-KEY"


class ChoiceError(ConfigError):
    """What is chosen of a group is no option of it, or several where one is meant."""

    code = "E-CONFIG-CHOICE"


class TargetError(ConfigError):
    """A `_target_` names code that is no registered component."""

    code = "E-CONFIG-TARGET"


class InputError(UsageError):
    """A row, rubric, prompt, receipt or record that was given cannot be used; names file, line, field."""

    code = "E-INPUT"


class MissingKeyError(UsageError):
    """An API key that a configured model needs is not in the environment."""

    code = "E-KEY-MISSING"


class MissingExtraError(UsageError):
    """A part was asked for that needs an optional dependency; the message says `install evalrunner[...]`."""

    code = "E-EXTRA-MISSING"


class PricingNotFoundError(UsageError):
    """A cap was set, and models of the run have no known price. Lists all of them."""

    code = "E-PRICE-UNKNOWN"


class DriftError(UsageError):
    """What is to run is not what the baseline was measured with; names each fingerprint that differs."""

    code = "E-BASELINE-DRIFT"


class SourceFailedError(EvalrunnerError):
    """A source failed as a whole: database down, file unreadable, API refused."""

    code = "E-SOURCE"


class ReceiptNotKeptError(EvalrunnerError):
    """An attempt was finished, but its receipt could not be written."""

    code = "E-RECEIPT-LOST"


class StoreError(EvalrunnerError):
    """The store cannot be read or written."""

    code = "E-STORE"
