"""Fingerprints: sha256 of canonical forms that no locale, hash seed, platform or key order can change."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from evalrunner.receipt.jsontext import canonical_json, clean

__all__ = [
    "Fingerprint",
    "canonical_json",
    "content_sha",
    "corpus_sha",
    "item_text",
    "models_sha",
    "of_text",
    "prompt_sha",
    "rubric_sha",
]


@dataclass(frozen=True)
class Fingerprint:
    """The sha256 of a canonical form, as 64 lower-case hex digits."""

    full: str

    @property
    def sha8(self) -> str:
        """The first 8 hex digits: what receipts and file names show."""
        return self.full[:8]


def of_text(text: str) -> Fingerprint:
    """The fingerprint of a text's UTF-8 bytes; lone surrogates count as U+FFFD."""
    return Fingerprint(sha256(clean(text).encode()).hexdigest())


def corpus_sha(texts: Iterable[str]) -> Fingerprint:
    """Over the items' texts exactly as a judge sees them, in sampled order, joined by one newline."""
    whole, newline = sha256(), b""
    for text in texts:
        whole.update(newline + clean(text).encode())
        newline = b"\n"
    return Fingerprint(whole.hexdigest())


def models_sha(ids: Iterable[str]) -> Fingerprint:
    """Over the compact JSON array of the model ids as configured, sorted by code point."""
    return of_text(canonical_json(sorted(map(clean, ids))))


def rubric_sha(content: Mapping[str, Any], threshold: Mapping[str, Any]) -> Fingerprint:
    """Over the parsed rubric file and what the threshold asks for.

    Comments and layout do not matter; a changed word, scale, dimension or bar does.
    """
    return of_text(canonical_json({"rubric": content, "threshold": threshold}))


def prompt_sha(sources: Iterable[tuple[str, str]], asked: Mapping[str, Any]) -> Fingerprint:
    """Over every prompt template used, included ones too, and the settings that change what is asked.

    Args:
        sources: name and text of each template, in any order; line ends do not matter. None at all means that
            no LLM is asked anything: the fingerprint is then that of the empty text, whatever `asked` holds.
        asked: chunking, stop rule, and call parameters by model id.
    """
    templates = sorted({(name, text.replace("\r\n", "\n").replace("\r", "\n")) for name, text in sources})
    if not templates:
        return of_text("")
    return of_text(canonical_json({"asked": asked, "prompts": templates}))


def item_text(payload: Mapping[str, Any], truth: Mapping[str, Any]) -> str:
    """The canonical JSON of an item's payload and truth: its text in the corpus where judges see no other."""
    return canonical_json({"payload": payload, "truth": truth})


def content_sha(payload: Mapping[str, Any], truth: Mapping[str, Any]) -> str:
    """The sha256 of `item_text`, 64 hex digits: what an item is, whatever its id."""
    return of_text(item_text(payload, truth)).full
