"""`evalrunner explain`: what changed between two receipts, and where the difference sits."""

import sys
from collections.abc import Sequence
from decimal import Decimal

from evalrunner.commands.arguments import Arguments
from evalrunner.commands.composed import configured_store
from evalrunner.commands.found import found, whole
from evalrunner.receipt.compare import compare
from evalrunner.reporter.difference import print_difference


def main(tokens: Sequence[str]) -> int:
    """Prints fingerprints that differ, then the delta by dimension, by seat and by item."""
    arguments = Arguments("explain")
    arguments.add_argument("before", help="a receipt file, a run folder, a run id, or an id of the store")
    arguments.add_argument("after", help="the same")
    arguments.add_argument("overrides", nargs="*", help="such as store.path=FILE")
    given = arguments.read(tokens)
    before, after = found([given.before, given.after], configured_store(given.overrides), doubted=False)
    before, after = whole(before, given.before), whole(after, given.after)
    comparison = compare(before, after, Decimal(0))
    print_difference(comparison, before, after, sys.stdout)
    return 0
