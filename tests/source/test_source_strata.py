"""Shares of strata: hand-computed, and what holds for all."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from evalrunner.records import Selection
from evalrunner.source.carry_out import choose
from evalrunner.source.strata import allocate


def test_shares_by_largest_remainder():
    # 20 of 200: exactly 10, 6, 3, 1.
    assert allocate({"a": 100, "b": 60, "c": 30, "d": 10}, 20) == {"a": 10, "b": 6, "c": 3, "d": 1}
    # 10 of 100: 4.7, 3.1, 2.2 give 4 + 3 + 2; the tenth goes to the largest fraction.
    assert allocate({"a": 47, "b": 31, "c": 22}, 10) == {"a": 5, "b": 3, "c": 2}


def test_equal_remainders_go_to_the_larger_stratum_then_by_code_point_and_null_last():
    # 2 of 4 rows in 4 strata: 0.5 each.
    assert allocate({None: 1, "b": 1, "ä": 1, "a": 1}, 2) == {"a": 1, "b": 1, "ä": 0, None: 0}
    # 1 of 6: 0.5, 0.5 (3 rows each).
    assert allocate({"z": 3, "a": 3}, 1) == {"z": 0, "a": 1}
    # 2 of 8: 1.5 and 0.5: the larger one.
    assert allocate({"a": 2, "b": 6}, 2) == {"a": 1, "b": 1}


def test_a_rare_stratum_gets_one_where_the_limit_allows():
    # 10 of 1000: 9.8, 0.1, 0.1: the tenth goes to a; then b and c take one each from a.
    assert allocate({"a": 980, "b": 10, "c": 10}, 10) == {"a": 8, "b": 1, "c": 1}
    # Fewer than strata: no guarantee.
    assert allocate({"a": 980, "b": 10, "c": 10}, 2) == {"a": 2, "b": 0, "c": 0}
    # The giver is the one with the most, of equal ones the last: 4 of 206 are 1.94, 1.94, 0.06, 0.06.
    assert allocate({"a": 100, "b": 100, "c": 3, "d": 3}, 4) == {"a": 1, "b": 1, "c": 1, "d": 1}


def test_no_limit_no_rows():
    assert allocate({"a": 3}, 0) == {"a": 0}
    assert allocate({}, 5) == {}
    assert allocate({"a": 3, None: 1}, 4) == {"a": 3, None: 1}
    assert allocate({"a": 3, None: 1}, 400) == {"a": 3, None: 1}


@given(
    st.dictionaries(st.none() | st.text(max_size=2), st.integers(1, 500), max_size=12), st.integers(0, 3000)
)
def test_shares_add_up_stay_near_the_exact_share_and_miss_no_stratum(counts, limit):
    shares = allocate(counts, limit)
    total = sum(counts.values())
    assert sum(shares.values()) == min(limit, total)
    assert shares.keys() == counts.keys()
    assert all(0 <= shares[each] <= counts[each] for each in counts)
    if limit >= len(counts):
        assert all(shares.values())
    if limit < total and all(limit * count >= total for count in counts.values()):
        assert all(abs(shares[each] - Fraction(limit * counts[each], total)) < 1 for each in counts)
    assert allocate(dict(reversed(counts.items())), limit) == shares


def test_of_each_stratum_the_first_are_taken_in_the_order_of_all():
    ids = [f"i{number}" for number in range(40)]
    strata = ["x" if number % 4 else None for number in range(40)]
    plain = Selection(order="sha256", sampler="random", seed=9)
    order = choose(ids, strata, plain)
    taken = choose(ids, strata, plain.model_copy(update={"stratify": "f", "limit": 8}))
    first = [at for at in order if strata[at] == "x"][:6] + [at for at in order if strata[at] is None][:2]
    assert taken == [at for at in order if at in first]
    assert choose(ids, strata, plain.model_copy(update={"stratify": "f"})) == order
