"""Fingerprints say what was judged, by whom, under which rubric; nothing else changes them."""

from pathlib import Path

from loopback import Loopback, score_all
from program import evalrunner, inside

NAMES = ("corpus_sha8", "prompt_sha8", "models_sha8", "rubric_sha8")


def shas(folder: Path, *words: str, **env: str) -> dict[str, str]:
    """The fingerprints of a run: in a process of its own where an environment is given."""
    start = evalrunner if env else inside
    receipt = start(folder, "run", "--json", "--limit", "6", *words, env=env).json
    return {name: receipt.get(name) or receipt["corpus"][name] for name in NAMES}


def test_neither_locale_nor_hash_seed_nor_panel_order_changes_them(tmp_path: Path) -> None:
    with Loopback(score_all(8)) as server:
        endpoint = f"client:openai_compatible,api_base:'{server.url('openai')}'"
        one = f"{{id:'openai:gpt-4o',{endpoint}}}"
        two = f"{{id:'ünï/cödé',{endpoint},temperature:0}}"
        first = shas(tmp_path, f"panel.models=[{one},{two}]", LC_ALL="C", PYTHONHASHSEED="1")
        second = shas(tmp_path, f"panel.models=[{two},{one}]", LC_ALL="C.UTF-8", PYTHONHASHSEED="2")
    assert first == second


def test_each_of_them_changes_with_its_own_part_and_with_no_other(tmp_path: Path) -> None:
    with Loopback(score_all(8)) as server:

        def panel(name: str, temperature: float) -> str:
            endpoint = f"client:openai_compatible,api_base:'{server.url('openai')}'"
            return f"panel.models=[{{id:'{name}',{endpoint},temperature:{temperature}}}]"

        base = shas(tmp_path, panel("openai:a", 0))
        changes = {
            "corpus_sha8": shas(tmp_path, panel("openai:a", 0), "--seed", "1"),
            "rubric_sha8": shas(tmp_path, panel("openai:a", 0), "threshold.mean_min=6.5"),
            "prompt_sha8": shas(tmp_path, panel("openai:a", 0.5)),
        }
        for name, changed in changes.items():
            assert {each for each in NAMES if base[each] != changed[each]} == {name}
        other = shas(tmp_path, panel("openai:b", 0))
    assert base["models_sha8"] != other["models_sha8"]
    assert base["corpus_sha8"] == other["corpus_sha8"]
    assert base["rubric_sha8"] == other["rubric_sha8"]


def test_an_identical_run_is_one_receipt_and_two_attempts(tmp_path: Path) -> None:
    for _ in range(2):
        assert inside(tmp_path, "run").code == 0
    assert len(inside(tmp_path, "trend", "--json").json["rows"]) == 1
    assert len(inside(tmp_path, "trend", "--attempts", "--json").json["rows"]) == 2
    assert len(list((tmp_path / "outputs" / "receipts").iterdir())) == 1
