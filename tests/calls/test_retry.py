"""How long to wait for another attempt."""

import pytest
from scripted_client import failure

from evalrunner.calls.retry import Retry

POLICY = Retry(base_s=0.5, most_s=30)


@pytest.mark.parametrize(
    ("attempt", "longest"), [(1, 0.5), (2, 1), (3, 2), (4, 4), (7, 30), (50, 30), (2000, 30)]
)
def test_without_a_word_from_the_provider_waits_double_up_to_a_limit(attempt: int, longest: float) -> None:
    waits = [POLICY.wait_s(failure("overloaded"), attempt) for _ in range(50)]
    assert all(longest / 2 <= wait <= longest for wait in waits)
    assert len(set(waits)) > 1, "jitter spreads them"


@pytest.mark.parametrize("asked", [0.0, 0.2, 20.0, 600.0])
def test_a_provider_that_names_a_wait_gets_at_least_that(asked: float) -> None:
    waits = [POLICY.wait_s(failure("rate_limited", asked), 1) for _ in range(50)]
    assert all(asked <= wait <= asked + min(1.0, asked / 10) for wait in waits)
