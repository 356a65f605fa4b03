"""Where an agent's program runs: in a box where that works, else as it is; always with an own environment."""

import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from evalrunner.git.run import IDENTITY_EMAIL
from evalrunner.sandbox import forward
from evalrunner.sandbox.bubblewrap import SYSTEM, Bind, Isolation, wrap
from evalrunner.sandbox.egress import Egress, egress
from evalrunner.sandbox.process import ProcessResult, run_async

PROXY_PORT = 3128
HOSTS = Path("/etc/hosts")
_OWN_MACHINE = ("127.0.0.1:", "localhost:", "[::1]:")


@dataclass(frozen=True)
class Box:
    """What a program sees and reaches.

    Attributes:
        isolation: what it is isolated with.
        read_only: folders and files that it sees besides the system's.
        egress: places that it reaches, as `evalrunner.sandbox.egress.place` gives them.
    """

    isolation: Isolation
    read_only: tuple[Path, ...] = ()
    egress: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether there is a box at all."""
        return self.isolation.kind != "none"

    def sees(self, path: Path) -> bool:
        """Whether a program in the box sees a path, itself and where it leads to."""
        return all(
            any(each.is_relative_to(root) for root in self._roots())
            for each in (path.absolute(), path.resolve())
        )

    def touches(self, path: Path) -> bool:
        """Whether anything that the box shows lies in a folder, or the folder in it."""
        whole = path.resolve()
        return any(whole.is_relative_to(root) or root.is_relative_to(whole) for root in self._roots())

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        home: Path,
        shown: Path,
        net: Path,
        variables: Mapping[str, str],
        stdin: bytes,
        timeout_s: float,
    ) -> tuple[ProcessResult, Egress | None]:
        """Runs a program until it ends, or its time is up. Nothing that it started is left.

        Args:
            argv: the program and its arguments.
            cwd: where it starts, and may write.
            home: its HOME, where it may write as well.
            shown: a folder that it may read.
            net: a folder, not there yet, for the way to the proxy.
            variables: what it finds in its environment besides the usual.
            stdin: its input.

        Returns:
            How it ended, and what it asked the proxy for (None without one).
        """
        async with self._way_out(net) as out:
            env = self._environment(home, variables, out is not None)
            line = list(argv)
            if self.closed:
                binds = [Bind(cwd, writable=True), Bind(home, writable=True), Bind(shown)]
                binds += [Bind(each) for each in self._shown()]
                if out is not None:
                    script, python = Path(forward.__file__).resolve(), _python()
                    binds += [Bind(script), Bind(net), *map(Bind, _home_of(python))]
                    line = [str(python), "-I", "-S", str(script), str(PROXY_PORT), str(net / "out"), *line]
                line = wrap(line, binds, cwd=cwd, net=False)
            result = await run_async(line, cwd=cwd, env=env, timeout_s=timeout_s, stdin=stdin)
        return result, out

    @asynccontextmanager
    async def _way_out(self, net: Path) -> AsyncIterator[Egress | None]:
        if not self.closed or not self.egress:
            yield None
            return
        net.mkdir()
        async with egress(net / "out", self.egress) as state:
            yield state

    def _environment(self, home: Path, variables: Mapping[str, str], has_way_out: bool) -> dict[str, str]:
        env = {
            "PATH": self._path(),
            "HOME": str(home),
            "TMPDIR": "/tmp" if self.closed else str(home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": "agent",
            "GIT_AUTHOR_EMAIL": IDENTITY_EMAIL,
            "GIT_COMMITTER_NAME": "agent",
            "GIT_COMMITTER_EMAIL": IDENTITY_EMAIL,
            **variables,
        }
        if has_way_out:
            url = f"http://127.0.0.1:{PROXY_PORT}"
            env |= dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), url)
            if not any(each.startswith(_OWN_MACHINE) for each in self.egress):
                env |= dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1")
        return env

    def _path(self) -> str:
        """The user's PATH, without the folders that the program does not see."""
        folders = [each for each in os.environ.get("PATH", "").split(os.pathsep) if each]
        if self.closed:
            folders = [each for each in folders if self.sees(Path(each))]
        return os.pathsep.join([*folders, *(each for each in ("/usr/bin", "/bin") if each not in folders)])

    def _shown(self) -> list[Path]:
        own = [HOSTS] if HOSTS.is_file() else []
        return [*dict.fromkeys(each.resolve() for each in self.read_only), *own]

    def _roots(self) -> list[Path]:
        return [*(Path(each) for each in SYSTEM), *self._shown()]


def _python() -> Path:
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def _home_of(python: Path) -> Iterator[Path]:
    """What a box needs so that Python runs in it, where that is no part of the system."""
    if not any(python.is_relative_to(root) for root in SYSTEM):
        yield Path(sys.base_prefix).resolve()
