"""The pairwise logistic loss against loops over its pairs."""

from math import e, log

import numpy as np
import pytest
from scipy.special import expit

from gbrank import GainPairwise, PairwiseLogistic


def pairs_by_loops(labels, scores):
    m = len(labels)
    grad, hess = np.zeros(m), np.zeros(m)
    for i in range(m):
        for j in range(m):
            if labels[i] > labels[j]:
                p, q = expit(scores[j] - scores[i]), expit(scores[i] - scores[j])
                grad[i] -= p
                grad[j] += p
                hess[i] += p * max(q, 0.2)
                hess[j] += p * max(q, 0.2)
    return grad, hess


def test_values_spelled_out():
    labels, scores = [1.0, 2.0, 1.0], [1.0, 0.0, 0.0]  # document 1 should beat 0 and 2
    loss = PairwiseLogistic().loss(labels, scores, [3])
    np.testing.assert_allclose(loss, [log(1 + e) + log(2)], rtol=1e-14)
    grad, hess = PairwiseLogistic().grad_hess(labels, scores, [3])
    p = e / (1 + e)
    np.testing.assert_allclose(grad, [p, -p - 0.5, 0.5], rtol=1e-6)
    np.testing.assert_allclose(hess, [p * (1 - p), p * (1 - p) + 0.25, 0.25], rtol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 50.0, 180.0, 1e3, 1e6])
def test_equals_loops_for_lists_of_all_lengths_and_widths(spread):
    # a long list first: what it leaves in the working space must not reach the shorter ones; the
    # lengths lie around the stretches in which the loops run
    sizes = [150, 2, 3, 31, 32, 33, 34, 63, 64, 65, 66, 97, 5]
    rng = np.random.default_rng(1)
    labels = rng.choice(5, sum(sizes), p=[0.5, 0.2, 0.1, 0.1, 0.1]).astype(float)
    scores = spread * rng.normal(size=sum(sizes))
    grad, hess = PairwiseLogistic().grad_hess(labels, scores, sizes)
    ends = np.cumsum(sizes)
    for start, stop in zip(ends - sizes, ends, strict=True):
        expected_grad, expected_hess = pairs_by_loops(labels[start:stop], scores[start:stop])
        tolerance = 1e-6 * max(np.abs(expected_grad).max(), 1e-30)  # float32 ends near 1e-38
        np.testing.assert_allclose(grad[start:stop], expected_grad, rtol=0, atol=tolerance)
        tolerance = 1e-6 * max(expected_hess.max(), 1e-30)
        np.testing.assert_allclose(hess[start:stop], expected_hess, rtol=0, atol=tolerance)


def test_only_the_order_of_labels_counts():
    labels = np.array([0.0, 2.0, 1.0, 2.0])
    scores = [0.3, -0.2, 1.0, 0.0]
    np.testing.assert_array_equal(
        PairwiseLogistic().grad_hess(labels, scores, [4]),
        PairwiseLogistic().grad_hess(labels**3 + 0.5, scores, [4]),
    )


@pytest.mark.parametrize("labels", [[3.0], [0.0, 0.0], [2.0, 2.0, 2.0]])
def test_lists_without_pairs_are_left_out(labels):
    scores = np.linspace(-1, 1, len(labels))
    grad, hess = PairwiseLogistic().grad_hess(labels, scores, [len(labels)])
    assert not grad.any()
    assert not hess.any()
    assert PairwiseLogistic().loss(labels, scores, [len(labels)])[0] == 0.0


def test_scores_of_any_size():
    grad, hess = PairwiseLogistic().grad_hess([1, 0, 0], [-1e300, 1e300, -1e300], [3])
    np.testing.assert_allclose(grad, [-1.5, 1.0, 0.5], rtol=1e-6)
    np.testing.assert_allclose(hess, [0.2 + 0.25, 0.2, 0.25], rtol=1e-6)


def test_two_documents_are_logistic_regression_on_their_difference():
    for difference in (-40.0, -3.0, 0.0, 3.0, 40.0):
        grad, hess = PairwiseLogistic().grad_hess([1, 0], [difference, 0.0], [2])
        p = expit(-difference)
        np.testing.assert_allclose(grad, [-p, p], rtol=1e-6)
        np.testing.assert_allclose(hess, [p * max(expit(difference), 0.2)] * 2, rtol=1e-6)


@pytest.mark.parametrize("score", [9e307, 1.7e308, -1.7e308])
@pytest.mark.parametrize("objective", [PairwiseLogistic(), GainPairwise(norm_at=1)], ids=repr)
def test_equal_scores_above_9e307(objective, score):
    """Two of them have no sum; their pairs are even, as at 0."""
    at_zero = objective.grad_hess([2, 0, 1], [0.0] * 3, [3])
    np.testing.assert_array_equal(objective.grad_hess([2, 0, 1], [score] * 3, [3]), at_zero)


@pytest.mark.parametrize(
    "objective", [PairwiseLogistic(), GainPairwise(), PairwiseLogistic("labels")], ids=repr
)
def test_no_tree_raises_the_loss_up_to_a_rate_of_a_tenth(objective):
    """Leaves of any kind, scores in any order; the exact hessian throws documents away."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, 9, 80)
    labels = rng.integers(0, 4, group.sum()).astype(float)
    for spread in (0.0, 1.0, 5.0, 50.0):
        scores = spread * rng.normal(size=len(labels))
        for n_leaves in (1, 2, 8, 64, len(labels)):
            leaf = rng.integers(0, n_leaves, len(labels))
            grad, hess = (a.astype(float) for a in objective.grad_hess(labels, scores, group))
            total = np.maximum(np.bincount(leaf, hess, n_leaves), 1e-30)
            step = -(np.bincount(leaf, grad, n_leaves) / total)[leaf]
            assert np.abs(step).max() <= 5.0 + 1e-5
            before = objective.loss(labels, scores, group).sum()
            after = objective.loss(labels, scores + 0.1 * step, group).sum()
            assert after <= before + 1e-5 * abs(before)
            scores = scores + 0.1 * step


def test_what_the_exact_hessian_would_do():
    """A leaf with the relevant documents of two lists, one of them far behind, one far ahead."""
    labels, scores, group = [1.0, 0.0, 1.0, 0.0], np.array([-12.0, 0.0, 1.0, 0.0]), [2, 2]
    objective, leaf = PairwiseLogistic(), [0, 2]
    grad, hess = objective.grad_hess(labels, scores, group)
    p = expit([12.0, -1.0])
    exact = p.sum() / (p * (1 - p)).sum()
    assert exact > 6.2  # two lists: the sum of hessians is that of the second alone
    assert -grad[leaf].sum() / hess[leaf].sum() < 5.0
    alone = 1 / expit(-12.0)
    assert alone > 1e5  # and of the first list alone it is next to nothing
    assert -grad[0] / hess[0] == pytest.approx(5.0, rel=1e-4)
