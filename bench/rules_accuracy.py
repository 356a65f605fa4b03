"""How well the rules judge labelled takes: balanced accuracy a dimension, with 95 % intervals.

    python bench/rules_accuracy.py FILE.jsonl [--half both|even|odd|all]

Rows have the fields of evalrunner/demo/README.md. The halves are those of docs/rules-judge.md: by the last
hex digit of the sha256 of the id; rules are written against even rows and measured on odd ones. Without FILE
the demo's own takes are measured, as one.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from evalrunner.model.rules import RULES_ID
from evalrunner.model.rules.examine import RULES, examine
from evalrunner.model.rules.scoring import score
from evalrunner.model.rules.take import read_take
from evalrunner.paths import demo
from evalrunner.rubric import load_rubric
from evalrunner.stats.agreement import balanced_accuracy
from evalrunner.stats.intervals import Estimate, proportion

Row = dict[str, Any]
HIDDEN = {"labels", "correct", "note"}
HALVES: dict[str, Callable[[Row], bool]] = {
    "even": lambda row: last_digit(row) % 2 == 0,
    "odd": lambda row: last_digit(row) % 2 == 1,
    "all": lambda row: True,
}


def last_digit(row: Row) -> int:
    return int(sha256(row["id"].encode()).hexdigest()[-1], 16)


def accused(row: Row) -> dict[str, bool]:
    take = read_take(row["id"], {name: value for name, value in row.items() if name not in HIDDEN})
    assert take is not None, row["id"]
    return {name: bool(found) for name, found in examine(take, RULES).items()}


def share_right(rows: Sequence[Row], name: str, label: str) -> Estimate:
    """How many rows of this label the rules call so; rows of one page form one case: they are much alike."""
    pages: dict[str, list[bool]] = {}
    for row in rows:
        if row["labels"][name] == label and (name != "accuracy" or row["page_text"]):
            pages.setdefault(row["page_slug"], []).append(row["accused"][name] == (label == "violated"))
    return proportion([(sum(right), len(right)) for right in pages.values()])


def shown(figure: Estimate) -> str:
    if figure.value is None or figure.low is None or figure.high is None:
        return "none"
    return f"{float(figure.value):.2f} [{figure.low:.2f}, {figure.high:.2f}]"


def table(rows: Sequence[Row]) -> None:
    print("| dimension | violated / sound | balanced accuracy | found | left alone |")
    print("|---|---|---|---|---|")
    for name in RULES:
        found, left = share_right(rows, name, "violated"), share_right(rows, name, "ok")
        both = shown(balanced_accuracy(found, left))
        print(f"| {name} | {found.n} / {left.n} | {both} | {shown(found)} | {shown(left)} |")


def sample(title: str, rows: Sequence[Row]) -> None:
    """The scores that a sample of these rows gets, those without a page left out."""
    scale = load_rubric("takes_quality").scale
    assert scale is not None
    judged = [row for row in rows if row["page_text"]]
    if not judged:
        return
    scores = [score(sum(row["accused"][name] for row in judged), len(judged), scale) for name in RULES]
    verdict = "pass" if min(scores) >= 7 else "fail"
    print(f"| {title} | {len(judged)} of {len(rows)} | {' | '.join(map(str, scores))} | {verdict} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--half", choices=["both", *HALVES])
    options = parser.parse_args()
    file = options.file or demo("takes.jsonl")
    half = options.half or ("both" if options.file else "all")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    halves = ["even", "odd"] if half == "both" else [half]
    parts = {name: [row for row in rows if HALVES[name](row)] for name in halves}
    for part in parts.values():
        for row in part:
            row["accused"] = accused(row)
    print(f"{RULES_ID}\n")
    for name, part in parts.items():
        print(
            f"{name}: {len(part)} rows, {sum(not row['page_text'] for row in part)} of them without a page\n"
        )
        table(part)
        print()
    print(f"| sample | judged | {' | '.join(RULES)} | verdict |")
    print(f"|---|---|{'---|' * len(RULES)}---|")
    if half == "both":
        parts["both"] = rows
    for name, part in parts.items():
        sample(f"{name}, as it is", part)
        sample(f"{name}, without fault", [row for row in part if "violated" not in row["labels"].values()])


if __name__ == "__main__":
    main()
