"""What 1,000 judge calls cost: a bare aiohttp loop, bare litellm, and `evalrunner run` with either client.

    python bench/calls.py [--calls 1000] [--latency 0.05] [--flight 32 128] [--times 3] [--rows NAME ...]

All four send the same bodies to the same server (bench/provider.py) with as many in flight, and take turns.
Of each whole process are printed, as medians of `--times` rounds: the wall time (imports, journal, receipt
and store included), the time from its start to the first request, the span from the first request to the
last reply, CPU a call, and peak memory. Then come the ratios. The ideal span is calls x latency / flight.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PROGRAM = [sys.executable, "-m", "evalrunner"]
MAX_TOKENS = 4096

AIOHTTP = """
import asyncio, json, sys
import aiohttp

bodies = json.load(open("bodies.json"))
url, flight = sys.argv[1] + "/chat/completions", int(sys.argv[2])

async def main():
    gate = asyncio.Semaphore(flight)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        async def one(body):
            async with gate, session.post(url, json=body) as answer:
                reply = await answer.json()
                return reply["choices"][0]["message"]["content"]
        assert all(await asyncio.gather(*[one(body) for body in bodies]))

asyncio.run(main())
"""

LITELLM = """
import asyncio, json, os, sys
os.environ["LITELLM_OFFLINE_MODE"] = "true"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

bodies = json.load(open("bodies.json"))
base, flight = sys.argv[1], int(sys.argv[2])

async def main():
    gate = asyncio.Semaphore(flight)
    async def one(body):
        async with gate:
            reply = await litellm.acompletion(
                **{**body, "model": "openai/gpt-4o"}, api_base=base, api_key="none",
                num_retries=0, max_retries=0, timeout=120,
            )
            return reply.choices[0].message.content
    assert all(await asyncio.gather(*[one(body) for body in bodies]))

asyncio.run(main())
"""

LOOP, DIRECT, BARE, OVER = "bare aiohttp loop", "evalrunner, direct", "bare litellm", "evalrunner, litellm"
ROWS = (LOOP, DIRECT, BARE, OVER)


@dataclass(frozen=True)
class Measured:
    """One process: seconds, CPU milliseconds a call, MiB."""

    wall_s: float
    first_s: float
    span_s: float
    cpu_ms: float
    rss_mib: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds that the server waits")
    parser.add_argument("--flight", type=int, nargs="+", default=[32, 128], help="calls in flight")
    parser.add_argument("--times", type=int, default=3, help="rounds; medians count")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), help="only these")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, provider(given.latency) as base:
        folder = Path(name)
        in_a_process_of_its_own(folder, given.calls)
        for row in given.rows:  # warms caches
            measured(folder, words(row, base, 32, given.calls), base, given.calls)
        for flight in given.flight:
            rounds: dict[str, list[Measured]] = {row: [] for row in given.rows}
            for _ in range(given.times):
                for row in given.rows:
                    command = words(row, base, flight, given.calls)
                    rounds[row].append(measured(folder, command, base, given.calls))
            ideal = given.calls * given.latency / flight
            print(
                f"\n{given.calls} calls at {given.latency * 1000:g} ms, {flight} in flight; "
                f"ideal span {ideal:.2f} s; medians of {given.times}\n"
            )
            show({row: median(each) for row, each in rounds.items()})


def show(rows: Mapping[str, Measured]) -> None:
    """The table, and the ratios that the rows allow."""
    print("| | wall s | to first request s | span s | CPU ms a call | peak MiB |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, row in rows.items():
        print(
            f"| {name} | {row.wall_s:.2f} | {row.first_s:.2f} | {row.span_s:.2f} "
            f"| {row.cpu_ms:.2f} | {row.rss_mib:.0f} |"
        )
    print()
    for one, other in ((DIRECT, LOOP), (OVER, BARE)):
        if one in rows and other in rows:
            wall, span = rows[one].wall_s / rows[other].wall_s, rows[one].span_s / rows[other].span_s
            cpu = rows[one].cpu_ms / rows[other].cpu_ms
            print(f"{one} : {other}: wall {wall:.2f}, span {span:.2f}, CPU {cpu:.2f}")


def median(rounds: Sequence[Measured]) -> Measured:
    return Measured(
        *(statistics.median(getattr(each, field.name) for each in rounds) for field in fields(Measured))
    )


@contextmanager
def provider(latency: float, *options: str) -> Iterator[str]:
    """A server in a process of its own; gives the base of its addresses."""
    server = subprocess.Popen(
        [sys.executable, str(TOP / "bench" / "provider.py"), "--latency", str(latency), *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    finally:
        server.terminate()
        server.wait()


def words(row: str, base: str, flight: int, calls: int) -> list[str]:
    """The command line of a row's process."""
    if row in {LOOP, BARE}:
        return [sys.executable, "-c", AIOHTTP if row == LOOP else LITELLM, base, str(flight)]
    return run_words(base, flight, calls, model="gpt-4o" if row == DIRECT else "openai/gpt-4o")


