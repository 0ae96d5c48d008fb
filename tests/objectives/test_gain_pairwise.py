"""GainPairwise: the three losses of a margin against loops over pairs, weights, limits."""

from math import e, exp, log, log2

import numpy as np
import pytest
from scipy.special import expit

from gbrank import GainPairwise
from gbrank.testing import check_objective

PHIS = ("logistic", "exponential", "squared_hinge")
DERIVATIVES = {
    "logistic": (lambda x: -expit(-x), lambda x: np.maximum(expit(x), 0.2) * expit(-x)),
    "exponential": (lambda x: -np.exp(-x), lambda x: np.exp(-x)),
    "squared_hinge": (lambda x: -2 * np.maximum(1 - x, 0), lambda x: 2.0 * (x < 1)),
}


def dcg_relevance(labels, cutoff=None):
    gains = 2.0 ** np.asarray(labels) - 1
    best = sorted(gains, reverse=True)[:cutoff]
    return gains / sum(g / log2(2 + place) for place, g in enumerate(best))


def pairs_by_loops(phi, relevance, scores):
    first, second = DERIVATIVES[phi]
    m = len(scores)
    grad, hess = np.zeros(m), np.zeros(m)
    for j in range(m):
        for other in range(m):
            if other != j:
                margin = scores[j] - scores[other]
                grad[j] += relevance[j] * first(margin)
                grad[other] -= relevance[j] * first(margin)
                hess[j] += relevance[j] * second(margin)
                hess[other] += relevance[j] * second(margin)
    return grad, hess


def test_losses_spelled_out():
    labels, scores = [1.0, 0.0, 2.0], [1.0, 0.0, 0.0]
    z = 3 / log2(2) + 1 / log2(3)
    u0, u2 = 1 / z, 3 / z

    def loss(phi):
        return GainPairwise(phi).loss(labels, scores, [3])[0]

    logistic = u0 * 2 * log(1 + 1 / e) + u2 * (log(1 + e) + log(2))
    assert loss("logistic") == pytest.approx(logistic, rel=1e-14)
    assert loss("exponential") == pytest.approx(u0 * 2 / e + u2 * (e + 1), rel=1e-14)
    assert loss("squared_hinge") == pytest.approx(u0 * 0 + u2 * (4 + 1), rel=1e-14)


@pytest.mark.parametrize(
    ("phi", "spread"),
    [(phi, spread) for phi in PHIS for spread in (0.1, 1.0, 20.0)]
    + [("logistic", 500.0), ("squared_hinge", 500.0)],
)
def test_equals_loops_over_pairs(phi, spread):
    sizes = [150, 2, 3, 31, 32, 33, 34, 65, 5]
    rng = np.random.default_rng(2)
    labels = rng.choice(5, sum(sizes), p=[0.5, 0.2, 0.1, 0.1, 0.1]).astype(float)
    scores = spread * rng.uniform(-1, 1, size=sum(sizes))
    grad, hess = GainPairwise(phi).grad_hess(labels, scores, sizes)
    ends = np.cumsum(sizes)
    for start, stop in zip(ends - sizes, ends, strict=True):
        relevance = dcg_relevance(labels[start:stop])
        expected_grad, expected_hess = pairs_by_loops(phi, relevance, scores[start:stop])
        tolerance = 1e-6 * np.abs(expected_grad).max()
        np.testing.assert_allclose(grad[start:stop], expected_grad, rtol=0, atol=tolerance)
        tolerance = 1e-6 * max(expected_hess.max(), 1e-30)  # float32 ends near 1e-38
        np.testing.assert_allclose(hess[start:stop], expected_hess, rtol=0, atol=tolerance)


def test_the_order_kept_from_the_last_step_changes_nothing():
    rng = np.random.default_rng(4)
    labels, buffer, group = rng.integers(0, 3, 300).astype(float), rng.normal(size=300), [100] * 3
    trained = GainPairwise("squared_hinge")
    for _ in range(4):
        stepped = trained(labels, buffer, None, group)
        fresh = GainPairwise("squared_hinge").grad_hess(labels, buffer, group)
        np.testing.assert_array_equal(stepped, fresh)
        buffer += rng.normal(size=300)


