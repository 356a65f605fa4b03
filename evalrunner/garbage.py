"""When Python looks for garbage in a command's process: not at its start, seldom at work, not at its end.

Start-up makes hardly any garbage and hundreds of thousands of objects that stay, which each search would look
through; so would the searches at the end of the interpreter, for most of a second where litellm was used.
"""

import gc

SELDOM = (20_000, 20, 20)


def at_start() -> None:
    """Nothing is collected until `at_work`."""
    gc.disable()


def at_work() -> None:
    """What exists stays; what comes is searched in larger portions than usual. Nothing without `at_start`."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(*SELDOM)
        gc.enable()


class LeftAlone:
    """Nothing is collected inside, such as while a large library is imported; what it leaves stays."""

    def __enter__(self) -> None:
        self._collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._collecting:
            gc.freeze()
            gc.enable()


def at_end() -> None:
    """What exists is left to the end of the process."""
    gc.disable()
    gc.freeze()
