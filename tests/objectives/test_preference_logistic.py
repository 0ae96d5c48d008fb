"""Logistic losses on observed preferences, against loops over them."""

import copy
import os
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

from gbrank import PairwiseLogistic, PreferenceLogistic, UStatistic
from gbrank.core.queries import QueryLayout
from gbrank.preferences import Comparisons, PartialOrders, Selections, read_catboost_pairs
from gbrank.simulate import bradley_terry
from gbrank.theory import misleading_preferences, preference_minimizer

GROUP = [5, 3, 4, 6, 2]
STARTS = np.cumsum(GROUP) - GROUP


def random_comparisons(seed, counts=(30, 4, 0, 50, 1), weighted=True):
    rng = np.random.default_rng(seed)
    winner, loser, weight = [], [], []
    for m, start, n in zip(GROUP, STARTS, counts, strict=True):
        for _ in range(n):
            i, j = rng.permutation(m)[:2]
            winner.append(start + i)
            loser.append(start + j)
            weight.append(rng.uniform(0.2, 3.0) if weighted else 1.0)
    shuffled = rng.permutation(len(winner))
    arrays = [np.array(values)[shuffled] for values in (winner, loser, weight)]
    return Comparisons(None, arrays[0], arrays[1], arrays[2] if weighted else None), *arrays


def loops(weights, scores):
    """Return loss, gradient and hessian of sum_ij weights[i, j] log(1 + e^-(s_i - s_j))."""
    n = len(scores)
    loss, grad, hess = 0.0, np.zeros(n), np.zeros(n)
    for i in range(n):
        for j in range(n):
            margin = scores[i] - scores[j]
            p = expit(-margin)
            loss += weights[i, j] * np.logaddexp(0.0, -margin)
            grad[i] -= weights[i, j] * p
            grad[j] += weights[i, j] * p
            hess[i] += weights[i, j] * p * max(expit(margin), 0.2)
            hess[j] += weights[i, j] * p * max(expit(margin), 0.2)
    return loss, grad, hess


def matrix_of(winner, loser, weight, n=20):
    matrix = np.zeros((n, n))
    for i, j, w in zip(winner, loser, weight, strict=True):
        matrix[i, j] += w
    return matrix


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_pairwise_logistic_sums_over_raw_comparisons(weighted, spread):
    observations, winner, loser, weight = random_comparisons(0, weighted=weighted)
    scores = spread * np.random.default_rng(1).normal(size=20)
    objective = PairwiseLogistic(observations)
    loss, grad, hess = loops(matrix_of(winner, loser, weight), scores)
    found_grad, found_hess = objective.grad_hess(np.zeros(20), scores, GROUP)
    np.testing.assert_allclose(found_grad, grad, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found_hess, hess, rtol=1e-5, atol=1e-6)
    losses = objective.loss(np.zeros(20), scores, GROUP)
    assert losses.sum() == pytest.approx(loss)
    assert losses[2] == 0.0
    assert not found_grad[8:12].any()  # the query without comparisons


@pytest.mark.parametrize("weighted", [False, True])
def test_preference_logistic_is_the_averaged_difference_graph(weighted):
    observations, winner, loser, weight = random_comparisons(2, weighted=weighted)
    matrix = matrix_of(winner, loser, weight)
    query = np.repeat(np.arange(5), GROUP)
    for q in range(5):
        rows = query == q
        total = matrix[rows].sum()
        if total > 0:  # the average, then Q n_q / n
            matrix[rows] /= total
            matrix[rows] *= 5 * total / weight.sum()
    difference = np.maximum(matrix - matrix.T, 0.0)
    scores = np.random.default_rng(3).normal(size=20)
    loss, grad, hess = loops(difference, scores)
    objective = PreferenceLogistic(observations)
    found_grad, found_hess = objective.grad_hess(np.zeros(20), scores, GROUP)
    np.testing.assert_allclose(found_grad, grad, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found_hess, hess, rtol=1e-5, atol=1e-6)
    assert objective.loss(np.zeros(20), scores, GROUP).sum() == pytest.approx(loss)


