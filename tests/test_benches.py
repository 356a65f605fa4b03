"""The benches that prove rather than measure, in small."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parent.parent / "bench"


def bench(name: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(BENCH / name), *words], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_killed_runs_are_taken_up_and_nothing_is_paid_twice() -> None:
    told = bench("kills.py", "--kills=4", "--seed=3")
    assert "    0  calls were paid twice that had been journalled" in told
    assert "store check: healthy\nevery receipt equals the undisturbed one\n" in told


def test_no_run_and_no_sweep_passes_its_cap() -> None:
    told = bench("caps.py", "--runs=8", "--sweeps=1", "--seed=3")
    assert told.count("0 runs passed their cap, or told less than they were billed") == 2
    assert "1 sweeps of two processes, of which 0 were killed: 0 passed their cap" in told
