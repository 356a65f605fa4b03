"""What the tests of agents share: a bench, an item of a real repository, and stand-in programs."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from blind_origin import Landed, Origin

from evalrunner.budget.budget import Budget, Ledger
from evalrunner.budget.pricing import Pricing
from evalrunner.calls.desk import Desk
from evalrunner.model.prompts import Prompts
from evalrunner.model.seat import Bench
from evalrunner.paths import data_root
from evalrunner.receipt.fingerprint import content_sha
from evalrunner.records import Item, Outcome
from evalrunner.rubric import read_rubric
from evalrunner.sandbox.bubblewrap import probe
from evalrunner.subject.agent import Agent
from evalrunner.subject.agent_command import CommandAgent

RUBRIC = read_rubric(data_root() / "rubrics" / "takes_quality.yaml")
AGENT_KEY = "agent-key-value"


def item_of(origin: Origin, landed: Landed, *, issue: int = 1, **payload: Any) -> Item:
    """The item of a landed issue."""
    body = next(each["body"] for each in origin.issues if each["number"] == issue)
    whole = {
        "issue": issue,
        "pr": 11,
        "parent_sha": landed.parent,
        "model": "sonnet",
        "size": "s",
        "issue_body": body,
        "repository": str(origin.path),
        **payload,
    }
    truth = {"squash_sha": landed.sha}
    return Item(id=f"issue-{issue}", content_sha=content_sha(whole, truth), payload=whole, truth=truth)


class Trial:
    """Runs agents on items, with a run folder, and remembers what was said on stderr."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: list[str] = []

    def __call__(self, agent: Agent, item: Item, run: int = 1) -> Outcome:
        ledger = Ledger(Budget(), Pricing(source="test", version="0"))
        desk = Desk(ledger, journal=None, note=self.notes.append)
        bench = Bench(RUBRIC, (), Prompts(), desk, self.folder, self.notes.append)
        return asyncio.run(agent.produce(item, run, bench))

    def kept(self, outcome: Outcome) -> Path:
        """The folder with what was kept of a sample."""
        return (self.folder / outcome.payload["transcript_path"]).parent


def program(folder: Path, script: str, name: str = "agent") -> Path:
    """A stand-in program in a folder of its own."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    file = bin_folder / name
    file.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def command(folder: Path, script: str, *arguments: str, **fields: Any) -> CommandAgent:
    """The agent `command` with a stand-in program."""
    file = program(folder, script)
    return CommandAgent(**{"command": [str(file), *arguments], "read_only": [str(file.parent)], **fields})


def need_box() -> None:
    """Skips where programs cannot be isolated; in CI that is a failure."""
    isolation = probe()
    if isolation.kind == "none":
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must be able to isolate programs: {isolation.reason}")
        pytest.skip(str(isolation.reason))


def path_without_bubblewrap(folder: Path) -> str:
    """A PATH with every system program but bwrap."""
    links = folder / "programs"
    links.mkdir()
    for place in ("/usr/bin", "/bin"):
        for each in Path(place).iterdir():
            link = links / each.name
            if each.name != "bwrap" and not link.is_symlink():
                link.symlink_to(each)
    assert shutil.which("bwrap", path=str(links)) is None
    return str(links)
