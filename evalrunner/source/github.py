"""The source `github`: merged pull requests through the REST API of GitHub, or of a server that speaks it."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, Field

from evalrunner.errors import MissingExtraError, Problem, SourceFailedError
from evalrunner.git.sealed import clean_origin
from evalrunner.source.merged import Commit, Issue, Merge, MergedIssues, Reader, say

if TYPE_CHECKING:
    from github.PullRequest import PullRequest
    from github.Repository import Repository

T = TypeVar("T")

API = "https://api.github.com"
GONE = {404, 410, 422}
"""A record that was deleted, or never was; 422 is the answer for a sha that is no commit."""

TIMEOUT_S = 30
TRIES = 2
"""So many more, after an answer of 500 to 504 or a lost connection. Nothing waits for a rate limit to end."""


class GitHub(MergedIssues):
    """Merged pull requests of one repository.

    A record that the API does not have is left out. Refused access, a rate limit, an unreachable server and
    the like end the selection with an error, so that they never look like an empty sample.

    Attributes:
        repository: `owner/name`.
        base_url: of the API; GitHub Enterprise's ends in /api/v3.
        token_env: the variable that holds the token for listing; without it the API is asked without one.
        branch: the trunk; None is the repository's default branch.
        clone: path or URL to clone from, without credentials; None is the URL that the API names.
    """

    origin: ClassVar[Literal["fs", "db"]] = "db"

    repository: str = Field(pattern=r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$")
    base_url: str = Field(default=API, pattern=r"^https?://[^/@\s]+(/[^@\s]*)?$")
    token_env: str | None = Field(default="EVALRUNNER_LISTING_TOKEN", min_length=1)
    branch: str | None = Field(default=None, min_length=1)
    clone: Annotated[str, AfterValidator(clean_origin)] | None = None

    def location(self) -> str | None:
        """The repository's name, behind the API's URL where that is another than GitHub's own."""
        base = self.base_url.rstrip("/")
        return self.repository if base == API else f"{base}/{self.repository}"

    @contextmanager
    def _reader(self) -> Iterator[Reader]:
        try:
            from github import Auth, Github
            from urllib3.util import Retry
        except ImportError:
            raise MissingExtraError(
                Problem("source", "reading GitHub needs a library: install evalrunner[github]")
            ) from None
        token = os.environ.get(self.token_env, "").strip() if self.token_env else ""
        if self.token_env and not token:
            say(f"{self.token_env} is not set: {self.location()} is asked without a token")
        client = Github(
            auth=Auth.Token(token) if token else None,
            base_url=self.base_url.rstrip("/"),
            timeout=TIMEOUT_S,
            per_page=100,
            seconds_between_requests=None,
            seconds_between_writes=None,
            retry=Retry(
                total=TRIES,
                backoff_factor=0.2,
                status_forcelist=(500, 502, 503, 504),
                allowed_methods=("GET",),
                respect_retry_after_header=False,
                raise_on_status=False,
            ),
        )
        try:
            with _asking(str(self.location())):
                repository = client.get_repo(self.repository)
                if repository.id is None:
                    raise ValueError("the answer is no repository")
                branch = self.branch or str(repository.default_branch)
                clone = self.clone or clean_origin(str(repository.clone_url))
            yield _Forge(str(self.location()), repository, branch, clone)
        finally:
            client.close()


@contextmanager
def _asking(where: str) -> Iterator[None]:
    """Around what asks the API: whatever goes wrong is a failure of the source as a whole.

    An answer of another form than the API's makes the library fail in any way.
    """
    from github import GithubException

    try:
        yield
    except GithubException as error:
        raise _failed(where, f"the API refused: {_said(error)}") from error
    except Exception as error:
        reason = getattr(error.args[0], "reason", error) if error.args else error
        raise _failed(where, f"the API cannot be asked: {type(error).__name__}: {reason}") from error


def _failed(where: str, what: str) -> SourceFailedError:
    return SourceFailedError(Problem(where, " ".join(what.split())))


def _said(error: Exception) -> str:
    status, data = getattr(error, "status", None), getattr(error, "data", None)
    message = data.get("message") if isinstance(data, dict) else data
    kind = type(error).__name__.removesuffix("Exception")
    return f"{status} {message or ''} ({kind})"


@dataclass(frozen=True)
class _Pulled(Merge):
    pull: "PullRequest"


@dataclass(frozen=True)
class _Forge:
    where: str
    repository: "Repository"
    branch: str
    clone: str

    def merges(self, since: datetime, until: datetime) -> Iterable[Merge]:
        with _asking(self.where):
            pulls = iter(
                self.repository.get_pulls(state="closed", sort="updated", direction="desc", base=self.branch)
            )
        while True:
            with _asking(self.where):
                pull = next(pulls, None)
                # merging updates: what was last updated before the window was merged no later
                if pull is None or pull.updated_at is None or pull.updated_at <= since:
                    return
                merged = pull.merged_at if pull.base.ref == self.branch else None
            if merged is not None:
                yield _Pulled(pull.number, pull.merge_commit_sha, merged, pull.body or "", pull)

    def commit(self, merge: Merge, sha: str) -> Commit | None:
        with _asking(self.where):
            commit = _found(lambda: self.repository.get_commit(sha))
            if commit is None:
                return None
            paths = [
                name for file in commit.files for name in (file.filename, file.previous_filename) if name
            ]
            subject = commit.commit.message.partition("\n")[0]
            squashed: bool | None = f"(#{merge.pr})" in subject
            if not squashed and isinstance(merge, _Pulled):
                pull = merge.pull  # the list does not say how many commits it had: it is asked for by itself
                squashed = _found(lambda: pull.commits == 1)
            if squashed is None:
                return None
            return Commit([each.sha for each in commit.parents], paths, squashed)

    def issue(self, number: int) -> Issue | None:
        with _asking(self.where):
            issue = _found(lambda: self.repository.get_issue(number))
            if issue is None:
                return None
            if issue.state not in {"open", "closed"}:
                raise ValueError(f"the answer for issue #{number} is no issue")
            if issue.number != number:  # it was moved, and the answer is that of another repository
                return None
            return Issue(issue.body or "", issue.pull_request is not None)

    def clone_from(self) -> str:
        return self.clone


def _found(ask: Callable[[], T]) -> T | None:
    """What a question is answered with; None where there is no such record."""
    from github import GithubException

    try:
        return ask()
    except GithubException as error:
        if error.status in GONE:
            return None
        raise
