"""Where the expected loss is least: in the order of E[u], or, for the originals, in another one."""

import numpy as np
import pytest
from scipy.optimize import brentq, root
from scipy.special import expit, logit

from gbrank import KL, Bregman, Cosine, QNorm, Squared
from gbrank.theory import find_counterexample

# Ravikumar, Tewari, Yang 2011, section 3.2.1: E[G] and E[u] are in opposite order.
VECTORS, CHANCES = [[5.0, 4.0], [1.0, 3.0]], [0.3, 0.7]
LOG_3 = np.log2(3)
MEAN_U = np.array(
    [
        0.3 * 31 / (31 + 15 / LOG_3) + 0.7 * 1 / (7 + 1 / LOG_3),
        0.3 * 15 / (31 + 15 / LOG_3) + 0.7 * 7 / (7 + 1 / LOG_3),
    ]
)
MEAN_GAIN = np.array([0.3 * 31 + 0.7 * 1, 0.3 * 15 + 0.7 * 7])


def bregman_minimiser(vectors=VECTORS, chances=CHANCES):
    """Where F(s) = E[u], F being the mean of logistic curves, one per vector of labels."""
    bases = []
    for r in vectors:
        gains = 2.0 ** np.array(r) - 1
        bases.append(logit(gains.mean() / (gains.max() + gains.min() / LOG_3)))

    def missing(score, u):
        return chances @ expit(score + np.array(bases)) - u

    return np.array([brentq(missing, -50, 50, args=(u,)) for u in MEAN_U])


def expected_gradient(objective, scores, vectors=VECTORS, chances=CHANCES):
    return sum(
        chance * objective.grad_hess(labels, scores, [len(labels)])[0].astype(float)
        for labels, chance in zip(vectors, chances, strict=True)
    )


def dual_direction(mean, q):
    return mean ** (1 / (q - 1))


def qnorm_minimiser(q):
    """Where the expected loss, written out here, has gradient 0."""
    relevance = [
        gains / (gains.max() + gains.min() / LOG_3)
        for gains in (2.0 ** np.array(r) - 1 for r in VECTORS)
    ]

    def gradient(scores):
        total = -2 * MEAN_U
        for u, chance in zip(relevance, CHANCES, strict=True):
            t = scores + u.sum() / 2 ** (2 / q)
            norm = (np.abs(t) ** q).sum() ** (1 / q)
            total = total + chance * 2 * norm ** (2 - q) * np.sign(t) * np.abs(t) ** (q - 1)
        return total

    return root(gradient, MEAN_U - MEAN_U.mean(), tol=1e-13).x


@pytest.mark.parametrize(
    ("objective", "minimiser"),
    [
        (Squared(), MEAN_U),
        (Squared(reduction="mean"), MEAN_U),
        (Squared(norm=None), MEAN_GAIN),
        (KL(), np.log(MEAN_U / MEAN_U.mean())),
        (Bregman(), bregman_minimiser()),
        (Squared(center=True), MEAN_U - MEAN_U.mean()),
        (Squared(norm=None, center=True), MEAN_GAIN - MEAN_GAIN.mean()),
        (QNorm(q=2), MEAN_U - MEAN_U.mean()),
        (QNorm(q=5), qnorm_minimiser(5.0)),
        (QNorm(), qnorm_minimiser(np.log(2) + 2)),
    ],
    ids=repr,
)
def test_expected_gradient_vanishes_at_the_minimiser(objective, minimiser):
    at_minimum = expected_gradient(objective, minimiser)
    assert np.abs(at_minimum).max() < 2e-6 * max(1.0, minimiser.max())
    assert np.abs(expected_gradient(objective, minimiser[::-1])).max() > 1e-2


@pytest.mark.parametrize(
    ("objective", "direction"),
    [
        (Cosine(scale_penalty=0.0), MEAN_U),
        (Cosine(scale_penalty=0.5), MEAN_U),
        (QNorm(form="normalized", q=3, scale_penalty=0.0), dual_direction(MEAN_U, 3)),
        (QNorm(form="normalized", q=3, scale_penalty=0.5), dual_direction(MEAN_U, 3)),
    ],
    ids=repr,
)
def test_only_the_length_of_scores_is_left_to_change_in_the_best_direction(objective, direction):
    q = 3 if isinstance(objective, QNorm) else 2
    across = np.array([-direction[1], direction[0]]) if q == 2 else None
    base = 1.0 if isinstance(objective, QNorm) else 0.0
    for length in (0.3, 1.0, 4.0):
        gradient = expected_gradient(objective, length * direction - base)
        if across is None:  # moving along the surface |s|_q = const, orthogonal to s^(q-1)
            across = np.array([-(direction[1] ** (q - 1)), direction[0] ** (q - 1)])
        assert gradient @ across == pytest.approx(0.0, abs=1e-7)
        turned = expected_gradient(objective, length * direction[::-1] - base)
        assert abs(turned @ across[::-1]) > 1e-3


def test_originals_prefer_the_wrong_document():
    assert MEAN_U[0] < MEAN_U[1]
    assert MEAN_GAIN[0] > MEAN_GAIN[1]
    # Ravikumar, Tewari, Yang, proof of proposition 7: (1, 5) with .38, (2, 1) with .62
    vectors, chances = [[1.0, 5.0], [2.0, 1.0]], [0.38, 0.62]
    at_zero = {
        norm: expected_gradient(Cosine(norm=norm), np.zeros(2), vectors, chances)
        for norm in ("dcg", "l2")
    }
    # at zero the gradient is -E[t]
    np.testing.assert_allclose(-at_zero["dcg"], [0.5243, 0.5432], atol=5e-5)
    np.testing.assert_allclose(-at_zero["l2"], [0.6004, 0.5759], atol=5e-5)


class CountedFromLabels(QNorm):
    """The normalized form, counted from the best constant of the penalized one."""

    def _base(self, mean, m, q):
        return mean * np.maximum(m, 1) ** (1.0 - 2.0 / q)


def test_a_constant_that_depends_on_labels_would_cost_the_normalized_form_its_consistency():
    for m in (3, 5):
        worst = find_counterexample(CountedFromLabels(form="normalized"), m=m, trials=300)
        assert worst.shortfall > 1e-3
        for form in ("penalized", "normalized"):
            assert find_counterexample(QNorm(form=form), m=m, trials=300) is None
        assert find_counterexample(Squared(center=True), m=m, trials=300) is None
