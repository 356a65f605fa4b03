"""Coverage-guided fuzzing of what reads untrusted bytes; the tests of tests/hardening/ do without coverage.

    python bench/fuzz.py [--seconds 60] [--targets reply receipt diff pipe journal]

It needs `atheris` in the environment. Each target is a process of its own that begins with the project's own
examples and looks for bytes that raise anything but the reader's own refusal, or make it say what they do not
hold. What is found is printed and left in `crash-*`; the exit code is then 1.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,4})?", re.ASCII)
SCORES = b'{"scores": {"style": 8, "depth": 7.25}, "improvements": ["Say \\"more\\".", "A\\u00e9\\n{b}"]}'


def reply(data: bytes) -> None:
    """Every number of a reply that is taken stands in its text."""
    from evalrunner.model.reply import ReplyRejected, read_object

    text = data.decode("utf-8", "surrogateescape")
    try:
        value = read_object(text, "stop").value
    except ReplyRejected:
        return
    written = {str(Decimal(each)) for each in NUMBER.findall(text)}
    lost = [each for each in _leaves(value) if isinstance(each, Decimal) and str(each) not in written]
    assert not lost, f"{lost} do not stand in the reply"


def receipt(data: bytes) -> None:
    """A receipt that is taken is written and read again as the same."""
    from evalrunner.errors import InputError
    from evalrunner.receipt.files import dumps, loads

    try:
        taken, _ = loads(data, "receipt.json")
    except InputError:
        return
    again, _ = loads(dumps(taken), "receipt.json")
    assert again == taken, "written and read again it is another one"


def diff(data: bytes) -> None:
    """A diff that is taken gives trees whose paths stay inside."""
    from evalrunner.git.diff import DiffError
    from evalrunner.git.paths import unsafe
    from evalrunner.git.trees import rebuild

    try:
        trees = rebuild(data)
    except DiffError:
        return
    for path in (*trees.base, *trees.head):
        assert unsafe(path) is None, f"{path!r} leads out of the repository"


def pipe(data: bytes) -> None:
    """Records that are taken are written and read again as the same."""
    import io

    from evalrunner.errors import InputError
    from evalrunner.pipeline.via import lines, read

    try:
        taken = read(io.StringIO(data.decode("utf-8", "surrogateescape")), "stdin")
    except InputError:
        return
    written = "".join(lines(taken.items, taken.outcomes, taken.via))
    again = read(io.StringIO(written), "stdin")
    assert len(again.items) == len(taken.items), "written and read again they are others"


def journal(data: bytes) -> None:
    """A journal tells of calls, or drops lines; what it tells can be taken."""
    from evalrunner.calls.earlier import Earlier
    from evalrunner.errors import InputError

    path = Path(tempfile.gettempdir()) / f"journal-{os.getpid()}.jsonl"
    path.write_bytes(data)
    try:
        earlier = Earlier(path)
    except InputError:
        return
    earlier.untaken()
    earlier.close()


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


TARGETS: dict[str, Callable[[bytes], None]] = {
    "reply": reply,
    "receipt": receipt,
    "diff": diff,
    "pipe": pipe,
    "journal": journal,
}


def seeds(target: str) -> Iterator[bytes]:
    """Examples to begin with: those of the documentation and of the demo."""
    demo = TOP / "evalrunner" / "demo"
    if target == "reply":
        yield SCORES
        yield b"Here it is:\n```json\n" + SCORES + b"\n```"
        yield b'<think>{"style": 2}</think>' + SCORES + SCORES
    elif target == "receipt":
        page = (TOP / "docs" / "receipt.md").read_text(encoding="utf-8")
        yield from (each.encode() for each in re.findall(r"```json\n(.*?)```", page, re.DOTALL))
    elif target == "diff":
        cases = (demo / "review_cases.jsonl").read_text(encoding="utf-8").splitlines()
        yield from (json.loads(line)["diff"].encode() for line in cases)
    elif target == "pipe":
        outcome = {"item_id": "a", "status": "ok", "payload": {"findings": []}, "duration_s": 0.5}
        record = {"id": "a", "payload": {"claim": "c", "weight": 0.25}, "text": "t", "outcomes": [outcome]}
        yield json.dumps({**record, "via": {"eval": "takes_quality", "source": "fs"}}).encode()
    else:
        usage = dict.fromkeys(
            ("calls", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"), 1
        )
        sent = {"v": 1, "sent": 1, "fingerprint": "f", "model": "m", "bound_usd": 0.5}
        ended = {"v": 1, "fingerprint": "f", "ok": True, "attempts": 1, "latency_s": 0.1, "text": "x"}
        ended |= {"finish_reason": "stop", "answered_by": "m", "dropped": [], "cost_usd": 0.25}
        lines = [sent, {**ended, "usage": {**usage, "estimated": False}}, {**sent, "fingerprint": "g"}]
        yield "".join(json.dumps(line) + "\n" for line in lines).encode()


def fuzz(target: str, folder: str, seconds: int) -> None:
    """Runs in a process of its own; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["evalrunner"]):
        import evalrunner.calls.earlier
        import evalrunner.git.trees
        import evalrunner.model.reply
        import evalrunner.pipeline.via
        import evalrunner.receipt.files  # noqa: F401
    atheris.Setup([sys.argv[0], folder, f"-max_total_time={seconds}", "-max_len=20000"], TARGETS[target])
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--one", nargs=2, metavar=("TARGET", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        fuzz(*given.one, given.seconds)
    found = 0
    for target in given.targets:
        with tempfile.TemporaryDirectory() as folder:
            for number, seed in enumerate(seeds(target)):
                (Path(folder) / f"seed-{number}").write_bytes(seed)
            words = [sys.executable, __file__, "--one", target, folder, f"--seconds={given.seconds}"]
            done = subprocess.run(words, capture_output=True, text=True, check=False, errors="replace")
            runs = re.findall(r"^#(\d+)", done.stderr, re.MULTILINE)
            print(f"{target}: {runs[-1] if runs else 0} inputs, exit {done.returncode}", flush=True)
            if done.returncode:
                found = 1
                print(done.stdout[-2000:], done.stderr[-1000:])
    return found


if __name__ == "__main__":
    sys.exit(main())
