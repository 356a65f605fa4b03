"""A loopback server that speaks as much of a forge's REST API as a selection asks for, over an `Origin`."""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from blind_origin import Origin, run_git

NAME = "owner/calc"

Answer = tuple[int, Any, dict[str, str]]


@dataclass
class Pull:
    """A pull request as the server tells of it."""

    number: int
    body: str
    sha: str | None
    merged_at: str | None
    updated_at: str
    title: str = "a change"
    base: str = "main"
    commits: int = 3


@dataclass
class Rest:
    """The server; a context manager.

    Attributes:
        fails: path -> what is answered instead, once for each element, the last one for ever.
        asked: the paths asked for, with queries; auth: their Authorization headers.
        page: pull requests a page at most.
    """

    origin: Origin
    pulls: list[Pull] = field(default_factory=list)
    fails: dict[str, list[Answer]] = field(default_factory=dict)
    page: int = 2
    asked: list[str] = field(default_factory=list)
    auth: list[str | None] = field(default_factory=list)

    def __enter__(self) -> "Rest":
        rest = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                rest.asked.append(self.path)
                rest.auth.append(self.headers.get("Authorization"))
                status, body, headers = rest.answer(self.path)
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json; charset=utf-8", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
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

    def answer(self, target: str) -> Answer:
        """Status, body and headers for a request."""
        parts = urlsplit(target)
        path = parts.path
        if scripted := self.fails.get(path):
            return scripted.pop(0) if len(scripted) > 1 else scripted[0]
        routes: list[tuple[str, Callable[..., Answer]]] = [
            (f"/repos/{NAME}", lambda: self.ok({**self.repository, "default_branch": "main"})),
            (f"/repos/{NAME}/pulls", lambda: self.listed(parse_qs(parts.query))),
            (rf"/repos/{NAME}/pulls/(\d+)", self.one_pull),
            (rf"/repos/{NAME}/commits/([0-9a-f]+)", self.commit),
            (rf"/repos/{NAME}/issues/(\d+)", self.issue),
        ]
        for pattern, make in routes:
            found = re.fullmatch(pattern, path)
            if found:
                return make(*found.groups())
        return self.missing()

    @property
    def repository(self) -> dict[str, Any]:
        """What every answer says of the repository."""
        return {
            "id": 1,
            "name": NAME.split("/")[1],
            "full_name": NAME,
            "url": f"{self.url}/repos/{NAME}",
            "clone_url": f"https://forge.invalid/{NAME}.git",
        }

    @staticmethod
    def ok(body: Any, **headers: str) -> Answer:
        """A good answer."""
        return 200, body, headers

    @staticmethod
    def missing() -> Answer:
        """What the API says of a record that is not there."""
        return 404, {"message": "Not Found", "documentation_url": "https://forge.invalid/docs"}, {}

    def pull(self, pull: Pull, *, whole: bool) -> dict[str, Any]:
        """A pull request; lists have less of it."""
        url = f"{self.url}/repos/{NAME}/pulls/{pull.number}"
        told = {
            "url": url,
            "number": pull.number,
            "state": "closed",
            "title": pull.title,
            "body": pull.body,
            "merged_at": pull.merged_at,
            "updated_at": pull.updated_at,
            "merge_commit_sha": pull.sha,
            "base": {"ref": pull.base, "sha": "0" * 40, "repo": self.repository},
        }
        return {**told, "commits": pull.commits} if whole else told

    def one_pull(self, number: str) -> Answer:
        """GET /pulls/N."""
        for pull in self.pulls:
            if pull.number == int(number):
                return self.ok(self.pull(pull, whole=True))
        return self.missing()

    def listed(self, query: dict[str, list[str]]) -> Answer:
        """GET /pulls, newest update first, page by page."""
        assert query["state"] == ["closed"]
        assert query["sort"] == ["updated"]
        assert query["direction"] == ["desc"]
        pulls = sorted(self.pulls, key=lambda each: each.updated_at, reverse=True)
        pulls = [each for each in pulls if each.base == query["base"][0]]
        page = int(query.get("page", ["1"])[0])
        shown = pulls[(page - 1) * self.page : page * self.page]
        link = {}
        if page * self.page < len(pulls):
            wanted = f"state=closed&sort=updated&direction=desc&base={query['base'][0]}"
            base = f"{self.url}/repos/{NAME}/pulls?{wanted}"
            link = {"Link": f'<{base}&page={page + 1}>; rel="next", <{base}&page=9>; rel="last"'}
        return self.ok([self.pull(each, whole=False) for each in shown], **link)

    def commit(self, sha: str) -> Answer:
        """GET /commits/SHA, from the real repository."""
        found = run_git(self.origin.path, "rev-list", "--parents", "--max-count=1", sha, check=False).split()
        if not found:
            return 422, {"message": f"No commit found for SHA: {sha}"}, {}
        url = f"{self.url}/repos/{NAME}/commits"
        names = run_git(
            self.origin.path, "diff-tree", "-r", "-M", "--name-status", "-z", found[1], sha
        ).split("\0")
        files = []
        while names and names[0]:
            status = names.pop(0)
            if status[0] == "R":
                old, new = names.pop(0), names.pop(0)
                files.append({"filename": new, "previous_filename": old, "status": "renamed"})
            else:
                files.append({"filename": names.pop(0), "status": "modified"})
        return self.ok(
            {
                "sha": sha,
                "url": f"{url}/{sha}",
                "commit": {"message": run_git(self.origin.path, "log", "-1", "--format=%B", sha).strip()},
                "parents": [{"sha": each, "url": f"{url}/{each}"} for each in found[1:]],
                "files": files,
            }
        )

    def issue(self, number: str) -> Answer:
        """GET /issues/N, which answers for pull requests too."""
        url = f"{self.url}/repos/{NAME}/issues/{number}"
        for issue in self.origin.issues:
            if issue["number"] == int(number):
                return self.ok({"url": url, "state": "closed", **issue})
        for pull in self.pulls:
            if pull.number == int(number):
                api = {"url": f"{self.url}/repos/{NAME}/pulls/{number}"}
                return self.ok(
                    {
                        "url": url,
                        "number": int(number),
                        "state": "closed",
                        "body": pull.body,
                        "pull_request": api,
                    }
                )
        return self.missing()


def pulls_of(origin: Origin) -> list[Pull]:
    """The pull requests that the trunk of a repository shows."""
    pulls = []
    log = run_git(origin.path, "log", "--first-parent", "-z", "--format=%H%x1f%cI%x1f%s%x1f%b")
    for record in filter(None, log.split("\0")):
        sha, moment, subject, body = record.split("\x1f")
        named = re.search(r"\(#(\d+)\)$", subject)
        if named:
            moment = re.sub(r"\+00:00$", "Z", moment)
            pulls.append(Pull(int(named[1]), body, sha, moment, moment, subject))
    return pulls
