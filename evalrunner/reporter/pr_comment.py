"""The text of a comment on a pull request, in Markdown."""

from typing import ClassVar, TextIO

from evalrunner.reporter.base import FiledReporter, Report
from evalrunner.reporter.page import page


class PrCommentReporter(FiledReporter):
    """One line of verdict, the figures beside the baseline's, and the three most changed items.

    It writes the text; posting it is the CI job's, which has the token for it (docs/ci.md).
    """

    lists_items: ClassVar[bool] = True

    def report(self, report: Report, stream: TextIO) -> None:
        """Markdown with a line end, short enough for a comment."""
        stream.write(page(report, feedback=False))
