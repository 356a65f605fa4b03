"""What composing makes of files, names, flags and the user's overlay."""

import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from config_composing import composed, loaded, problems, wheres, write
from hydra.types import RunMode
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from evalrunner.config.app import App, search_path, shadowed
from evalrunner.config.jobs import given_overrides
from evalrunner.config.loader import Loader
from evalrunner.config.tree import (
    FromDb,
    RegressConfig,
    ReplayConfig,
    RunConfig,
    StageConfig,
    TrendConfig,
    load,
)
from evalrunner.errors import ConfigError
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.rules import RulesModel
from evalrunner.paths import data_root
from evalrunner.reporter.json import JsonReporter
from evalrunner.reporter.terminal import TerminalReporter
from evalrunner.sampler.samplers import AllSampler, RandomSampler
from evalrunner.source.db import DbSource
from evalrunner.source.file import FileSource

PANEL = "_target_: evalrunner.model.panel.Panel\n"
EVALS = sorted(file.stem for file in (data_root() / "conf" / "eval").glob("*.yaml"))


def test_the_demo_is_the_default() -> None:
    tree = loaded("run")
    assert isinstance(tree, RunConfig)
    assert tree.eval == "takes_quality"
    assert isinstance(tree.source, FileSource)
    assert tree.sampler == RandomSampler(limit=100, seed=0)
    assert [type(seat) for seat in tree.panel.models] == [RulesModel]
    assert tree.rubric.load().version == "v1.0"
    assert list(tree.reporter) == ["terminal"]
    assert (tree.cycles.max, tree.cycles.default_max, tree.cycles.stop) == (None, 1, "verdict")
    assert (tree.runs, tree.concurrency, tree.json, tree.out) == (1, 1, False, None)
    assert tree.budget.cap_usd is None
    assert tree.shadowed == []
    assert tree.overrides == []
    assert tree.choices["panel"] == "rules"
    assert tree.choices["reporter"] == "terminal"
    assert not any(group.startswith("hydra") for group in tree.choices)


def test_flags_and_overrides_reach_the_tree() -> None:
    tree = loaded(
        "run", "--limit", "5", "--seed=7", "--cycles", "3", "--budget-usd", "0.1", "--slug-prefix", "notes/",
        "cycles.stop=never", "--json", "--out", "r.json", "--runs", "2", "sampler.limit=6",
    )  # fmt: skip
    assert tree.sampler == RandomSampler(limit=6, seed=7)
    assert (tree.cycles.max, tree.cycles.stop) == (3, "never")
    assert tree.budget.cap_usd == Decimal("0.1")
    assert tree.source.prefix() == "notes/"
    assert (tree.json, tree.out, tree.runs) == (True, Path("r.json"), 2)
    assert tree.overrides[0] == "sampler.limit=5"


def test_numbers_stay_as_written(elsewhere: Path) -> None:
    write(
        elsewhere / "conf" / "threshold" / "mine.yaml",
        "_target_: evalrunner.threshold.panel.PanelThreshold\nmean_min: 6.96\nmin_min: 4.1\nquorum: 0.1\n",
    )
    threshold: Any = loaded("run", "threshold=mine").threshold
    assert (threshold.mean_min, threshold.min_min) == (Decimal("6.96"), Decimal("4.1"))
    assert threshold.quorum == Fraction(1, 10)


@pytest.mark.parametrize(
    ("tokens", "kind"), [([], FileSource), (["--source", "db"], DbSource), (["--source", "fs"], FileSource)]
)
def test_sources_by_flag(tokens: list[str], kind: type) -> None:
    assert isinstance(loaded("run", *tokens).source, kind)


def test_cases_of_the_flag_are_taken_from_the_front() -> None:
    assert loaded("run", "--max-cases", "3").sampler == AllSampler(limit=3)


@pytest.mark.parametrize(
    ("tokens", "kinds"),
    [
        ([], [TerminalReporter]),
        (["reporter=json"], [JsonReporter]),
        (["reporter=[terminal,json]"], [TerminalReporter, JsonReporter]),
        (["reporter=[]"], []),
    ],
)
def test_any_number_of_reporters(tokens: list[str], kinds: list[type]) -> None:
    tree = loaded("run", *tokens)
    assert [type(each) for each in tree.reporter.values()] == kinds
    assert tree.choices["reporter"] == ",".join(tree.reporter)


# panels -------------------------------------------------------------------------------------------


def seats(*tokens: str) -> list[dict[str, Any]]:
    """The seats as `--cfg job` shows them."""
    return [dict(seat) for seat in OmegaConf.to_container(composed("run", *tokens).panel.models)]  # type: ignore


