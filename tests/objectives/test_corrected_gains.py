"""Corrected gains: the mean over all noisy labels of a gradient is that of the clean labels."""

import itertools

import numpy as np
import pytest

from gbrank import KL, XENDCG, Cosine, GainPairwise, LambdaMART, Squared
from gbrank.gains import corrected_gain, correction_variance

T = np.array([[0.8, 0.3, 0.1], [0.15, 0.5, 0.2], [0.05, 0.2, 0.7]])
AFFINE = [
    Squared(norm=None),
    Squared(norm=None, reduction="mean"),
    KL(norm=None),
    GainPairwise(norm=None),
    GainPairwise("exponential", norm=None),
    GainPairwise("squared_hinge", norm=None),
]


def test_corrected_gains_have_the_clean_expectation():
    for gain, clean in (("exp", [0, 1, 3]), ("linear", [0, 1, 2]), ([0, 2, 9], [0, 2, 9])):
        table = corrected_gain(T, gain)
        for truth in range(3):
            mean = sum(T[label, truth] * table[label] for label in range(3))
            assert mean == pytest.approx(clean[truth], abs=1e-12)


def test_replacement_has_the_closed_form():
    e, new = 0.6, np.array([0.5, 0.3, 0.2])
    matrix = (1 - e) * np.eye(3) + e * np.outer(new, np.ones(3))
    gains = np.array([0.0, 1.0, 3.0])
    assert corrected_gain(matrix) == pytest.approx((gains - e * (new @ gains)) / (1 - e))


@pytest.mark.parametrize("loss", AFFINE, ids=repr)
def test_mean_gradient_over_all_noisy_labels_is_the_clean_one(loss):
    truth, scores = [2, 0, 1], [0.3, -0.2, 0.9]
    clean, _ = loss.grad_hess(truth, scores, [3])
    noisy = type(loss)(**{**loss.get_params(), "gain": corrected_gain(T)})
    mean = np.zeros(3)
    for labels in itertools.product(range(3), repeat=3):
        chance = np.prod([T[label, u] for label, u in zip(labels, truth, strict=True)])
        gradient, hessian = noisy.grad_hess(labels, scores, [3])
        assert (hessian >= 0).all()
        mean += chance * gradient
    assert mean == pytest.approx(clean, abs=1e-6)


@pytest.mark.parametrize("loss", AFFINE, ids=repr)
def test_gradient_is_that_of_the_loss(loss):
    loss = type(loss)(**{**loss.get_params(), "gain": corrected_gain(T)})
    labels, scores, group = [2, 0, 1, 1, 1, 0, 0, 2], np.linspace(-1, 0.7, 8), [3, 2, 3]
    gradient, _ = loss.grad_hess(labels, scores, group)
    for row in range(8):
        step = 1e-5 * (np.arange(8) == row)
        up, down = (loss.loss(labels, scores + sign * step, group).sum() for sign in (1, -1))
        assert (up - down) / 2e-5 == pytest.approx(gradient[row], abs=2e-4)


def test_kl_without_norm_as_arithmetic():
    grad, hess = KL(norm=None).grad_hess([1, 0, 2], [0.0, np.log(2.0), 0.0], [3])
    assert grad == pytest.approx([1 - 1, 2 - 0, 1 - 3])
    assert hess == pytest.approx([(1 + 1) / 2, (2 + 0) / 2, (1 + 3) / 2])
    # labels that are all equal say something here: there is no query that is left out
    assert KL(norm=None).grad_hess([1, 1], [1.0, 1.0], [2])[0] == pytest.approx([np.e - 1] * 2)


@pytest.mark.parametrize(
    "loss", [Squared, KL, GainPairwise, LambdaMART, Cosine], ids=lambda cls: cls.__name__
)
def test_losses_with_a_normaliser_refuse_negative_gains(loss):
    with pytest.raises(ValueError, match=r"Squared, KL and GainPairwise with norm=None"):
        loss(gain=corrected_gain(T)).grad_hess([0, 1, 2], [0.0, 0.0, 0.0], [3])


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], "singular or nearly so"),
        ([[0.5001, 0.5], [0.4999, 0.5]], "singular or nearly so"),
        ([[0.9, 0.1], [0.2, 0.8]], "column 0 sums to 1.1"),
        ([[0.9, 0.1], [0.3, 0.7]], "transpose it"),
        ([[1.1, 0.1], [-0.1, 0.9]], r"matrix\[0, 0\] must be a probability, got 1.1"),
        ([[1.0]], "must be square"),
        ([1.0, 0.0], "must be square"),
    ],
)
def test_matrices_that_are_refused(matrix, said):
    with pytest.raises(ValueError, match=said):
        corrected_gain(matrix)
    with pytest.raises(TypeError, match="square matrix of numbers"):
        corrected_gain([["a", "b"], ["c", "d"]])


def test_gains_that_do_not_rise_are_warned_of():
    upside_down = [[0.2, 0.9], [0.8, 0.1]]
    with pytest.warns(UserWarning, match="do not rise with the grade"):
        corrected_gain(upside_down)


def test_factor_of_variance_by_simulation():
    shares = np.array([0.7, 0.2, 0.1])
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 200_000, p=shares)
    labels = (rng.random(200_000)[:, None] > np.cumsum(T, axis=0)[:, truth].T).sum(axis=1)
    found = corrected_gain(T)[labels].var() / np.array([0.0, 1.0, 3.0])[truth].var()
    assert correction_variance(T, shares=shares) == pytest.approx(found, rel=0.02)
    with pytest.raises(ValueError, match="an entry for each grade, 3, got 2"):
        correction_variance(T, shares=[0.5, 0.5])


def test_objectives_without_gains_are_as_they_were():
    assert not XENDCG().takes_signed_gains
    assert not KL().takes_signed_gains
    assert KL(norm=None).takes_signed_gains
