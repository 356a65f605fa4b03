"""What a code reviewer is worth: recall, precision, determinism, availability, from matches of findings.

The conventions, where the words alone leave a choice:

1. A run is usable when its status is `ok`, or `marker` with at least one finding. What other runs found is
   not scored. Availability is usable runs / all runs.
2. A finding matches a defect in the same file, at most `window` lines away (both ends in), when a keyword of
   the defect stands in its title or in its body, each by itself, in any case. A finding without a line
   matches nothing.
3. Effective recall is defects covered by any usable run / all defects. A case whose runs were all unusable,
   or that never ran, missed its defects.
4. Precision is findings that match a defect / all findings, over usable runs. Several findings on one defect
   all count; one finding on two defects counts once and covers both. On clean cases nothing matches.
5. Determinism of a case is the mean Jaccard index of the finding ids over all pairs of usable runs; over
   cases, the mean of the cases that have one.

What there is nothing to count for is undefined, never 0 or 1.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

from evalrunner.stats.agreement import pairwise_jaccard
from evalrunner.stats.intervals import Estimate, mean_of, proportion

WINDOW = 5


@dataclass(frozen=True)
class Defect:
    """A defect that a reviewer should find: `mechanism` holds keywords, any of which names it."""

    file: str
    line: int
    mechanism: tuple[str, ...]
    window: int = WINDOW


@dataclass(frozen=True)
class Finding:
    """What a reviewer reported; `line` is None where it named none."""

    id: str
    file: str
    line: int | None
    title: str = ""
    body: str = ""


@dataclass(frozen=True)
class Case:
    """One thing reviewed; a clean case has no defects."""

    id: str
    defects: tuple[Defect, ...] = ()


@dataclass(frozen=True)
class Run:
    """One review of one case."""

    case: str
    status: str
    findings: tuple[Finding, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether what it found is scored."""
        return self.status == "ok" or (self.status == "marker" and bool(self.findings))


@dataclass(frozen=True)
class CaseFigures:
    """What became of one case.

    Attributes:
        covered: whether any usable run found each defect, in the case's order.
        findings, matching: over usable runs.
        determinism: None with fewer than two usable runs.
        pairs: the Jaccard index of every pair of usable runs.
    """

    covered: tuple[bool, ...]
    findings: int
    matching: int
    runs: int
    usable: int
    determinism: Fraction | None
    pairs: tuple[Fraction, ...]


@dataclass(frozen=True)
class ReviewFigures:
    """The figures over cases. Every interval treats the case as what was sampled."""

    effective_recall: Estimate
    precision: Estimate
    determinism: Estimate
    availability: Estimate
    per_case: dict[str, CaseFigures]


def normal_path(path: str) -> str:
    """The path without leading `./` and one leading `a/` or `b/`, as diffs write them; its case counts."""
    while path.startswith("./"):
        path = path[2:]
    return path[2:] if path.startswith(("a/", "b/")) else path


def finding_id(file: str, line: int | None, title: str, body: str) -> str:
    """The id of a finding whose reviewer gave it none: 16 hex digits made from what it says.

    It is file, line and title that tell a finding from another, blanks and case of the title aside; the body
    counts where there is no title. So a reviewer that words its explanation anew still says the same.
    """
    words = " ".join((title if title.strip() else body).casefold().split())
    text = json.dumps([normal_path(file), line, words])
    return sha256(text.encode()).hexdigest()[:16]


def match(defect: Defect, finding: Finding) -> str | None:
    """The first keyword by which the finding names the defect at its place; None when it does not match."""
    if finding.line is None or abs(finding.line - defect.line) > defect.window:
        return None
    if normal_path(finding.file) != normal_path(defect.file):
        return None
    texts = (finding.title.casefold(), finding.body.casefold())
    return next((word for word in defect.mechanism if any(word.casefold() in text for text in texts)), None)


def review_figures(cases: Sequence[Case], runs: Iterable[Run]) -> ReviewFigures:
    """The four figures over the cases, and each case's own.

    Raises:
        ValueError: two cases with one id, or a run of a case that is not among them.
    """
    by_case: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_case[run.case].append(run)
    ids = [case.id for case in cases]
    if len(set(ids)) != len(ids):
        raise ValueError("two cases have one id")
    if stray := sorted(set(by_case) - set(ids)):
        raise ValueError(f"runs of cases that there are not: {', '.join(stray)}")
    per_case = {case.id: case_figures(case, by_case[case.id]) for case in cases}
    each = per_case.values()
    return ReviewFigures(
        effective_recall=proportion((sum(case.covered), len(case.covered)) for case in each),
        precision=proportion((case.matching, case.findings) for case in each),
        determinism=mean_of([case.determinism for case in each if case.determinism is not None]),
        availability=proportion((case.usable, case.runs) for case in each),
        per_case=per_case,
    )


def case_figures(case: Case, runs: Sequence[Run]) -> CaseFigures:
    """One case's figures, from all of its runs."""
    usable = [run for run in runs if run.usable]
    findings = [finding for run in usable for finding in run.findings]
    hits = [[match(defect, finding) is not None for defect in case.defects] for finding in findings]
    pairs = pairwise_jaccard([{finding.id for finding in run.findings} for run in usable])
    return CaseFigures(
        covered=tuple(any(hit[index] for hit in hits) for index in range(len(case.defects))),
        findings=len(findings),
        matching=sum(any(hit) for hit in hits),
        runs=len(runs),
        usable=len(usable),
        determinism=sum(pairs, Fraction(0)) / len(pairs) if pairs else None,
        pairs=tuple(pairs),
    )
