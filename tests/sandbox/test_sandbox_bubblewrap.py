import socket
import sys
import time
from pathlib import Path

import pytest

from evalrunner.sandbox.bubblewrap import Bind, Isolation, probe, wrap
from evalrunner.sandbox.process import ProcessResult, environment, run

needs_bubblewrap = pytest.mark.skipif(
    probe().kind == "none", reason=f"no isolation here: {probe().reason or ''}"
)


def isolated(
    script: str, folder: Path, *binds: Bind, net: bool = False, timeout_s: float = 20.0
) -> ProcessResult:
    own = folder / "own"
    own.mkdir(exist_ok=True)
    line = wrap(["sh", "-c", script], [Bind(own, writable=True), *binds], cwd=own, net=net)
    return run(line, cwd=folder, env=environment(own), timeout_s=timeout_s)


def test_a_probe_says_why_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    probe.cache_clear()
    try:
        assert probe() == Isolation("none", "bubblewrap cannot be started: No such file or directory")
        (tmp_path / "bwrap").write_text("#!/bin/sh\necho no namespaces >&2\nexit 1\n")
        (tmp_path / "bwrap").chmod(0o755)
        probe.cache_clear()
        assert probe() == Isolation("none", "bubblewrap does not work here: no namespaces")
        (tmp_path / "bwrap").write_text(
            '#!/bin/sh\nwhile test "$1" != --; do shift; done; shift; exec /usr/bin/env "$@"\n'
        )
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        probe.cache_clear()
        assert probe() == Isolation("none", "bubblewrap does not keep programs inside here")
    finally:
        probe.cache_clear()


@needs_bubblewrap
def test_writes_outside_are_refused(tmp_path):
    other, shown = tmp_path / "other", tmp_path / "shown"
    for folder in (other, shown):
        folder.mkdir()
        (folder / "file").write_text("1\n")
    script = (
        f"echo 2 >file && cat {shown}/file;"
        f" for each in {other}/file {shown}/file {shown}/new /usr/new /etc/new /new; do"
        f" {{ echo 2 >$each; }} 2>/dev/null && echo wrote $each; done; test -e {other} && echo seen; true"
    )
    done = isolated(script, tmp_path, Bind(shown))
    assert (done.status, done.stdout) == ("ok", b"1\n")
    assert (tmp_path / "own" / "file").read_text() == "2\n"
    assert (other / "file").read_text() == (shown / "file").read_text() == "1\n"
    assert [each.name for each in shown.iterdir()] == ["file"]


@needs_bubblewrap
def test_a_folder_inside_of_a_readable_one_may_be_writable(tmp_path):
    (tmp_path / "all" / "part").mkdir(parents=True)
    binds = [Bind(tmp_path / "all" / "part", writable=True), Bind(tmp_path / "all")]
    done = isolated(f"cd {tmp_path}/all; touch part/yes; touch no 2>/dev/null; true", tmp_path, *binds)
    assert done.status == "ok"
    assert (tmp_path / "all" / "part" / "yes").exists()
    assert not (tmp_path / "all" / "no").exists()


@needs_bubblewrap
@pytest.mark.parametrize("net", [False, True])
def test_there_is_no_network_unless_asked_for(net, tmp_path):
    if net and probe(net=True).kind == "none":
        pytest.skip(f"no isolation with a network here: {probe(net=True).reason}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5).close()"
        binds = [Bind(Path(each)) for each in {sys.prefix, sys.base_prefix} if not each.startswith("/usr")]
        done = isolated(f'{sys.executable} -I -c "{code}"', tmp_path, *binds, net=net)
    assert done.status == ("ok" if net else "exit"), done.stderr
    assert net or b"ConnectionRefusedError" in done.stderr or b"Network is unreachable" in done.stderr


@needs_bubblewrap
def test_processes_are_its_own_and_end_with_it(tmp_path):
    few = "test $(ls -d /proc/[0-9]* | wc -l) -lt 10 || exit 9"
    script = f"{few}; (setsid sh -c 'while :; do echo 1 >beat; sleep 0.05; done' &)"
    done = isolated(f"{script}; while ! test -e beat; do sleep 0.02; done", tmp_path)
    assert done.status == "ok", done.stderr
    (tmp_path / "own" / "beat").unlink()
    time.sleep(0.3)
    assert not (tmp_path / "own" / "beat").exists()
    done = isolated("trap '' TERM; while :; do echo 1 >beat; sleep 0.05; done", tmp_path, timeout_s=0.5)
    assert done.status == "timeout"
    (tmp_path / "own" / "beat").unlink(missing_ok=True)
    time.sleep(0.3)
    assert not (tmp_path / "own" / "beat").exists()
