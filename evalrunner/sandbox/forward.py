"""Gives a program inside a box a proxy on its own loopback. Started as a script of its own, inside the box.

    forward.py PORT SOCKET PROGRAM [ARGUMENT...]

A box has a network of its own in which nothing else listens. What connects to 127.0.0.1:PORT there is passed
on to the Unix socket, behind which `egress.py` decides where it may go. This process becomes the program.

Only the standard library is imported, since nothing else need be in the box.
"""

import contextlib
import os
import socket
import sys
import threading


def main(arguments: list[str]) -> None:
    """Listens, and becomes the program."""
    port, path, program = int(arguments[0]), arguments[1], arguments[2:]
    server = socket.create_server(("127.0.0.1", port), backlog=64)
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        serve(server, path)
        os._exit(0)
    server.close()
    try:
        os.execvp(program[0], program)
    except OSError as error:
        sys.stderr.write(f"{program[0]}: {error.strerror}\n")
        os._exit(127)


def serve(server: socket.socket, path: str) -> None:
    """Passes every connection on, until the box ends."""
    while True:
        near, _ = server.accept()
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(path)
        except OSError:
            near.close()
            far.close()
            continue
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(one, other), daemon=True).start()


def pump(one: socket.socket, other: socket.socket) -> None:
    """Copies one way until its end."""
    try:
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main(sys.argv[1:])
