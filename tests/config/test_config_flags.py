from pathlib import Path

import pytest

from evalrunner.config.commandline import HYDRA_FLAGS, parse, positional_overrides, relabelled
from evalrunner.config.flags import FLAGS, flags_of
from evalrunner.config.table import COMMANDS
from evalrunner.errors import ConfigError, Problem, UsageError


def test_every_command_has_flags_and_no_flag_is_hydras() -> None:
    assert set(FLAGS) == {name for name, command in COMMANDS.items() if not command.plain}
    for command, flags in FLAGS.items():
        names = [flag.name for flag in flags]
        assert len(names) == len(set(names)), command
        assert not set(names) & set(HYDRA_FLAGS)


@pytest.mark.parametrize(
    ("command", "tokens", "overrides"),
    [
        ("run", ["--limit", "50"], ["sampler.limit=50"]),
        ("run", ["--limit=-5"], ["sampler.limit=-5"]),
        ("run", ["--limit", "-5"], ["sampler.limit=-5"]),
        ("run", ["--limit", "007"], ["sampler.limit=7"]),
        ("run", ["--seed", "3"], ["sampler.seed=3"]),
        ("run", ["--seed", "fresh"], ["sampler.seed='fresh'"]),
        ("run", ["--cycles", "2"], ["cycles.max=2"]),
        ("run", ["--budget-usd", "0.10"], ["budget.cap_usd=0.1"]),
        ("run", ["--budget-usd", ".5"], ["budget.cap_usd=0.5"]),
        ("run", ["--max-cost", "5"], ["budget.cap_usd=5"]),
        ("run", ["--source", "db"], ["source=db"]),
        ("run", ["--source=fs"], ["source=file"]),
        ("run", ["--slug-prefix", "a,b"], ["source.slug_prefix='a,b'"]),
        ("run", ["--slug-prefix", ""], ["source.slug_prefix=''"]),
        ("run", ["--models", "openai:gpt-4o, x/y"], ["panel.models=['openai:gpt-4o','x/y']"]),
        ("run", ["--json"], ["json=true"]),
        ("run", ["--json=false"], ["json=false"]),
        ("run", ["--json", "runs=2"], ["json=true", "runs=2"]),
        ("run", ["--max-cases", "3"], ["sampler=all", "sampler.limit=3"]),
        ("run", ["--cases", "a=b.jsonl"], ["source.path='a=b.jsonl'"]),
        ("run", ["--out", "o.json", "--runs", "2"], ["out='o.json'", "runs=2"]),
        ("run", ["--model", "m:n"], ["subject.model='m:n'"]),
        (
            "run",
            ["x=1", "--limit", "5", "y=2", "--limit=6"],
            ["x=1", "sampler.limit=5", "y=2", "sampler.limit=6"],
        ),
        (
            "run",
            ["~reporter", "+a.b=1", "++c=2", "hydra/launcher=joblib", "a@b=c"],
            ["~reporter", "+a.b=1", "++c=2", "hydra/launcher=joblib", "a@b=c"],
        ),
        (
            "regress",
            ["--threshold", "0.5", "--against", "a b.json"],
            ["regress.threshold=0.5", "against='a b.json'"],
        ),
        (
            "trend",
            ["--rubric-version", "1.10", "--limit", "3"],
            ["trend.rubric_version='1.10'", "trend.limit=3"],
        ),
        ("trend", ["--attempts"], ["trend.attempts=true"]),
        ("judge", ["--input", "-"], ["input='-'"]),
        ("replay", ["--from-db", "12"], ["from_db.id=12"]),
        (
            "replay",
            ["--from-db", "takes-quality-11111111-22222222-33333333-44444444"],
            [
                "from_db.corpus='11111111'",
                "from_db.prompt='22222222'",
                "from_db.models='33333333'",
                "from_db.rubric='44444444'",
            ],
        ),
    ],
)
def test_flags_are_another_spelling_of_keys(command: str, tokens: list[str], overrides: list[str]) -> None:
    assert parse(command, tokens).overrides == overrides


