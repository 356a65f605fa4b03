"""`evalrunner show`: one run in full."""

import sys
from collections.abc import Sequence

from evalrunner.commands.arguments import Arguments
from evalrunner.commands.composed import configured_store
from evalrunner.commands.found import found, whole
from evalrunner.reporter.whole import print_item, print_whole


def main(tokens: Sequence[str]) -> int:
    """Prints the run, or what its judges said of one item."""
    arguments = Arguments("show")
    arguments.add_argument("run", help="a receipt file, a run folder, a run id, or an id that trend shows")
    arguments.add_argument("--item", metavar="ID", help="only what was said of this item")
    arguments.add_argument("overrides", nargs="*", help="such as store.path=FILE")
    given = arguments.read(tokens)
    [receipt] = found([given.run], configured_store(given.overrides))
    receipt = whole(receipt, given.run)
    if given.item is not None:
        print_item(receipt.to_json(), given.item, sys.stdout)
    else:
        print_whole(receipt, sys.stdout)
    return 0
