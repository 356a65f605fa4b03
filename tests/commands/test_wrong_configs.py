"""Wrong configurations of one team: each is refused by place and nearest name, and nothing is called."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import Loopback, score_all
from program import inside

OPTIONS = {
    "panel/tabs.yaml": "_target_: evalrunner.model.panel.Panel\n\tmodels: [rules]\n",
    "panel/key.yaml": "_target_: evalrunner.model.panel.Panel\nmodels: [rules]\nmodles: [rules]\n",
    "panel/code.yaml": "_target_: evalrunner.model.panel.Pannel\nmodels: [rules]\n",
    "eval/other.yaml": "# @package _global_\ndefaults:\n  - override /sampler: randm\neval: other\n",
    "sampler/words.yaml": "_target_: evalrunner.sampler.samplers.RandomSampler\nlimit: many\nseed: 0\n",
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Loopback]]:
    """A folder whose panel `mine` would be answered, if it were ever asked."""
    folder = tmp_path_factory.mktemp("wrong")
    with Loopback(score_all(9)) as server:
        seat = f"[{{id: ours, client: openai_compatible, api_base: '{server.url('openai')}'}}]"
        mine = {"panel/mine.yaml": f"_target_: evalrunner.model.panel.Panel\nmodels: {seat}\n"}
        for name, text in (OPTIONS | mine).items():
            path = folder / "conf" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (folder / "prompts").mkdir()
        (folder / "prompts" / "blind.j2").write_text("Score {{ items | length }} takes.\n")
        yield folder, server


@pytest.mark.parametrize(
    ("word", "place", "nearest"),
    [
        ("smapler.limit=5", "smapler.limit: no such key", "did you mean 'sampler.limit'?"),
        ("sampler.limt=5", "sampler.limt: no such key", "did you mean 'sampler.limit'?"),
        (
            "panel.models.0.temprature=0",
            "panel.models.0.temprature: no such key",
            "did you mean 'panel.models.0.temperature'?",
        ),
        ("sampler.limit=five", "sampler.limit: should be a valid integer (found 'five')", ""),
        ("sampler=words", "sampler.limit: should be a valid integer (found 'many')", ""),
        ("panel=rulse", "panel: no such option (found 'rulse')", "did you mean 'rules'?"),
        ("eval=other", "sampler: no such option, chosen in a defaults list", "did you mean 'random'?"),
        ("panel=[rules,mine]", "panel: a list would merge the options", "panel.models=[rules,mine]"),
        ("source.path=takse.jsonl", "source.path: there is no such file (found 'takse.jsonl')", ""),
        ("panel=tabs", "conf/panel/tabs.yaml:2:1: is no YAML", "never with tabs"),
        ("sampler.seed=${sampler.sed}", "sampler.seed: cannot be resolved", "'sampler.sed'"),
        (
            "baseline=nope",
            "baseline: no such option (found 'nope')",
            "`evalrunner baseline save NAME` makes one",
        ),
        ("judge.prompt=blind", "prompts/blind.j2: shows none of the items that it asks about", "fence_open"),
        (
            "+reporter.junit={_target_:evalrunner.reporter.junit.JunitReporter,path:conf}",
            "reporter.junit.path: is a folder, and a file is needed (found 'conf')",
            "",
        ),
        (
            "+reporter.json={_target_:evalrunner.reporter.json.JsonReporter,path:conf/panel/key.yaml/x.json}",
            "reporter.json.path: lies in conf/panel/key.yaml, which is no folder",
            "",
        ),
        ("panel=key", "panel.modles: no such key", "did you mean 'panel.models'?"),
        ("panel=code", "panel._target_: is no registered", "did you mean 'evalrunner.model.panel.Panel'?"),
    ],
)
def test_it_is_refused_by_place_and_nearest_name(
    team: tuple[Path, Loopback], word: str, place: str, nearest: str
) -> None:
    folder, server = team
    panel = [] if word.startswith("panel=") else ["panel=mine"]
    done = inside(folder, "run", *panel, word)
    assert (done.code, done.out) == (3, "")
    assert place in done.err
    assert nearest in done.err
    assert "Traceback" not in done.err
    assert server.requests == []
    assert not list((folder / "outputs").rglob("receipt*.json"))


def test_without_a_mistake_the_panel_is_asked(team: tuple[Path, Loopback], tmp_path: Path) -> None:
    folder, server = team
    words = ("panel=mine", "--limit", "3", f"hydra.run.dir={tmp_path}/run", f"store.path={tmp_path}/s.duckdb")
    assert inside(folder, "run", *words).code == 0
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("eval=code_review", "subject=litellm_reviewer"), "{{ diff }} or {% for text in files %}"),
        (("eval=review_judge", "subject=keep_reject_llm"), "{{ diff }} or {% for text in findings %}"),
    ],
)
def test_a_subject_is_not_asked_about_what_it_is_not_shown(
    tmp_path: Path, words: tuple[str, ...], shown: str
) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "blind.j2").write_text("Review the change.\n")
    done = inside(tmp_path, "validate", *words, "subject.model=openai:gpt-4o", "subject.prompt=blind")
    assert done.code == 3
    assert "prompts/blind.j2: shows none of the items that it asks about; allowed: " + shown in done.err