@pytest.mark.parametrize(
    ("tokens", "where", "said"),
    [
        (["--limt", "5"], "--limt", "did you mean '--limit'?"),
        (["--multirum"], "--multirum", "did you mean '--multirun'?"),
        (["--limit"], "--limit", "needs a value; allowed: --limit N"),
        (["--limit", "--json"], "--limit", "needs a value"),
        (["--limit", "5.5"], "--limit", "is no whole number (found '5.5')"),
        (["--limit", "ten"], "--limit", "is no whole number (found 'ten')"),
        (["--budget-usd", "nan"], "--budget-usd", "is no finite number (found 'nan')"),
        (["--budget-usd", "1e999"], "--budget-usd", "is no finite number"),
        (["--budget-usd", "$5"], "--budget-usd", "is no finite number"),
        (["--source", "dbb"], "--source", "did you mean 'db'?"),
        (["--models", "a,,b"], "--models", "has an empty entry"),
        (["--models", ""], "--models", "has an empty entry"),
        (["--json=yes"], "--json", "is a switch (found 'yes')"),
        (["--slug-prefix", "???"], "--slug-prefix", "cannot be one"),
        (["--threshold", "1"], "--threshold", "is no flag of run, but of regress"),
        (
            ["--cfg", "jobs"],
            "--cfg",
            "no such choice (found 'jobs'); allowed: job, hydra, all; did you mean 'job'?",
        ),
        (["--cfg"], "--cfg", "needs a value"),
        (["-m", "--cfg", "job"], "--multirun --cfg", "exclude one another"),
        (["--experimental-rerun", "x.pkl"], "--experimental-rerun", "no such flag of run"),
    ],
)
def test_wrong_flags_are_refused(tokens: list[str], where: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse("run", tokens)
    assert caught.value.exit_code == 3
    assert caught.value.problems[0].where == where
    assert said in str(caught.value)


def test_all_wrong_flags_are_named_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse("run", ["--limt", "5", "--seed", "1", "--budget-usd", "x", "--jsno"])
    assert [problem.where for problem in caught.value.problems] == ["--limt", "--budget-usd", "--jsno"]


def test_hydras_flags_in_any_place_and_form() -> None:
    parsed = parse("run", ["a=1", "-m", "b=2,3", "-cn", "nightly", "c=4", "-p=x", "--debug"])
    assert parsed.overrides == ["a=1", "b=2,3", "c=4"]
    assert parsed.hydra == {"--multirun": "", "--config-name": "nightly", "--package": "x"}
    assert parsed.debug


def test_positionals_are_refused_but_for_the_receipt_of_replay(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"limit: is neither a flag nor key=value; did you mean '--limit'\?"):
        positional_overrides("run", parse("run", ["limit"]).positionals)
    named = tmp_path / "a=b, ${c} it's.json"
    named.write_text("{}")
    overrides = positional_overrides("replay", parse("replay", [str(named)]).positionals)
    assert overrides == [f"receipt='{tmp_path}/a=b, \\${{c}} it\\'s.json'"]
    assert positional_overrides("replay", parse("replay", ["--", "--odd.json"]).positionals) == [
        "receipt='--odd.json'"
    ]
    with pytest.raises(UsageError, match=r"two\.json: is neither"):
        positional_overrides("replay", parse("replay", ["one.json", "two.json"]).positionals)


def test_problems_name_the_flag_that_set_the_key() -> None:
    error = ConfigError([Problem("panel.models.1", "x"), Problem("sampler.limit", "y"), Problem("runs", "z")])
    flags = {"panel.models": "--models", "sampler.limit": "--limit"}
    assert [problem.where for problem in relabelled(error, flags).problems] == [
        "--models (panel.models.1)",
        "--limit (sampler.limit)",
        "runs",
    ]


def test_the_commands_flags_by_name() -> None:
    assert flags_of("trend")["--limit"].key == "trend.limit"
    assert flags_of("nothing") == {}
