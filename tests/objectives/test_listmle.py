"""ListMLE: its likelihood, its tie orders, its first k factors."""

from itertools import permutations
from math import exp, log

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chisquare

from gbrank import ListMLE
from gbrank.testing import check_objective


def likelihood_by_loops(scores_in_order, k):
    """Gradient and hessian of untied documents, already in label order, factor by factor."""
    m = len(scores_in_order)
    grad, hess = np.zeros(m), np.zeros(m)
    for i in range(min(k, m)):
        chances = np.exp(scores_in_order[i:] - logsumexp(scores_in_order[i:]))
        grad[i:] += chances
        grad[i] -= 1.0
        hess[i:] += 0.5 * chances
        hess[i] += 0.5
    return grad, hess


def test_values_spelled_out():
    labels, scores = [0.0, 2.0, 1.0], [2.0, 1.0, 0.0]  # label order: documents 1, 2, 0
    first, second = exp(1) + exp(0) + exp(2), exp(0) + exp(2)
    loss = ListMLE().loss(labels, scores, [3])
    np.testing.assert_allclose(loss, [log(first) - 1 + log(second) - 0], rtol=1e-14)
    grad, hess = ListMLE().grad_hess(labels, scores, [3])
    p = np.array([[exp(2), exp(1), exp(0)], [exp(2), 0, exp(0)]]) / [[first], [second]]
    np.testing.assert_allclose(grad, p.sum(axis=0) - [0, 1, 1], rtol=1e-6)
    # the third factor is 1 for the last document, which has no choice: it is drawn there
    np.testing.assert_allclose(hess, (p.sum(axis=0) + np.array([2, 1, 1])) / 2, rtol=1e-6)


@pytest.mark.parametrize("k", [None, 1, 2, 3])
def test_chances_of_all_orders_sum_to_one(k):
    m, scores = 4, np.array([0.3, -1.2, 0.8, 2.0])
    total = 0.0
    for order in permutations(range(m)):
        labels = np.empty(m)
        labels[list(order)] = np.arange(m, 0, -1)
        total += exp(-ListMLE(k=k).loss(labels, scores, [m])[0])
    orders_of_the_rest = {None: 1, 1: 6, 2: 2, 3: 1}[k]  # orders with the same first k places
    assert total == pytest.approx(orders_of_the_rest, rel=1e-12)


