"""Findings against expected defects: figures, groups, denominator, and what a person needs to check them."""

import asyncio
import json
from fractions import Fraction
from pathlib import Path

import pytest

from evalrunner.errors import InputError
from evalrunner.judge.base import Judge
from evalrunner.judge.defect_match import METRICS, DefectMatch
from evalrunner.model.seat import Bench
from evalrunner.paths import data_root
from evalrunner.receipt.files import dumps
from evalrunner.records import Item, Outcome
from evalrunner.rubric import Rubric, read_rubric

RUBRIC = read_rubric(data_root() / "rubrics" / "code_review.yaml")
SHARED = Path(__file__).parents[3] / "shared" / "cases" / "metrics" / "metrics.jsonl"

BUG = {"file": "src/app.py", "line": 40, "mechanism": ["off-by-one", "off by one"]}
HIT = {"id": "x", "file": "src/app.py", "line": 42, "title": "Off-by-one here", "body": "b", "severity": None}
NOISE = {**HIT, "id": "n", "line": 200, "title": "Unused import"}


def case(name, *expected, **groups):
    kind = {"kind": "positive" if expected else "clean"}
    return Item(
        id=name, content_sha="0" * 64, payload={}, truth={"expected": list(expected)}, groups=kind | groups
    )


def run(item, *findings, run=1, status="ok", **more):
    return Outcome(item_id=item.id, run=run, status=status, payload={"findings": list(findings)}, **more)


def judged(items, outcomes, rubric=RUBRIC):
    bench = Bench(rubric, (), None, None, Path(), lambda _: None)
    judge = DefectMatch()
    made = asyncio.run(judge.cycle(items, outcomes, 1, bench))
    return made, judge.figures(items, outcomes, made, bench, pooled=False)


def test_it_is_a_judge_and_names_its_metrics():
    judge = DefectMatch()
    assert isinstance(judge, Judge)
    assert judge.metrics() == METRICS
    assert (judge.prompts(), judge.planned([], None), dict(judge.asked())) == ((), [], {})


def test_the_figures_of_two_cases():
    found, clean = case("p", BUG), case("q")
    outcomes = [run(found, HIT), run(found, HIT, NOISE, run=2), run(clean, NOISE), run(clean, run=2)]
    _, figures = judged([found, clean], outcomes)
    metrics = figures.metrics
    assert {name: metrics[name].value for name in METRICS} == {
        "effective_recall": 1.0,
        "precision": 0.5,
        "determinism": 0.25,
        "availability": 1.0,
    }
    assert {name: metrics[name].n for name in METRICS} == {
        "effective_recall": 1,
        "precision": 4,
        "determinism": 2,
        "availability": 4,
    }
    assert all(
        metric.higher_is_better and metric.ci_low <= metric.value <= metric.ci_high
        for metric in metrics.values()
    )
    assert figures.headline == "effective_recall"


def test_groups_hold_the_figures_of_their_cases_alone():
    items = [case("p", BUG, language="python"), case("g", BUG, language="go"), case("q", language="go")]
    _, figures = judged(items, [run(items[0], HIT), run(items[1]), run(items[2], NOISE)])
    recall = {
        (group, cell): metrics["effective_recall"].value
        for group, cells in figures.groups.items()
        for cell, metrics in cells.items()
    }
    assert recall == {
        ("kind", "positive"): 0.5,
        ("kind", "clean"): None,
        ("language", "go"): 0.0,
        ("language", "python"): 1.0,
    }
    assert figures.groups["kind"]["clean"]["precision"].value == 0.0
    assert figures.groups["kind"]["positive"]["precision"].value == 1.0


def test_the_denominator_is_closed_over_runs():
    item = case("p", BUG)
    statuses = ["ok", "marker", "blocked", "error", "timeout", "timeout", "skipped"]
    outcomes = [run(item, run=place, status=each) for place, each in enumerate(statuses, start=1)]
    outcomes.append(run(item, HIT, run=8, status="marker"))
    _, figures = judged([item], outcomes)
    assert (figures.planned, figures.scored, figures.skipped) == (8, 2, 1)
    assert figures.unscored == {"marker": 1, "blocked": 1, "error": 1, "timeout": 2}
    assert figures.metrics["availability"].value == 2 / 7


