"""The journal of a run: one JSON line before every attempt is sent, and one when it has ended.

A line is handed to the operating system before its reply is used, so that a killed process loses none. A
power cut can cost the lines of the last second: the file is synced at most once a second, and at the end.
"""

import json
import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

from evalrunner.calls.request import CallReply, CallRequest
from evalrunner.errors import EvalrunnerError, Problem
from evalrunner.records import Usage

VERSION = 1
"""Of the shape of a line; a reader refuses a newer one."""

SYNC_EVERY_S = 1.0

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Journal:
    """Appends to a file in UTF-8, one line an attempt, whatever the locale. Lone surrogates are escaped.

    The file is made with its first line. It may already hold lines: those of an earlier stage, or of a
    process that was killed, whose last line may be torn; then a new line is begun after it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._synced_at = 0.0
        self._syncing: Thread | None = None

    def sent(self, request: CallRequest, fingerprint: str, attempt: int, bound_usd: Decimal | None) -> None:
        """Keeps that an attempt is about to be sent. `bound_usd` is the most that it can cost, if known.

        Raises:
            EvalrunnerError: the file cannot be written.
        """
        line = {"v": VERSION, "sent": attempt, "fingerprint": fingerprint, "model": request.model}
        self._write(_encode(line)[:-1], bound_usd, "bound_usd")

    def replied(
        self, request: CallRequest, fingerprint: str, reply: CallReply, cost_usd: Decimal | None
    ) -> None:
        """Keeps a reply. `cost_usd` is that of the attempt alone, None where no price is known.

        Raises:
            EvalrunnerError: the file cannot be written.
        """
        line = _line(request, fingerprint, attempts=reply.attempts, latency_s=reply.latency_s, ok=True)
        line |= {
            "text": reply.text,
            "finish_reason": reply.finish_reason,
            "answered_by": reply.answered_by,
            "dropped": list(reply.dropped),
            "usage": usage(reply.usage),
        }
        if reply.is_reused:
            line["saved_usd"] = None if reply.saved_usd is None else str(reply.saved_usd)
        self._write(f'{_encode(line)[:-1]},"raw":{reply.raw or "null"}', cost_usd)

    def failed(
        self,
        request: CallRequest,
        fingerprint: str,
        failure: tuple[str, str | None],
        cost_usd: Decimal | None,
        *,
        attempts: int,
        latency_s: float,
    ) -> None:
        """Keeps an attempt that gave no reply. `failure` is the kind of CallFailed and its message, or
        `cancelled` or `crashed` and None where it was broken off from our side.

        Raises:
            EvalrunnerError: the file cannot be written.
        """
        line = _line(request, fingerprint, attempts=attempts, latency_s=latency_s, ok=False)
        line["failure"], line["error"] = failure
        self._write(_encode(line)[:-1], cost_usd)

    def close(self) -> None:
        """Syncs the file to the disk and closes it. A later line opens it again.

        Raises:
            EvalrunnerError: the disk does not take it.
        """
        file = self._let_go()
        if file is None:
            return
        try:
            os.fsync(file)
        except OSError as error:
            raise self._lost(error) from None
        finally:
            os.close(file)

    def _let_go(self) -> int | None:
        file, self._file = self._file, None
        if self._syncing is not None:
            self._syncing.join()
            self._syncing = None
        return file

    def _write(self, begun: str, dollars: Decimal | None, name: str = "cost_usd") -> None:
        """Writes a line that is begun as a JSON object and lacks an amount and its closing brace."""
        amount = "null" if dollars is None else dollars
        data = f'{begun},"{name}":{amount}}}\n'.encode("utf-8", "backslashreplace")
        try:
            if self._file is None:
                self._file = self._open()
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            if (file := self._let_go()) is not None:  # what comes next begins a line of its own
                os.close(file)
            raise self._lost(error) from None
        self._sync()

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        size = os.lseek(file, 0, os.SEEK_END)
        if size:
            os.lseek(file, size - 1, os.SEEK_SET)
            if os.read(file, 1) != b"\n":
                os.write(file, b"\n")
        self._synced_at = monotonic()
        return file

    def _sync(self) -> None:
        """Syncs in a thread, so that a slow disk holds up no call; what fails there shows at the close."""
        now = monotonic()
        busy = self._syncing is not None and self._syncing.is_alive()
        if self._file is None or busy or now - self._synced_at < SYNC_EVERY_S:
            return
        self._synced_at = now
        self._syncing = Thread(target=_fsync, args=(self._file,), name="journal-sync", daemon=True)
        self._syncing.start()

    def _lost(self, error: OSError) -> EvalrunnerError:
        reason = error.strerror or str(error)
        return EvalrunnerError(Problem(str(self.path), f"the journal of calls cannot be written: {reason}"))


def _fsync(file: int) -> None:
    try:
        os.fsync(file)
    except OSError:
        return


def _line(
    request: CallRequest, fingerprint: str, *, attempts: int, latency_s: float, ok: bool
) -> dict[str, Any]:
    return {
        "v": VERSION,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "fingerprint": fingerprint,
        "slot": vars(request.slot),
        "model": request.model,
        "ok": ok,
        "attempts": attempts,
        "latency_s": round(latency_s, 6),
    }


def usage(used: Usage) -> dict[str, Any]:
    """The token counts of a reply, JSON-ready."""
    return {
        "calls": used.calls,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cached_tokens": used.cached_tokens,
        "reasoning_tokens": used.reasoning_tokens,
        "estimated": used.estimated,
    }
