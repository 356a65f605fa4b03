"""Runs one program and ends everything that it started. `process.py` starts this file as a script of its own.

    keeper.py CONTROL REPORT GRACE DROPPED PROGRAM [ARGUMENT...]

On Linux this process is the subreaper of all that the program starts: whoever leaves the program's session
and loses its parent becomes our child, so nobody escapes by that. Elsewhere only the program's process group
can be ended. A program that looks for its keeper can kill it, unless bubblewrap hides us from it;
then the report is missing, and `ProcessResult.lost` says so.

CONTROL is a pipe that we read. `T` ends the program, politely for GRACE seconds; anything else, or the end of
the pipe, kills at once, so the program does not outlive evalrunner either. REPORT is a pipe that we write one
line to: `exit CODE` (negative for a signal) or `missing REASON`. DROPPED is a variable that Python adds to
its environment by itself, or nothing.

Only a little of the standard library is imported, since this starts for every program that is run.
"""

import os
import select
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 5.0
"""So long we go on killing; a process that hangs in the kernel cannot be killed."""

LINUX = sys.platform.startswith("linux")


def main(arguments: list[str]) -> None:
    """Runs the program to its end, or to ours."""
    control, report = int(arguments[0]), int(arguments[1])
    os.set_inheritable(control, False)
    os.set_inheritable(report, False)
    if LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    child = os.fork()
    if child == 0:
        _become(arguments[4:], arguments[3], report)
    family = Family(child)
    while family.status is None:
        ready, _, _ = select.select([woken, control], [], [])
        if woken in ready:
            os.read(woken, 1024)
            family.reap()
        if control in ready:
            if os.read(control, 1) == b"T":
                family.end(signal.SIGTERM, float(arguments[2]))
            break
    family.end(signal.SIGKILL, PATIENCE_S)
    code = -signal.SIGKILL if family.status is None else os.waitstatus_to_exitcode(family.status)
    os.write(report, b"exit %d\n" % code)


def _become(program: list[str], dropped: str, report: int) -> None:
    """In the forked child: becomes the program, or says why it cannot."""
    try:
        os.setsid()
        for each in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(each, signal.SIG_DFL)
        environment = {key: value for key, value in os.environb.items() if key != os.fsencode(dropped)}
        os.execvpe(program[0], program, environment)
    except BaseException as error:
        reason = getattr(error, "strerror", None) or str(error)
        os.write(report, f"missing {reason}\n".encode("utf-8", "replace"))
    os._exit(127)


class Family:
    """The program and all that descends from it.

    Attributes:
        child: the program's process, which leads a session of its own.
        status: how it ended; None before.
    """

    def __init__(self, child: int) -> None:
        self.child = child
        self.status: int | None = None

    def reap(self) -> bool:
        """Waits for those that have ended. True when others are left."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if process == 0:
                return True
            if process == self.child:
                self.status = status

    def end(self, number: int, patience_s: float) -> None:
        """Signals all of it until nothing is left, for at most so many seconds; SIGTERM is sent once."""
        deadline = time.monotonic() + patience_s
        pause = 0.001
        if not LINUX:
            self._signal_group(number)
        signalled = False
        while self.reap() and time.monotonic() < deadline:
            if number == signal.SIGKILL or not signalled:
                for process in descendants(os.getpid()):
                    _signal(process, number)
                if self.status is None:
                    self._signal_group(number)
                signalled = True
            time.sleep(pause)
            pause = min(pause * 2, 0.02)

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self.child, number)
        except OSError:
            return


def descendants(ancestor: int) -> list[int]:
    """Every living process below one, on systems that have /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if LINUX else ():  # noqa: PTH208 - pathlib takes long to import
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - the same
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    queue = children.get(ancestor, [])
    while queue:
        process = queue.pop()
        found.append(process)
        queue += children.get(process, [])
    return found


def _signal(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except OSError:
        return


if __name__ == "__main__":
    main(sys.argv[1:])
