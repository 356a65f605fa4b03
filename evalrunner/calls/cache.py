"""Replies kept across runs: one file a reply, named by everything that changes the reply."""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalrunner.budget.pricing import ZERO
from evalrunner.calls.journal import usage
from evalrunner.calls.request import CallReply, CallRequest
from evalrunner.errors import EvalrunnerError, Problem
from evalrunner.records import Usage

VERSION = 1
"""Of the shape of a file; a file of another version is as good as none."""


@dataclass(frozen=True)
class Entry:
    """A reply in the cache.

    Attributes:
        path: its file. size: in bytes.
        model: the id as configured.
        at: when it was paid for, in seconds since 1970.
        reply: as it was, with what it cost then; None where no price was known.
    """

    path: Path
    size: int
    model: str
    at: float
    reply: CallReply


class Cache:
    """A folder of replies. Several processes may use it at once: files are whole or not there.

    A repeat of a question, in another cycle, run or re-ask, is another question here, so that it is asked.

    Attributes:
        reused: how many replies were taken from it.
        saved_usd: what they cost when they were paid for; None where that is not known of some.

    Args:
        folder: made with its first file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reused = 0
        self.saved_usd: Decimal | None = ZERO

    def get(self, fingerprint: str) -> CallReply | None:
        """The reply to a request, for nothing; None where there is none."""
        entry = _read(self._path(fingerprint))
        if entry is None:
            return None
        self.took(entry.reply.cost_usd)
        return replace(
            entry.reply, usage=Usage(), cost_usd=ZERO, saved_usd=entry.reply.cost_usd, is_reused=True
        )

    def took(self, saved_usd: Decimal | None) -> None:
        """Counts a reply that was taken, and what it cost when it was paid for."""
        self.reused += 1
        known = self.saved_usd is not None and saved_usd is not None
        self.saved_usd = self.saved_usd + saved_usd if known else None  # type: ignore[operator]

    def put(self, request: CallRequest, fingerprint: str, reply: CallReply) -> None:
        """Keeps a reply.

        Raises:
            EvalrunnerError: the folder cannot be written.
        """
        content: dict[str, Any] = {
            "v": VERSION,
            "at": time.time(),
            "model": request.model,
            "text": reply.text,
            "finish_reason": reply.finish_reason,
            "answered_by": reply.answered_by,
            "dropped": list(reply.dropped),
            "usage": usage(reply.usage),
            "cost_usd": None if reply.cost_usd is None else str(reply.cost_usd),
        }
        path = self._path(fingerprint)
        draft = path.with_name(f"{path.stem}.{secrets.token_hex(4)}.tmp")
        data = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(data, encoding="ascii")
            draft.replace(path)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            what = f"the cache cannot be written: {error.strerror or error}"
            raise EvalrunnerError(Problem(str(error.filename or path), what)) from None

    def _path(self, fingerprint: str) -> Path:
        return self.folder / fingerprint[:2] / f"{fingerprint}.json"


def entries(folder: Path) -> Iterator[Entry]:
    """Every reply in a cache's folder. What is no reply of ours is passed over."""
    for path in sorted(folder.glob("??/*.json")):
        entry = _read(path)
        if entry is not None:
            yield entry


def remove(entry: Entry) -> None:
    """Removes a reply; one that is gone already is as good.

    Raises:
        EvalrunnerError: it cannot be removed.
    """
    try:
        entry.path.unlink(missing_ok=True)
        with suppress(OSError):
            entry.path.parent.rmdir()
    except OSError as error:
        raise EvalrunnerError(Problem(str(entry.path), f"cannot be removed: {error.strerror}")) from None


def _read(path: Path) -> Entry | None:
    try:
        data = path.read_bytes()
        content = json.loads(data)
        if content["v"] != VERSION:
            return None
        cost = content["cost_usd"]
        reply = CallReply(
            text=content["text"],
            finish_reason=content["finish_reason"],
            usage=Usage.model_validate(content["usage"]),
            answered_by=content["answered_by"],
            dropped=tuple(content["dropped"]),
            cost_usd=None if cost is None else Decimal(cost),
        )
        return Entry(path, len(data), content["model"], float(content["at"]), reply)
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError):
        return None
