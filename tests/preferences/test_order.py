"""The rule for the number of observations to aggregate at a time."""

from itertools import combinations

import numpy as np
import pytest

from gbrank.preferences import aggregation_order


@pytest.mark.parametrize("rate", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("complexity", [1.0, 50.0])
@pytest.mark.parametrize("n", [1_000, 100_000, 10_000_000])
def test_the_sum_of_both_errors_is_least(n, complexity, rate):
    k = np.arange(1.0, 100_000.0)
    errors = k**-rate + k * np.sqrt(complexity / n)
    chosen = aggregation_order(n, complexity=complexity, rate=rate)
    assert abs(chosen - k[np.argmin(errors)]) <= 1
    assert errors[chosen - 1] <= 1.02 * errors.min()


def test_conditions_of_theorem_4():
    """k grows without bound, and k / sqrt(n) goes to 0."""
    sizes = [10**digits for digits in range(2, 19, 2)]
    orders = np.array([aggregation_order(n) for n in sizes])
    assert (np.diff(orders) > 0).all()
    assert (np.diff(orders / np.sqrt(sizes)) < 0).all()
    assert orders[-1] / np.sqrt(sizes[-1]) < 1e-3
    assert aggregation_order(1) == aggregation_order(5, complexity=100.0) == 1


def test_chance_grows_far_less_than_in_the_worst_case():
    """Squared error against the mean of k of n coins: the average over all subsets of k."""
    rng = np.random.default_rng(0)
    samples = (rng.random((2000, 8)) < 0.7).astype(float)

    def statistic(k):
        subsets = np.array(list(combinations(range(8), k)))
        return ((0.4 - samples[:, subsets].mean(axis=2)) ** 2).mean(axis=1)

    values = {k: statistic(k) for k in (1, 2, 4, 8)}
    for k, value in values.items():  # off by the variance of the mean of k, .7 (1 - .7) / k
        assert value.mean() == pytest.approx(0.3**2 + 0.21 / k, abs=0.01)
    # the worst case is proportional to k
    assert values[8].std() < 1.3 * values[4].std()
    assert values[8].std() < 4.0 * values[1].std()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be an integer >= 1, got 0"),
        ({"n": 10, "complexity": 0.0}, "complexity must be a number > 0"),
        ({"n": 10, "rate": -1.0}, "rate must be a number > 0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        aggregation_order(**arguments)
