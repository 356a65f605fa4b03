"""A run of 1,000 judge calls beside bare `litellm.acompletion`, against a loopback server, in one run.

    python bench/calls.py [--calls 1000] [--latency 0.05] [--flight 32] [--times 3]

Both ask the same server the same conversations, with as many in flight. Printed are the wall time of the
whole process (imports, journal, receipt and store included), CPU a call, and the ratios: medians of `--times`
runs that take turns. The ideal is calls x latency / flight.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PROGRAM = Path(sys.executable).with_name("evalrunner")
MODEL = "openai/gpt-4o"

BARE = """
import asyncio, json, os, sys
os.environ["LITELLM_OFFLINE_MODE"] = "true"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

conversations = json.load(open(sys.argv[1]))
base, flight = sys.argv[2], int(sys.argv[3])

async def main():
    gate = asyncio.Semaphore(flight)
    async def one(messages):
        async with gate:
            reply = await litellm.acompletion(
                model="openai/gpt-4o", messages=messages, api_base=base, api_key="none", max_tokens=4096,
                num_retries=0, max_retries=0, timeout=120,
            )
            return reply.choices[0].message.content
    replies = await asyncio.gather(*[one(messages) for messages in conversations])
    assert all(replies)

asyncio.run(main())
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds that the server waits")
    parser.add_argument("--flight", type=int, default=32, help="calls in flight")
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, str(TOP / "tests" / "loopback.py"), "--latency", str(given.latency), "--score", "8"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    base = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    try:
        with tempfile.TemporaryDirectory() as folder:
            compare(Path(folder), base, given)
    finally:
        server.terminate()
        server.wait()


def compare(folder: Path, base: str, given: argparse.Namespace) -> None:
    takes = folder / "takes.jsonl"
    takes.write_text("".join(f"{json.dumps(take(number))}\n" for number in range(given.calls)))
    (folder / "conversations.json").write_text(json.dumps(conversations(takes)))
    seat = f"{{id:{MODEL},api_base:'{base}',concurrency:{given.flight}}}"
    ours = [
        str(PROGRAM),
        "run",
        f"source.path={takes}",
        f"--limit={given.calls}",
        "--cycles=1",
        "judge.chunk_size=1",
        f"panel.models=[{seat}]",
    ]
    bare = [sys.executable, "-c", BARE, "conversations.json", base, str(given.flight)]
    measured: dict[str, list[tuple[float, float]]] = {"evalrunner run": [], "bare litellm": []}
    for _ in range(given.times):
        measured["bare litellm"].append(process(folder, bare))
        measured["evalrunner run"].append(process(folder, ours))
    ideal = given.calls * given.latency / given.flight
    print(f"{given.calls} calls, {given.latency * 1000:g} ms, {given.flight} in flight; ideal {ideal:.2f} s")
    print(f"{'':16} {'wall s':>8} {'CPU ms a call':>14}")
    walls, cpus = {}, {}
    for name, runs in measured.items():
        walls[name] = statistics.median(wall for wall, _ in runs)
        cpus[name] = statistics.median(cpu for _, cpu in runs)
        print(f"{name:16} {walls[name]:8.2f} {cpus[name] / given.calls * 1000:14.2f}")
    print(f"ratio of walls   {walls['evalrunner run'] / walls['bare litellm']:8.3f}")
    print(f"ratio of CPU     {cpus['evalrunner run'] / cpus['bare litellm']:8.3f}")


def take(number: int) -> dict[str, object]:
    return {
        "id": f"bench-{number}",
        "page_slug": f"bench/{number % 50}",
        "kind": "fact",
        "holder": "world",
        "weight": 0.9,
        "claim": f"Line {number} of the bench is measured.",
        "page_text": f"The bench has many lines. Line {number} of the bench is measured. Others are not.",
    }


def conversations(takes: Path) -> list[list[dict[str, str]]]:
    """The conversations that a run asks, one a take."""
    from evalrunner.model.panel_prompt import panel_messages
    from evalrunner.model.prompts import Prompts
    from evalrunner.records import Selection
    from evalrunner.rubric import load_rubric
    from evalrunner.source.file import FileSource

    items = FileSource(path=str(takes)).take(Selection(order="source", sampler="all"))
    prompts, rubric = Prompts(), load_rubric("takes_quality")
    return [
        [
            {"role": message.role, "content": message.content}
            for message in panel_messages(prompts, "takes_quality", rubric, [item])
        ]
        for item in items
    ]


def process(folder: Path, words: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVALRUNNER_")}
    start = time.perf_counter()
    with (folder / "stderr").open("wb") as log:
        child = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=log)
        _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{words[0]} failed ({child.returncode}): {(folder / 'stderr').read_text()[-2000:]}")
    return wall, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
