"""Command lines that make no sense: exit code 3 in our own words, or a configuration that holds."""

import sys
from pathlib import Path

import pytest
from hard_kit import ODD_TEXTS, came_of, tries
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from hypothesis import example, given
from hypothesis import strategies as st
from program import Done, inside

from evalrunner.config.commandline import parse, positional_overrides
from evalrunner.config.flags import FLAGS
from evalrunner.config.hydra_words import unreadable
from evalrunner.errors import UsageError

RAW = (
    "crashed",
    "Traceback",
    "Error merging",
    "requires --multirun",
    "not Optional",
    "DictConfig",
    "ListConfig",
    "LexerNoViable",
    "mismatched input",
    "viable alternative",
    "extraneous",
    "Input should",
    "String should",
    "Decimal(",
    "set_int_max",
    "instance of",
    "hydra.cc",
    "ConfigKeyError",
    "Could not",
    "KeyError",
    "is not in struct",
)
KEYS = (
    "panel",
    "panel.models",
    "panel.models.0",
    "panel.models.0.id",
    "panel.models.9",
    "sampler",
    "sampler.limit",
    "sampler._target_",
    "source.path",
    "source.slug_prefix",
    "source",
    "eval",
    "baseline",
    "budget.cap_usd",
    "budget",
    "threshold.mean_min",
    "threshold",
    "reporter",
    "reporter.terminal.explain",
    "store",
    "judge.prompt",
    "judge",
    "cycles.max",
    "cycles.stop",
    "cycles",
    "runs",
    "json",
    "out",
    "rubric.name",
    "pricing.models",
    "a.b.c",
    "hydra",
    "hydra.run.dir",
    "hydra.job.name",
    "hydra.verbose",
    "hydra.mode",
    "hydra/job_logging",
    "hydra.sweeper.params.x",
    "hydra.job.env_set.A",
    "hydra.launcher._target_",
    "hydra.callbacks.x._target_",
    "panel@x",
    "model",
    "_target_",
)
VALUES = (
    "",
    "null",
    "???",
    "3",
    "-1",
    "1.5",
    "1e999",
    "nan",
    "true",
    "all",
    "[]",
    "{}",
    "[a,b]",
    "{a:1}",
    "[[x]]",
    "[1",
    "{a",
    "'",
    '"',
    "a b",
    "a,b",
    "x:y",
    "openai:gpt-4o",
    "${nope}",
    "${oc.env:NOPE}",
    "${",
    "${panel}",
    "int(x)",
    "foo(1)",
    "range(1,3)",
    "choice(a,b)",
    "glob(*)",
    "sort(2,1)",
    "os.system",
    "../x",
    "/etc/passwd",
    "9" * 5000,
    "evalrunner.source.file.FileSource",
    "evalrunner.model.litellm_model.LitellmModel",
    "\\",
    "é",
    "a=b",
)
OVERRIDES = st.builds(
    lambda sign, key, equals, value: f"{sign}{key}{equals}{value}",
    st.sampled_from(["", "", "", "+", "++", "~"]),
    st.sampled_from(KEYS),
    st.sampled_from(["=", "=", "=", ""]),
    st.sampled_from(VALUES),
)
SIGNS = "ab.=[]{}()'\",:\\ ${}+~@/%-_019\n\0é"


def plain(done: Done) -> None:
    """Exit code 0 or 3, and nothing in the words of a library."""
    assert done.code in {0, 3}, done.err
    assert (done.code == 3) == ("[E-" in done.err), done.err
    assert not [raw for raw in RAW if raw in done.err.replace("(found", "")], done.err


@given(st.lists(OVERRIDES, min_size=1, max_size=3))
@example(["+panel.models.0.x.y=1"])
@example(["hydra.sweeper.params.x=3"])
@tries(30)
def test_any_overrides_hold_or_are_refused(tmp_path: Path, overrides: list[str]) -> None:
    plain(inside(tmp_path, "validate", *overrides))
    assert not list(tmp_path.iterdir())


