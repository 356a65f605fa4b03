"""What comes from elsewhere asks for nothing: keys, code, variables and paths are those named here."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, score_all
from program import inside

from evalrunner.subject.findings import BrokenReview
from evalrunner.subject.reading import Reading

LITELLM = "evalrunner.model.litellm_model.LitellmModel"
KEY = "PLANTED-key-of-another-service"


@pytest.fixture(scope="module")
def receipt(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A real receipt."""
    done = inside(tmp_path_factory.mktemp("real"), "run", "--limit", "2", "--json")
    assert done.code in {0, 1}, done.err
    return done.json


def foreign(folder: Path, receipt: Any, **changes: Any) -> None:
    (folder / "foreign.json").write_text(json.dumps(receipt | changes))


def seated(folder: Path, receipt: Any, **fields: Any) -> None:
    seat = {"_target_": LITELLM, "id": "mine", **fields}
    foreign(folder, receipt, models=["mine"], panel={"name": None, "seats": [seat]})


def test_a_receipt_sends_no_key_to_an_address_that_nobody_here_named(tmp_path: Path, receipt: Any) -> None:
    with Loopback(score_all(8)) as server:
        base = server.url("openai")
        seated(tmp_path, receipt, api_base=base, api_key_env="SERVICE_KEY")
        done = inside(tmp_path, "regress", "--against", "foreign.json", env={"SERVICE_KEY": KEY})
        assert done.code == 3
        assert "would send the key in SERVICE_KEY to an address that no configuration here names" in done.err
        assert not server.requests

        option = tmp_path / "conf" / "model" / "mine.yaml"
        option.parent.mkdir(parents=True)
        option.write_text(f"_target_: {LITELLM}\nid: mine\napi_base: {base}\napi_key_env: SERVICE_KEY\n")
        done = inside(tmp_path, "regress", "--against", "foreign.json", env={"SERVICE_KEY": KEY})
        assert done.code in {0, 1, 2}, done.err
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}


def test_an_address_without_a_key_gets_none(tmp_path: Path, receipt: Any) -> None:
    with Loopback(score_all(8)) as server:
        seated(tmp_path, receipt, api_base=server.url("openai"))
        env = {"OPENAI_API_KEY": KEY, "SERVICE_KEY": KEY}
        done = inside(tmp_path, "regress", "--against", "foreign.json", env=env)
        assert done.code in {0, 1, 2}, done.err
        assert server.requests
        assert not [each for each in server.requests if KEY in str(each.headers)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"_target_": "os.system"}, "panel.models.0._target_: is no registered component"),
        ({"_target_": "evalrunner.source.file.FileSource"}, "is a component of group source, not of model"),
        ({"a=b": 1}, "is no plain name"),
        ({"api_base": "http://u:p@127.0.0.1:9"}, "credentials in an address are refused"),
    ],
)
def test_a_receipt_names_no_code(tmp_path: Path, receipt: Any, fields: dict[str, Any], said: str) -> None:
    seated(tmp_path, receipt, **fields)
    done = inside(tmp_path, "regress", "--against", "foreign.json")
    assert done.code == 3
    assert said in done.err


def test_interpolations_in_a_receipt_are_text(tmp_path: Path, receipt: Any) -> None:
    corpus = receipt["corpus"] | {"location": "${oc.env:SERVICE_KEY}"}
    foreign(tmp_path, receipt, corpus=corpus, improvements=["${oc.env:SERVICE_KEY}"])
    env = {"SERVICE_KEY": KEY}
    done = inside(tmp_path, "regress", "--against", "foreign.json", env=env)
    assert done.code == 3
    assert "'${oc.env:SERVICE_KEY}'" in done.err
    assert KEY not in done.out + done.err
    assert KEY not in inside(tmp_path, "replay", "foreign.json", env=env).out


@pytest.mark.parametrize("name", ["\x1b[2J", "[red]x[/red]", "a\u202eb"])
def test_names_of_dimensions_move_no_cursor_and_are_no_markup(
    tmp_path: Path, receipt: Any, name: str
) -> None:
    scores = copy.deepcopy(receipt["scores"])
    first, *others = scores
    block = {name: scores.pop(first)} | scores
    del block[others[0]]["per_model"]["rules-v1"]  # and a seat that one dimension lacks
    foreign(tmp_path, receipt, scores=block)
    done = inside(tmp_path, "replay", "foreign.json")
    assert done.code in {0, 1}
    assert "reporter terminal failed" not in done.err
    assert not {"\x1b", "\u202e"} & set(done.out + done.err)
    assert "[red]" not in name or name in done.out


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ("1e999", "takes.jsonl:1: weight: is not a number from 0 to 1 (found 1E+999)"),
        ("9" * 5000, "a whole number has 5000 digits"),
    ],
)
def test_numbers_beyond_all_use_are_told_as_written(tmp_path: Path, weight: str, said: str) -> None:
    row = f'{{"page_slug": "p", "kind": "fact", "holder": "h", "claim": "c", "weight": {weight}}}'
    (tmp_path / "takes.jsonl").write_text(row + "\n")
    done = inside(tmp_path, "run", "source.path=takes.jsonl")
    assert done.code == 3
    assert said in done.err
    assert "set_int_max_str_digits" not in done.err


@pytest.mark.parametrize("field", ["id", "file", "title", "body", "severity"])
def test_half_a_surrogate_is_no_part_of_a_finding(field: str) -> None:
    row = {
        "id": "f",
        "file": "a.py",
        "line": 1,
        "title": "T",
        "body": "B",
        "severity": "low",
        field: "a\ud800",
    }
    with pytest.raises(BrokenReview, match=rf"{field} of finding 1 is no valid Unicode"):
        Reading().read(json.dumps([row]).encode())


@pytest.mark.parametrize("kind", [[], {}, None, 3])
def test_a_sarif_result_of_an_odd_kind_is_a_finding(kind: Any) -> None:
    result = {"kind": kind, "message": {"text": "m"}, "locations": []}
    log = {"runs": [{"results": [result]}]}
    (found,) = Reading(format="sarif").read(json.dumps(log).encode()).findings
    assert found.body == "m"
