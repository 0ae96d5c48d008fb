"""Expected reciprocal rank under the cascade model, against enumeration of all its outcomes."""

from itertools import permutations, product

import numpy as np
import pytest

from gbrank.metrics import err_score
from gbrank.theory import best_cascade_orders, expected_reciprocal_rank


def err_by_outcomes(chances, order, value):
    """Go through all 2^m combinations of satisfied and unsatisfied, and stop at the first."""
    total = 0.0
    for satisfied in product([False, True], repeat=len(chances)):
        probability = 1.0
        for p, yes in zip(chances, satisfied, strict=True):
            probability *= p if yes else 1 - p
        for rank, document in enumerate(order, start=1):
            if satisfied[document]:
                total += probability * value(rank)
                break
    return total


@pytest.mark.parametrize(
    ("discount", "value"),
    [("zipf", lambda i: 1 / i), ("log", lambda i: 1 / np.log2(1 + i)), ("exp", lambda i: 0.5**i)],
)
def test_closed_form_equals_enumeration(discount, value):
    rng = np.random.default_rng(0)
    for m in (1, 2, 3, 5):
        chances = rng.random(m)
        for order in list(permutations(range(m)))[:6]:
            expected = err_by_outcomes(chances, order, value)
            found = expected_reciprocal_rank(chances, order, discount)
            assert found == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("discount", ["zipf", "log", "exp"])
def test_lemma_1_descending_order_is_best(discount):
    rng = np.random.default_rng(1)
    for m in (2, 4, 6):
        chances = rng.random(m)
        expected = tuple(np.argsort(-chances).tolist())
        assert best_cascade_orders(chances, discount) == [expected]


def test_equal_probabilities_may_stand_either_way():
    assert best_cascade_orders([0.3, 0.6, 0.3]) == [(1, 0, 2), (1, 2, 0)]


def test_agrees_with_the_metric():
    labels = [2, 0, 1]
    chances = [3 / 4, 0.0, 1 / 4]  # (2^r - 1) / 2^2
    scores = [1.0, 3.0, 2.0]
    expected = err_score(labels, scores, group=[3], max_grade=2)
    assert expected_reciprocal_rank(chances, [1, 2, 0]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("chances", "order", "message"),
    [
        ([], None, "must not be empty"),
        ([0.5, 1.5], None, r"probabilities\[1\] is 1.5"),
        ([0.5, 0.5], [0, 0], "each of 0 to 1 once"),
    ],
)
def test_bad_input(chances, order, message):
    with pytest.raises(ValueError, match=message):
        expected_reciprocal_rank(chances, order)


def test_too_many_orders():
    with pytest.raises(ValueError, match="at most 9"):
        best_cascade_orders([0.1] * 10)
