"""The commands from Python: the same receipts, nothing on stdout, nothing left behind in Hydra or logging."""

import asyncio
import json
import logging
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from omegaconf.basecontainer import BaseContainer

import evalrunner
from evalrunner import errors
from evalrunner.paths import demo
from evalrunner.receipt.schema import Receipt
from evalrunner.store.null import NullStore

SMALL = ["sampler.limit=5"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def silent(line: str) -> None:
    """A note that nobody reads."""


def test_run_gives_the_receipt_that_the_command_keeps_and_prints_nothing(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    receipt = evalrunner.run(SMALL)
    assert isinstance(receipt, Receipt)
    assert receipt.corpus.n_takes == 5
    [file] = Path("outputs/run").glob("*/receipt.json")
    assert json.loads(file.read_text()) == json.loads(json.dumps(receipt.to_json(), default=float))
    assert json.loads((file.parent / "result.json").read_text())["code"] == 0
    assert capfd.readouterr() == ("", "")
    ours = [record.getMessage() for record in caplog.records if record.name == "evalrunner"]
    assert ours == ["rules-v1 is a rule-based judge: no LLM speaks for it"]


def test_a_run_equals_that_of_the_command_line() -> None:
    receipt = evalrunner.run(SMALL, note=silent)
    command = [sys.executable, "-m", "evalrunner", "run", *SMALL, "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert told["fingerprints"] == receipt.to_json()["fingerprints"]
    assert told["verdictMessage"] == receipt.verdictMessage


def test_everything_works_inside_a_running_event_loop() -> None:
    async def notebook() -> tuple[Receipt, str]:
        receipt = evalrunner.run(SMALL, note=silent)
        [path] = Path("outputs/receipts").glob("*.json")
        assert evalrunner.replay(path, note=silent).verdict == receipt.verdict
        assert evalrunner.validate(SMALL, note=silent).items == 5
        done = evalrunner.regress([f"against={path}"], note=silent)
        return receipt, done.comparison.outcome

    receipt, outcome = asyncio.run(notebook())
    assert (receipt.verdict, outcome) == ("pass", "ok")


def test_a_fall_is_an_outcome_and_no_exception() -> None:
    lines = demo("takes.jsonl").read_text().splitlines(keepends=True)
    drafts = [line for line in lines if '"page_slug": "drafts/' in line]
    Path("takes.jsonl").write_text("".join(line for line in lines if line not in drafts))
    evalrunner.run(["source.path=takes.jsonl", "out=before.json"], note=silent)
    Path("takes.jsonl").write_text("".join(drafts))
    done = evalrunner.regress(["against=before.json"], note=silent)
    assert (done.comparison.outcome, done.exit_code) == ("regression", 1)
    assert "accuracy" in done.comparison.regressed
    assert done.receipt.corpus.n_takes == len(drafts)


def test_hydra_and_logging_stay_as_they_were() -> None:
    root = logging.getLogger()
    resolvers, entered, config = (
        dict(BaseContainer._resolvers),
        GlobalHydra.instance(),
        HydraConfig.instance(),
    )
    before = (root.handlers[:], root.level, entered.hydra, config.cfg)
    evalrunner.run(SMALL, note=silent)
    with pytest.raises(errors.UnknownKeyError):
        evalrunner.run(["sampler.limt=5"], note=silent)
    assert (root.handlers[:], root.level, entered.hydra, config.cfg) == before
    assert BaseContainer._resolvers == resolvers


def test_a_program_with_a_hydra_of_its_own_keeps_it(tmp_path: Path) -> None:
    from hydra import compose, initialize_config_dir

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "app.yaml").write_text("a: 1\n")
    with initialize_config_dir(str(tmp_path / "mine"), version_base="1.3"):
        evalrunner.run(SMALL, note=silent)
        assert compose("app").a == 1


@pytest.mark.parametrize(
    ("overrides", "kind", "text"),
    [
        (["sampler.limt=5"], errors.UnknownKeyError, "did you mean 'sampler.limit'?"),
        (["eval=nope"], errors.ChoiceError, "takes_quality"),
        (["--limit", "sampler.limit=5"], errors.UsageError, "flags are for the command line"),
        ("eval=takes_quality", errors.UsageError, "allowed: ['eval=takes_quality']"),
        (["hydra.mode=MULTIRUN"], errors.UsageError, "runs once"),
        (["panel=rules,budget"], errors.ConfigError, "nothing is swept here"),
        (["source.path=missing.jsonl"], errors.InputError, "missing.jsonl"),
        (["panel.models=[openai:gpt-4o]"], errors.MissingKeyError, "OPENAI_API_KEY"),
        (["panel.models=[openai:nobody]", "budget.cap_usd=1"], errors.PricingNotFoundError, "openai:nobody"),
    ],
)
def test_what_is_wrong_is_raised_as_the_error_of_the_command_line(
    overrides: list[str],
    kind: type[errors.EvalrunnerError],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(kind) as caught:
        evalrunner.run(overrides, note=silent)
    assert text in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_only_reporters_with_a_file_report(capfd: pytest.CaptureFixture[str]) -> None:
    evalrunner.run([*SMALL, "reporter=[terminal,junit]", "reporter.junit.path=report.xml"], note=silent)
    assert "testsuite" in Path("report.xml").read_text()
    assert capfd.readouterr().out == ""


def test_replay_and_trend_find_what_was_stored() -> None:
    assert evalrunner.trend(note=silent) == []
    receipt = evalrunner.run(SMALL, note=silent)
    [row] = evalrunner.trend(["trend.eval=takes_quality"], note=silent)
    assert row.run_id == receipt.run_id
    stored = evalrunner.replay(overrides=[f"from_db.id={row.id}"], note=silent)
    assert stored.to_json() == receipt.to_json()
    with pytest.raises(errors.UsageError, match="groups"):
        evalrunner.trend(["trend.group=cell"], note=silent)
    with pytest.raises(errors.InputError):
        evalrunner.replay("nothing.json", note=silent)


def test_the_store_is_told_as_rows() -> None:
    assert evalrunner.store().attempts().rows() == []
    first, second = (evalrunner.run(SMALL, note=silent) for _ in range(2))
    tables = evalrunner.store()
    assert [row["run_id"] for row in tables.attempts().rows()] == [first.run_id, second.run_id]
    [kept] = tables.receipts().rows()
    assert (kept["run_id"], kept["verdict"]) == (first.run_id, "pass")
    assert len(tables.scores().rows()) == 10
    assert len(evalrunner.store("outputs/evalrunner.duckdb").scores().rows()) == 10
    assert evalrunner.store("elsewhere.duckdb").scores().rows() == []
    assert isinstance(evalrunner.store(None, ["store=none"]).store, NullStore)


@pytest.mark.parametrize(("method", "library"), [("df", "pandas"), ("pl", "polars"), ("arrow", "pyarrow")])
def test_a_data_frame_needs_its_library(method: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(errors.MissingExtraError, match=f"pip install {library}"):
        getattr(evalrunner.store().attempts(), method)()


@pytest.mark.parametrize(("method", "library"), [("df", "pandas"), ("pl", "polars"), ("arrow", "pyarrow")])
def test_a_data_frame_has_the_columns_and_rows(method: str, library: str) -> None:
    pytest.importorskip(library)
    assert len(getattr(evalrunner.store().scores(), method)()) == 0
    evalrunner.run(SMALL, note=silent)
    frame = getattr(evalrunner.store().scores(), method)()
    assert len(frame) == 5
    names = frame.column_names if method == "arrow" else list(frame.columns)
    assert names == list(evalrunner.store().scores().rows()[0])


def test_a_notebook_shows_a_receipt_as_a_table_with_texts_escaped() -> None:
    receipt = evalrunner.run(SMALL, note=silent)
    page = receipt._repr_html_()
    assert "<th>accuracy</th>" in page
    assert "A rule-based judge spoke; no LLM was asked." in page
    hostile = receipt.model_copy(update={"verdictMessage": "<script>alert(1)</script>"})
    assert "<script>" not in hostile._repr_html_()


def test_importing_the_package_imports_nothing_else() -> None:
    code = """
        import sys, evalrunner
        heavy = {"hydra", "pydantic", "duckdb", "litellm", "evalrunner.api"} & set(sys.modules)
        assert not heavy, heavy
        assert {"run", "store", "trend"} <= set(dir(evalrunner))
        from evalrunner import store
        from evalrunner.store.reader import Reader
        assert store is sys.modules["evalrunner.store"] and callable(evalrunner.store)
        try:
            evalrunner.rnu
        except AttributeError as error:
            assert "rnu" in str(error)
        else:
            raise AssertionError
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
