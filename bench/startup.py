"""Start-up of the commands, as ratios to bare Python and to `import hydra`, all measured in this run.

    python bench/startup.py [--times 9]

Wall time of whole processes, medians. `trend` reads a store with one receipt; `run` judges the demo by rules.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("evalrunner")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=9, help="runs of each command; the median counts")
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        command(folder, [str(PROGRAM), "run"])  # fills the store, and warms every cache
        python = [sys.executable, "-c", "pass"]
        commands = {
            "python -c pass": python,
            "python -c 'import hydra'": [sys.executable, "-c", "import hydra"],
            "evalrunner --help": [str(PROGRAM), "--help"],
            "evalrunner trend": [str(PROGRAM), "trend"],
            "evalrunner run (rules)": [str(PROGRAM), "run"],
        }
        medians: dict[str, float] = {}
        rounds = {name: [] for name in commands}
        for _ in range(times):
            for name, words in commands.items():
                rounds[name].append(command(folder, words))
        medians = {name: statistics.median(values) for name, values in rounds.items()}
    bare, hydra = medians["python -c pass"], medians["python -c 'import hydra'"]
    print(f"{'command':28} {'ms':>7} {'x bare':>8} {'x hydra':>8}")
    for name, median in medians.items():
        print(f"{name:28} {median * 1000:7.0f} {median / bare:8.2f} {median / hydra:8.2f}")


def command(folder: str, words: list[str]) -> float:
    """Seconds that a command takes, whatever its verdict."""
    left_out = ("EVALRUNNER_", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    start = time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)
    taken = time.perf_counter() - start
    if done.returncode > 2:
        sys.exit(f"{' '.join(words)} failed: {done.stderr.decode(errors='replace')}")
    return taken


if __name__ == "__main__":
    main()
