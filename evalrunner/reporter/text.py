"""Making untrusted text harmless for the place where it is shown."""

import re

_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+"
)


def plain(text: str) -> str:
    """One line of the text: control characters, escapes, bidirectional overrides and surrogates are gone.

    Tabs and line ends become blanks, and runs of blanks become one.
    """
    return " ".join(_HARMFUL.sub(" ", text).split())


def as_it_stands(line: str) -> str:
    """A line with its blanks kept; what a terminal would act on becomes U+FFFD."""
    return _HARMFUL.sub("\ufffd", line.expandtabs(4))
