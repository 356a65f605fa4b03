"""How strata share a limit: pure arithmetic, defined so that another language can repeat it."""

from collections.abc import Mapping


def allocate(counts: Mapping[str | None, int], limit: int) -> dict[str | None, int]:
    """So many rows are taken of each stratum.

    1. A limit of at least all rows takes all. Otherwise a stratum of `c` rows among `n` has the exact share
       `limit * c / n`; it gets the whole part of it.
    2. What is left of the limit goes, one each, to the strata with the largest fractional parts; of equal
       ones to the larger stratum, then to the one whose value comes first by code point, null last.
    3. Where the limit is no smaller than the number of strata, each stratum that has got none takes one from
       the stratum that has got the most at that time (of equal ones from the one that comes last in the order
       of 2: smaller, then later by code point); strata are served in that order.

    Args:
        counts: rows a stratum, each at least 1; None is the stratum of the rows without a value.
        limit: rows to take, at least 0.

    Returns:
        Rows a stratum; their sum is the smaller of limit and rows.
    """
    total = sum(counts.values())
    if limit >= total:
        return dict(counts)
    order = sorted(counts, key=lambda value: (-counts[value], value is None, value or ""))
    shares = {value: limit * counts[value] // total for value in order}
    by_rest = sorted(order, key=lambda value: -(limit * counts[value] % total))
    for value in by_rest[: limit - sum(shares.values())]:
        shares[value] += 1
    if limit >= len(order):
        for value in order:
            if not shares[value]:
                giver = max(reversed(order), key=lambda each: shares[each])
                shares[giver] -= 1
                shares[value] = 1
    return shares
