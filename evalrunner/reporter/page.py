"""One attempt as a page of Markdown, for a pull request or a job's summary: the verdict, figures, items."""

from collections.abc import Iterator, Sequence

from evalrunner.receipt.compare import Comparison
from evalrunner.receipt.jsontext import number
from evalrunner.receipt.schema import Receipt, parse
from evalrunner.receipt.scores import exact_scores, mean, minimum, overall
from evalrunner.reporter.base import Report
from evalrunner.reporter.checks import (
    Check,
    bars,
    checks,
    delta,
    interval,
    metric_value,
    of_eval,
    side,
)
from evalrunner.reporter.items import Changed, Told, lowest, most_changed, told, untold
from evalrunner.reporter.markdown import escaped, table, within
from evalrunner.reporter.terminal import money
from evalrunner.reporter.text import plain
from evalrunner.stats.rounding import shown

MOST_CHARS = 60_000
"""A page fits into a comment of GitHub (65,536 characters) and of GitLab."""

ITEMS = 3
MOST_ROWS = 100
MOST_LINES = 10
MOST_OF_LINE = 1000
MOST_OF_CELL = 300

Known = dict[tuple[str, str], Check]

VERDICTS = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE", None: "NO VERDICT"}
OUTCOMES = {"ok": "NO REGRESSION", "regression": "REGRESSION", "inconclusive": "INCONCLUSIVE"}
PREFIXES = ("Pass: ", "Fail: ", "Inconclusive: ", "No verdict: ")
MARKS = {"pass": "", "fail": "**below the bar**", "error": "**undefined**", "none": ""}


def page(report: Report, *, feedback: bool) -> str:
    """The page: one line of verdict, the table of figures, the items that changed most, where it came from.

    Without a comparison there is no baseline: the table shows bars, and the items are the lowest ones.

    Args:
        report: what is shown.
        feedback: list the judges' improvements and the errors as well.

    Raises:
        InputError: the receipt is none.
    """
    receipt = parse(report.receipt)
    blocks = [_verdict(receipt, report), _figures(receipt, report), _notes(report), *_items(receipt, report)]
    if feedback:
        blocks.append(_listed("Improvements", receipt.improvements))
        blocks.append(_listed("Errors", [f"{each.modelId}: {each.error}" for each in receipt.errors]))
    footer = _footer(receipt, report)
    body = within(
        MOST_CHARS - len(footer),
        [block for block in blocks if block],
        lambda left: f"{left} more part{'s' if left != 1 else ''} of this report stand in the receipt alone.",
    )
    return f"{body}\n{footer}\n"


def _verdict(receipt: Receipt, report: Report) -> str:
    """One line, which never starts with what others wrote."""
    what = f"{of_eval(report.receipt)}, rubric {escaped(receipt.rubric_version, 40)}"
    first = checks(report)[0]
    if report.against is not None:
        outcome = report.against.comparison.outcome
        advisory = " (advisory)" if report.against.advisory and outcome == "regression" else ""
        return f"**{OUTCOMES[outcome]}**{advisory} {what}: {escaped(first.message, MOST_OF_LINE)}"
    message = first.message
    for prefix in PREFIXES:
        message = message.removeprefix(prefix)
    return f"**{VERDICTS[receipt.verdict]}** {what}: {escaped(message, MOST_OF_LINE)}"


def _figures(receipt: Receipt, report: Report) -> str:
    if report.against is not None:
        return _compared(report.against.comparison)
    by_name: Known = {(check.kind, check.name): check for check in checks(report)}
    return "\n\n".join(part for part in (_dimensions(receipt, by_name), _metrics(receipt, by_name)) if part)


def _compared(comparison: Comparison) -> str:
    if not comparison.changes:
        return ""
    kinds = {change.kind for change in comparison.changes}
    rows = []
    for change in comparison.changes[:MOST_ROWS]:
        mark = "**regressed**" if change.regressed else ""
        if change.baseline is None and change.now is not None:
            mark = "new"
        elif change.now is None and change.baseline is not None:
            mark = "**missing**"
        name = f"**{escaped(change.name)}**" if change.kind == "overall" else escaped(change.name)
        now, before = side(change, change.now), side(change, change.baseline)
        rows.append([name, before, now, delta(change, comparison), mark])
    heading = "metric" if kinds == {"metric"} else "dimension"
    return table([heading, "baseline", "now", "delta", ""], rows, numbers=(1, 2, 3))


def _dimensions(receipt: Receipt, known: Known) -> str:
    if not receipt.scores:
        return ""
    rule = receipt.threshold
    mean_min, min_min = (None, None) if rule is None else (rule.mean_min, rule.min_min)
    rows = [
        [
            escaped(name),
            shown(mean(receipt, name), mean_min),
            shown(minimum(receipt, name), min_min),
            _mark(known, "dimension", name),
        ]
        for name in list(receipt.scores)[:MOST_ROWS]
    ]
    average = overall(receipt)
    if average is not None:
        rows.append(["**overall**", shown(average), "", ""])
    needs = ["" if bar is None else f", at least {number(bar)}" for bar in (mean_min, min_min)]
    return table(["dimension", f"mean{needs[0]}", f"minimum{needs[1]}", ""], rows, numbers=(1, 2))


