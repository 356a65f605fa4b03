"""Fences for untrusted text in a prompt: lines that the text itself cannot hold."""

from hashlib import sha256

SHORTEST = 12


def fence(text: str) -> tuple[str, str]:
    """The line before and the line after a text that is data.

    Both bear a mark made from the text's sha256, so that the same text always gives the same prompt. The
    mark is lengthened until the text does not hold it, in either case of its letters: whoever wrote the text
    cannot have written its fence into it.
    """
    lowered = text.lower()
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    length = SHORTEST
    while digest[:length] in lowered:
        length += 1
        if length > len(digest):
            digest += sha256(digest.encode()).hexdigest()
    mark = digest[:length]
    return f"<<<data {mark}", f"end of data {mark}>>>"
