"""`doctor` looks at everything, changes nothing, and calls only when told to."""

from pathlib import Path

import pytest
from filelock import FileLock
from loopback import Loopback, error, refusing_url, text
from program import Done
from program import evalrunner as process
from program import inside as evalrunner

KEY = "sk-a-secret-value"


def lines(done: Done) -> dict[str, str]:
    parts = (line.split(None, 1) for line in done.out.splitlines())
    return dict(parts)


def panel(url: str, *names: str) -> str:
    endpoint = f"client: openai_compatible, api_base: '{url}', api_key_env: OWN_KEY"
    seats = ",".join(f"{{id: 'openai:{name}', {endpoint}}}" for name in names)
    return f"panel.models=[{seats}]"


def test_an_empty_folder_is_well_and_stays_empty(tmp_path: Path) -> None:
    done = process(tmp_path, "doctor")
    assert (done.code, done.err) == (0, "")
    told = lines(done)
    assert set(told) >= {"python", "evalrunner", "hydra-core", "litellm", "duckdb", "git", "bubblewrap"}
    assert told["model"] == "rules-v1: needs no key"
    assert "is not there yet" in told["store"]
    assert list(tmp_path.iterdir()) == []


def test_keys_are_named_and_never_shown(tmp_path: Path) -> None:
    done = evalrunner(tmp_path, "doctor", "panel=frontier", env={"OPENAI_API_KEY": KEY})
    assert done.code == 0
    assert "openai:gpt-4o: OPENAI_API_KEY is set" in done.out
    assert "the API key is missing: set ANTHROPIC_API_KEY" in done.out
    assert KEY not in done.out + done.err


def test_a_panel_of_another_folder_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "more" / "panel").mkdir(parents=True)
    text = "_target_: evalrunner.model.panel.Panel\nmodels: [{id: 'openai:gpt-4o', api_key_env: OWN_KEY}]\n"
    (tmp_path / "more" / "panel" / "theirs.yaml").write_text(text)
    done = evalrunner(tmp_path, "doctor", "panel=theirs", "--config-dir", "more", env={"OWN_KEY": KEY})
    assert done.code == 0, done.err
    assert "openai:gpt-4o: OWN_KEY is set" in done.out
    assert evalrunner(tmp_path, "doctor", "panel=theirs").code == 3


def test_the_store_is_counted(tmp_path: Path) -> None:
    assert evalrunner(tmp_path, "run", "--limit", "5").code in {0, 1}
    waiting = tmp_path / "outputs" / "evalrunner.duckdb.pending"
    waiting.mkdir(exist_ok=True)
    (waiting / "one.json").write_text("{}")
    done = evalrunner(tmp_path, "doctor")
    assert done.code == 0
    assert "1 attempt; 1 waiting" in lines(done)["store"]
    assert lines(done)["lock"] == "nobody holds it"
    assert (waiting / "one.json").is_file()


def test_who_holds_the_lock_is_said(tmp_path: Path) -> None:
    assert evalrunner(tmp_path, "run", "--limit", "5").code in {0, 1}
    with FileLock(tmp_path / "outputs" / "evalrunner.duckdb.lock"):
        done = evalrunner(tmp_path, "doctor")
    assert done.code == 0
    assert "is in use" in lines(done)["store"]
    assert "another evalrunner has held" in lines(done)["lock"]


def test_a_broken_store_is_exit_4(tmp_path: Path) -> None:
    (tmp_path / "bad.duckdb").write_text("no database")
    done = evalrunner(tmp_path, "doctor", "store.path=bad.duckdb")
    assert done.code == 4
    assert lines(done)["store"] == "is broken"
    assert "bad.duckdb: is no DuckDB database [E-STORE]" in done.err
    assert (tmp_path / "bad.duckdb").read_text() == "no database"


def test_nothing_is_called_without_call(tmp_path: Path) -> None:
    with Loopback(text("ready")) as server:
        done = evalrunner(tmp_path, "doctor", panel(server.url("openai"), "gpt-4o"), env={"OWN_KEY": KEY})
    assert done.code == 0
    assert server.requests == []


def test_call_asks_each_model_once_and_says_the_cost_first(tmp_path: Path) -> None:
    with Loopback(text("ready")) as server:
        words = ["doctor", "--call", panel(server.url("openai"), "gpt-4o", "gpt-4o-mini")]
        done = evalrunner(tmp_path, *words, env={"OWN_KEY": KEY})
    assert done.code == 0, done.out + done.err
    assert sorted(request.model for request in server.requests) == ["gpt-4o", "gpt-4o-mini"]
    assert "asks openai:gpt-4o, openai:gpt-4o-mini once each, for $0.0" in done.err
    assert "openai:gpt-4o: answers as gpt-4o, for $" in done.out
    assert KEY not in done.out + done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_model_that_does_not_answer_is_exit_4_after_one_try(tmp_path: Path, status: int) -> None:
    with Loopback({"gpt-4o": error(status, "not today"), "*": text("ready")}) as server:
        words = ["doctor", panel(server.url("openai"), "gpt-4o", "gpt-4o-mini"), "--call"]
        done = evalrunner(tmp_path, *words, env={"OWN_KEY": KEY})
    assert done.code == 4
    assert len(server.of("gpt-4o")) == 1
    assert "openai:gpt-4o: does not answer: " in done.out
    assert "openai:gpt-4o-mini: answers" in done.out


def test_an_endpoint_that_is_not_there(tmp_path: Path) -> None:
    done = evalrunner(tmp_path, "doctor", "--call", panel(refusing_url(), "gpt-4o"), env={"OWN_KEY": KEY})
    assert done.code == 4
    assert "does not answer" in done.out


def test_call_with_missing_keys_calls_nothing(tmp_path: Path) -> None:
    with Loopback(text("ready")) as server:
        done = evalrunner(tmp_path, "doctor", "--call", panel(server.url("openai"), "gpt-4o"))
    assert done.code == 3
    assert "OWN_KEY" in done.err
    assert server.requests == []


def test_rules_are_not_asked(tmp_path: Path) -> None:
    done = evalrunner(tmp_path, "doctor", "--call")
    assert done.code == 0
    assert "no model is called here" in done.err
    assert "asked" not in lines(done)


def test_a_cap_without_a_price_is_refused(tmp_path: Path) -> None:
    with Loopback(text("ready")) as server:
        seat = f"panel.models=[{{id: own, api_base: '{server.url('openai')}'}}]"
        done = evalrunner(tmp_path, "doctor", "--call", seat, "budget.cap_usd=1")
    assert (done.code, server.requests) == (3, [])
    assert "[E-PRICE-UNKNOWN]" in done.err


def test_wrong_overrides_are_exit_3(tmp_path: Path) -> None:
    done = evalrunner(tmp_path, "doctor", "panel=frontear")
    assert (done.code, done.out) == (3, "")
    assert "did you mean 'frontier'" in done.err
    assert "[E-CONFIG-CHOICE]" in done.err