@given(st.text(SIGNS, max_size=24) | st.sampled_from(ODD_TEXTS))
@tries(400)
def test_what_hydras_grammar_does_not_know_is_told_in_our_words(text: str) -> None:
    for override in (text, f"key={text}", f"{text}=1"):
        try:
            OverridesParser.create().parse_overrides([override])
        except OverrideParseException as error:
            said = str(unreadable(error.override, error.message)).partition("(found")[0]
            assert said
            assert not [raw for raw in RAW if raw in said], said
        except (HydraException, ValueError):
            continue


FLAG = st.sampled_from(
    sorted({flag.name for flags in FLAGS.values() for flag in flags} | {"--x", "-m", "-h", "--", "-"})
)
WORD = FLAG | st.sampled_from(VALUES) | st.sampled_from(ODD_TEXTS) | OVERRIDES


@given(st.sampled_from(sorted(FLAGS)), st.lists(WORD, max_size=6))
@tries(400)
def test_any_words_are_taken_apart_or_refused(command: str, words: list[str]) -> None:

    def taken_apart() -> list[str]:
        parsed = parse(command, words)
        return [*parsed.overrides, *positional_overrides(command, parsed.positionals)]

    overrides, refused = came_of(taken_apart, UsageError)
    if refused is not None:
        assert all(problem.what for problem in refused.problems)
        assert not [raw for raw in RAW if raw in str(refused)]
        return
    assert all(isinstance(each, str) for each in overrides)


SAID = [
    (["sampler.limit=[1"], "sampler.limit: a value that cannot be read: [ is not closed"),
    (["sampler.limit='a"], "sampler.limit: a value that cannot be read: a quote is not closed"),
    (["sampler..limit=1"], "an override with a key that is none"),
    (["sampler.limit=foo(1)"], "sampler.limit: there is no function 'foo'"),
    (["sampler.limit=int(x)"], "sampler.limit: int() does not take that"),
    (["a.b.c="], "a.b.c: no such key"),
    (["++x"], "++x: is neither a flag nor key=value"),
    (["~y"], "y: no such key"),
    (["panel="], "panel: no such option (found '')"),
    (["panel=../panel/rules"], "panel: no such option"),
    (["panel@foo=rules"], "panel@foo: no such place of a group"),
    (["~sampler=all"], "sampler: is not chosen so, and cannot be deleted (found 'all')"),
    (["~sampler.limit=7"], "sampler.limit: cannot be deleted so: its value is 100"),
    (["+sampler=all"], "sampler: is chosen already; allowed: sampler=OPTION, without a +"),
    (["+sampler.limit=3"], "sampler.limit: is there already, and + adds what is not"),
    (["sampler.limit=range(1,3)"], "sampler.limit: is a sweep, and it needs -m"),
    (["hydra.run.dir=null"], "hydra.run.dir: may not be null"),
    (["hydra.mode=X"], "hydra.mode: is none of the known words (found 'X'); allowed: RUN, MULTIRUN"),
    (["~hydra.run.dir"], "hydra.run.dir: cannot be deleted"),
    (["hydra.searchpath=[nowhere]"], "hydra.searchpath: is not there (found 'nowhere')"),
    (["hydra.verbose=3"], "hydra.verbose: names no loggers (found 3)"),
    (["+hydra.job.env_set.PATH=/x"], "hydra.job.env_set.PATH: a configuration sets no environment variables"),
    (
        ["+hydra.job_logging.handlers.x.class=os.system"],
        "hydra.job_logging.handlers.x.class: should be 'logging.S",
    ),
    (["panel.models={a:1}"], "panel.models: is no list"),
    (["sampler.limit=" + "9" * 5000], "sampler.limit: holds a number with thousands of digits"),
    (["--limit", "9" * 5000], "--limit: is a number of 5000 digits"),
    (["--slug-prefix", ""], "--slug-prefix (source.slug_prefix): should have at least 1 character"),
    (
        ["sampler._target_=evalrunner.source.file.FileSource"],
        "sampler._target_: is a component of group source, not of",
    ),
    (
        ["panel.models.0._target_=evalrunner.sampler.samplers.AllSampler"],
        "is a component of group sampler, not of model",
    ),
    (["--", "--limit", "5"], "--limit: stands behind --, where nothing is a flag"),
    (["run"], "run: is a command, and validate is one already"),
    (["--out", "."], "--out (out): is a folder, and a file is needed (found '.')"),
    (["--out", "file/x"], "--out (out): lies in "),
]


