"""The receipt as JSON, and nothing else."""

from typing import TextIO

from evalrunner.component import Component
from evalrunner.receipt.files import dumps
from evalrunner.reporter.base import Report


class JsonReporter(Component):
    """Writes the receipt exactly as it is kept."""

    def report(self, report: Report, stream: TextIO) -> None:
        """One JSON document with a line end."""
        stream.write(dumps(report.receipt))
