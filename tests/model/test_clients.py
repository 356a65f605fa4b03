"""Clients are imported when one is needed, once, and by themselves."""

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, sys
from evalrunner.model.clients import begin, ready

async def main():
    {body}

asyncio.run(main())
heavy = sorted({{"litellm", "openai", "httpx", "aiohttp"}} & sys.modules.keys())
print(heavy)
"""


def imported(body: str) -> str:
    program = PROGRAM.format(body=body)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_direct_client_imports_neither_litellm_nor_what_that_needs() -> None:
    assert imported("await ready('openai_compatible')") == "['aiohttp']\n"


def test_nothing_is_imported_for_nobody() -> None:
    assert imported("begin([])") == "[]\n"


def test_many_that_wait_get_the_one_client_and_the_loop_goes_on_meanwhile() -> None:
    body = """begin(["openai_compatible"])
    waiting = [asyncio.create_task(ready("openai_compatible")) for _ in range(50)]
    waiting[0].cancel()
    turns = 0
    while not waiting[-1].done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 1
    assert len({id(await each) for each in waiting[1:]}) == 1"""
    assert imported(body) == "['aiohttp']\n"


def test_a_client_that_cannot_be_imported_says_so_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from evalrunner.model import clients

    def broken(name: str) -> None:
        raise ImportError("no such library")

    monkeypatch.setattr(clients, "_clients", {})
    monkeypatch.setattr(clients, "_open", broken)
    for _ in range(2):
        with pytest.raises(ImportError, match="no such library"):
            asyncio.run(clients.ready("litellm"))
