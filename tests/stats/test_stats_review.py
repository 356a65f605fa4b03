import json
from fractions import Fraction
from pathlib import Path

import pytest

from evalrunner.stats.review import Case, Defect, Finding, Run, match, normal_path, review_figures

F = Fraction
D = Defect("src/app.py", 40, ("off-by-one", "off by one"))
RACE = Defect("src/b.py", 9, ("race",))
HIT = Finding("x", "src/app.py", 40, "Off-by-one in the loop", "The last element is skipped.")
NOISE = Finding("n", "src/app.py", 200, "Unused import", "os is never used.")
OTHER_NOISE = Finding("m", "src/app.py", 200, "Unused import", "os is never used.")
RACING = Finding("w", "src/b.py", 9, "Race on start")
AT_45 = Finding("x", "src/app.py", 45, "Off-by-one in the loop")
NO_LINE = Finding("x", "src/app.py", None, "Off-by-one in the loop")

NAMES = ("effective_recall", "precision", "determinism", "availability")
SHARED = Path(__file__).parents[3] / "shared" / "cases" / "metrics" / "metrics.jsonl"


def ok(case, *findings):
    return Run(case, "ok", findings)


@pytest.mark.parametrize(
    ("cases", "runs", "expected"),
    [
        pytest.param([Case("p", (D,))], [ok("p", HIT)] * 3, (F(1), F(1), F(1), F(1)), id="perfect"),
        pytest.param(
            [Case("p", (D,))], [Run("p", "blocked")] * 3, (F(0), None, None, F(0)), id="unavailable"
        ),
        pytest.param(
            [Case("p", (D,))],
            [Run("p", "marker"), *[ok("p", HIT)] * 2],
            (F(1), F(1), F(1), F(2, 3)),
            id="marker",
        ),
        pytest.param(
            [Case("p", (D,))],
            [Run("p", "marker", (HIT,))],
            (F(1), F(1), None, F(1)),
            id="marker-with-finding",
        ),
        pytest.param(
            [Case("p", (D,))],
            [Run("p", "blocked", (HIT,)), ok("p"), ok("p")],
            (F(0), None, F(1), F(2, 3)),
            id="blocked-with-findings",
        ),
        pytest.param(
            [Case("p", (D,)), Case("q")],
            [ok("p", HIT), ok("p", HIT), ok("q", NOISE), ok("q")],
            (F(1), F(2, 3), F(1, 2), F(1)),
            id="mixed",
        ),
        pytest.param([Case("p", (D,))], [ok("p", AT_45)] * 2, (F(1), F(1), F(1), F(1)), id="window-edge"),
        pytest.param(
            [Case("p", (D,))], [ok("p", NO_LINE), ok("p", HIT)], (F(1), F(1, 2), F(1), F(1)), id="no-line"
        ),
        pytest.param(
            [Case("p", (D,)), Case("q")],
            [ok("p", HIT), ok("p", NOISE), *[ok("q", OTHER_NOISE)] * 3],
            (F(1), F(1, 5), F(1, 2), F(1)),
            id="mean-of-cases-not-of-pairs",
        ),
        pytest.param(
            [Case("p", (D, RACE))],
            [ok("p", HIT), ok("p", RACING)],
            (F(1), F(1), F(0), F(1)),
            id="two-defects",
        ),
        pytest.param(
            [Case("p", (D,)), Case("q", (D,))], [ok("p", HIT)], (F(1, 2), F(1), None, F(1)), id="no-run"
        ),
        pytest.param([Case("q")], [ok("q")], (None, None, None, F(1)), id="only-clean"),
        pytest.param([], [], (None, None, None, None), id="nothing"),
        pytest.param(
            [Case("p", (D, Defect("src/app.py", 42, ("loop",))))],
            [ok("p", HIT)],
            (F(1), F(1), None, F(1)),
            id="one-finding-two-defects",
        ),
    ],
)
def test_figures(cases, runs, expected):
    figures = review_figures(cases, runs)
    assert tuple(getattr(figures, name).value for name in NAMES) == expected


