import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalrunner.sandbox.process import STDERR_KEPT, ProcessResult, environment, run, run_async

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")


def shell(
    script: str, folder: Path, *arguments: str, timeout_s: float = 20.0, **more: object
) -> ProcessResult:
    argv = ["sh", "-c", script, "sh", *arguments]
    return run(argv, cwd=folder, env=environment(folder), timeout_s=timeout_s, **more)  # type: ignore[arg-type]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and only waits to be waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(file: Path) -> bool:
    """Whether the process whose id a file holds ends soon."""
    for _ in range(100):
        if file.exists() and file.read_text().strip() and not is_alive(int(file.read_text())):
            return True
        time.sleep(0.02)
    return False


def test_output_code_and_folder(tmp_path):
    done = shell('cat; pwd -P; echo wrong >&2; test "$1" = x', tmp_path, "x", stdin=b"\xff\n")
    assert (done.status, done.code, done.error) == ("ok", 0, None)
    assert done.stdout == b"\xff\n" + os.fsencode(tmp_path.resolve()) + b"\n"
    assert done.stderr == b"wrong\n"
    assert (done.stdout_size, done.stderr_size) == (len(done.stdout), 6)
    assert 0 < done.duration_s < 20


def test_a_code_and_a_signal_are_told(tmp_path):
    assert [
        (each.status, each.code) for each in (shell("exit 3", tmp_path), shell("kill -9 $$", tmp_path))
    ] == [
        ("exit", 3),
        ("exit", -signal.SIGKILL),
    ]
    assert shell("exit 127", tmp_path).status == "exit"


@pytest.mark.parametrize(
    ("program", "reason"), [("no-such-program", "No such file or directory"), ("./text", "Permission denied")]
)
def test_a_program_that_cannot_be_started_is_missing(program, reason, tmp_path):
    (tmp_path / "text").write_text("not a program\n")
    done = run([program], cwd=tmp_path, env=environment(tmp_path), timeout_s=10)
    assert (done.status, done.code, done.error) == ("missing", None, reason)


def test_only_named_variables_reach_the_program(tmp_path):
    environ = {"PATH": os.environ["PATH"], "TZ": "UTC", "API_KEY": "secret", "OTHER": "x", "HOME": "/h"}
    env = environment(tmp_path, ("OTHER", "ABSENT"), environ)
    done = run(["env"], cwd=tmp_path, env=env, timeout_s=10)
    assert dict(line.split("=", 1) for line in done.stdout.decode().splitlines()) == {
        "PATH": os.environ["PATH"],
        "TZ": "UTC",
        "OTHER": "x",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    assert environment(tmp_path, ("HOME",), environ)["HOME"] == "/h"


def test_no_descriptor_but_the_three_reaches_the_program(tmp_path):
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        seen = shell("ls /proc/self/fd 2>/dev/null || echo 0 1 2 3", tmp_path).stdout.split()
    assert set(seen) <= {b"0", b"1", b"2", b"3"}


def test_a_hanging_program_is_ended_with_its_children(tmp_path):
    script = (
        "trap '' TERM; (trap '' TERM; echo $$ >own; sleep 60) & sleep 60 & echo $! >child; wait; sleep 60"
    )
    start = time.monotonic()
    done = shell(f"echo begun; {script}", tmp_path, timeout_s=0.3)
    assert done.status == "timeout"
    assert done.stdout == b"begun\n"
    assert time.monotonic() - start < 15
    assert gone(tmp_path / "child")
    assert gone(tmp_path / "own")


def test_a_program_may_clean_up_after_a_timeout(tmp_path):
    done = shell("trap 'echo bye >said; exit 0' TERM; sleep 60 & wait", tmp_path, timeout_s=0.3)
    assert (done.status, done.code) == ("timeout", 0)
    assert (tmp_path / "said").read_text() == "bye\n"


def test_a_child_that_outlives_the_program_is_ended(tmp_path):
    start = time.monotonic()
    done = shell("sleep 60 & echo $! >child; echo done", tmp_path)
    assert (done.status, done.stdout) == ("ok", b"done\n")
    assert time.monotonic() - start < 15
    assert gone(tmp_path / "child")


ESCAPE = "setsid sh -c 'setsid sh -c \"echo \\$\\$ >child; trap : TERM HUP; while :; do sleep 1; done\" &' & "


@LINUX
@pytest.mark.skipif(shutil.which("setsid") is None, reason="there is no setsid")
@pytest.mark.parametrize("then", ["sleep 60", "while ! test -s child; do sleep 0.05; done"])
def test_a_child_that_left_its_session_is_ended(then, tmp_path):
    done = shell(ESCAPE + then, tmp_path, timeout_s=1.0 if then == "sleep 60" else 20.0)
    assert done.status == ("timeout" if then == "sleep 60" else "ok")
    assert gone(tmp_path / "child")


def test_a_flood_is_cut_and_ended(tmp_path):
    done = shell("yes", tmp_path, output_limit=100_000)
    assert done.status == "flooded"
    assert done.stdout == b"y\n" * 50_000
    assert done.stdout_size > 400_000


def test_more_than_the_limit_is_a_flood_even_from_a_program_that_ended(tmp_path):
    done = shell("printf 12345", tmp_path, output_limit=4)
    assert (done.status, done.code, done.stdout, done.stdout_size) == ("flooded", 0, b"1234", 5)
    assert shell("printf 1234", tmp_path, output_limit=4).status == "ok"


def test_a_flood_on_stderr_is_ended_and_its_end_is_kept(tmp_path):
    done = shell("yes >&2", tmp_path, output_limit=100_000)
    assert (done.status, done.stdout, len(done.stderr)) == ("flooded", b"", STDERR_KEPT)
    few = shell("yes | head -c 200000 >&2; echo end >&2", tmp_path, output_limit=100_000)
    assert (few.status, few.stderr_size, few.stderr[-4:]) == ("ok", 200_004, b"end\n")


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    import tempfile

    (tmp_path / "t").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    shell("echo 1", tmp_path)
    shell("yes", tmp_path, output_limit=1000)
    assert list((tmp_path / "t").iterdir()) == []


def test_programs_run_side_by_side_in_one_loop(tmp_path):
    async def both() -> list[ProcessResult]:
        script = "touch $1; while ! test -e $2; do sleep 0.02; done; echo met"
        return await asyncio.gather(
            *(
                run_async(
                    ["sh", "-c", script, "sh", *names], cwd=tmp_path, env=environment(tmp_path), timeout_s=20
                )
                for names in (("a", "b"), ("b", "a"))
            )
        )

    assert [each.stdout for each in asyncio.run(both())] == [b"met\n"] * 2


def test_a_cancelled_task_kills_its_program(tmp_path):
    async def cancelled() -> None:
        argv = ["sh", "-c", "trap '' TERM; echo $$ >child; sleep 60"]
        task = asyncio.create_task(run_async(argv, cwd=tmp_path, env=environment(tmp_path), timeout_s=60))
        while not (tmp_path / "child").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert gone(tmp_path / "child")


@LINUX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_program_does_not_outlive_us(number, tmp_path):
    script = (
        "import sys; from pathlib import Path; from evalrunner.sandbox.process import environment, run\n"
        "here = Path(sys.argv[1])\n"
        "run(['sh', '-c', 'echo $$ >child; sleep 60'], cwd=here, env=environment(here), timeout_s=60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, tmp_path], stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / "child").exists():
            time.sleep(0.02)
        process.send_signal(number)
    assert gone(tmp_path / "child")