@pytest.mark.parametrize("k", [None, 1, 5, 200])
@pytest.mark.parametrize("spread", [1.0, 30.0, 1e3, 1e5])
def test_equals_the_sums_over_factors(k, spread):
    rng = np.random.default_rng(3)
    m = 60
    labels = rng.permutation(m).astype(float)
    scores = spread * rng.normal(size=m)
    order = np.argsort(-labels)
    expected_grad, expected_hess = likelihood_by_loops(scores[order], m if k is None else k)
    grad, hess = ListMLE(k=k).grad_hess(labels, scores, [m])
    np.testing.assert_allclose(grad[order], expected_grad, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(hess[order], expected_hess, rtol=1e-6, atol=1e-6)


def test_small_numbers_keep_their_digits():
    # perfectly ordered: all that is left are the chances of a wrong draw
    grad, hess = ListMLE().grad_hess([2, 1, 0], [60.0, 30.0, 0.0], [3])
    np.testing.assert_allclose(grad[[0, 2]], [-exp(-30), exp(-30)], rtol=1e-6)
    np.testing.assert_allclose(hess, 1.0, rtol=1e-6)  # drawn once, and to be drawn once


def test_scores_of_any_size():
    grad, hess = ListMLE().grad_hess([1, 0, 2], [-1e300, 1e300, 1e300], [3])
    # factor 1 draws document 2 or 1, each with 1/2; factor 2 draws document 1 instead of 0
    np.testing.assert_allclose(grad, [-1.0, 1.5, -0.5], rtol=1e-6)
    # three factors draw them 0, 1/2 + 1 + 1 and 1/2 times, and should draw each once
    np.testing.assert_allclose(hess, [(0 + 1) / 2, (2.5 + 1) / 2, (0.5 + 1) / 2], rtol=1e-6)


def places(grad):
    """Return the label order that was drawn: at scores zero the gradient grows with the place."""
    return tuple(np.argsort(grad))


@pytest.mark.parametrize("vary", ["iteration", "query", "seed"])
def test_ties_are_in_uniform_random_order(vary):
    labels, n = [2.0, 5.0, 2.0, 0.0, 2.0, 0.0], 6000
    if vary == "query":
        grad, _ = ListMLE().grad_hess(labels * n, [0.0] * (6 * n), [6] * n)
        drawn = [places(part) for part in grad.reshape(n, 6)]
    elif vary == "iteration":
        draw = ListMLE().grad_hess
        drawn = [places(draw(labels, [0.0] * 6, [6], iteration=i)[0]) for i in range(n)]
    else:
        drawn = [
            places(ListMLE(random_state=i).grad_hess(labels, [0.0] * 6, [6])[0]) for i in range(n)
        ]
    possible = [(1, *a, *b) for a in permutations((0, 2, 4)) for b in permutations((3, 5))]
    assert set(drawn) == set(possible)
    counts = [drawn.count(order) for order in possible]
    assert chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("k", [1, 2])
def test_the_first_k_of_a_longer_tie_are_uniform(k):
    n, tied = 6000, 4
    labels = [0.0] + [1.0] * tied
    grad, _ = ListMLE(k=k).grad_hess(labels * n, [0.0] * (5 * n), [5] * n)
    drawn = [tuple(np.argsort(part)[:k]) for part in grad.reshape(n, 5)]
    possible = list(permutations(range(1, 5), k))
    assert set(drawn) == set(possible)
    assert chisquare([drawn.count(first) for first in possible]).pvalue > 1e-3


def test_draws_are_reproducible_and_seeded():
    labels, scores, group = [1.0, 0.0, 0.0, 0.0, 1.0] * 20, np.linspace(-1, 1, 100), [20] * 5
    first = ListMLE(random_state=7).grad_hess(labels, scores, group, iteration=4)
    again = ListMLE(random_state=7).grad_hess(labels, scores, group, iteration=4)
    np.testing.assert_array_equal(first, again)
    other_seed = ListMLE(random_state=8).grad_hess(labels, scores, group, iteration=4)
    assert not np.array_equal(first[0], other_seed[0])


def test_distinct_labels_leave_nothing_to_chance():
    labels, scores = [3.0, 1.0, 0.5, 2.0], [0.1, 0.2, -0.3, 0.4]
    runs = [
        ListMLE(random_state=seed).grad_hess(labels, scores, [4], iteration=seed)[0]
        for seed in range(5)
    ]
    assert all(np.array_equal(runs[0], run) for run in runs)


@pytest.mark.parametrize("labels", [[3.0], [0.0, 0.0], [2.0, 2.0, 2.0]])
def test_lists_without_an_order_are_left_out(labels):
    scores = np.linspace(-1, 1, len(labels))
    grad, hess = ListMLE().grad_hess(labels, scores, [len(labels)])
    assert not grad.any()
    assert not hess.any()
    assert ListMLE().loss(labels, scores, [len(labels)])[0] == 0.0


def test_empty_queries_are_no_trouble():
    with_empty = ListMLE().grad_hess([1, 0, 2, 1], [0.0, 1.0, 2.0, 3.0], [0, 2, 0, 2, 0])
    without = ListMLE().grad_hess([1, 0, 2, 1], [0.0, 1.0, 2.0, 3.0], [2, 2])
    np.testing.assert_array_equal(with_empty, without)
    assert len(ListMLE().grad_hess([], [], [])[0]) == 0


@pytest.mark.parametrize("objective", [ListMLE(k=1), ListMLE(k=4, random_state=3)], ids=repr)
def test_variants_keep_the_contract(objective):
    check_objective(objective)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k": 0}, "k must be an integer >= 1 or None, got 0"),
        ({"k": 2.5}, "k must be an integer >= 1 or None, got 2.5"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        ListMLE(**params)