@pytest.mark.skipif(not SHARED.is_file(), reason="the shared rows are not beside this checkout")
def test_the_shared_rows_come_out_exactly():
    rows = [json.loads(line) for line in SHARED.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 13
    for row in rows:
        cases = [
            Case(
                each["id"],
                tuple(
                    Defect(d["file"], d["line"], tuple(d["mechanism"]), d["window"]) for d in each["expected"]
                ),
            )
            for each in row["cases"]
        ]
        runs = [
            Run(each["case"], each["status"], tuple(Finding(**finding) for finding in each["findings"]))
            for each in row["runs"]
        ]
        figures, expect = review_figures(cases, runs), row["expect"]
        for name in NAMES:
            assert getattr(figures, name).value == exact(expect[name]), (row["id"], name)
        pairs = [pair for case in figures.per_case.values() for pair in case.pairs]
        assert (sum(pairs, F(0)) / len(pairs) if pairs else None) == exact(
            expect["determinism_over_all_pairs"]
        )
        counts = expect["counts"]
        each_case = figures.per_case.values()
        assert counts == {
            "defects": figures.effective_recall.n,
            "covered": sum(sum(case.covered) for case in each_case),
            "findings": figures.precision.n,
            "matching": sum(case.matching for case in each_case),
            "runs": figures.availability.n,
            "usable": sum(case.usable for case in each_case),
        }
        for name, case in figures.per_case.items():
            assert expect["per_case"][name] == {
                "covered": list(case.covered),
                "findings": case.findings,
                "matching": case.matching,
                "usable_runs": case.usable,
                "runs": case.runs,
                "determinism": expect["per_case"][name]["determinism"],
            }
            assert case.determinism == exact(expect["per_case"][name]["determinism"])


def exact(figure):
    return None if figure is None else F(figure["fraction"])


@pytest.mark.parametrize(
    ("finding", "keyword"),
    [
        (HIT, "off-by-one"),
        (AT_45, "off-by-one"),
        (Finding("x", "src/app.py", 35, "OFF BY ONE"), "off by one"),
        (Finding("x", "src/app.py", 46, "off-by-one"), None),
        (Finding("x", "src/app.py", 34, "off-by-one"), None),
        (Finding("x", "src/app.py", 40, "loop", "an Off-By-One here"), "off-by-one"),
        (Finding("x", "src/app.py", 40, "off-by", "-one"), None),
        (Finding("x", "app.py", 40, "off-by-one"), None),
        (Finding("x", "SRC/app.py", 40, "off-by-one"), None),
        (Finding("x", "./b/src/app.py", 40, "off-by-one"), "off-by-one"),
        (Finding("x", "a/a/src/app.py", 40, "off-by-one"), None),
        (NO_LINE, None),
    ],
)
def test_match(finding, keyword):
    assert match(D, finding) == keyword


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("./x.py", "x.py"),
        ("a/x.py", "x.py"),
        ("././b/x.py", "x.py"),
        ("a/b/x.py", "b/x.py"),
        ("ab/x.py", "ab/x.py"),
    ],
)
def test_normal_path(path, normal):
    assert normal_path(path) == normal


def test_runs_of_unknown_cases_and_double_ids_are_refused():
    with pytest.raises(ValueError, match="cases that there are not: z"):
        review_figures([Case("p")], [ok("z")])
    with pytest.raises(ValueError, match="one id"):
        review_figures([Case("p"), Case("p")], [])


def test_every_figure_carries_its_count_and_an_interval():
    figures = review_figures([Case("p", (D,)), Case("q")], [*[ok("p", HIT)] * 3, *[ok("q", NOISE)] * 3])
    assert (figures.effective_recall.n, figures.precision.n) == (1, 6)
    assert (figures.determinism.n, figures.availability.n) == (2, 6)
    # Two cases that came out opposite tell as much as two trials, not as much as six.
    assert figures.precision.low < 0.1
    assert figures.precision.high > 0.9
