"""Whether what is about to run is what a baseline was measured with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalrunner.errors import DriftError, Problem
from evalrunner.pipeline.assembly import Identity
from evalrunner.pipeline.session import Session, marks, templates
from evalrunner.receipt.fingerprint import of_text
from evalrunner.receipt.schema import Receipt
from evalrunner.records import Item

PARTS = ("corpus", "prompt", "models", "rubric", "subject")


@dataclass(frozen=True)
class Drift:
    """A fingerprint that is another one now; both in full where the receipt has it in full."""

    part: str
    then: str
    now: str


def drifts(receipt: Receipt, now: Identity, parts: Iterable[str] = PARTS) -> list[Drift]:
    """The fingerprints that differ from a receipt's; those that it does not have are left out."""
    full = {} if receipt.fingerprints is None else receipt.fingerprints.model_dump()
    short = {
        "corpus": receipt.corpus.corpus_sha8,
        "prompt": receipt.prompt_sha8,
        "models": receipt.models_sha8,
        "rubric": receipt.rubric_sha8,
        "subject": receipt.subject_sha8,
    }
    found = []
    for part in parts:
        then = full.get(part) or short[part]
        mark = getattr(now, part).full
        if then is not None and not mark.startswith(then):
            found.append(Drift(part, then, mark))
    return found


def texts(session: Session) -> dict[str, str]:
    """The texts of the rubric and of every prompt that an LLM is asked with, by file below the project."""
    found = {f"prompts/{name}": text for name, text in templates(session)}
    path = session.rubric.path
    if path is not None:
        found[f"rubrics/{path.name}"] = path.read_text(encoding="utf-8-sig")
    return dict(sorted(found.items()))


def text_shas(found: Mapping[str, str]) -> dict[str, str]:
    """The sha256 of each text."""
    return {name: of_text(text).full for name, text in found.items()}


def refuse_drift(session: Session, items: Sequence[Item]) -> None:
    """Refuses to run anything but what the configured baseline was measured with.

    Raises:
        DriftError: a fingerprint differs; each one, with what is behind it as far as that can be told.
    """
    baseline = session.config.baseline
    assert baseline is not None
    now = marks(session, items, dict(session.config.subject.described()))
    problems = [
        Problem(
            f"{each.part} fingerprint",
            "; ".join(["differs from the baseline's", *_behind(session, items, each.part)]),
            each.now[:8],
            each.then[:8],
        )
        for each in drifts(baseline.receipt, now)
    ]
    if problems:
        raise DriftError(problems)


def _behind(session: Session, items: Sequence[Item], part: str) -> Iterator[str]:
    """What makes a fingerprint differ, in words."""
    baseline, config = session.config.baseline, session.config
    assert baseline is not None
    then = baseline.receipt
    if part == "corpus":
        yield f"{then.corpus.n_takes} items then, {len(items)} now"
    elif part == "models":
        yield f"{', '.join(then.models) or 'nobody'} then, {', '.join(session.models) or 'nobody'} now"
    elif part in {"rubric", "prompt"}:
        shas = text_shas(texts(session))
        files = [
            name
            for name in sorted({*shas, *baseline.texts})
            if name.startswith(part) and shas.get(name) != baseline.texts.get(name)
        ]
        if files:
            yield f"{', '.join(files)} changed"
        elif part == "prompt":
            yield "the templates are the same, the models or what they are asked with are not"
        if part == "rubric" and then.threshold is not None:
            bars = then.threshold.model_dump(exclude_unset=True)
            new = dict(config.threshold.shown())
            yield from (
                f"threshold {name}: {bars.get(name)} then, {new.get(name)} now"
                for name in dict.fromkeys([*bars, *new])
                if bars.get(name) != new.get(name)
            )