def test_a_case_whose_runs_the_budget_left_out_is_missed():
    items = [case("p", BUG), case("q", BUG)]
    _, figures = judged(items, [run(items[0], HIT), run(items[1], status="skipped")])
    assert figures.metrics["effective_recall"].value == 0.5
    assert figures.metrics["availability"].value == 1.0


def test_one_judgement_a_run_says_why_it_does_not_count():
    item = case("p", BUG)
    outcomes = [
        run(item, HIT),
        run(item, run=2, status="timeout", error="stopped after 5 s"),
        run(item, run=3, status="marker"),
        run(item, run=4, status="skipped", error="the cap"),
    ]
    made, _ = judged([item], outcomes)
    assert [(each.status, each.label, each.error) for each in made] == [
        ("scored", "ok", None),
        ("failed", "timeout", "p, run 2: timeout: stopped after 5 s"),
        ("abstained", "marker", "p, run 3: marker"),
        ("skipped", "skipped", "p, run 4: skipped: the cap"),
    ]
    assert {each.seat for each in made} == {"defect_match"}


@pytest.mark.parametrize(
    ("own", "distance", "covered"),
    [(None, 5, True), (None, 6, False), (8, 8, True), (2, 3, False), (0, 0, True)],
)
def test_a_window_of_the_row_wins_over_the_rubric_s(own, distance, covered):
    item = case("p", BUG if own is None else {**BUG, "window": own})
    _, figures = judged([item], [run(item, {**HIT, "line": 40 + distance})])
    assert figures.metrics["effective_recall"].value == float(covered)
    assert figures.report["defects"][0]["window"] == (5 if own is None else own)


def test_the_window_is_the_rubric_s():
    wide = Rubric.model_validate({"version": "v2", "rules": {**RUBRIC.rules, "window": 20}})
    item = case("p", BUG)
    _, figures = judged([item], [run(item, {**HIT, "line": 60})], wide)
    assert figures.metrics["effective_recall"].value == 1.0


def test_every_defect_is_listed_with_what_covered_it():
    race = {"file": "src/b.py", "line": 9, "mechanism": ["race"]}
    item = case("p", BUG, race)
    outcomes = [run(item, NOISE), run(item, NOISE, HIT, run=2), run(item, {**HIT, "id": "y"}, run=3)]
    _, figures = judged([item], outcomes)
    assert figures.report["defects"] == [
        {
            "case": "p",
            "file": "src/app.py",
            "line": 40,
            "window": 5,
            "mechanism": ["off-by-one", "off by one"],
            "covered": True,
            "covered_by": "x",
            "title": "Off-by-one here",
            "found_line": 42,
            "keyword": "off-by-one",
            "runs": [2, 3],
        },
        {
            "case": "p",
            "file": "src/b.py",
            "line": 9,
            "window": 5,
            "mechanism": ["race"],
            "covered": False,
            "covered_by": None,
            "title": None,
            "found_line": None,
            "keyword": None,
            "runs": [],
        },
    ]


def test_a_finding_without_a_defect_is_listed_once_with_its_runs():
    item = case("p", BUG)
    blocked = run(item, {**NOISE, "id": "z"}, run=3, status="blocked")
    _, figures = judged([item], [run(item, NOISE, HIT), run(item, NOISE, run=2), blocked])
    assert figures.report["unmatched"] == [
        {
            "case": "p",
            "id": "n",
            "file": "src/app.py",
            "line": 200,
            "title": "Unused import",
            "severity": None,
            "runs": [1, 2],
        }
    ]


def test_a_case_is_told_in_full():
    item = case("p", BUG, language="python")
    outcomes = [
        run(item, HIT, NOISE, duration_s=0.12345),
        run(item, HIT, run=2, status="blocked", error="no access"),
    ]
    _, figures = judged([item], outcomes)
    (told,) = figures.report["cases"]
    assert {name: told[name] for name in ("id", "kind", "language", "defects", "covered", "usable")} == {
        "id": "p",
        "kind": "positive",
        "language": "python",
        "defects": 1,
        "covered": 1,
        "usable": 1,
    }
    first, second = told["runs"]
    assert (first["status"], first["usable"], first["duration_s"]) == ("ok", True, 0.123)
    assert [each["matches"] for each in first["findings"]] == [[{"defect": 0, "keyword": "off-by-one"}], []]
    assert first["findings"][0]["body"] == "b"
    assert (second["error"], second["usable"]) == ("no access", False)
    assert second["findings"][0]["matches"] == []


