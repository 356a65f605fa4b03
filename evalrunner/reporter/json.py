"""The receipt as JSON, and nothing else."""

from typing import TextIO

from evalrunner.receipt.files import dumps
from evalrunner.receipt.jsontext import readable_json
from evalrunner.reporter.base import FiledReporter, Report


class JsonReporter(FiledReporter):
    """Writes the receipt exactly as it is kept, or the comparison with both receipts where there is one."""

    def report(self, report: Report, stream: TextIO) -> None:
        """One JSON document with a line end."""
        against = report.against
        if against is None:
            stream.write(dumps(report.receipt))
            return
        from evalrunner.reporter.comparison import comparison_json

        whole = comparison_json(against.comparison, against.baseline, report.receipt)
        stream.write(readable_json(whole) + "\n")
