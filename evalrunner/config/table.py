"""The table of commands and the help of the program. Imports nothing: `--help` starts as fast as Python."""


class Command:
    """A row of the command table.

    Attributes:
        summary: one line for the help.
        examples: for the help of the command.
        keeps: it writes a run folder; other commands write no folder and no log.
        sweeps: `-m` makes sense for it.
        counts_cycles: it makes panel calls, so the default number of cycles depends on the terminal.
        plain: it has arguments of its own and composes no configuration.
    """

    def __init__(
        self,
        summary: str,
        examples: str,
        *,
        keeps: bool = False,
        sweeps: bool = False,
        counts_cycles: bool = False,
        plain: bool = False,
    ) -> None:
        self.summary = summary
        self.examples = examples
        self.keeps = keeps
        self.sweeps = sweeps
        self.counts_cycles = counts_cycles
        self.plain = plain


COMMANDS = {
    "run": Command(
        "evaluate: select, produce and judge in one go",
        """\
evalrunner run                                    the demo, judged by rules: no key needed
evalrunner run source.path=takes.jsonl --limit 50
evalrunner run --models openai:gpt-4o,anthropic:claude-opus-4-7 --budget-usd 2
evalrunner run panel=frontier panel.models.0.temperature=0
evalrunner run -m panel=rules,budget --json       one receipt a line, in the order of the panels
evalrunner run reporter=[terminal,json]           several reporters at once
evalrunner run --resume auto                      go on with the newest unfinished run of this configuration
evalrunner run panel=frontier cache=read_write    use replies of earlier runs again
evalrunner run --cfg job                          the composed configuration, nothing is run""",
        keeps=True,
        sweeps=True,
        counts_cycles=True,
    ),
    "validate": Command(
        "check everything and price the worst case; call nothing",
        """\
evalrunner validate panel=frontier --limit 100
evalrunner validate -m panel=rules,budget,frontier""",
        sweeps=True,
        counts_cycles=True,
    ),
    "regress": Command(
        "run again as a receipt or a baseline did, and compare",
        """\
evalrunner regress baseline=takes
evalrunner regress baseline=takes --against-ref origin/main
evalrunner regress --against outputs/receipts/NAME.json
evalrunner regress --against NAME.json --threshold 0.5""",
        keeps=True,
        sweeps=True,
        counts_cycles=True,
    ),
    "baseline": Command(
        "save, list, show, compare and renew the bars that regress holds runs to",
        """\
evalrunner baseline save takes --reason "the first"  from the newest attempt, into conf/baseline/takes.yaml
evalrunner baseline save takes --from outputs/run/FOLDER
evalrunner baseline list
evalrunner baseline show takes
evalrunner baseline diff takes outputs/run/FOLDER
evalrunner baseline bless takes --reason "stricter rubric"
evalrunner regress baseline=takes                    run as it says, and compare
evalrunner run --locked baseline=takes               run only if nothing has changed since""",
        plain=True,
    ),
    "replay": Command(
        "show a receipt again, with its exit code",
        """\
evalrunner replay outputs/receipts/NAME.json
evalrunner replay --from-db 12
evalrunner replay NAME.json --json""",
    ),
    "trend": Command(
        "show stored receipts over time",
        """\
evalrunner trend
evalrunner trend --eval takes_quality --rubric-version v1.0 --limit 20 --json
evalrunner trend --attempts""",
    ),
    "select": Command(
        "take the sample and write it as JSON lines",
        """\
evalrunner select --limit 20 > items.jsonl
evalrunner select --limit 20 | evalrunner produce | evalrunner judge""",
    ),
    "produce": Command(
        "run the subject on selected items",
        """\
evalrunner produce --input items.jsonl --out outcomes.jsonl""",
        keeps=True,
    ),
    "judge": Command(
        "judge what was selected or produced",
        """\
evalrunner judge --input outcomes.jsonl panel=frontier""",
        keeps=True,
        counts_cycles=True,
    ),
    "show": Command(
        "show a run in full: what mattered, scores by seat, errors, spend, the lowest items",
        """\
evalrunner show outputs/run/FOLDER
evalrunner show 12
evalrunner show 12 --item take-017""",
        plain=True,
    ),
    "explain": Command(
        "show what changed between two receipts, and where the difference sits",
        """\
evalrunner explain 11 12
evalrunner explain baseline.json outputs/run/FOLDER""",
        plain=True,
    ),
    "store": Command(
        "check the store, take in runs from elsewhere, reclaim space, write tables to files",
        """\
evalrunner store check                               is it whole, what waits, who holds the lock
evalrunner store check --json store.path=FILE
evalrunner store import artifacts/                   every run folder in there, each once
evalrunner store import other/evalrunner.duckdb.pending
evalrunner store vacuum
evalrunner store export attempts.parquet
evalrunner store export scores.csv --table scores --force""",
        plain=True,
    ),
    "cache": Command(
        "show and remove the replies that cache=read_write keeps across runs",
        """\
evalrunner cache list
evalrunner cache list --json cache_dir=FOLDER
evalrunner cache prune --older-than 30d
evalrunner cache prune --model openai:gpt-4o
evalrunner cache prune --all""",
        plain=True,
    ),
    "list": Command(
        "show groups and options, and where each comes from",
        """\
evalrunner list
evalrunner list panel
evalrunner list reporter --config-dir ../shared/conf""",
        plain=True,
    ),
    "init": Command(
        "begin a folder of your own: conf/, rubrics/, prompts/, data, and a workflow for CI",
        """\
evalrunner init
evalrunner init evals""",
        plain=True,
    ),
    "schema": Command(
        "print the JSON Schema of receipts, configuration, cases or takes",
        """\
evalrunner schema receipt
evalrunner schema config > conf/schema.json""",
        plain=True,
    ),
    "doctor": Command(
        "look at what evalrunner needs here: versions, git, isolation, keys, the store",
        """\
evalrunner doctor
evalrunner doctor panel=frontier
evalrunner doctor panel=frontier --call           also ask each model one small question""",
        plain=True,
    ),
}

