"""The clients that speak to providers, imported when one is needed: they are what takes longest to start."""

import asyncio
from collections.abc import Iterable
from functools import partial
from threading import Lock, Thread
from typing import Literal

from evalrunner.calls.request import Client

ClientName = Literal["litellm", "openai_compatible"]

_clients: dict[ClientName, Client] = {}
_opening = Lock()


async def ready(name: ClientName) -> Client:
    """The process's client of this name. While it is imported, the loop goes on with other calls."""
    return _clients.get(name) or await asyncio.to_thread(_opened, name)


def begin(names: Iterable[ClientName]) -> None:
    """Starts to import clients in a thread of its own, beside whatever else there is to do."""
    wanted = sorted(set(names) - _clients.keys(), reverse=True)  # the light one first
    if wanted:
        Thread(target=partial(_open_all, wanted), name="evalrunner-clients", daemon=True).start()


def _open_all(names: Iterable[ClientName]) -> None:
    for name in names:
        _opened(name)


def _opened(name: ClientName) -> Client:
    with _opening:
        if name not in _clients:
            _clients[name] = _open(name)
        return _clients[name]


def _open(name: ClientName) -> Client:
    if name == "openai_compatible":
        from evalrunner.model import openai_client

        return openai_client.shared()
    from evalrunner.model import litellm_client

    litellm_client.load()
    return litellm_client.shared()
