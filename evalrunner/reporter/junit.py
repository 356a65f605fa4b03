"""JUnit XML, which CI systems show as test results: one test case for the verdict and for each figure."""

import re
from typing import TextIO
from xml.etree import ElementTree

from evalrunner.receipt.jsontext import clean, number
from evalrunner.receipt.schema import Receipt, parse
from evalrunner.reporter.base import FiledReporter, Report
from evalrunner.reporter.checks import Check, checks, of_eval
from evalrunner.reporter.text import plain

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JunitReporter(FiledReporter):
    """A test suite: the verdict, then every dimension and metric, or every figure of a comparison.

    A figure that misses its bar, or regressed, is a failure; what could not be told is an error, so that an
    inconclusive run is never a green one. A figure without a bar is a skipped test.
    """

    def report(self, report: Report, stream: TextIO) -> None:
        """One XML document, UTF-8, with a line end."""
        suite = _suite(report)
        every = ElementTree.Element("testsuites", {"name": "evalrunner", **_counts(checks(report))})
        every.append(suite)
        ElementTree.indent(every)
        text = ElementTree.tostring(every, encoding="unicode")
        stream.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _suite(report: Report) -> ElementTree.Element:
    receipt = parse(report.receipt)
    name = of_eval(report.receipt)
    every = checks(report)
    suite = ElementTree.Element("testsuite", {"name": name, **_counts(every), "timestamp": receipt.ts})
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in _properties(receipt, report).items():
        ElementTree.SubElement(properties, "property", {"name": key, "value": _xml(value)})
    failure = "threshold" if report.against is None else "regression"
    for check in every:
        suite.append(_case(name, check, failure))
    return suite


def _counts(every: list[Check]) -> dict[str, str]:
    states = [check.state for check in every]
    return {
        "tests": str(len(states)),
        "failures": str(states.count("fail")),
        "errors": str(states.count("error")),
        "skipped": str(states.count("none")),
    }


def _case(suite: str, check: Check, failure: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {"classname": suite, "name": _xml(check.name)})
    message = _xml(check.message)
    if check.state in {"fail", "error"}:
        tag, kind = ("failure", failure) if check.state == "fail" else ("error", "inconclusive")
        told = ElementTree.SubElement(case, tag, {"type": kind, "message": message})
        told.text = message
    elif check.state == "none":
        ElementTree.SubElement(case, "skipped", {"message": message})
    else:
        ElementTree.SubElement(case, "system-out").text = message
    return case


def _properties(receipt: Receipt, report: Report) -> dict[str, str]:
    """What names the attempt."""
    told = {
        "run_id": receipt.run_id,
        "rubric": f"{receipt.rubric_version} ({receipt.rubric_sha8})",
        "corpus": receipt.corpus.corpus_sha8,
        "prompt": receipt.prompt_sha8,
        "models": ", ".join(receipt.models) or "none",
        "judge_kind": receipt.judge_kind,
        "items": str(receipt.corpus.n_takes),
        "cost_usd": "unknown" if receipt.cost_usd is None else number(receipt.cost_usd),
        "receipt": report.kept,
    }
    return {name: value for name, value in told.items() if value is not None}


def _xml(text: str) -> str:
    """One line of the text, as other reporters show it, without what XML 1.0 cannot hold."""
    return _NO_XML.sub("", plain(clean(text)))