def test_names_ids_and_mappings_become_full_seats() -> None:
    found = seats(
        "panel.models=[gpt-4o, anthropic:claude-x, other/model, {id: 'local:m', temperature: 1}, rules]"
    )
    assert [seat["id"] for seat in found] == [
        "openai:gpt-4o", "anthropic:claude-x", "other/model", "local:m", "rules-v1",
    ]  # fmt: skip
    assert [seat.get("temperature") for seat in found] == [0, None, None, 1, None]
    assert set(found[1]) == {"_target_", *LitellmModel.model_fields}


def test_a_panels_file_and_the_flag_give_the_same_seats(elsewhere: Path) -> None:
    write(elsewhere / "conf" / "panel" / "mine.yaml", f"{PANEL}models:\n  - gpt-4o\n  - google:gemini-x\n")
    assert seats("panel=mine") == seats("--models", "gpt-4o,google:gemini-x")


def test_one_seat_is_overridden_by_its_place(elsewhere: Path) -> None:
    write(elsewhere / "conf" / "panel" / "mine.yaml", f"{PANEL}models: [gpt-4o, 'google:gemini-x']\n")
    for chosen in (["panel=mine"], ["--models", "gpt-4o,google:gemini-x"]):
        found = seats(*chosen, "panel.models.1.temperature=0.3", "panel.models.0.id=openai:gpt-4.1")
        assert [seat["temperature"] for seat in found] == [0, 0.3]
        assert [seat["id"] for seat in found] == ["openai:gpt-4.1", "google:gemini-x"]
    found = seats("panel=mine", "panel.models.1=rules")
    assert [seat["id"] for seat in found] == ["openai:gpt-4o", "rules-v1"]


def test_options_of_the_group_model_are_the_users_and_have_defaults_lists(elsewhere: Path) -> None:
    write(elsewhere / "conf" / "model" / "mine.yaml", "defaults: [gpt-4o, _self_]\nmax_tokens: 99\n")
    write(
        elsewhere / "conf" / "model" / "lab" / "small.yaml",
        "id: lab:small\napi_base: http://127.0.0.1:1/v1\n",
    )
    mine, small = seats("--models", "mine,lab/small")
    assert (mine["id"], mine["temperature"], mine["max_tokens"]) == ("openai:gpt-4o", 0, 99)
    assert (small["id"], small["api_base"]) == ("lab:small", "http://127.0.0.1:1/v1")


