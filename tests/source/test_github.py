"""Selection through the REST API, from a loopback server."""

from datetime import timedelta

import pytest
from blind_origin import NOW, UNTIL, Origin, plan
from pydantic import ValidationError
from rest_server import NAME, Pull, Rest, pulls_of

from evalrunner.errors import SourceFailedError
from evalrunner.sampler.samplers import AllSampler, StableHashSampler
from evalrunner.source.git_history import GitHistory
from evalrunner.source.github import GitHub

ALL = AllSampler().plan()
FIVE = StableHashSampler(limit=5).plan()
ISO = NOW.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    monkeypatch.delenv("EVALRUNNER_LISTING_TOKEN", raising=False)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def origin(tmp_path):
    return filled(tmp_path)


def filled(folder) -> Origin:
    made = Origin(folder)
    for n in range(1, 9):
        made.merge(10 + n, n, {"a.py": f"{n}\n"}, size="sml"[n % 3])
    return made


def source(server: Rest, **fields) -> GitHub:
    return GitHub(**{"repository": NAME, "base_url": server.url, "until": UNTIL, **fields})


def local(origin: Origin, **fields) -> GitHistory:
    return GitHistory(
        **{"repository": str(origin.path), "issues": str(origin.issues_file), "until": UNTIL, **fields}
    )


def test_the_same_selection_as_from_the_local_repository(shared):
    with Rest(shared, pulls_of(shared)) as server:
        got = source(server, clone=str(shared.path)).take(FIVE)
        assert got == local(shared).take(FIVE)
        assert len(got) == 5
        pages = [path for path in server.asked if path.startswith(f"/repos/{NAME}/pulls?")]
        assert len(pages) == 4  # eight pull requests, two a page


def test_listing_stops_where_the_window_begins(shared):
    pulls = pulls_of(shared)
    pulls += [Pull(n, "", None, None, (NOW - timedelta(days=n)).isoformat()) for n in range(40, 60)]
    with Rest(shared, pulls) as server:
        assert len(source(server).take(ALL)) == 8
        pages = [path for path in server.asked if path.startswith(f"/repos/{NAME}/pulls?")]
        assert len(pages) == 5


def test_what_is_left_out_and_why(shared, capsys):
    pulls = pulls_of(shared)
    sha = pulls[0].sha
    pulls += [
        Pull(30, "no issue at all", sha, ISO, ISO),
        Pull(31, "closes #30", sha, ISO, ISO, commits=1),
        Pull(32, "closes #1", "d" * 40, ISO, ISO),
        Pull(33, "closes #99", sha, ISO, ISO, commits=1),
        Pull(34, "closes #1", None, ISO, ISO),
        Pull(35, "closes #1", sha, None, ISO),
        Pull(36, "closes #1", sha, ISO, ISO, base="other"),
        Pull(37, "closes #1", sha, ISO, ISO, commits=2),
    ]
    with Rest(shared, pulls) as server:
        got = source(server, clone=str(shared.path)).take(ALL)
    assert got == local(shared).take(ALL)
    err = capsys.readouterr().err
    for line in (
        "#30 is left out: its body closes no issue",
        "#31 is left out: issue #30: it is a pull request",
        f"#32 is left out: it, or its commit {'d' * 40}, is not there",
        "#33 is left out: issue #99: it is not there",
        "#34 is left out: it has no merge commit",
        "#37 is left out: its commit is not all of it, so it was not squashed",
    ):
        assert line in err
    assert "#35" not in err
    assert "#36" not in err


def test_a_squash_commit_with_another_title_is_taken_when_the_pull_request_had_one_commit(origin, capsys):
    landed = origin.commit("Another title", {"a.py": "x\n"})
    origin.issue(20, plan())
    pulls = [Pull(21, "Fixes #20", landed.sha, ISO, ISO, commits=1)]
    with Rest(origin, pulls) as server:
        (item,) = source(server).take(ALL)
    assert (item.id, item.payload["parent_sha"]) == ("issue-20", landed.parent)


def test_a_deleted_issue_and_a_renamed_file(origin):
    landed = origin.merge(21, 20, {"a.py": None, "a.txt": "8\n"})
    pulls = [each for each in pulls_of(origin) if each.number in {18, 21}]
    with Rest(origin, pulls) as server:
        server.fails[f"/repos/{NAME}/issues/8"] = [(410, {"message": "This issue was deleted"}, {})]
        (item,) = source(server).take(ALL)
    assert item.truth == {"squash_sha": landed.sha}


def test_a_pull_request_that_is_gone_when_it_is_asked_for_is_left_out_alone(origin, capsys):
    landed = origin.commit("Another title", {"a.py": "x\n"})
    origin.issue(20, plan())
    pulls = [*pulls_of(origin), Pull(21, "Fixes #20", landed.sha, ISO, ISO)]
    with Rest(origin, pulls) as server:
        server.fails[f"/repos/{NAME}/pulls/21"] = [server.missing()]
        got = source(server).take(ALL)
    assert len(got) == 8
    assert f"#21 is left out: it, or its commit {landed.sha}, is not there" in capsys.readouterr().err


