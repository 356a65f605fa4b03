"""`cache=read_write` and `evalrunner cache`: what is reused is told, and what is kept can be removed."""

import json
import shutil
import time
from pathlib import Path

import pytest
from loopback import Loopback, score_all
from program import inside

PRICES = [
    f"pricing.models.{name}={{input_usd_per_mtok: 10, output_usd_per_mtok: 20}}" for name in ("one", "two")
]


def words(server: Loopback, *more: str) -> list[str]:
    seats = ",".join(f"{{id: {name}, api_base: '{server.url('openai')}'}}" for name in ("one", "two"))
    return ["run", f"panel.models=[{seats}]", *PRICES, "judge.chunk_size=1", "--limit", "3", *more, "--json"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    with Loopback(score_all(8)) as server:
        off = inside(folder, *words(server)).json
        assert "cache" not in off
        assert not (folder / "outputs" / "cache").exists(), "it is opt-in"
        first = inside(folder, *words(server, "cache=read_write")).json
        again = inside(folder, *words(server, "cache=read_write")).json
        assert len(server.requests) == 12
        more = inside(folder, *words(server, "cache=read_write", "cycles.stop=never", "cycles.max=2")).json
        assert len(server.requests) == 18, "the second cycle is another question"
    assert first["cache"] == {"reused": 0, "saved_usd": 0}
    assert again["cache"] == {"reused": 6, "saved_usd": first["cost_usd"]}
    assert (again["cost_usd"], again["budget"]["spent_usd"], again["usage"]["judge"]["calls"]) == (0, 0, 0)
    assert again["scores"] == first["scores"]
    assert more["cache"]["reused"] == 6
    return folder


def test_list(filled: Path) -> None:
    done = inside(filled, "cache", "list", "--json")
    assert done.code == 0
    assert {name: each["replies"] for name, each in done.json["models"].items()} == {"one": 6, "two": 6}
    assert done.json["models"]["one"]["cost_usd"] == pytest.approx(6 * (100 * 10 + 20 * 20) / 1e6)
    text = inside(filled, "cache", "list").out
    assert text.splitlines()[0].startswith("one  6 replies, ")
    assert "paid $0.0084" in text


def test_prune(filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    shutil.copytree(filled / "outputs" / "cache", folder)
    place = f"cache_dir={folder}"
    old = sorted(folder.glob("*/*.json"))[:5]
    for path in old:
        content = json.loads(path.read_text())
        path.write_text(json.dumps(content | {"at": time.time() - 3 * 86400}))
    assert "removed 5 replies" in inside(tmp_path, "cache", "prune", "--older-than", "2d", place).out
    left = inside(tmp_path, "cache", "list", "--json", place).json["models"]
    assert sum(each["replies"] for each in left.values()) == 7
    count = left["one"]["replies"]
    assert f"removed {count} repl" in inside(tmp_path, "cache", "prune", "--model", "one", place).out
    assert "removed" in inside(tmp_path, "cache", "prune", "--all", place).out
    assert "holds no replies" in inside(tmp_path, "cache", "list", place).out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["prune"], "needs to be told what to remove"),
        (["prune", "--older-than", "soon"], "is no age (found 'soon')"),
        (["prune", "--model", "ome"], "did you mean 'one'?"),
        (["lst"], "did you mean 'list'?"),
        (["list", "--jso"], "did you mean '--json'?"),
        (["list", "cache_dirr=x"], "cache_dir"),
        ([], "action"),
    ],
)
def test_what_is_wrong_is_named(filled: Path, given: list[str], message: str) -> None:
    done = inside(filled, "cache", *given)
    assert done.code == 3
    assert message in done.err
    assert len(list((filled / "outputs" / "cache").glob("*/*.json"))) == 12


def test_another_word_for_the_cache_is_refused(filled: Path) -> None:
    done = inside(filled, "run", "cache=readwrite")
    assert done.code == 3
    assert "read_write" in done.err
