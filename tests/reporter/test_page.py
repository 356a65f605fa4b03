"""The page for pull requests and summaries: verdict, figures, the items that changed and what was said."""

import io
from typing import Any

import cmarkgfm
from reports import SEATS, judged, report, review, takes

from evalrunner.reporter.page import MOST_CHARS, page
from evalrunner.reporter.pr_comment import PrCommentReporter


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def by_item(scores: dict[str, tuple[int, int]], **changes: Any) -> dict[str, Any]:
    """A receipt whose two seats judged each item by itself: item -> their scores of accuracy."""
    rows = [
        judged(item, seat, {"accuracy": score}, f"{item} as seat {seat} sees it")
        for item, both in scores.items()
        for seat, score in enumerate(both)
    ]
    means = [sum(column) / len(column) for column in zip(*scores.values(), strict=True)]
    return takes({"accuracy": means}, judgements=rows, **changes)


def test_without_a_comparison_there_is_no_baseline() -> None:
    text = page(
        report(takes({"accuracy": [7, "6.992"]}, verdict="fail", verdictMessage="Fail: low.")), feedback=False
    )
    assert lines(text)[0] == "**FAIL** takes_quality, rubric v1.0: low."
    assert lines(text)[1:5] == [
        "| dimension | mean, at least 7 | minimum, at least 5 |  |",
        "| :-- | --: | --: | :-- |",
        "| accuracy | 6.99 | 6.99 | **below the bar** |",
        "| **overall** | 7.00 |  |  |",
    ]
    assert "baseline" not in text


def test_a_comparison_shows_baseline_now_and_delta() -> None:
    text = page(report(takes({"accuracy": [5, 5]}), takes({"accuracy": [9, 9]})), feedback=False)
    assert lines(text)[:5] == [
        "**REGRESSION** takes_quality, rubric v1.0: accuracy got worse by 4, more than 0.5; "
        "overall got worse by 4, more than 0.5",
        "| dimension | baseline | now | delta |  |",
        "| :-- | --: | --: | --: | :-- |",
        "| accuracy | 9.00 | 5.00 | -4.00 | **regressed** |",
        "| **overall** | 9.00 | 5.00 | -4.00 | **regressed** |",
    ]
    assert "this run by itself: PASS" in text


def test_a_baseline_without_figures_of_items_is_no_baseline_without_changes() -> None:
    rows = [judged("a", seat, {"accuracy": 9}) | {"item_ids": ["a", "b"]} for seat in (0, 1)]
    together, apart = takes({"accuracy": [9, 9]}, judgements=rows), by_item({"a": (9, 9), "b": (9, 9)})
    remedy = "with `judge.chunk_size=1` each has."
    text = page(report(apart, together), feedback=False)
    assert "No item changed" not in text
    assert [line.split(":")[0] for line in lines(text) if remedy in line] == ["Of the baseline"]
    assert page(report(together, apart), feedback=False).count(remedy) == 1
    assert "No item changed." in page(report(apart, apart), feedback=False)


def test_the_three_most_changed_items_with_the_judges_side_by_side() -> None:
    before = by_item({"a": (9, 9), "b": (9, 9), "c": (9, 9), "d": (9, 9), "gone": (9, 9)})
    now = by_item({"a": (9, 9), "b": (2, 4), "c": (8, 9), "d": (9, 5), "new": (1, 1)})
    text = page(report(now, before), feedback=False)
    shown = [line for line in lines(text) if line.startswith("**")]
    assert shown[1:] == ["**b**: mean 9.00 → 3.00", "**d**: mean 9.00 → 7.00", "**c**: mean 9.00 → 8.50"]
    block = text.split("**b**: ")[1].split("**d**")[0]
    assert lines(block)[1:] == [
        f"|  | {SEATS[0]} | {SEATS[1]} |",
        "| :-- | :-- | :-- |",
        "| accuracy | 9.00 → 2.00 | 9.00 → 4.00 |",
        "| said | b as seat 0 sees it | b as seat 1 sees it |",
    ]