def test_interpolations_in_a_seat_stay_until_the_run(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHICH", "openai:gpt-4o")
    write(elsewhere / "conf" / "panel" / "mine.yaml", f"{PANEL}models: ['${{oc.env:WHICH}}']\n")
    config = composed("run", "panel=mine")
    assert OmegaConf.to_container(config.panel.models)[0]["id"] == "${oc.env:WHICH}"  # type: ignore[call-overload,index]
    (seat,) = load(config, RunConfig).panel.models
    assert seat.id == "openai:gpt-4o"


def test_an_eval_in_which_nobody_judges_has_no_seats() -> None:
    assert "models" not in composed("run", "panel=none").panel


# texts --------------------------------------------------------------------------------------------

TEXTS = st.text(alphabet="ab'\"\\${}[](),:= \t?!é*~+@/.#%", min_size=1, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS)
@example("${oc.env:HOME}")
@example("${source.path}")
@example("\\${x}\\")
@example(" a,b:[c]={d} 'e' \"f\" ")
@example("null")
@example("1.10")
def test_texts_of_flags_arrive_letter_by_letter(text: str) -> None:
    if text == "???":
        return
    tree = loaded("run", "--slug-prefix", text)
    assert tree.source.prefix() == text
    assert text not in tree.overrides or text in {"a", "b"}


@pytest.mark.parametrize("name", ["x:${oc.env:HOME}", "x:a=b", "x:[a]", "x:a b", "x:it's", 'x:"q"', "x:a\\b"])
def test_model_ids_arrive_letter_by_letter(name: str) -> None:
    (seat,) = seats("--models", name)
    config = composed("run", "--models", name)
    assert config.panel.models[0].id == name
    assert seat["max_tokens"] == 4096


def test_overrides_are_kept_as_given_and_resolve_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hush")
    tree = loaded("run", "source.path=${oc.env:SECRET}", "--slug-prefix", "${oc.env:SECRET}")
    assert tree.overrides == ["source.path=${oc.env:SECRET}", r"source.slug_prefix='\${oc.env:SECRET}'"]
    assert given_overrides() == tree.overrides
    assert (tree.source.location(), tree.source.prefix()) == ("hush", "${oc.env:SECRET}")


# order, overlay, code -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVALS)
def test_every_eval_with_a_baseline(elsewhere: Path, name: str) -> None:
    """The baseline's choices and values win over the eval's, and the command line's over both."""
    write(
        elsewhere / "conf" / "baseline" / "pinned.yaml",
        "# @package _global_\n"
        "defaults:\n  - override /sampler: stratified\n  - override /panel: frontier\n"
        "sampler: {limit: 7, seed: 3, by: kind}\ncycles: {max: 2}\nruns: 3\n",
    )
    plain = composed("run", f"eval={name}")
    assert plain.eval == name
    pinned = composed("run", f"eval={name}", "baseline=pinned")
    assert pinned.eval == name
    assert (pinned.sampler.limit, pinned.sampler.seed, pinned.sampler.by) == (7, 3, "kind")
    assert (pinned.cycles.max, pinned.runs) == (2, 3)
    assert [seat.id for seat in pinned.panel.models] == [seat["id"] for seat in seats("panel=frontier")]
    own = composed("run", f"eval={name}", "baseline=pinned", "panel=rules", "--limit", "1", "sampler=random")
    assert (own.sampler.limit, own.sampler.seed, own.runs) == (1, 3, 3)
    assert [seat.id for seat in own.panel.models] == ["rules-v1"]


def test_an_evals_values_win_over_its_options(elsewhere: Path) -> None:
    write(
        elsewhere / "conf" / "eval" / "mine.yaml",
        "# @package _global_\ndefaults:\n  - override /panel: budget\neval: mine\nsampler: {limit: 9}\n",
    )
    config = composed("run", "eval=mine")
    assert (config.eval, config.sampler.limit, len(config.panel.models)) == ("mine", 9, 3)


def test_the_users_conf_shadows_adds_and_is_named(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(elsewhere / "conf" / "model" / "gpt-4o.yaml", "id: openai:gpt-4o\nmax_tokens: 5\n")
    write(elsewhere / "conf" / "model" / "own.yaml", "id: openai:own\n")
    write(elsewhere / "conf" / "unrelated.yaml", "x: 1\n")
    assert shadowed() == ["model/gpt-4o"]
    assert [seat["max_tokens"] for seat in seats("--models", "gpt-4o,own")] == [5, 4096]
    assert loaded("run").shadowed == ["model/gpt-4o"]
    monkeypatch.setenv("EVALRUNNER_CONF", "none")
    assert shadowed() == []
    assert [seat["max_tokens"] for seat in seats("--models", "gpt-4o")] == [4096]


def test_the_search_path_puts_the_user_first(elsewhere: Path) -> None:
    (elsewhere / "conf").mkdir()
    (elsewhere / "more").mkdir()
    path = [(each.provider, each.path) for each in search_path("more").get_path()]
    assert path == [
        ("hydra", "pkg://hydra.conf"),
        ("user", f"file://{elsewhere / 'conf'}"),
        ("main", str(data_root() / "conf")),
        ("command-line", f"file://{elsewhere / 'more'}"),
        ("schema", "structured://"),
    ]


def test_a_primary_of_the_users_own(elsewhere: Path) -> None:
    text = "defaults: [run, _self_]\nsampler: {limit: 4}\ncycles: {stop: never}\n"
    write(elsewhere / "conf" / "nightly.yaml", text)
    config = composed("run", name="nightly")
    assert (config.sampler.limit, config.cycles.stop, config.eval) == (4, "never", "takes_quality")


def test_every_field_of_a_component_can_be_overridden(elsewhere: Path) -> None:
    path = "_target_: evalrunner.source.file.FileSource\npath: x.jsonl\n"
    write(elsewhere / "conf" / "source" / "mine.yaml", path)
    assert loaded("run", "source=mine", "--slug-prefix", "a").source.prefix() == "a"
    config = composed("run", "source=mine")
    assert set(config.source) == {"_target_", *FileSource.model_fields}


def test_free_mappings_take_new_keys() -> None:
    threshold: Any = loaded("run", "threshold=metric", "threshold.at_least={recall: 0.6}").threshold
    assert threshold.at_least == {"recall": Decimal("0.6")}
    (seat,) = seats("--models", "gpt-4o", "panel.models.0.params={top_k: 5}")
    assert seat["params"] == {"top_k": 5}


@pytest.mark.parametrize(
    "override",
    [
        "+hydra.callbacks.x._target_=shutil.copy",
        "+hydra.callbacks.x._target_=evalrunner.paths.data_root",
        "hydra.launcher._target_=os.system",
        "++hydra.sweeper.extra={_target_: os.getcwd}",
        "hydra.sweeper._target_=hydra.utils.instantiate",
    ],
)
def test_code_that_hydra_would_run_is_refused_before_it_does(override: str) -> None:
    with App("run") as app, pytest.raises(ConfigError) as caught:
        app.compose_config("run", [override], RunMode.RUN, with_log_configuration=True)
    assert caught.value.code == "E-CONFIG-TARGET"
    assert wheres(caught.value.problems)[0].startswith("hydra.")


def test_the_loader_pickles_for_workers(elsewhere: Path) -> None:
    write(elsewhere / "conf" / "panel" / "mine.yaml", f"{PANEL}models: [gpt-4o]\n")
    loader = pickle.loads(pickle.dumps(Loader(search_path())))
    config = loader.load_configuration("run", ["panel=mine"], RunMode.RUN)
    assert config.panel.models[0].id == "openai:gpt-4o"


def test_composing_again_with_the_same_app_sees_the_new_overrides() -> None:
    with App("run") as app:
        assert app.compose_config("run", ["runs=2"], RunMode.RUN).runs == 2
        assert app.compose_config("run", ["runs=3"], RunMode.RUN).runs == 3
        assert app.composed is not None
        assert app.composed.runs == 3


def test_a_configuration_may_ask_to_be_swept(elsewhere: Path) -> None:
    text = "defaults: [run, _self_]\nhydra: {mode: MULTIRUN, sweeper: {params: {runs: '1,2'}}}\n"
    write(elsewhere / "conf" / "nightly.yaml", text)
    with App("run") as app:
        assert app.is_sweep("nightly", [])
        assert app.is_sweep("run", ["hydra.mode=MULTIRUN", "runs=1,2"])
        assert not app.is_sweep("run", [])
        with pytest.raises(Exception, match="Ambiguous"):
            app.is_sweep("run", ["runs=1,2"])


# other commands -----------------------------------------------------------------------------------


def test_the_configurations_of_the_other_commands() -> None:
    regress = loaded("regress", "--against", "r.json", "--threshold", "0.50", kind=RegressConfig)
    assert isinstance(regress, RegressConfig)
    assert (regress.against, regress.regress.threshold) == (Path("r.json"), Decimal("0.5"))
    stage = loaded("judge", "--input", "items.jsonl", kind=StageConfig)
    assert isinstance(stage, StageConfig)
    assert stage.input == Path("items.jsonl")
    for command in ("select", "produce"):
        assert loaded(command, kind=StageConfig).input is None  # type: ignore[attr-defined]
    assert isinstance(loaded("validate"), RunConfig)


def test_the_filters_of_trend() -> None:
    tree: Any = loaded(
        "trend", "--rubric-version", "1.10", "--eval", "takes_quality", "--limit", "3", "--attempts",
        "--panel", "openai:gpt-4o", "--corpus", "0a1b2c3d", kind=TrendConfig,
    )  # fmt: skip
    wanted = tree.trend
    assert (wanted.rubric_version, wanted.eval, wanted.limit) == ("1.10", "takes_quality", 3)
    assert (wanted.attempts, wanted.panel, wanted.corpus) == (True, "openai:gpt-4o", "0a1b2c3d")
    plain: Any = loaded("trend", kind=TrendConfig)
    assert plain.trend.rubric_version is None


def test_what_replay_shows(elsewhere: Path) -> None:
    named = write(elsewhere / "a=b, ${c}.json", "{}")
    tree: Any = loaded("replay", str(named), kind=ReplayConfig)
    assert (tree.receipt, tree.from_db) == (named, FromDb())
    stored: Any = loaded("replay", "--from-db", "12", kind=ReplayConfig)
    assert (stored.receipt, stored.from_db.id, stored.from_db.shas) == (None, 12, None)
    shas: Any = loaded("replay", "--from-db", "0000000a-0000000b-0000000c-00000012", kind=ReplayConfig)
    assert shas.from_db.shas == ("0000000a", "0000000b", "0000000c", "00000012")


def test_the_typed_tree_is_frozen() -> None:
    tree = loaded("run")
    with pytest.raises(Exception, match=r"frozen|assign"):
        tree.runs = 2  # type: ignore[misc]


def test_problems_name_the_flag() -> None:
    (found,) = problems("run", "--limit", "-1")
    assert found.where == "--limit (sampler.limit)"