def test_spelled_out():
    # 0 beats 1 twice and loses once, beats 2 once: leads 1/4 and 1/4 of four comparisons
    observations = Comparisons(None, [0, 0, 1, 0], [1, 1, 0, 2])
    scores = [0.0, np.log(3.0), 0.0]  # 1 beats 0 with probability 3/4
    grad, hess = PreferenceLogistic(observations).grad_hess([0, 0, 0], scores, [3])
    np.testing.assert_allclose(grad, [-3 / 16 - 1 / 8, 3 / 16, 1 / 8], rtol=1e-6)
    np.testing.assert_allclose(hess, [3 / 64 + 1 / 16, 3 / 64, 1 / 16], rtol=1e-6)


def test_partial_orders_and_clicks_are_sums_over_their_edges():
    scores = np.random.default_rng(4).normal(size=4)
    orders = PartialOrders(None, [[(0, 1), (1, 2), (0, 2)], [(3, 0)]], weight=[2.0, 1.0])
    edges = Comparisons(None, [0, 1, 0, 3], [1, 2, 2, 0], [2.0, 2.0, 2.0, 1.0])
    # clicked the third of a list: better than the two above it
    clicks = Selections(None, [[2, 0, 1], [3, 1]], [2, None])
    of_clicks = Comparisons(None, [1, 1], [2, 0])
    zeros = np.zeros(4)
    for one, other in ((orders, edges), (clicks, of_clicks)):
        np.testing.assert_allclose(
            PairwiseLogistic(one).grad_hess(zeros, scores, [4]),
            PairwiseLogistic(other).grad_hess(zeros, scores, [4]),
            rtol=1e-6,
        )
    # the average is over observations, of total weight 3, and not over their edges, of weight 7
    of_orders, of_edges = (
        PreferenceLogistic(observations).loss(zeros, scores, [4])
        for observations in (orders, edges)
    )
    np.testing.assert_allclose(of_orders, of_edges * 7 / 3, rtol=1e-12)