@pytest.mark.parametrize(("words", "said"), SAID, ids=[" ".join(each[0])[:40] for each in SAID])
def test_what_is_said(tmp_path: Path, words: list[str], said: str) -> None:
    if "file/x" in words:
        (tmp_path / "file").touch()
    done = inside(tmp_path, "validate", *words)
    assert done.code == 3
    assert said in done.err
    plain(done)


@pytest.mark.parametrize("value", ["duckdb,none", "[duckdb,none]", "range(1,3)"])
@pytest.mark.parametrize(
    "words",
    [
        "show 1",
        "explain 1 2",
        "doctor",
        "cache list",
        "cache prune --all",
        "store check",
        "store vacuum",
        "store import .",
        "store export x.csv",
        "trend",
        "replay x",
        "select",
    ],
)
def test_no_command_advises_a_flag_that_it_does_not_take(tmp_path: Path, words: str, value: str) -> None:
    done = inside(tmp_path, *words.split(), f"store={value}")
    assert done.code == 3
    assert f"store: {'a list' if value[0] == '[' else ''}" in done.err
    assert f"(found {value.strip('[]')!r})" in done.err
    assert not {"-m", "--models"} & set(done.err.split())
    plain(done)


def test_two_spellings_of_one_key_are_named(tmp_path: Path) -> None:
    done = inside(tmp_path, "validate", "--budget-usd", "1", "budget.cap_usd=2")
    assert done.code == 0
    assert (
        "--budget-usd (budget.cap_usd) is given more than once: '1', then '2'; the last one counts"
        in done.err
    )
    assert "once" not in inside(tmp_path, "validate", "--budget-usd", "1", "--max-cost", "1").err


@pytest.mark.parametrize("words", [["--out", "."], ["--out", "file/x"]])
def test_an_out_that_cannot_be_written_is_found_before_anything_runs(
    tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "file").touch()
    done = inside(tmp_path, "run", "--limit", "1", *words)
    assert done.code == 3
    assert "rule-based" not in done.err
    assert not list(tmp_path.rglob("receipt.json"))


@pytest.mark.parametrize("part", ["hydra_logging", "job_logging"])
@pytest.mark.parametrize(
    "block",
    [
        "handlers: {x: {class: trap.Handler}}",
        "handlers: {x: {'()': trap.Handler}}",
        "formatters: {x: {'()': trap.Handler}}",
        "formatters: {x: {class: trap.Handler}}",
        "filters: {x: {'()': trap.Handler}}",
        "handlers: {x: {class: logging.StreamHandler, stream: 'ext://trap.Handler'}}",
        "handlers: '${trap}'",
    ],
)
def test_logging_in_a_users_conf_names_no_code(tmp_path: Path, part: str, block: str) -> None:
    folder = tmp_path / "conf" / "hydra" / part
    folder.mkdir(parents=True)
    (tmp_path / "trap.py").write_text("import pathlib\npathlib.Path('sprung').touch()\nclass Handler: ...\n")
    (folder / "mine.yaml").write_text(f"version: 1\n{block}\nroot: {{level: INFO, handlers: []}}\n")
    before = list(sys.path)
    sys.path.insert(0, str(tmp_path))
    try:
        done = inside(tmp_path, "run", "--limit", "1", f"hydra/{part}=mine")
    finally:
        sys.path[:] = before
        sys.modules.pop("trap", None)
    assert done.code == 3
    assert f"hydra.{part}." in done.err
    assert not (tmp_path / "sprung").exists()