CYCLES_ON_A_TERMINAL = 3

VARIABLES = {
    "EVALRUNNER_CONF": "the folder of your configuration, instead of ./conf; none for no such folder",
    "EVALRUNNER_DEBUG": "1 shows tracebacks, as --debug does",
}

_USAGE = """\
usage: evalrunner COMMAND [flags] [key=value ...]

YAML declares an evaluation, one pipeline runs it, and a receipt proves what was judged, by whom, under which
rubric and at what cost.

commands:
{commands}

examples:
  evalrunner run                                the demo, judged by rules: no key needed
  evalrunner run source.path=takes.jsonl --limit 50 --models openai:gpt-4o,anthropic:claude-opus-4-7
  evalrunner run panel=frontier --budget-usd 2  a panel of the group panel, with a cap
  evalrunner run -m panel=rules,budget          a sweep: one receipt a panel
  evalrunner validate panel=frontier            what would be called, and the most that it could cost
  evalrunner replay outputs/receipts/NAME.json  a receipt again, with its verdict's exit code
  evalrunner regress --against outputs/receipts/NAME.json
  evalrunner trend --json

exit codes: 0 pass or ok, 1 fail or regression, 2 inconclusive, 3 bad usage, configuration or input,
            4 crash, 130 interrupted

environment:
{variables}

evalrunner COMMAND --help               flags, groups, options and examples of one command
evalrunner --version                    the version
eval "$(evalrunner -sc install=bash)"   completes commands, groups, options and flags in bash
"""


def usage() -> str:
    """The help of the whole program."""
    commands = "\n".join(f"  {name:<10} {command.summary}" for name, command in COMMANDS.items())
    variables = "\n".join(f"  {name:<18} {text}" for name, text in VARIABLES.items())
    return _USAGE.format(commands=commands, variables=variables)
