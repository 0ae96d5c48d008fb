"""The regression-compatible loss: values by hand, its minimiser, and scores far from 0."""

import numpy as np
import pytest
from scipy.optimize import minimize

from gbrank import Ranker, RegressionCompatible
from gbrank.data import make_ranking


def test_values_by_hand():
    """Scores 0: p = 1/2, w = 1/3, C = 1; A = 1/6, B = 1/2 for the relevant document."""
    grad, hess = RegressionCompatible(alpha=0.5).grad_hess([1, 0, 0], [0.0] * 3, group=[3])
    np.testing.assert_allclose(grad, [0.5 * (0.5 - 1) + 0.5 * (1 / 6 - 1 / 2), 1 / 3, 1 / 3])
    np.testing.assert_allclose(hess, [1 / 8 + 0.5 * (1 / 6 + 1 / 2), 5 / 24, 5 / 24], rtol=1e-6)
    loss = RegressionCompatible(alpha=0.5).loss([1, 0, 0], [0.0] * 3, group=[3])
    assert loss[0] == pytest.approx(0.5 * 3 * np.log(2) + 0.5 * np.log(3))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9])
def test_both_parts_are_least_at_the_expected_labels(alpha):
    """Also where the number of relevant documents varies from draw to draw."""
    draws = {(1, 0, 0): 0.2, (1, 1, 0): 0.3, (0, 0, 1): 0.1, (0, 0, 0): 0.4}
    expected = np.sum([share * np.array(labels) for labels, share in draws.items()], axis=0)
    loss = RegressionCompatible(alpha=alpha)

    def risk(scores):
        return sum(w * loss.loss(y, scores, group=[3])[0] for y, w in draws.items())

    found = minimize(risk, np.zeros(3), tol=1e-10).x
    np.testing.assert_allclose(1 / (1 + np.exp(-found)), expected, atol=1e-4)


def test_grades_above_the_highest_label_count_as_it():
    both = [
        RegressionCompatible(max_label=high).grad_hess(y, [0.1, -0.4], group=[2])
        for high, y in ((1.0, [3, 0]), (3.0, [3, 0]), (1.0, [1, 0]))
    ]
    np.testing.assert_array_equal(both[0], both[2])
    np.testing.assert_array_equal(both[1], both[2])


@pytest.mark.parametrize("offset", [-1e4, -800.0, -40.0, 40.0, 1e4])
def test_scores_far_from_zero(offset):
    scores = np.array([0.0, 1.0, -2.0]) + offset
    grad, hess = RegressionCompatible(alpha=0.9).grad_hess([1, 0, 0], scores, group=[3])
    assert np.isfinite(grad).all()
    assert (hess >= 0).all()
    if offset < 0:  # p = 0: w = softmax(s), B = y
        w = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        expected = 0.1 * np.array([-1, 0, 0]) + 0.9 * (w - [1, 0, 0])
        np.testing.assert_allclose(grad, expected, rtol=1e-6, atol=1e-12)


def test_scores_are_probabilities():
    """On held-out queries the mean of p is the share of relevant documents, bin by bin."""
    data = make_ranking(n_queries=400, random_state=0)
    train, test = data.split(0.5)
    loss = RegressionCompatible(alpha=0.2)
    ranker = Ranker(loss, preset="fast", start="zero", n_estimators=120, learning_rate=0.1)
    ranker.fit(train.X, train.y, qid=train.qid)
    p, relevant = 1 / (1 + np.exp(-ranker.predict(test.X))), test.y >= 1
    thirds = np.array_split(np.argsort(p), 3)
    gaps = [abs(p[rows].mean() - relevant[rows].mean()) for rows in thirds]
    assert max(gaps) < 0.06


@pytest.mark.parametrize(
    ("params", "message"),
    [({"alpha": 1.5}, "alpha must be"), ({"max_label": 0.0}, "max_label must be")],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        RegressionCompatible(**params)