def test_equal_scores_of_the_squared_hinge():
    grad, hess = GainPairwise("squared_hinge").grad_hess([1, 0, 0], [5.0, 5.0, 5.0], [3])
    np.testing.assert_allclose(grad, [-4.0, 2.0, 2.0])
    np.testing.assert_allclose(hess, [4.0, 2.0, 2.0])


def test_margins_beyond_one_cost_nothing():
    grad, hess = GainPairwise("squared_hinge").grad_hess([1, 0, 0], [2.0, 1.0, 0.5], [3])
    assert not grad.any()
    assert not hess.any()


@pytest.mark.parametrize("phi", PHIS)
def test_weights_of_the_variants(phi):
    labels, scores = np.array([2.0, 0.0, 1.0, 1.0]), np.array([0.2, 0.1, -0.4, 0.3])
    squared_ranks = {"discount": lambda rank: 1 / rank**2, "gain": [0, 1, 5]}
    variants = [
        ({"norm": None}, 2**labels - 1),
        ({"norm": None, "gain": "linear"}, labels),
        ({"norm_at": 1}, (2**labels - 1) / 3),
        ({"norm_at": 2}, dcg_relevance(labels, 2)),
        ({"discount": "zipf", "gain": "linear"}, labels / (2 + 1 / 2 + 1 / 3)),
        (squared_ranks, np.array([5, 0, 1, 1]) / (5 + 1 / 4 + 1 / 9)),
    ]
    for params, relevance in variants:
        expected_grad, expected_hess = pairs_by_loops(phi, relevance, scores)
        grad, hess = GainPairwise(phi, **params).grad_hess(labels, scores, [4])
        np.testing.assert_allclose(grad, expected_grad, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(hess, expected_hess, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("phi", PHIS)
@pytest.mark.parametrize("labels", [[3.0], [0.0, 0.0], [2.0, 2.0, 2.0]])
@pytest.mark.parametrize("norm", ["dcg", None])
def test_lists_with_nothing_to_rank_are_left_out(phi, labels, norm):
    scores = np.linspace(-1, 1, len(labels))
    grad, hess = GainPairwise(phi, norm).grad_hess(labels, scores, [len(labels)])
    assert not grad.any()
    assert not hess.any()
    assert GainPairwise(phi, norm).loss(labels, scores, [len(labels)])[0] == 0.0


def test_equal_gains_of_different_labels_are_left_out_too():
    grad, _ = GainPairwise(gain=[0, 1, 1]).grad_hess([1, 2], [0.5, 0.0], [2])
    assert not grad.any()


@pytest.mark.parametrize("phi", PHIS)
def test_the_largest_gains_stay_finite(phi):
    objective = GainPairwise(phi, norm=None, gain=[0.0, 1.0, 2.0**1000])
    grad, hess = objective.grad_hess([2, 0, 1], [-3.0, 3.0, 0.0], [3])
    assert np.isfinite(grad).all()
    assert np.isfinite(hess).all()
    assert grad[0] == np.float32(-1e30)


def test_the_exponential_is_clipped_where_documented():
    within, _ = GainPairwise("exponential").grad_hess([1, 0], [-30.0, 30.0], [2])
    np.testing.assert_allclose(within, [-exp(60), exp(60)], rtol=1e-6)
    grad, hess = GainPairwise("exponential").grad_hess([1, 0], [-300.0, 300.0], [2])
    np.testing.assert_array_equal(grad, np.float32([-1e30, 1e30]))
    np.testing.assert_array_equal(hess, np.float32([1e30, 1e30]))  # a step of 1, as without clip


@pytest.mark.parametrize(
    "objective",
    [
        GainPairwise("exponential"),
        GainPairwise("squared_hinge"),
        GainPairwise("squared_hinge", norm=None, gain="linear"),
        GainPairwise(norm=None),
        GainPairwise(norm_at=3, discount="power"),
    ],
    ids=repr,
)
def test_variants_keep_the_contract(objective):
    check_objective(objective)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"phi": "hinge"}, "phi must be 'logistic' or 'exponential' or 'squared_hinge', got 'hi"),
        ({"norm": "l2"}, "norm must be 'dcg' or None, got 'l2'"),
        ({"norm_at": 0}, "norm_at must be an integer >= 1 or None, got 0"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        GainPairwise(**params)
