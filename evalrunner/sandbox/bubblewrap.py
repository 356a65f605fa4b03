"""Isolation with bubblewrap: a file system of named folders, own processes, no network unless asked for.

Where it does not work (not installed, or no user namespaces allowed), a program runs as it is: `probe` tells
so, and whoever runs programs shows that and records it.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from evalrunner.sandbox.process import PASSED, run

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""What programs need to run at all; read-only."""

ETC = ("ld.so.cache", "alternatives", "passwd", "group", "nsswitch.conf", "localtime", "ssl", "pki")
"""What programs read below /etc; no keys, no passwords."""

ETC_NET = ("resolv.conf", "hosts", "services", "ca-certificates")

_PROBE_S = 10.0


@dataclass(frozen=True)
class Isolation:
    """What programs can be isolated with.

    Attributes:
        kind: what a receipt records.
        reason: why there is none.
    """

    kind: Literal["bubblewrap", "none"]
    reason: str | None = None


@dataclass(frozen=True)
class Bind:
    """A file or folder that the program sees, at its own path.

    Attributes:
        path: where it is, absolute.
        writable: whether the program may write there.
    """

    path: Path
    writable: bool = False


def wrap(argv: Sequence[str], binds: Iterable[Bind], *, cwd: Path, net: bool) -> list[str]:
    """The command line that runs a program isolated.

    The program sees `SYSTEM`, `ETC`, an empty /tmp, and what is bound. It has processes of its own, which end
    with it. Its environment is what bubblewrap itself is given.

    Args:
        argv: the program and its arguments.
        binds: what else it sees; a folder inside of a bound one may have other rights.
        cwd: where it starts; must be in what it sees.
        net: whether it has the network; else it has not even the loopback of this machine.
    """
    line = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    line += ["--share-net"] if net else []
    line += ["--tmpfs", "/"]
    for name in SYSTEM:
        if os.path.islink(name):  # noqa: PTH114 - a name, not a path to work with
            line += ["--symlink", os.readlink(name), name]  # noqa: PTH115
        else:
            line += ["--ro-bind-try", name, name]
    for name in (*ETC, *ETC_NET) if net else ETC:
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for bind in sorted(binds, key=lambda each: len(each.path.parts)):
        line += ["--bind" if bind.writable else "--ro-bind", str(bind.path), str(bind.path)]
    return [*line, "--remount-ro", "/", "--chdir", str(cwd), "--", *argv]


@cache
def probe(net: bool = False) -> Isolation:
    """Whether isolation works here: a program is run isolated, and tries to write outside.

    Args:
        net: whether with the network or without: without it, more is asked of the system.
    """
    with tempfile.TemporaryDirectory(prefix="evalrunner-probe-") as name:
        folder = Path(name).resolve()
        inside, outside = folder / "inside", folder / "outside"
        inside.mkdir()
        outside.mkdir()
        script = 'echo 1 > "$1/file" && { echo 1 > "$2/file"; } 2>/dev/null; test -e "$1/file"'
        argv = ["sh", "-c", script, "sh", str(inside), str(outside)]
        env = {each: os.environ[each] for each in PASSED if each in os.environ}
        line = wrap(argv, [Bind(inside, writable=True)], cwd=inside, net=net)
        result = run(line, cwd=folder, env=env, timeout_s=_PROBE_S)
        if result.status == "missing":
            return Isolation("none", f"bubblewrap cannot be started: {result.error}")
        if result.status != "ok":
            told = result.stderr.decode("utf-8", "replace").strip() or result.status
            return Isolation("none", f"bubblewrap does not work here: {told[:200]}")
        if not (inside / "file").exists() or (outside / "file").exists():
            return Isolation("none", "bubblewrap does not keep programs inside here")
    return Isolation("bubblewrap")
