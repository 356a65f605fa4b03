"""Which part of a run's make-up is behind a difference: corpus, rubric, threshold, prompt, panel, subject."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from evalrunner.baseline.changes import changed, listed
from evalrunner.baseline.written import plain
from evalrunner.receipt.schema import Receipt


@dataclass(frozen=True)
class Side:
    """One of two states.

    Attributes:
        label: what people call it.
        receipt: its receipt.
        shas: sha256 of the texts that it was made with, by file; those that are known.
        texts: those of the texts that were found.
        parameters: the settings of its panel and of what it is asked with; None where they are not known.
    """

    label: str
    receipt: Receipt
    shas: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    parameters: Any = None


def attributed(before: Side, after: Side) -> list[str]:
    """What differs besides the figures, a line each; empty where every fingerprint is the same."""
    return [
        line
        for part in (_corpus, _rubric, _threshold, _prompt, _panel, _subject)
        for line in part(before, after)
    ]


def _corpus(before: Side, after: Side) -> Iterator[str]:
    old, new = before.receipt.corpus, after.receipt.corpus
    if old.corpus_sha8 == new.corpus_sha8:
        return
    sides = [
        {
            "items": corpus.n_takes,
            "location": corpus.location,
            "slug_prefix": corpus.slug_prefix,
            "sampler": None if side.sampler is None else side.sampler.model_dump(exclude_none=True),
        }
        for side, corpus in ((before.receipt, old), (after.receipt, new))
    ]
    causes = listed(changed(*sides)) or "the same sample of the same place: its items differ"
    yield f"corpus {old.corpus_sha8} → {new.corpus_sha8}: {causes}"


def _rubric(before: Side, after: Side) -> Iterator[str]:
    old, new = before.receipt, after.receipt
    if old.rubric_sha8 == new.rubric_sha8:
        return
    same_text = _files(before, after, "rubrics/")
    versions = f"version {old.rubric_version} → {new.rubric_version}"
    if old.rubric_version == new.rubric_version:
        versions = f"the version is {old.rubric_version} on both sides"
    if same_text or _bars(before) == _bars(after):
        yield f"rubric {old.rubric_sha8} → {new.rubric_sha8}: {same_text or 'its text'} differs, {versions}"
    elif same_text is None:
        yield (
            f"rubric {old.rubric_sha8} → {new.rubric_sha8}: the threshold differs, and its text may"
            f" (it is not known of both sides), {versions}"
        )


def _threshold(before: Side, after: Side) -> Iterator[str]:
    if found := changed(_bars(before), _bars(after)):
        yield f"threshold: {listed(found)}"


def _bars(side: Side) -> dict[str, Any]:
    rule = side.receipt.threshold
    bars: dict[str, Any] = {} if rule is None else plain(rule.model_dump(exclude_none=True))
    return bars


def _prompt(before: Side, after: Side) -> Iterator[str]:
    old, new = before.receipt, after.receipt
    if old.prompt_sha8 == new.prompt_sha8:
        return
    files = _files(before, after, "prompts/")
    causes = [f"{files} differs"] if files else []
    if before.parameters is not None and after.parameters is not None:
        found = changed(before.parameters, after.parameters)
        causes += [listed(found)] if found else []
    elif files == "":
        causes.append("the templates are the same, what is asked besides is not")
    yield f"prompt {old.prompt_sha8} → {new.prompt_sha8}: {'; '.join(causes) or 'the cause is not known'}"


def _panel(before: Side, after: Side) -> Iterator[str]:
    old, new = before.receipt, after.receipt
    if old.models_sha8 != new.models_sha8:
        was, now = ", ".join(old.models) or "nobody", ", ".join(new.models) or "nobody"
        yield f"panel {old.models_sha8} → {new.models_sha8}: {was} → {now}"


def _subject(before: Side, after: Side) -> Iterator[str]:
    old, new = before.receipt.subject_sha8, after.receipt.subject_sha8
    if old and new and old != new:
        yield f"subject {old} → {new}"


def _files(before: Side, after: Side, folder: str) -> str | None:
    """The files that differ, with commas; None where a side does not know its own."""
    old = {name: sha for name, sha in before.shas.items() if name.startswith(folder)}
    new = {name: sha for name, sha in after.shas.items() if name.startswith(folder)}
    if not old or not new:
        return None
    return ", ".join(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))


def text_diffs(before: Side, after: Side) -> Iterator[str]:
    """A unified diff, line by line, of every rubric and prompt that differs; says what could not be found."""
    for name in sorted({*before.shas, *after.shas}):
        old, new = before.shas.get(name), after.shas.get(name)
        if old == new or not (before.shas and after.shas):
            continue
        missing = [
            side.label
            for side, sha in ((before, old), (after, new))
            if sha is not None and name not in side.texts
        ]
        if missing:
            yield f"{name}: its text is not to be found any more for {' and '.join(missing)}"
            continue
        yield from unified_diff(
            before.texts.get(name, "").splitlines(),
            after.texts.get(name, "").splitlines(),
            f"{name} ({before.label})",
            f"{name} ({after.label})",
            lineterm="",
        )


Finder = Callable[[str], Iterator[str]]
"""Every text that a file had, by its name below the project's folder."""


def recovered(shas: Mapping[str, str], find: Finder, sha_of: Callable[[str], str]) -> dict[str, str]:
    """The texts with these hashes, as far as they are still to be found."""
    found = {}
    for name, sha in shas.items():
        text = next((text for text in find(name) if sha_of(text) == sha), None)
        if text is not None:
            found[name] = text
    return found
