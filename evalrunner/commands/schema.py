"""`evalrunner schema`: the JSON Schema of what users write and read, for editors and other programs."""

import sys
from collections.abc import Sequence
from typing import Any

from evalrunner.commands.arguments import Arguments
from evalrunner.config.schemas import SCHEMAS, written
from evalrunner.errors import Problem, UsageError, nearest


def main(tokens: Sequence[str]) -> int:
    """Prints one schema, or what there are."""
    arguments = Arguments("schema")
    arguments.add_argument("name", nargs="?", help=f"one of {', '.join(SCHEMAS)}; none lists them")
    name = arguments.read(tokens).name
    if name is None:
        for each, make in SCHEMAS.items():
            sys.stdout.write(f"{each:<8} {make()['title']}\n")
        return 0
    sys.stdout.write(written(made(name)))
    return 0


def made(name: str) -> dict[str, Any]:
    """A schema.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in SCHEMAS:
        raise UsageError(
            Problem("schema", "there is no schema of this", name, ", ".join(SCHEMAS), nearest(name, SCHEMAS))
        )
    return SCHEMAS[name]()
