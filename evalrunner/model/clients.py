"""The clients that speak to providers, imported when one is needed: they are what takes longest to start."""

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Lock, Thread
from typing import Literal

from evalrunner.calls.request import Client

ClientName = Literal["litellm", "openai_compatible"]

_clients: dict[ClientName, "Future[Client]"] = {}
_lock = Lock()


async def ready(name: ClientName) -> Client:
    """The process's client of this name. While it is imported, the loop goes on with other calls."""
    if name not in _clients:
        begin([name])
    client = _clients[name]
    return client.result() if client.done() else await asyncio.wrap_future(client)


def begin(names: Iterable[ClientName]) -> None:
    """Starts to import clients in a thread of its own, beside whatever else there is to do."""
    with _lock:
        wanted = sorted(set(names) - _clients.keys(), reverse=True)  # the light one first
        for name in wanted:
            _clients[name] = Future()
            _clients[name].set_running_or_notify_cancel()  # a call that is cancelled takes it from no other
    if wanted:
        # no daemon: a process must not end in the middle of an import
        Thread(target=partial(_import, wanted), name="evalrunner-clients").start()


def _import(names: Sequence[ClientName]) -> None:
    for name in names:
        try:
            _clients[name].set_result(_open(name))
        except BaseException as error:
            _clients[name].set_exception(error)


def _open(name: ClientName) -> Client:
    if name == "openai_compatible":
        from evalrunner.model import openai_client

        return openai_client.shared()
    from evalrunner.model import litellm_client

    litellm_client.load()
    return litellm_client.shared()
