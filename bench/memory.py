"""Peak memory of `evalrunner run` with the direct client, by the number of its calls.

    python bench/memory.py [--calls 1000 10000] [--takes 1000] [--flight 128]

Each number of calls is made up in two ways, each in a process of its own: by judging the same takes in many
cycles (`cycles.stop: never` pools them), and by judging as many takes once. The server (bench/provider.py)
answers at once, and replies have scores and an improvement of their own. Printed are the peak memory of the
whole process, journal, receipt and store included, and what it grew by against the first run.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from calls import in_a_process_of_its_own, measured, provider, run_words


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, nargs="+", default=[1000, 10_000], help="one run each")
    parser.add_argument("--takes", type=int, default=1000, help="calls of one cycle")
    parser.add_argument("--flight", type=int, default=128, help="calls in flight")
    given = parser.parse_args()
    if wrong := [calls for calls in given.calls if calls % given.takes]:
        sys.exit(f"{wrong} are no multiples of {given.takes} takes")
    with tempfile.TemporaryDirectory() as name, provider(0.0, "--vary") as base:
        print("| calls | takes | peak MiB | growth MiB | bytes a call | CPU ms a call | wall s |")
        print("|---:|---:|---:|---:|---:|---:|---:|")
        first: tuple[int, float] | None = None
        for calls in given.calls:
            for takes in dict.fromkeys((given.takes, calls)):
                folder = Path(name, f"{calls}-{takes}")
                folder.mkdir()
                in_a_process_of_its_own(folder, takes)
                words = run_words(base, given.flight, takes, model="gpt-4o", cycles=calls // takes)
                run = measured(folder, words, base, calls)
                first = first or (calls, run.rss_mib)
                growth, more = run.rss_mib - first[1], calls - first[0]
                each = f"{growth * 2**20 / more:.0f}" if more else ""
                told = f"{run.rss_mib:.0f} | {growth:.0f} | {each} | {run.cpu_ms:.2f} | {run.wall_s:.1f}"
                print(f"| {calls} | {takes} | {told} |", flush=True)


if __name__ == "__main__":
    main()
