"""The direct client trusts nobody whose certificate does not check out."""

import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

COMPLETION = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}]
}


class Tls(BaseHTTPRequestHandler):
    """Answers every request with a completion."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(COMPLETION).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def https(certificate: Path, key: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with HTTPServer(("127.0.0.1", 0), Tls) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"https://localhost:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


ASKING = """
import asyncio, sys
from evalrunner.calls.request import CallFailed, CallRequest, Message, Slot
from evalrunner.model.openai_client import OpenAIClient

async def main():
    client = OpenAIClient({})
    said = (Message("user", "?"),)
    asked = CallRequest("m", "openai/m", said, 9, Slot("judge"), api_base=sys.argv[1], timeout_s=10)
    try:
        print((await client.send(asked)).text)
    except CallFailed as failed:
        print(failed.kind, failed.billed, failed)
    await client.close()

asyncio.run(main())
"""


def test_certificates_are_checked(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    try:
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost",
                "-keyout",
                str(key),
                "-out",
                str(certificate),
            ],
            check=True,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("needs the program openssl")

    def ask(base: str, **environ: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", ASKING, base], capture_output=True, text=True, check=False, env=environ
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with https(certificate, key) as base:
        assert ask(base, SSL_CERT_FILE=str(certificate)) == "fine\n"
        refused = ask(base)
        assert refused.startswith("connection False the connection failed: ")
        assert "CERTIFICATE_VERIFY_FAILED" in refused
        other_name = ask(base.replace("localhost", "127.0.0.1"), SSL_CERT_FILE=str(certificate))
        assert other_name.startswith("connection False ")