def _metrics(receipt: Receipt, known: Known) -> str:
    rows = []
    for name, metric in list((receipt.metrics or {}).items())[:MOST_ROWS]:
        low, high = bars(receipt, name)
        asked = [f"at least {number(low)}"] if low is not None else []
        asked += [f"at most {number(high)}"] if high is not None else []
        value = f"{metric_value(metric, low, high)}{interval(metric)}"
        mark = _mark(known, "metric", name)
        rows.append([escaped(name), value, " and ".join(asked), mark])
    headings = ["metric", "value", "bar", ""]
    if not any(row[2] for row in rows):
        headings, rows = headings[:2], [row[:2] for row in rows]
    return table(headings, rows, numbers=(1,)) if rows else ""


def _mark(known: Known, kind: str, name: str) -> str:
    check = known.get((kind, plain(name)))
    if check is None:
        return ""
    return "**misses its bar**" if kind == "metric" and check.state == "fail" else MARKS[check.state]


def _notes(report: Report) -> str:
    """What else differs from the baseline, or is doubtful about the comparison."""
    return "" if report.against is None else _lines(report.against.comparison.warnings)


def _listed(title: str, lines: Sequence[str]) -> str:
    return f"#### {title}\n\n{_lines(lines)}" if lines else ""


def _lines(lines: Sequence[str]) -> str:
    listed = [f"- {escaped(line, MOST_OF_LINE)}" for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        listed.append(f"- and {len(lines) - MOST_LINES} more in the receipt")
    return "\n".join(listed)


def _items(receipt: Receipt, report: Report) -> Iterator[str]:
    """A heading and the items; where judges saw several items at once, what they said of all together."""
    old = None if report.against is None else parse(report.against.baseline)
    if old is None:
        found, title = lowest(receipt, ITEMS), "Lowest items"
    else:
        found, title = most_changed(old, receipt, ITEMS), "Most changed items"
    if found:
        yield f"#### {title}"
        yield from map(_item, found)
    elif not told(receipt):
        yield from _together(receipt, old)
    elif old is not None and untold(old) is None:
        yield "No item changed."
    if why := untold(receipt):
        yield _code(why)
    elif old is not None and (why := untold(old)):
        yield f"Of the baseline: {_code(why)}"


def _code(text: str) -> str:
    return text.replace("judge.chunk_size=1", "`judge.chunk_size=1`")


def _item(changed: Changed) -> str:
    now, before = changed.now, changed.before
    line = f"**{escaped(changed.item, 100)}**"
    if before is not None and before.words != now.words:
        words = now.words.removeprefix("mean ") if before.words else now.words
        line += f": {escaped(before.words) or 'no figure'} → {escaped(words) or 'no figure'}"
    elif now.words:
        line += f": {escaped(now.words)}"
    judges = list(
        dict.fromkeys(judge for each in (before, now) if each for row in each.said.values() for judge in row)
    )
    names = list(dict.fromkeys(row for each in (now, before) if each for row in each.said))
    rows = [
        [escaped(row, 100), *(_cell(before, now, row, judge) for judge in judges)]
        for row in names[:MOST_ROWS]
    ]
    return f"{line}\n\n{table(['', *(escaped(judge, 60) for judge in judges)], rows)}" if rows else line


def _cell(before: Told | None, now: Told, row: str, judge: str) -> str:
    """What a judge said there: before and now where that differs."""
    new = now.said.get(row, {}).get(judge)
    if before is None:
        return "-" if new is None else escaped(new, MOST_OF_CELL)
    old = before.said.get(row, {}).get(judge)
    texts = ["-" if each is None else escaped(each, MOST_OF_CELL) for each in (old, new)]
    if old == new:
        return texts[1]
    brief = all(len(each or "") <= 12 for each in (old, new))
    return f"{texts[0]} → {texts[1]}" if brief else f"baseline: {texts[0]}<br>now: {texts[1]}"


def _together(receipt: Receipt, old: Receipt | None) -> Iterator[str]:
    """The judges side by side, dimension by dimension, where a panel saw all items at once."""
    models = [*next(iter(receipt.scores.values())).per_model] if receipt.scores else []
    if len(models) > 1:
        cells = []
        for name in list(receipt.scores)[:MOST_ROWS]:
            scores = exact_scores(receipt, name)
            if len(scores) == len(models):
                row = [
                    _seat(old, name, model, shown(score)) for model, score in zip(models, scores, strict=True)
                ]
                cells.append([escaped(name), *row])
        yield "#### What each judge said"
        yield table(["", *(escaped(model, 60) for model in models)], cells)


def _seat(old: Receipt | None, name: str, model: str, now: str) -> str:
    if old is None or name not in old.scores:
        return now
    score = old.scores[name].per_model.get(model)
    before = "-" if score is None else shown(score)
    return now if before == now else f"{before} → {now}"


def _footer(receipt: Receipt, report: Report) -> str:
    cost = receipt.cost_usd
    judges = ", ".join(escaped(each, 60) for each in receipt.models[:MOST_LINES]) or "code"
    rule = " (rules; no LLM was asked)" if receipt.judge_kind == "heuristic" else ""
    items = receipt.corpus.n_takes
    parts = [
        f"{items} item{'s' if items != 1 else ''}",
        f"judged by {judges}{rule}",
        "cost unknown" if cost is None else f"cost {money(float(cost))}",
        f"corpus {receipt.corpus.corpus_sha8}",
    ]
    if report.against is not None:
        parts.insert(0, f"this run by itself: {VERDICTS[receipt.verdict]}")
        parts.append(f"baseline of {parse(report.against.baseline).ts}")
    if report.kept:
        parts.append(f"receipt {escaped(report.kept, 200)}")
    return " · ".join(parts).replace("$", "&#36;")