def run_words(base: str, flight: int, calls: int, *, model: str, cycles: int = 1) -> list[str]:
    """`evalrunner run` on the bench's takes, one call a take and cycle."""
    seat = f"{{id:{model},api_base:'{base}',concurrency:{flight},max_tokens:{MAX_TOKENS}}}"
    return [
        *PROGRAM,
        "run",
        "source.path=takes.jsonl",
        f"--limit={calls}",
        f"--cycles={cycles}",
        "cycles.stop=never",
        "judge.chunk_size=1",
        f"panel.models=[{seat}]",
    ]


def in_a_process_of_its_own(folder: Path, calls: int) -> None:
    """`write_inputs`, so that this process stays small: a child's peak memory is at least its parent's."""
    program = "import sys, pathlib, calls; calls.write_inputs(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"
    command = [sys.executable, "-c", program, str(folder), str(calls)]
    subprocess.run(command, cwd=Path(__file__).parent, check=True)


def write_inputs(folder: Path, calls: int) -> None:
    """takes.jsonl, and bodies.json: the requests that a run makes of them."""
    from evalrunner.model.panel_prompt import panel_messages
    from evalrunner.model.prompts import Prompts
    from evalrunner.model.scores import scores_schema
    from evalrunner.records import Selection
    from evalrunner.rubric import load_rubric
    from evalrunner.source.file import FileSource

    takes = folder / "takes.jsonl"
    takes.write_text("".join(f"{json.dumps(take(number))}\n" for number in range(calls)), encoding="utf-8")
    items = FileSource(path=str(takes)).take(Selection(order="source", sampler="all"))
    prompts, rubric = Prompts(), load_rubric("takes_quality")
    schema = {"name": "reply", "schema": scores_schema(rubric), "strict": True}
    bodies = [
        {
            "model": "gpt-4o",
            "messages": [
                {"role": message.role, "content": message.content}
                for message in panel_messages(prompts, "takes_quality", rubric, [item])
            ],
            "max_tokens": MAX_TOKENS,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        for item in items
    ]
    (folder / "bodies.json").write_text(json.dumps(bodies), encoding="utf-8")


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


def measured(folder: Path, command: Sequence[str], base: str, calls: int) -> Measured:
    """Runs one process, with an empty store, and asks the server what it saw of it."""
    shutil.rmtree(folder / "outputs", ignore_errors=True)
    log(base)
    start = time.monotonic()
    with (folder / "stderr").open("wb") as errors:
        child = subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, used = os.wait4(child.pid, 0)
    wall = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    seen = log(base)
    if child.returncode or seen["requests"] != calls:
        told = (folder / "stderr").read_text(encoding="utf-8", errors="replace")[-2000:]
        sys.exit(f"{command[:4]} ended with {child.returncode} after {seen['requests']} requests: {told}")
    return Measured(
        wall,
        seen["first"] - start,
        seen["last"] - seen["first"],
        (used.ru_utime + used.ru_stime) / calls * 1000,
        used.ru_maxrss / 1024,
    )


def environment() -> dict[str, str]:
    """The environment of a measured process: without our own variables, and with compiled modules kept."""
    left_out = ("EVALRUNNER_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


def log(base: str) -> dict[str, float]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(base.removesuffix("/v1") + "/log") as answer:
        told: dict[str, float] = json.load(answer)
    return told


if __name__ == "__main__":
    main()