def test_a_seat_that_did_not_contribute_says_why() -> None:
    now = by_item({"a": (9, 9)})
    now["judgements"][1] |= {"status": "rejected", "values": {}, "error": "no JSON", "evidence": None}
    text = page(report(now, by_item({"a": (9, 9)})), feedback=False)
    assert "baseline: a as seat 1 sees it<br>now: rejected: no JSON" in text
    assert "| accuracy | 9.00 | 9.00 → - |" in text


def test_without_a_comparison_the_lowest_items_are_shown() -> None:
    text = page(report(by_item({"a": (9, 9), "b": (3, 3), "c": (8, 8), "d": (7, 7)})), feedback=False)
    shown = [line for line in lines(text) if line.startswith("**")]
    assert shown[1:] == ["**b**: mean 3.00", "**d**: mean 7.00", "**c**: mean 8.00"]


def test_where_the_judges_saw_all_items_at_once_they_stand_side_by_side_by_dimension() -> None:
    rows = [judged("x", seat, {"accuracy": 9}) | {"item_ids": ["x", "y"]} for seat in (0, 1)]
    before = takes({"accuracy": [9, 8]}, judgements=rows)
    now = takes({"accuracy": [9, 5]}, judgements=rows)
    text = page(report(now, before), feedback=False)
    assert "| accuracy | 9.00 | 8.00 → 5.00 |" in text
    assert "`judge.chunk_size=1`" in text


def test_only_the_cycle_that_counts_is_shown() -> None:
    now = by_item({"a": (9, 9)}, cycles={"max": 2, "stop": "verdict", "verdicts": ["fail", "pass"]})
    first = [row | {"values": {"accuracy": 1}} for row in now["judgements"]]
    now["judgements"] = [*first, *(row | {"cycle": 2} for row in now["judgements"])]
    assert "**a**: mean 9.00" in page(report(now), feedback=False)
    now["cycles"]["stop"] = "never"
    assert "**a**: mean 5.00" in page(report(now), feedback=False)


def test_seats_of_one_model_are_told_apart() -> None:
    now = by_item({"a": (9, 3)})
    for row in now["judgements"]:
        row["model"] = "openai:a"
    assert "|  | openai:a, seat 1 | openai:a, seat 2 |" in page(report(now), feedback=False)


def test_a_review_shows_each_defect_before_and_now() -> None:
    before = review()
    before["defects"][1] |= {"covered": True, "title": "Race on the lock"}
    before["cases"][0]["covered"] = 2
    text = page(report(review(), before), feedback=False)
    assert "| effective_recall | 0.500 | 0.500 | 0.000 |  |" in text
    assert "**loop**: 2 of 2 defects found → 1 of 2 defects found" in text
    assert "| src/a b,c.py:7 | baseline: found: Race on the lock<br>now: missed |" in text
    assert "**clean**" not in text


def test_a_clean_case_is_measured_by_its_silence() -> None:
    before = review(unmatched=[])
    before["cases"][1]["runs"][0]["findings"] = []
    text = page(report(review(), before), feedback=False)
    assert (
        "**clean**: a clean change; 1 of 1 runs said nothing → a clean change; 0 of 1 runs said nothing"
        in text
    )
    assert "| other findings | baseline: -<br>now: 1: Unused import |" in text


def ruled(verdict: str, *, right: bool) -> dict[str, Any]:
    ruling = {"run": 1, "verdict": verdict, "reason": "because", "right": right}
    finding = {"id": "f1", "title": "Off by one", "label": "real", "verdicts": [ruling]}
    return takes(
        {},
        eval="review_judge",
        judge={"name": "label_match"},
        verdict="pass",
        metrics={"real_keep_rate": {"value": 1 if right else 0, "n": 1}},
        items=[{"id": "batch", "findings": [finding]}],
        judgements=[judged("batch", 0, {})],
    )


