from fractions import Fraction
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalrunner.stats.agreement import balanced_accuracy, cohen_kappa, jaccard, pairwise_jaccard
from evalrunner.stats.intervals import UNDEFINED, Estimate, mean_of, proportion, wilson

F = Fraction


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        # Wilson's interval worked by hand: (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), z = 1.959964
        (8, 10, 0.490162, 0.943318),
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (1, 2, 0.094531, 0.905469),
        (81, 263, 0.255289, 0.366210),
    ],
)
def test_wilson(hits, n, low, high):
    assert wilson(hits / n, n) == pytest.approx((low, high), abs=1e-6)
    assert proportion([(1, 1)] * hits + [(0, 1)] * (n - hits)) == Estimate(
        F(hits, n), n, *wilson(hits / n, n)
    )


def test_repeats_of_one_case_are_not_independent_trials():
    once = proportion([(1, 1)] * 8 + [(0, 1)] * 2)
    thrice = proportion([(3, 3)] * 8 + [(0, 3)] * 2)
    assert (once.value, thrice.value, thrice.n) == (F(4, 5), F(4, 5), 30)
    naive = wilson(0.8, 30)
    assert thrice.high - thrice.low > 1.5 * (naive[1] - naive[0])
    # Variance between 10 cases by hand: 10/9 * (8 * 0.6² + 2 * 2.4²) / 30² = 0.0177778; 0.16 / that = 9.
    assert (thrice.low, thrice.high) == pytest.approx(wilson(0.8, 9.0))


def test_cases_that_vary_less_than_coins_count_no_more_than_their_trials():
    even = proportion([(1, 2)] * 10)
    assert (even.low, even.high) == wilson(0.5, 10.0)
    mixed = proportion([(1, 2)] * 9 + [(2, 2)])
    assert mixed.high - mixed.low >= wilson(0.55, 20)[1] - wilson(0.55, 20)[0]


def test_all_alike_counts_cases():
    assert proportion([(3, 3)] * 5) == Estimate(F(1), 15, *wilson(1.0, 5))
    assert proportion([(4, 5)]) == Estimate(F(4, 5), 5, *wilson(0.8, 1))


def test_nothing_to_count_is_undefined():
    assert proportion([]) == proportion([(0, 0)]) == mean_of([]) == UNDEFINED


@pytest.mark.parametrize("case", [(2, 1), (-1, 1), (1, 0)])
def test_impossible_counts_are_refused(case):
    with pytest.raises(ValueError, match="hits"):
        proportion([case])


CASES = st.lists(st.integers(0, 5).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=12)


@given(CASES, st.randoms())
def test_an_interval_holds_its_figure_and_never_shrinks_to_a_point(cases, random):
    figure = proportion(cases)
    assert proportion(random.sample(cases, len(cases))) == figure
    if figure.value is not None:
        assert 0 <= figure.low <= figure.value <= figure.high <= 1
        assert figure.high - figure.low > 0.01


@given(st.lists(st.fractions(0, 1), min_size=1, max_size=12))
@example([Fraction(1, 48038396025285288)] * 3)
def test_a_mean_lies_in_its_interval(values):
    figure = mean_of(values)
    assert figure.value == sum(values) / len(values)
    assert 0 <= figure.low <= float(figure.value) <= figure.high <= 1


def test_a_mean_of_coins_is_a_proportion_or_a_little_narrower():
    coins = [F(1)] * 7 + [F(0)] * 3
    assert mean_of(coins) == Estimate(F(7, 10), 10, *wilson(0.7, 10.0))


def test_a_mean_of_values_that_hardly_vary_has_a_narrower_interval():
    assert mean_of([F(2, 5), F(3, 5)] * 5).high < wilson(0.5, 10)[1]
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        mean_of([F(3, 2)])


def test_the_intervals_cover_the_truth_about_as_often_as_they_say():
    random = Random(0)
    covered = {"proportion": 0, "mean": 0}
    for _ in range(400):
        shares = [random.betavariate(3, 1) for _ in range(20)]  # mean 3/4
        figure = proportion((sum(random.random() < share for _ in range(3)), 3) for share in shares)
        covered["proportion"] += figure.low <= 0.75 <= figure.high
        figure = mean_of([F(share) for share in shares])
        covered["mean"] += figure.low <= 0.75 <= figure.high
    assert all(0.90 <= count / 400 <= 0.99 for count in covered.values()), covered


def test_jaccard():
    assert jaccard({"a", "b"}, {"b", "c"}) == F(1, 3)
    assert jaccard(set(), set()) == 1
    assert jaccard({"a"}, set()) == 0
    assert pairwise_jaccard([{"a"}, {"a"}, {"b"}]) == [1, 0, 0]
    assert pairwise_jaccard([{"a"}]) == []


def test_balanced_accuracy_joins_two_shares():
    real, spurious = proportion([(1, 1)] * 8 + [(0, 1)] * 2), proportion([(1, 1)] * 6 + [(0, 1)] * 4)
    figure = balanced_accuracy(real, spurious)
    assert (figure.value, figure.n) == (F(7, 10), 20)
    # Below, sqrt((0.8 - 0.490162)² + (0.6 - 0.312674)²) / 2;
    # above, sqrt((0.943318 - 0.8)² + (0.831820 - 0.6)²) / 2.
    assert (figure.low, figure.high) == pytest.approx((0.7 - 0.211279, 0.7 + 0.136272), abs=1e-5)
    assert balanced_accuracy(real, UNDEFINED) == Estimate(None, 10)


def test_kappa_of_a_known_table():
    # 20 both yes, 5 yes/no, 10 no/yes, 15 both no: observed 0.7, chance 0.5, kappa 0.4.
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    figure = cohen_kappa([[pair] for pair in pairs])
    assert (figure.value, figure.n) == (F(2, 5), 50)
    low, high = wilson(0.7, 50)
    assert (figure.low, figure.high) == pytest.approx(((low - 0.5) / 0.5, (high - 0.5) / 0.5))


def test_kappa_at_its_ends():
    assert cohen_kappa([]) == UNDEFINED
    assert cohen_kappa([[("y", "y")] * 9]) == Estimate(None, 9)
    assert cohen_kappa([[("y", "n"), ("n", "y")]]).value == -1
    perfect = cohen_kappa([[("y", "y")], [("n", "n")]])
    assert (perfect.value, perfect.high) == (1, 1.0)
    assert perfect.low < 1
