"""What 1,000 judge calls cost: a bare aiohttp loop, bare litellm, and `evalrunner run` with either client.

    python bench/calls.py [--calls 1000] [--latency 0.05] [--flight 32 128] [--times 3] [--rows NAME ...]
                          [--peer PYTHON]

All four send the same bodies to the same server (bench/provider.py) with as many in flight, and take turns.
Of each whole process are printed, as medians of `--times` rounds: the wall time (imports, journal, receipt
and store included), the time from its start to the first request, the span from the first request to the
last reply, CPU a call, and peak memory. Then come the ratios. The ideal span is calls x latency / flight.

`--peer` is a Python of another environment that has pydantic-evals and pydantic-ai-slim[openai]: the fastest
of the frameworks that ask an LLM judge. Its judge asks of the same takes in its own words, and is answered in
the form that it asks for. Without it that ratio is not measured.
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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from provider import completion

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

PEER = """
import json, sys
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge

asked = [body["messages"][-1]["content"] for body in json.load(open("bodies.json"))]
model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=sys.argv[1], api_key="none"))
judge = LLMJudge(rubric="The claim follows from the page.", model=model)

async def task(text):
    return text

cases = [Case(name=str(number), inputs=text) for number, text in enumerate(asked)]
dataset = Dataset(name="bench", cases=cases, evaluators=[judge])
report = dataset.evaluate_sync(task, max_concurrency=int(sys.argv[2]), progress=False)
assert len(report.cases) == len(asked) and all(case.assertions for case in report.cases)
"""

LOOP, DIRECT, BARE, OVER = "bare aiohttp loop", "evalrunner, direct", "bare litellm", "evalrunner, litellm"
ROWS = (LOOP, DIRECT, BARE, OVER)
FASTEST = "pydantic-evals"


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
    parser.add_argument("--peer", metavar="PYTHON", help=f"of an environment that has {FASTEST}")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bases = dict.fromkeys(given.rows, stack.enter_context(provider(given.latency)))
        if given.peer:
            reply = folder / "reply.json"
            reply.write_text(json.dumps(tool_call()), encoding="utf-8")
            bases[FASTEST] = stack.enter_context(provider(given.latency, "--reply", str(reply)))
        in_a_process_of_its_own(folder, given.calls)
        for row, base in bases.items():  # warms caches
            measured(folder, words(row, base, 32, given.calls, given.peer), base, given.calls)
        for flight in given.flight:
            rounds: dict[str, list[Measured]] = {row: [] for row in bases}
            for _ in range(given.times):
                for row, base in bases.items():
                    command = words(row, base, flight, given.calls, given.peer)
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
    if FASTEST not in rows:
        print(f"{DIRECT} : {FASTEST}: not measured (--peer)")
        return
    for name in (DIRECT, LOOP):
        if name in rows:
            print(f"{name} : {FASTEST}: wall {rows[name].wall_s / rows[FASTEST].wall_s:.2f}")


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


def tool_call() -> dict[str, Any]:
    """The reply that pydantic-evals' judge asks for."""
    told = completion()
    said = json.dumps({"reason": "It does.", "pass": True, "score": 0.8})
    call = {"id": "call_1", "type": "function", "function": {"name": "final_result", "arguments": said}}
    told["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": [call]}
    told["choices"][0]["finish_reason"] = "tool_calls"
    return told


def words(row: str, base: str, flight: int, calls: int, peer: str | None = None) -> list[str]:
    """The command line of a row's process; `peer` is the Python of that of FASTEST."""
    if row == FASTEST:
        return [str(peer), "-c", PEER, base, str(flight)]
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
