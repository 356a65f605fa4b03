"""A reporter for evalrunner: the dimensions of a receipt as CSV."""

import csv
from typing import TextIO

from evalrunner.reporter.base import FiledReporter, Report


class CsvReporter(FiledReporter):
    """One line a dimension: name, mean, min, max.

    Attributes:
        header: whether the first line names the columns.
    """

    header: bool = True

    def report(self, report: Report, stream: TextIO) -> None:
        """Writes the lines; none but the header where nothing was scored."""
        lines = csv.writer(stream, lineterminator="\n")
        if self.header:
            lines.writerow(["dimension", "mean", "min", "max"])
        for name, score in report.receipt["scores"].items():
            lines.writerow([name, score["mean"], score["min"], score["max"]])
