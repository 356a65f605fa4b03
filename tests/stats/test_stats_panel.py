from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalrunner.stats.panel import ChunkScore, mean, quorum_needed, seat_scores, verdict

DIMENSIONS = ("accuracy", "tone")
F = Fraction


def part(place, cycle, chunk, items, accuracy):
    values = None if accuracy is None else {"accuracy": Decimal(str(accuracy)), "tone": Decimal(5)}
    return ChunkScore(place, cycle, chunk, items, values)


def accuracy(parts, *, chunks, pooled=False):
    scores = seat_scores(parts, DIMENSIONS, chunks=chunks, pooled=pooled)
    return {place: values["accuracy"] for place, values in scores.items()}


def test_chunks_are_weighted_by_their_items():
    parts = [part(0, 1, 1, 40, "7.5"), part(0, 1, 2, 40, 8), part(0, 1, 3, 10, 4)]
    # (40 * 7.5 + 40 * 8 + 10 * 4) / 90
    assert accuracy(parts, chunks=3) == {0: F(660, 90)}


def test_a_seat_contributes_only_with_every_chunk():
    parts = [
        part(0, 1, 1, 2, 7),
        part(0, 1, 2, 2, None),
        part(1, 1, 1, 2, 7),
        part(2, 1, 1, 2, 7),
        part(2, 1, 2, 2, 9),
    ]
    assert accuracy(parts, chunks=2) == {2: F(8)}


def test_a_missing_dimension_contributes_nothing():
    half = ChunkScore(0, 1, 1, 2, {"accuracy": Decimal(9)})
    assert seat_scores([half], DIMENSIONS, chunks=1, pooled=False) == {}


def test_the_last_cycle_counts_even_when_it_is_worse():
    parts = [part(0, 1, 1, 1, 9), part(1, 1, 1, 1, 9), part(0, 2, 1, 1, 6), part(1, 2, 1, 1, None)]
    assert accuracy(parts, chunks=1) == {0: F(6)}


def test_pooled_takes_the_mean_of_contributing_cycles():
    parts = [part(0, 1, 1, 1, 9), part(0, 2, 1, 1, None), part(0, 3, 1, 1, 8), part(0, 4, 1, 1, 8)]
    assert accuracy(parts, chunks=1, pooled=True) == {0: F(25, 3)}


def test_extra_values_are_left_out_and_order_is_the_rubrics():
    one = ChunkScore(0, 1, 1, 1, {"other": Decimal(1), "tone": Decimal(3), "accuracy": Decimal(2)})
    scores = seat_scores([one], DIMENSIONS, chunks=1, pooled=False)
    assert list(scores[0].items()) == [("accuracy", F(2)), ("tone", F(3))]


def test_nothing_gives_nothing():
    assert seat_scores([], DIMENSIONS, chunks=0, pooled=False) == {}
    assert seat_scores([part(0, 1, 1, 1, 7)], DIMENSIONS, chunks=0, pooled=True) == {}


def test_two_answers_or_empty_chunks_are_refused():
    with pytest.raises(ValueError, match="answers 2 times for chunk 1"):
        accuracy([part(0, 1, 1, 1, 7), part(0, 1, 1, 1, 8)], chunks=1)
    with pytest.raises(ValueError, match="no items"):
        accuracy([part(0, 1, 1, 0, 7)], chunks=1)


PARTS = st.builds(
    lambda rows: [
        ChunkScore(
            place, cycle, chunk, chunk + 1, None if score is None else {"accuracy": score, "tone": score}
        )
        for (place, cycle, chunk), score in rows.items()
    ],
    st.dictionaries(
        st.tuples(st.integers(0, 3), st.integers(1, 2), st.integers(1, 2)),
        st.none() | st.decimals(1, 10, places=1),
        max_size=16,
    ),
)


@given(PARTS, st.booleans(), st.randoms())
def test_the_order_of_answers_never_matters(parts, pooled, random):
    shuffled = random.sample(parts, len(parts))
    scores = seat_scores(parts, DIMENSIONS, chunks=2, pooled=pooled)
    assert seat_scores(shuffled, DIMENSIONS, chunks=2, pooled=pooled) == scores
    assert list(scores) == sorted(scores)
    for values in scores.values():
        assert 1 <= values["accuracy"] <= 10


@pytest.mark.parametrize(
    ("seats", "quorum", "needed"),
    [
        (1, F(2, 3), 1),
        (2, F(2, 3), 2),
        (3, F(2, 3), 2),
        (4, F(2, 3), 3),
        (6, F(2, 3), 4),
        (9, F(2, 3), 6),
        (3, F(1), 3),
        (3, F(1, 100), 1),
        (0, F(2, 3), 0),
        (3, F("0.6667"), 3),  # 2.0001 seats
    ],
)
def test_the_quorum_is_an_exact_ceiling(seats, quorum, needed):
    assert quorum_needed(seats, quorum) == needed


def rule(means, minima, *, contributed=3, seats=3):
    return verdict(means, minima, contributed=contributed, seats=seats, mean_min=F(7), min_min=F(5))


def test_bars_are_reached_by_equality_and_missed_by_a_hair():
    assert rule({"a": F(7)}, {"a": F(5)}).word == "pass"
    assert rule({"a": F(7) - F(1, 10**30)}, {"a": F(5)}).low_means == ("a",)
    assert rule({"a": F(9)}, {"a": F(5) - F(1, 10**30)}).low_minima == ("a",)


def test_all_failing_dimensions_are_named():
    result = rule({"a": F(6), "b": F(8), "c": F(4)}, {"a": F(6), "b": F(4), "c": F(4)})
    assert (result.word, result.low_means, result.low_minima) == ("fail", ("a", "c"), ("b", "c"))


@pytest.mark.parametrize(("contributed", "seats"), [(1, 3), (0, 3), (0, 0), (3, 5)])
def test_a_missed_quorum_is_inconclusive_whatever_the_scores(contributed, seats):
    assert rule({"a": F(9)}, {"a": F(9)}, contributed=contributed, seats=seats).word == "inconclusive"
    assert rule({"a": F(1)}, {"a": F(1)}, contributed=contributed, seats=seats).word == "inconclusive"


def test_no_dimension_is_inconclusive():
    assert rule({}, {}).word == "inconclusive"


def test_mean_is_exact():
    assert mean([F(1, 10), F(2, 10), F(3, 10)]) == F(1, 5)