def test_an_issue_that_moved_to_another_repository_is_not_there(shared, capsys):
    moved = "/repositories/9/issues/77"
    with Rest(shared, pulls_of(shared)) as server:
        server.fails[f"/repos/{NAME}/issues/8"] = [
            (
                301,
                {"message": "Moved Permanently", "url": server.url + moved},
                {"Location": server.url + moved},
            )
        ]
        other = {"url": server.url + moved, "number": 77, "state": "open", "body": plan("l", "opus")}
        server.fails[moved] = [(200, other, {})]
        got = source(server).take(ALL)
    assert "issue-8" not in {item.id for item in got}
    assert "#18 is left out: issue #8: it is not there" in capsys.readouterr().err


def test_the_clone_url_is_the_apis_own_unless_another_is_configured(shared):
    with Rest(shared, pulls_of(shared)[:1]) as server:
        assert source(server).take(ALL)[0].payload["repository"] == f"https://forge.invalid/{NAME}.git"
        mirror = source(server, clone="/srv/mirror.git").take(ALL)
        assert mirror[0].payload["repository"] == "/srv/mirror.git"


def test_the_token_comes_from_its_variable_and_stands_nowhere(shared, monkeypatch, capsys):
    monkeypatch.setenv("EVALRUNNER_LISTING_TOKEN", "list-secret")
    monkeypatch.setenv("GITHUB_TOKEN", "other-secret")
    with Rest(shared, pulls_of(shared)) as server:
        made = source(server)
        items = made.take(ALL)
        assert set(server.auth) == {"token list-secret"}
        shown = f"{items} {made!r} {made.location()} {capsys.readouterr()}"
    assert "secret" not in shown


def test_without_a_token_it_says_so(shared, capsys):
    with Rest(shared, pulls_of(shared)[:1]) as server:
        source(server).take(ALL)
        assert server.auth == [None] * len(server.auth)
    assert "EVALRUNNER_LISTING_TOKEN is not set" in capsys.readouterr().err


LIMITED = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}
REFUSALS = {
    "a rate limit": (403, {"message": "API rate limit exceeded for 127.0.0.1"}, {**LIMITED}),
    "a second rate limit": (
        429,
        {"message": "You have exceeded a secondary rate limit"},
        {"Retry-After": "3600"},
    ),
    "no access": (403, {"message": "Resource not accessible by personal access token"}, {}),
    "bad credentials": (401, {"message": "Bad credentials"}, {}),
    "a broken server": (500, {"message": "Server Error"}, {}),
    "a page of another kind": (200, b"<html>a portal</html>", {"Content-Type": "text/html"}),
}


@pytest.mark.parametrize("place", ["", "/pulls", "/commits/", "/issues/8"])
@pytest.mark.parametrize("kind", REFUSALS)
def test_anything_systemic_ends_the_selection(shared, place, kind):
    pulls = pulls_of(shared)
    if place == "/commits/":
        place = f"/commits/{pulls[0].sha}"
    with Rest(shared, pulls) as server:
        server.fails[f"/repos/{NAME}{place}"] = [REFUSALS[kind]]
        with pytest.raises(SourceFailedError) as caught:
            source(server).take(ALL)
    assert caught.value.exit_code == 4
    assert NAME in str(caught.value)
    message = REFUSALS[kind][1]
    if isinstance(message, dict):
        assert message["message"] in str(caught.value)


def test_a_rate_limit_on_a_later_page_ends_it_too(shared):
    with Rest(shared, pulls_of(shared)) as server:
        first = server.answer(f"/repos/{NAME}/pulls?state=closed&sort=updated&direction=desc&base=main")
        server.fails[f"/repos/{NAME}/pulls"] = [first, REFUSALS["a rate limit"]]
        with pytest.raises(SourceFailedError, match="rate limit"):
            source(server).take(ALL)


def test_a_short_outage_is_tried_again(shared):
    with Rest(shared, pulls_of(shared)) as server:
        whole = server.answer(f"/repos/{NAME}")
        server.fails[f"/repos/{NAME}"] = [(503, {"message": "busy"}, {}), whole]
        assert len(source(server).take(ALL)) == 8


def test_an_unknown_repository_is_no_missing_record(shared):
    with Rest(shared) as server, pytest.raises(SourceFailedError, match="404 Not Found"):
        source(server, repository="owner/other").take(ALL)


def test_nobody_there(shared):
    with Rest(shared) as server:
        made = source(server)
    with pytest.raises(SourceFailedError, match="cannot be asked"):
        made.take(ALL)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"repository": "calc"}, "repository"),
        ({"repository": "../x/y"}, "repository"),
        ({"base_url": "https://user:token@forge.invalid"}, "base_url"),
        ({"base_url": "ftp://forge.invalid"}, "base_url"),
        ({"clone": "https://user:token@forge.invalid/r.git"}, "credentials"),
    ],
)
def test_fields_that_are_refused(fields, what):
    with pytest.raises(ValidationError, match=what):
        GitHub(**{"repository": NAME, **fields})


def test_where_it_is():
    assert GitHub(repository=NAME).location() == NAME
    assert (
        GitHub(repository=NAME, base_url="https://forge.invalid/api/v3/").location()
        == f"https://forge.invalid/api/v3/{NAME}"
    )