def test_a_batch_of_verdicts_shows_them_finding_by_finding() -> None:
    text = page(report(ruled("REJECT", right=False), ruled("KEEP", right=True)), feedback=False)
    assert "**batch**: 1 of 1 verdicts right → 0 of 1 verdicts right" in text
    assert f"|  | {SEATS[0]} |" in text
    assert "| Off by one (real) | baseline: KEEP: because<br>now: REJECT: because |" in text


def voted(word: str) -> dict[str, Any]:
    votes = [{"seat": SEATS[0], "verdict": word, "class": None, "reason": "same tree"}]
    return takes(
        {},
        eval="blind_reimplementation",
        judge={"name": "diff_verdict"},
        verdict=None,
        metrics={"defect_rate": {"value": 0, "n": 1, "higher_is_better": False}},
        items=[{"id": "issue-7", "run": 1, "verdict": word, "votes": votes}],
    )


def test_a_sample_shows_each_seats_vote() -> None:
    text = page(report(voted("defect"), voted("correct")), feedback=False)
    assert "**issue-7**: correct → defect" in text
    assert "| verdict | baseline: correct: same tree<br>now: defect: same tree |" in text


def test_what_judges_and_items_say_renders_as_text() -> None:
    now = by_item({"<b>x</b> @octocat": (2, 2)})
    now["judgements"][0]["evidence"] = ["closes #1 ![x](https://evil.example) | <script>"]
    html = cmarkgfm.github_flavored_markdown_to_html(page(report(now), feedback=True))
    for markup in ("<a ", "<img", "<script", "<b>", "@octocat", "#1"):
        assert markup not in html
    assert html.count("<table>") == 2


def test_no_line_starts_with_what_others_wrote() -> None:
    """GitLab takes a line that starts with a slash for a command."""
    now = by_item({"/close": (2, 2)}, improvements=["/merge"], verdictMessage="/approve", rubric_version="/x")
    now["errors"] = [{"modelId": "/assign", "error": "/label"}]
    text = page(report(now, kept="/tmp/receipt.json"), feedback=True)
    assert not [line for line in text.splitlines() if line.lstrip().startswith("/")]


def test_the_longest_page_fits_into_a_comment() -> None:
    said = ["@x" * 4000] * 3
    rows = [
        judged(f"item {n}", seat, {f"dimension {d}": 5 for d in range(60)}) | {"evidence": said}
        for n in range(5)
        for seat in (0, 1)
    ]
    columns = {f"dimension {n} {'é' * 200}": [5, 5] for n in range(300)}
    now = takes(columns, judgements=rows, improvements=said * 9, verdict="fail", verdictMessage="@x" * 9000)
    text = page(report(now), feedback=True)
    assert len(text) <= MOST_CHARS
    assert "60" in text.splitlines()[-1] or "item" in text.splitlines()[-1]


def test_the_rule_based_judge_is_named_as_such() -> None:
    now = takes({"accuracy": [9, 9]}, judge_kind="heuristic")
    assert "(rules; no LLM was asked)" in page(report(now), feedback=False)


def test_the_comment_is_the_page_without_feedback() -> None:
    stream = io.StringIO()
    PrCommentReporter().report(report(takes({"accuracy": [9, 9]}, improvements=["more"])), stream)
    assert stream.getvalue().startswith("**PASS** ")
    assert "more" not in stream.getvalue()


def test_metrics_show_their_bars_where_there_are_any() -> None:
    text = page(report(review()), feedback=False)
    assert "| metric | value | bar |  |" in text
    assert "| effective_recall | 0.500 (n = 2, 95 % interval 0.100 to 0.900) | at least 0.6 | " in text
    bare = page(report(review(threshold={"name": "none"})), feedback=False)
    assert "| metric | value |\n" in bare
