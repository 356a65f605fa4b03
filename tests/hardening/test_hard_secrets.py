"""Keys and passwords planted wherever they may come from are in nothing that any run leaves behind."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import duckdb
import pytest
from loopback import Loopback, Reply, Request, error, garbage, refusing_url
from program import Done, evalrunner

KEY = "sk-PLANTED0direct0e1f"
LITELLM_KEY = "sk-PLANTED1litellm0c2d"
PASSWORD = "PLANTED2password0a9b"
PLANTED = {
    "OWN_KEY": KEY,
    "OTHER_KEY": LITELLM_KEY,
    "OPENAI_API_KEY": "sk-PLANTED3openai",
    "ANTHROPIC_API_KEY": "sk-ant-PLANTED4anthropic",
    "GEMINI_API_KEY": "PLANTED5gemini",
    "AWS_SECRET_ACCESS_KEY": "PLANTED6aws",
    "GITHUB_TOKEN": "ghp_PLANTED7github",
    "GH_TOKEN": "ghp_PLANTED8gh",
    "DATABASE_URL": f"postgresql://reader:{PASSWORD}@127.0.0.1:9/takes?connect_timeout=2",
    "PGPASSWORD": "PLANTED9pg",
    "HTTPS_PROXY": "http://someone:PLANTEDaproxy@127.0.0.1:9",
    "PROXY_OF_OURS": f"http://someone:{PASSWORD}@127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
SECRETS = [
    *(
        value
        for name, value in PLANTED.items()
        if name not in {"DATABASE_URL", "HTTPS_PROXY", "PROXY_OF_OURS", "NO_PROXY"}
    ),
    PASSWORD,
    "PLANTEDaproxy",
    base64.b64encode(b"someone:PLANTEDaproxy").decode(),
]


def left(folder: Path, done: Done) -> Iterator[tuple[str, str]]:
    """All that a run leaves behind: what it printed, each file, and the rows of its database."""
    yield "stdout", done.out
    yield "stderr", done.err
    for path in sorted(folder.rglob("*")):
        yield str(path.relative_to(folder)), path.name
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes().decode("utf-8", "replace")
    for path in folder.rglob("*.duckdb"):
        with duckdb.connect(str(path), read_only=True) as con:
            for (table,) in con.execute("SELECT table_name FROM information_schema.tables").fetchall():
                yield f"{path.name}: {table}", str(con.execute(f'SELECT * FROM "{table}"').fetchall())


def clean(folder: Path, done: Done, secrets: list[str]) -> None:
    found = [(place, secret) for place, text in left(folder, done) for secret in secrets if secret in text]
    assert not found


def good(request: Request, said: str) -> Reply:
    """A valid reply in which the model repeats what it was sent as its key."""
    names = ("accuracy", "attribution", "weight_calibration", "kind_classification", "signal_density")
    scores = dict.fromkeys(names, 8)
    return Reply(
        text=json.dumps({"scores": scores, "improvements": [f"You sent {said}."]}), model=f"m {said}"
    )


def key_of(request: Request) -> str:
    """The key as the endpoint got it."""
    return request.headers["authorization"].removeprefix("Bearer ")


ANSWERS = {
    "valid": lambda request: good(request, key_of(request)),
    "refused": lambda request: error(401, f"Incorrect API key provided: {key_of(request)}."),
    "broken": lambda request: error(400, f"Bearer {key_of(request)} broke it"),
    "garbage": lambda request: garbage(f"<html>{key_of(request)}</html>".encode()),
    "prose": lambda request: Reply(text=f"My key is {key_of(request)}."),
    "moved": lambda request: Reply(status=302, headers={"Location": f"http://127.0.0.1:9/{key_of(request)}"}),
}
"""What endpoints make of the key that they were sent, by the name of the model."""


def panel(server: Loopback, names: Iterable[str]) -> str:
    """For each name a seat of each client, each client with a key of its own."""
    shared = f"api_base: '{server.url('openai')}', timeout_s: 5, reasks: 0"
    seats = [f"{{id: {name}, api_key_env: OWN_KEY, {shared}}}" for name in names]
    seats += [
        f"{{id: 'openai:{name}-2', api_key_env: OTHER_KEY, client: litellm, {shared}}}" for name in names
    ]
    return f"panel.models=[{', '.join(seats)}]"


@pytest.mark.parametrize(("names", "code"), [(["valid"], 0), (list(ANSWERS), 2)], ids=["passing", "failing"])
def test_a_run_whose_endpoint_hands_the_keys_back(tmp_path: Path, names: list[str], code: int) -> None:
    with Loopback(lambda request: ANSWERS[request.model.removesuffix("-2")](request)) as server:
        words = [
            "run",
            "--limit",
            "2",
            "--cycles",
            "1",
            panel(server, names),
            "--debug",
            "reporter=[terminal,json]",
        ]
        done = evalrunner(tmp_path, *words, env=PLANTED)
    assert done.code == code, done.err
    assert {(request.model, key_of(request)) for request in server.requests} == {
        (name + end, key) for name in names for end, key in (("", KEY), ("-2", LITELLM_KEY))
    }
    assert list(tmp_path.rglob("receipt.json"))
    clean(tmp_path, done, SECRETS)


FAILING: Mapping[str, tuple[list[str], int]] = {
    "a database that is not there": (["run", "source=db", "source.query=SELECT 1", "--debug"], 4),
    "an address with a password": (
        [
            "run",
            f"panel.models=[{{id: mine, api_base: 'http://someone:{PASSWORD}@127.0.0.1:9/v1'}}]",
            "--debug",
        ],
        3,
    ),
    "an address with a password, checked": (
        ["validate", f"panel.models=[{{id: mine, api_base: 'http://someone:{PASSWORD}@127.0.0.1:9/v1'}}]"],
        3,
    ),
    "an endpoint that refuses": (
        [
            "run",
            "--limit",
            "1",
            f"panel.models=[{{id: mine, api_key_env: OWN_KEY, api_base: '{refusing_url()}', timeout_s: 1}}]",
        ],
        2,
    ),
    "an address with a password in the environment": (
        ["run", "panel.models=[{id: mine, api_base: '${oc.env:PROXY_OF_OURS}'}]", "--debug"],
        3,
    ),
    "a key where a number is meant": (
        ["run", "sampler.limit=${oc.env:OPENAI_API_KEY}", "source.path=${oc.env:GH_TOKEN}", "--debug"],
        3,
    ),
    "a key where a name is meant": (
        [
            "run",
            "cycles.stop=${oc.env:OPENAI_API_KEY}",
            "+x=${oc.env:GH_TOKEN}",
            "json=[a,'${oc.env:OWN_KEY}']",
        ],
        3,
    ),
    "a key in the place of a model": (["run", "--models", "${oc.env:OPENAI_API_KEY}"], 3),
    "a look at what is there": (["doctor", "panel=frontier"], 0),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_command_that_fails(tmp_path: Path, name: str) -> None:
    words, code = FAILING[name]
    done = evalrunner(tmp_path, *words, env=PLANTED)
    clean(tmp_path, done, SECRETS)
    assert done.code == code, done.err
