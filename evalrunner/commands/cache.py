"""`evalrunner cache`: what replies are kept across runs, and removing them."""

import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from evalrunner.calls.cache import Entry, entries, remove
from evalrunner.commands.arguments import Arguments
from evalrunner.commands.composed import composed
from evalrunner.commands.output import near
from evalrunner.config.table import COMMANDS
from evalrunner.config.tree import run_config
from evalrunner.errors import EXIT_OK, Problem, UsageError, nearest, show
from evalrunner.receipt.jsontext import readable_json
from evalrunner.reporter.terminal import money
from evalrunner.reporter.text import plain

ACTIONS = ("list", "prune")
_AGE = re.compile(r"(\d+(?:\.\d+)?)([dhm])")
_SECONDS = {"d": 86400, "h": 3600, "m": 60}


def main(tokens: Sequence[str]) -> int:
    """Does what the first word says."""
    word = tokens[0] if tokens else ""
    arguments = Arguments("cache", word if word in ACTIONS else "")
    if word not in ACTIONS:
        if tokens and not word.startswith("-"):
            what = "cache has no such action"
            raise UsageError(Problem(word, what, None, ", ".join(ACTIONS), nearest(word, ACTIONS)))
        arguments.add_argument("action", choices=ACTIONS, help="then --help says more")
        arguments.read(tokens)
    own = [line for line in COMMANDS["cache"].examples.splitlines() if line.split()[2] == word]
    arguments.epilog = "examples:\n" + "".join(f"  {line}\n" for line in own)
    if word == "list":
        arguments.description = "Shows how many replies are kept, of which models, and what they cost."
        arguments.add_argument("--json", action="store_true", help="as JSON")
    else:
        arguments.description = "Removes replies, and says how many."
        arguments.add_argument("--older-than", metavar="AGE", help="older than that: 30d, 12h, 90m")
        arguments.add_argument("--model", metavar="ID", help="of this model only")
        arguments.add_argument("--all", action="store_true", help="all of them")
    arguments.add_argument("overrides", nargs="*", help="such as cache_dir=FOLDER")
    given = arguments.read(tokens[1:])
    folder = configured_folder(given.overrides)
    return _list(folder, given) if word == "list" else _prune(folder, given)


def configured_folder(overrides: Sequence[str]) -> Path:
    """Where replies are kept.

    Raises:
        UsageError, ConfigError: the overrides do not fit.
    """
    return run_config(composed("run", overrides)).cache_dir


@dataclass
class _Sum:
    """The replies of one model. `cost` is None where that of some is not known."""

    replies: int = 0
    size: int = 0
    cost: Decimal | None = Decimal(0)
    oldest: float = float("inf")
    newest: float = 0.0

    def add(self, entry: Entry) -> None:
        cost = entry.reply.cost_usd
        self.replies += 1
        self.size += entry.size
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.oldest, self.newest = min(self.oldest, entry.at), max(self.newest, entry.at)


def _list(folder: Path, given: Namespace) -> int:
    sums: dict[str, _Sum] = {}
    for entry in entries(folder):
        sums.setdefault(entry.model, _Sum()).add(entry)
    if given.json:
        told = {
            "folder": str(folder),
            "models": {
                name: {
                    "replies": each.replies,
                    "bytes": each.size,
                    "cost_usd": each.cost,
                    "oldest": _day(each.oldest),
                    "newest": _day(each.newest),
                }
                for name, each in sorted(sums.items())
            },
        }
        sys.stdout.write(readable_json(told, indent=True) + "\n")
        return EXIT_OK
    for name, each in sorted(sums.items()):
        cost = "an unknown price" if each.cost is None else money(float(each.cost))
        days = f"{_day(each.oldest)} to {_day(each.newest)}"
        line = f"{plain(name)}  {_counted(each.replies)}, {each.size / 1e6:.1f} MB, paid {cost}, {days}\n"
        sys.stdout.write(line)
    if not sums:
        sys.stdout.write(f"{near(folder)} holds no replies; cache=read_write keeps them\n")
    return EXIT_OK


def _prune(folder: Path, given: Namespace) -> int:
    if not (given.older_than or given.model or given.all):
        allowed = "--older-than AGE, --model ID, --all"
        raise UsageError(Problem("cache prune", "needs to be told what to remove", None, allowed))
    age_s = 0.0 if given.older_than is None else _seconds(given.older_than)
    removed = _Sum()
    known: set[str] = set()
    for entry in _chosen(folder, given.model, time.time() - age_s, known):
        remove(entry)
        removed.add(entry)
    if given.model is not None and given.model not in known:
        what, close = "no reply of this model is kept", nearest(given.model, sorted(known))
        raise UsageError(Problem("--model", what, show(given.model), ", ".join(sorted(known)), close))
    sys.stdout.write(
        f"removed {_counted(removed.replies)}, {removed.size / 1e6:.1f} MB, from {near(folder)}\n"
    )
    return EXIT_OK


def _chosen(folder: Path, model: str | None, before: float, known: set[str]) -> Iterator[Entry]:
    for entry in entries(folder):
        known.add(entry.model)
        if model in {None, entry.model} and entry.at <= before:
            yield entry


def _seconds(text: str) -> float:
    match = _AGE.fullmatch(text)
    if match is None:
        what = "is no age"
        raise UsageError(Problem("--older-than", what, show(text), "a number with d, h or m, such as 30d"))
    return float(match[1]) * _SECONDS[match[2]]


def _counted(replies: int) -> str:
    return "1 reply" if replies == 1 else f"{replies} replies"


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))
