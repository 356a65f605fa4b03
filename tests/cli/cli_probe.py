"""A command for tests that ends in every way a command can; real processes get it through `sitecustomize`.

It is put beside the real commands, so that dispatcher, Hydra, launchers and exit codes are the real ones.
"""

import os
import sys
import textwrap
from pathlib import Path

SITE = """
import evalrunner.commands
from evalrunner.config.table import COMMANDS, Command
evalrunner.commands.__path__.append({folder!r})
COMMANDS["probe"] = Command("ends as told", "", keeps=True, sweeps=True, counts_cycles=True)
COMMANDS["peek"] = Command("ends as told, keeping nothing", "evalrunner peek", sweeps=True)
"""

COMMAND = """
import json, os, signal, sys, time
from evalrunner.config.jobs import in_sweep
from evalrunner.errors import ConfigError, Problem, SourceFailedError

CODES = {"pass": 0, "fail": 1, "inconclusive": 2}

def main(config, *, folder):
    print("on stdout", config.outcome, config.cycles.default_max, folder is None)
    outcome = config.outcome
    if outcome == "config":
        raise ConfigError(Problem("outcome", "is wrong", "'config'"))
    if outcome == "source":
        raise SourceFailedError("database is down")
    if outcome == "crash":
        raise RuntimeError("boom")
    if outcome == "die":
        os._exit(9)
    if outcome == "interrupt":
        raise KeyboardInterrupt
    if outcome == "sleep":
        print("asleep", file=sys.stderr, flush=True)
        time.sleep(30)
    if outcome == "flood":
        for number in range(200_000):
            print("line", number)
        return 1
    if folder is not None:
        (folder / "receipt.json").write_text(json.dumps({"outcome": outcome, "text": "\\u00e9"}))
    return CODES[outcome]
"""

CONFIG = """\
defaults:
  - _self_
  - override hydra/job_logging: stderr
  - override hydra/hydra_logging: stderr
outcome: pass
text: null
json: false
cycles: {default_max: 1}
hydra:
  run: {dir: 'outputs/${hydra.job.name}/${run_id:}'}
  sweep: {dir: 'outputs/${hydra.job.name}/${run_id:}', subdir: '${run_id:}.${hydra.job.num}'}
"""


def install(folder: Path) -> dict[str, str]:
    """Lays the commands `probe` and `peek` out with their configurations; returns an environment."""
    commands, site, conf = folder / "commands", folder / "site", folder / "conf"
    for each in (commands, site, conf):
        each.mkdir(parents=True, exist_ok=True)
    for name in ("probe", "peek"):
        (commands / f"{name}.py").write_text(textwrap.dedent(COMMAND))
        (conf / f"{name}.yaml").write_text(CONFIG)
    (site / "sitecustomize.py").write_text(SITE.format(folder=str(commands)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVALRUNNER_")}
    return {**kept, "PYTHONPATH": str(site)}


COMMAND_LINE = [sys.executable, "-m", "evalrunner"]
