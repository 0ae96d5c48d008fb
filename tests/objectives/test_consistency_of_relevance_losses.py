"""Where the expected loss is least: in the order of E[u], or, for the originals, in another one."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

from gbrank import KL, Bregman, Cosine, QNorm, Squared

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


def penalized_minimiser(mean, q):
    p = q / (q - 1)
    return (mean**p).sum() ** ((2 - p) / p) * dual_direction(mean, q)


@pytest.mark.parametrize(
    ("objective", "minimiser"),
    [
        (Squared(), MEAN_U),
        (Squared(reduction="mean"), MEAN_U),
        (Squared(norm=None), MEAN_GAIN),
        (KL(), np.log(MEAN_U / MEAN_U.mean())),
        (Bregman(), bregman_minimiser()),
        (QNorm(q=2), MEAN_U),
        (QNorm(q=5), penalized_minimiser(MEAN_U, 5.0)),
        (QNorm(), penalized_minimiser(MEAN_U, np.log(2) + 2)),
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
    for length in (0.3, 1.0, 4.0):
        gradient = expected_gradient(objective, length * direction)
        if across is None:  # moving along the surface |s|_q = const, orthogonal to s^(q-1)
            across = np.array([-(direction[1] ** (q - 1)), direction[0] ** (q - 1)])
        assert gradient @ across == pytest.approx(0.0, abs=1e-7)
        turned = expected_gradient(objective, length * direction[::-1])
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
