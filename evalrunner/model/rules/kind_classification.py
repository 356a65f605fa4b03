"""Is the take filed as the kind that its wording, and the page's wording behind it, fits?"""

from evalrunner.model.rules.reading import Reading
from evalrunner.model.rules.take import KINDS, Finding
from evalrunner.model.rules.text import quote


def examine(reading: Reading) -> list[Finding]:
    """Evidence that the filed kind does not fit; English wording only, but for an unknown kind."""
    kind, kinds = reading.take.kind, reading.kinds
    if not kind:
        return []
    if kind not in KINDS:
        return [Finding(f"kind {quote(kind, 20)} is none of {', '.join(KINDS)}", 9)]
    if kinds is None or kind in kinds.fitting:
        return []
    fits = " or ".join(each for each in KINDS if each in kinds.fitting)
    return [Finding(f"filed as {kind}, but {kinds.why}; {fits} would fit", 10 - 2 * len(kinds.fitting))]
