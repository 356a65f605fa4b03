"""What a job of a sweep costs under each launcher that is installed.

    python bench/launchers.py [--jobs 8] [--times 3]

Jobs judge ten takes of the demo by rules, so that nearly all of the time is the launcher's and the start's.
The floor is one run by itself. Printed are medians: seconds for the sweep, seconds a job, the ratio to the
floor.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

PROGRAM = [sys.executable, "-m", "evalrunner", "run"]
LAUNCHERS = {
    "basic": "hydra",
    "joblib": "hydra_plugins.hydra_joblib_launcher",
    "ray": "hydra_plugins.hydra_ray_launcher",
    "submitit_local": "hydra_plugins.hydra_submitit_launcher",
}


def main() -> None:
    """Runs the bench."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--jobs", type=int, default=8)
    arguments.add_argument("--times", type=int, default=3)
    given = arguments.parse_args()
    floor = statistics.median(taken("sampler.limit=10") for _ in range(given.times))
    print(f"one run by itself: {floor:.2f} s\n")
    print("| launcher | sweep s | a job s | x one run |\n|---|---:|---:|---:|")
    seeds = ",".join(map(str, range(given.jobs)))
    for launcher, module in LAUNCHERS.items():
        if not installed(module):
            print(f"| {launcher} | not measured: not installed | | |")
            continue
        words = ["-m", f"hydra/launcher={launcher}", "sampler.limit=10", f"sampler.seed={seeds}"]
        sweep = statistics.median(taken(*words) for _ in range(given.times))
        each = sweep / given.jobs
        print(f"| {launcher} | {sweep:.2f} | {each:.2f} | {each / floor:.2f} |")


def installed(module: str) -> bool:
    """Whether a launcher is there."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def taken(*words: str) -> float:
    """Seconds that a command takes in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        done = subprocess.run(
            [*PROGRAM, *words], cwd=folder, env=dict(os.environ), capture_output=True, check=False
        )
        if done.returncode not in {0, 1, 2} or not list(Path(folder).rglob("receipt.json")):
            sys.exit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.decode()[-1000:]}")
        return time.perf_counter() - start


if __name__ == "__main__":
    main()
