"""Progress of a run on stderr, when that is a terminal: calls done, spend, time left."""

import time
from collections.abc import Callable
from typing import TextIO

from evalrunner.calls.desk import Progress
from evalrunner.reporter.terminal import money

MIN_INTERVAL_S = 0.1


def progress_on(stream: TextIO) -> Callable[[Progress], None] | None:
    """Something to tell about every finished call; None where the stream is no terminal."""
    if not stream.isatty():
        return None
    start = time.monotonic()
    last = 0.0

    def show(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        done, planned = progress.done, progress.planned
        finished = done >= planned
        if now - last < MIN_INTERVAL_S and not finished:
            return
        last = now
        left = (now - start) / done * (planned - done) if done else 0.0
        spent = "" if progress.spent_usd is None else f" · {money(float(progress.spent_usd))}"
        line = f"{done}/{planned} calls{spent} · {left:.0f} s left"
        stream.write("\r\x1b[K" + ("" if finished else line))
        stream.flush()

    return show
