"""A loopback git server that wants a token, with git's own http-backend."""

import os
import subprocess
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class GitServer:
    """Serves the repositories below a folder to those who know the token; a context manager.

    Attributes:
        auth: the Authorization headers that were seen.
    """

    def __init__(self, root: Path, token: str) -> None:
        self.root, self.auth = root, list[str | None]()
        self.wanted = "Basic " + b64encode(f"x-access-token:{token}".encode()).decode()

    def __enter__(self) -> "GitServer":
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                outer.auth.append(self.headers.get("Authorization"))
                if outer.auth[-1] != outer.wanted:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", "Basic")
                    self.end_headers()
                    return
                path, _, query = self.path.partition("?")
                done = subprocess.run(
                    ["git", "http-backend"],
                    input=self.rfile.read(int(self.headers.get("Content-Length", 0))),
                    env={
                        "PATH": os.environ["PATH"],
                        "GIT_PROJECT_ROOT": str(outer.root),
                        "GIT_HTTP_EXPORT_ALL": "1",
                        "GIT_CONFIG_NOSYSTEM": "1",
                        "GIT_CONFIG_GLOBAL": "/dev/null",
                        "REQUEST_METHOD": self.command,
                        "PATH_INFO": path,
                        "QUERY_STRING": query,
                        "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                        "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                        "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                        "REMOTE_USER": "someone",
                    },
                    capture_output=True,
                    check=True,
                )
                head, _, body = done.stdout.partition(b"\r\n\r\n")
                self.send_response(200)
                for line in head.decode().split("\r\n"):
                    name, _, value = line.partition(": ")
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.server.server_port}"