def test_from_labels_equals_the_loss_on_labels():
    rng = np.random.default_rng(5)
    labels, scores = rng.integers(0, 4, 20).astype(float), rng.normal(size=20)
    on_labels = PairwiseLogistic().grad_hess(labels, scores, GROUP)
    for objective in (PairwiseLogistic("labels"), PreferenceLogistic("labels")):
        found = objective.grad_hess(labels, scores, GROUP)
        for one, other in zip(found, on_labels, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_scores_of_any_size():
    observations = Comparisons(None, [0, 1], [1, 2])
    grad, hess = PairwiseLogistic(observations).grad_hess(np.zeros(3), [-1e308, 1e308, 0.0], [3])
    np.testing.assert_allclose(grad, [-1.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(hess, [0.2, 0.2, 0.0], atol=1e-6)


def test_gradients_vanish_at_the_minimisers_of_the_theory():
    """The inconsistency that the theory shows is that of the objectives as they train."""
    a = misleading_preferences()
    winner, loser = np.nonzero(a)
    observations = Comparisons(None, winner, loser, a[winner, loser])
    raw = preference_minimizer(a)
    grad, _ = PairwiseLogistic(observations).grad_hess(np.zeros(3), raw, [3])
    np.testing.assert_allclose(grad, 0.0, atol=1e-5)
    # equation 23 has no minimiser: Newton steps on diagonal hessians go on in the right order
    scores = np.zeros(3)
    for _ in range(200):
        grad, hess = PreferenceLogistic(observations).grad_hess(np.zeros(3), scores, [3])
        scores = scores - 0.5 * grad / hess
    assert scores[0] > scores[1] > scores[2]


@pytest.mark.parametrize("objective", [PairwiseLogistic, PreferenceLogistic])
def test_same_numbers_for_any_number_of_threads(objective):
    rng = np.random.default_rng(6)
    group = rng.integers(2, 30, 5000)
    utility = rng.normal(size=group.sum())
    observations = bradley_terry(utility, np.repeat(np.arange(5000), group), 60_000)
    scores, zeros = rng.normal(size=len(utility)), np.zeros(len(utility))
    results = [objective(observations, n_jobs=n).grad_hess(zeros, scores, group) for n in (1, 2, 5)]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("objective", [PairwiseLogistic, PreferenceLogistic])
def test_observations_are_shared_and_checked(objective):
    observations, *_ = random_comparisons(7)
    one = objective(observations)
    assert clone(one).observations is observations
    assert copy.deepcopy(one).observations is observations
    with pytest.raises(TypeError, match="observations must be"):
        objective("clicks")
    with pytest.raises(ValueError, match=r"row|winner"):
        one.grad_hess(np.zeros(5), np.zeros(5), [5])
    bound = observations.bind(QueryLayout.from_group(GROUP))
    with pytest.raises(ValueError, match="were bound to"):
        objective(bound).grad_hess(np.zeros(20), np.zeros(20), [20])


def test_preference_logistic_needs_observations():
    with pytest.raises(ValueError, match="PreferenceLogistic needs observations"):
        PreferenceLogistic().grad_hess([1, 0], [0.0, 0.0], [2])
    with pytest.raises(ValueError, match="PreferenceLogistic needs observations"):
        PreferenceLogistic().check_labels(np.zeros(2), QueryLayout.from_group([2]))


@pytest.fixture(scope="module")
def catboost_fixture():
    folder = os.environ.get("GBRANK_DATA")
    if not folder or not (Path(folder) / "catboost_querywise").is_dir():
        pytest.skip("GBRANK_DATA has no catboost_querywise")
    return Path(folder) / "catboost_querywise"


def read_fixture(path):
    """Return features, query ids and targets; other columns are auxiliary."""
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    qid, target = [int(row[1]) for row in rows], [float(row[2]) for row in rows]
    return np.array([row[5:] for row in rows], dtype=float), np.array(qid), np.array(target)


def share_of_pairs_in_order(scores, target, qid):
    right = total = 0.0
    for query in np.unique(qid):
        s, r = scores[qid == query], target[qid == query]
        better = r[:, None] > r[None, :]
        margins = s[:, None] - s[None, :]
        right += (better & (margins > 0)).sum() + 0.5 * (better & (margins == 0)).sum()
        total += better.sum()
    return right / total


@pytest.mark.parametrize(
    "objective",
    [
        PairwiseLogistic(),
        PreferenceLogistic(),
        UStatistic(order=10),
        UStatistic(base="xendcg"),
    ],
    ids=repr,
)
def test_real_pairs_train_a_ranker_without_labels(objective, catboost_fixture):
    """Better on the test targets than 99 in 100 random rankers; labels themselves do little more.

    There are 91 queries to learn from and 26 to judge by: three models are averaged.
    """
    X, qid, _ = read_fixture(catboost_fixture / "train")
    test_X, test_qid, test_target = read_fixture(catboost_fixture / "test")
    pairs = read_catboost_pairs(catboost_fixture / "train.pairs")
    layout = QueryLayout.from_qid(qid)
    scores = np.zeros(len(test_X))
    for seed in range(3):
        params = {
            "objective": clone(objective).set_params(observations=pairs.bind(layout)),
            "num_leaves": 4,
            "learning_rate": 0.05,
            "min_data_in_leaf": 50,
            "feature_fraction": 0.3,
            "seed": seed,
            "num_threads": 1,
            "verbose": -1,
            "metric": "None",
        }
        data = lgb.Dataset(layout.sort(X), np.zeros(len(X)), group=layout.sizes, params=params)
        scores += lgb.train(params, data, 200).predict(test_X)
    found = share_of_pairs_in_order(scores, test_target, test_qid)
    rng = np.random.default_rng(0)
    by_chance = [
        share_of_pairs_in_order(rng.normal(size=len(test_qid)), test_target, test_qid)
        for _ in range(300)
    ]
    assert abs(np.mean(by_chance) - 0.5) < 0.01
    assert found > np.quantile(by_chance, 0.99), (found, np.mean(by_chance), np.std(by_chance))
