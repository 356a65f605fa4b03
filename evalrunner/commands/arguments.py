"""Arguments of commands that compose no configuration."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from evalrunner.config.table import COMMANDS
from evalrunner.errors import Problem, UsageError, nearest


class Arguments(argparse.ArgumentParser):
    """argparse, with our help and our errors: unknown flags are refused with the nearest known one."""

    def __init__(self, command: str, action: str = "") -> None:
        row = COMMANDS[command]
        super().__init__(
            prog=f"evalrunner {command} {action}".strip(),
            description=f"{row.summary[0].upper()}{row.summary[1:]}.",
            epilog="examples:\n" + "".join(f"  {line}\n" for line in row.examples.splitlines()),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.command = command

    def read(self, tokens: Sequence[str]) -> argparse.Namespace:
        """The arguments.

        Raises:
            UsageError: an unknown flag, too many or too few arguments, a value that is none of the choices.
        """
        given, unknown = self.parse_known_args(list(tokens))
        if "overrides" in given:  # argparse takes none that follow a flag
            given.overrides += [each for each in unknown if not each.startswith("-")]
            unknown = [each for each in unknown if each.startswith("-")]
        if unknown:
            flags = [option for action in self._actions for option in action.option_strings]
            raise UsageError(
                [
                    Problem(each, f"{self.command} has no such argument", None, None, nearest(each, flags))
                    for each in unknown
                ]
            )
        return given

    def error(self, message: str) -> NoReturn:
        """argparse's own complaints, as ours."""
        raise UsageError(Problem(self.command, message, None, f"evalrunner {self.command} --help"))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """After --help."""
        if message:
            sys.stderr.write(message)
        raise SystemExit(status)
