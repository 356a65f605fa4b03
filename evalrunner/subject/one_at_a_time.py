"""Keeps runs that ask one gateway with one key from overlapping, across all processes of a user."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from evalrunner.errors import EvalrunnerError, Problem
from evalrunner.git.scratch import scratch

FIRST_WAIT_S = 0.01
LONGEST_WAIT_S = 0.25


@asynccontextmanager
async def one_at_a_time(endpoint: str, key_variable: str, note: Callable[[str], None]) -> AsyncIterator[None]:
    """Waits until nobody else holds this endpoint and key variable, and holds them meanwhile.

    The lock is a file beside the scratch folders of the user's processes. The system releases it when a
    process ends, however it ends.

    Args:
        note: told, once, that there is somebody to wait for.

    Raises:
        EvalrunnerError: the lock cannot be made.
    """
    name = sha256(f"{endpoint}\x1f{key_variable}".encode()).hexdigest()[:16]
    path = scratch().path.with_name(f"gateway-{name}.lock")
    wait_s = FIRST_WAIT_S
    while (lock := _taken(path)) is None:
        if wait_s == LONGEST_WAIT_S:
            note(f"waiting for another run that asks {endpoint}: runs there never overlap")
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def _taken(path: Path) -> int | None:
    """The descriptor of the lock, or None while somebody else holds it.

    Who lets go removes the file; a lock on a removed file counts for nothing.
    """
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise EvalrunnerError(Problem(str(path), f"cannot be locked: {error.strerror}")) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    if os.fstat(lock).st_nlink:
        return lock
    os.close(lock)
    return None
