"""The block `baseline` of a configuration: figures that later runs are held to, and where they come from."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidatorFunctionWrapHandler, field_validator

from evalrunner.component import Component
from evalrunner.receipt.schema import Receipt, unknown
from evalrunner.receipt.values import Sha256, Timestamp


class Baseline(Component):
    """What an option of group `baseline` holds besides the settings of its run.

    Attributes:
        saved: when it was written.
        author: who saved it, as git knows them; None where git does not.
        reason: why, in that person's words.
        previous: the fingerprint of the baseline that it took the place of.
        rows: the sha256 of the JSONL file beside it that holds the receipt's rows; None where there is none.
        texts: sha256 of the rubric's and the prompts' texts, by file below the project's folder.
        receipt: the run's receipt, as far as it is needed to compare with: no spend, and no settings that
            stand in the option itself.
    """

    saved: Timestamp
    author: str | None = None
    reason: str | None = None
    previous: Sha256 | None = None
    rows: Sha256 | None = None
    texts: dict[str, Sha256] = Field(default_factory=dict)
    receipt: Receipt

    @field_validator("receipt", mode="wrap")
    @classmethod
    def _known(cls, value: Any, handler: ValidatorFunctionWrapHandler) -> Receipt:
        """A receipt of another program may hold more; one that is written here may not."""
        receipt: Receipt = handler(value)
        strange = unknown(value, receipt) if isinstance(value, Mapping) else []
        if strange:
            raise ValueError(f"no such keys of a receipt: {', '.join(strange)}")
        return receipt
