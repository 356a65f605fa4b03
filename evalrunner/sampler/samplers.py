"""The samplers. Each only says which items are taken; see `evalrunner.records.Selection`."""

import secrets
from typing import Annotated, Literal

from pydantic import Field

from evalrunner.component import Component
from evalrunner.records import Selection

MOST = 2**63 - 1
"""The largest whole number that files, databases and JSON readers agree on."""

Limit = Annotated[int, Field(ge=0, le=MOST)] | None
"""At most so many items; null takes all."""

Seed = Annotated[int, Field(ge=0, le=MOST)] | Literal["fresh"]
"""A whole number, or `fresh`: one is drawn and recorded."""


def _drawn(seed: int | Literal["fresh"]) -> int:
    return secrets.randbelow(2**32) if seed == "fresh" else seed


class AllSampler(Component):
    """The items in the source's order, the first `limit` of them."""

    limit: Limit = None

    def plan(self) -> Selection:
        """The selection."""
        return Selection(order="source", sampler="all", limit=self.limit)


class RandomSampler(Component):
    """A random sample that anybody can repeat.

    The items come in the order of the sha256 of `<seed>\\x1f<id>` (UTF-8, lower-case hex), the first `limit`
    of them. The sample depends on nothing else: neither on the order of rows nor on the file format.
    """

    limit: Limit = 100
    seed: Seed = 0

    def plan(self) -> Selection:
        """The selection, with the seed that was set or drawn."""
        return Selection(order="sha256", sampler="random", seed=_drawn(self.seed), limit=self.limit)


class StableHashSampler(Component):
    """A sample that stays as it is while the corpus grows.

    As `RandomSampler` with an empty seed: the order is that of the sha256 of `\\x1f<id>`. A new item enters
    the sample only in front of another one, and takes the place of the last.
    """

    limit: Limit = 100

    def plan(self) -> Selection:
        """The selection; it has no seed."""
        return Selection(order="sha256", sampler="stable_hash", limit=self.limit)


class StratifiedSampler(Component):
    """A random sample in which each value of a field has its share.

    A stratum is the set of the `c` items with one value of the field `by`, taken as text; the items without a
    value, or with a blank one, are a stratum of their own. Of `n` items, with a limit below `n`:

    1. Each stratum gets the whole part of `limit * c / n`.
    2. What is left of the limit goes, one each, to the strata with the largest fractional parts; of equal
       ones to the larger stratum, then to the value that comes first by code point, no value last.
    3. Where the limit is no smaller than the number of strata, each stratum that has got none takes one from
       the stratum that has got the most; of equal ones from the last in the order of 2 (larger first).

    Of each stratum its first items in the order of `RandomSampler` are taken; all that are taken come in that
    order, whatever their strata. `by` is a known field of the rows or any column with plain values.
    """

    by: Annotated[str, Field(min_length=1)]
    limit: Limit = 100
    seed: Seed = 0

    def plan(self) -> Selection:
        """The selection, with the seed that was set or drawn."""
        return Selection(
            order="sha256",
            sampler="stratified",
            seed=_drawn(self.seed),
            limit=self.limit,
            stratify=self.by,
        )