def test_long_texts_are_cut_in_the_report_and_read_whole_for_the_match():
    item = case("p", BUG)
    body = "x" * 5000 + "off-by-one"
    _, figures = judged([item], [run(item, {**HIT, "title": "y" * 400, "body": body})])
    (told,) = figures.report["cases"][0]["runs"][0]["findings"]
    assert (len(told["title"]), len(told["body"])) == (300, 4000)
    assert figures.report["defects"][0]["keyword"] == "off-by-one"
    assert "off-by-one" not in told["body"]


def test_the_report_is_json():
    item = case("p", BUG)
    _, figures = judged([item], [run(item, HIT)])
    told = json.loads(dumps(figures.report))
    assert sorted(told) == ["cases", "defects", "unmatched"]
    assert told["cases"][0]["runs"][0]["cost_usd"] == 0


def test_findings_of_another_program_get_an_id_and_broken_ones_are_refused():
    item = case("p", BUG)
    bare = {"file": "src/app.py", "line": 40, "title": "off by one"}
    _, figures = judged([item], [run(item, bare)])
    assert len(figures.report["defects"][0]["covered_by"]) == 16
    with pytest.raises(InputError) as refused:
        judged([item], [run(item, {**HIT, "line": "42"}), run(item, {**HIT, "file": None}, run=2)])
    assert [problem.where for problem in refused.value.problems] == [
        "item p: run 1: payload.findings.0.line",
        "item p: run 2: payload.findings.0.file",
    ]


def test_expected_defects_that_could_match_everything_or_nothing_are_refused():
    items = [case("p", {**BUG, "mechanism": [" "]}), case("q", {"file": "a", "mechanism": ["x"]})]
    with pytest.raises(InputError) as refused:
        judged(items, [])
    assert [str(problem) for problem in refused.value.problems] == [
        "item p: truth.expected.0.mechanism: a blank keyword would match every finding (found [' '])",
        "item q: truth.expected.0.line: is missing",
    ]


@pytest.mark.parametrize(
    ("rules", "where"),
    [
        ({}, ["rules.window", "rules.match"]),
        ({**RUBRIC.rules, "window": -1}, ["rules.window"]),
        ({**RUBRIC.rules, "window": 2.5}, ["rules.window"]),
        ({**RUBRIC.rules, "match": "anything"}, ["rules.match"]),
        ({**RUBRIC.rules, "windw": 5}, ["rules.windw"]),
    ],
)
def test_a_rubric_with_other_rules_is_refused_before_anything_runs(rules, where):
    rubric = Rubric.model_validate({"version": "v1", "rules": rules})
    problems = DefectMatch().check(rubric)
    assert [problem.where for problem in problems] == [f"the rubric: {each}" for each in where]
    assert DefectMatch().check(RUBRIC) == []


@pytest.mark.skipif(not SHARED.is_file(), reason="the shared rows are not beside this checkout")
def test_the_shared_metric_rows_come_out_exactly():
    rows = [json.loads(line) for line in SHARED.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 13
    for row in rows:
        items = [case(each["id"], *each["expected"]) for each in row["cases"]]
        by_id = {item.id: item for item in items}
        outcomes = [
            run(by_id[each["case"]], *each["findings"], run=each["run"], status=each["status"])
            for each in row["runs"]
        ]
        _, figures = judged(items, outcomes)
        for name in METRICS:
            expected = row["expect"][name]
            value = None if expected is None else float(Fraction(expected["fraction"]))
            assert figures.metrics[name].value == value, (row["id"], name)
        counts = row["expect"]["counts"]
        assert sum(each["covered"] for each in figures.report["defects"]) == counts["covered"]
        assert (figures.planned, figures.scored) == (counts["runs"], counts["usable"])
