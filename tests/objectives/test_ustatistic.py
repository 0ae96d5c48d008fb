"""Training on aggregated preferences: labels against loops, draws against their distribution."""

import copy
import pickle
from itertools import combinations

import lightgbm as lgb
import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.base import clone

from gbrank import XENDCG, Squared, UStatistic, get_objective, list_objectives
from gbrank.core.queries import QueryLayout
from gbrank.objectives import LambdaMART, PairwiseLogistic, PreferenceLogistic
from gbrank.preferences import METHODS, Comparisons, PartialOrders, Selections
from gbrank.simulate import bradley_terry, partial_orders, selections
from gbrank.testing import check_objective

PLAIN = Squared(norm=None, gain="linear")  # its gradient at scores 0 is -2 r


@pytest.mark.parametrize(
    "objective",
    [
        UStatistic(base="xendcg", order=1),
        UStatistic(base=LambdaMART(), method="win_rate"),
        UStatistic("labels", base=PLAIN, method="mean_adjacency"),
        PairwiseLogistic("labels"),
    ],
    ids=repr,
)
def test_variant_keeps_the_contract(objective):
    check_objective(objective)


def log_odds_by_loops(pairs, weights, m):
    """Mean over all other documents of log((n_ij + 1/2) / (n_ji + 1/2))."""
    counts = np.zeros((m, m))
    for (winner, loser), weight in zip(pairs, weights, strict=True):
        counts[winner, loser] += weight
    scores = np.zeros(m)
    for i in range(m):
        for j in range(m):
            if i != j:
                scores[i] += np.log((counts[i, j] + 0.5) / (counts[j, i] + 0.5)) / (m - 1)
    return scores


def labels_at(objective, n_rows, group, iteration=0):
    """Return the labels times the query weight that an objective with base PLAIN draws."""
    grad, _ = objective.grad_hess(np.zeros(n_rows), np.zeros(n_rows), group, iteration=iteration)
    return -grad / 2


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    group = rng.integers(2, 40, 300)
    X = rng.normal(size=(group.sum(), 4))
    utility = X[:, 0] + np.sin(2 * X[:, 1])
    comparisons = bradley_terry(2 * utility, np.repeat(np.arange(300), group), 20_000)
    return X, utility, group, comparisons


def test_complete_aggregation_equals_loops():
    rng = np.random.default_rng(0)
    group, starts = [4, 3, 5, 2], [0, 4, 7, 12]
    sets, winner, loser, weight = [], [], [], []
    for m, start, n in zip(group, starts, (9, 1, 30, 0), strict=True):
        pairs = [tuple(rng.permutation(m)[:2]) for _ in range(n)]
        weights = rng.uniform(0.5, 2.0, n)
        sets.append((pairs, weights))
        winner += [start + i for i, _ in pairs]
        loser += [start + j for _, j in pairs]
        weight += weights.tolist()
    observations = Comparisons(None, winner, loser, weight)
    scores = rng.normal(size=14)
    grad, hess = UStatistic(observations, base="squared").grad_hess(np.zeros(14), scores, group)
    total = sum(weight)
    for (pairs, weights), start, m in zip(sets, starts, group, strict=True):
        labels = log_odds_by_loops(pairs, weights, m)
        labels -= labels.min()
        gains = 2**labels - 1
        ideal = sum(np.sort(gains)[::-1] / np.log2(np.arange(m) + 2))
        counts = 4 * weights.sum() / total  # Q n_q / n
        expected = 2 * counts * (scores[start : start + m] - gains / max(ideal, 1e-300))
        expected = expected if len(pairs) else np.zeros(m)
        np.testing.assert_allclose(grad[start : start + m], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(hess[start : start + m], 2 * counts, rtol=1e-6)


def test_every_subset_is_drawn_equally_often():
    # document 0 loses once to each other: what was drawn can be read off the labels
    observations = Comparisons(None, [1, 2, 3, 4, 6, 7, 8, 9], [0, 0, 0, 0, 5, 5, 5, 5])
    objective = UStatistic(observations, base=PLAIN, order=2, method="mean_adjacency")
    counts = dict.fromkeys(combinations(range(1, 5), 2), 0)
    same = 0
    rounds = 3000
    for iteration in range(rounds):
        labels = labels_at(objective, 10, [5, 5], iteration)
        # document 0 lost twice: 0; winners have three steps more, those never seen two
        level = 0.9 * labels[:5].max()
        drawn = [tuple(np.flatnonzero(part > level).tolist()) for part in (labels[:5], labels[5:])]
        counts[drawn[0]] += 1
        same += drawn[0] == drawn[1]
    assert chisquare(list(counts.values())).pvalue > 1e-4
    # the queries draw independently of each other: one time in six they agree
    assert chisquare([same, rounds - same], [rounds / 6, 5 * rounds / 6]).pvalue > 1e-4


def test_labels_are_those_of_a_subset_of_the_size_wanted():
    rng = np.random.default_rng(1)
    pairs = [tuple(rng.permutation(4)[:2].tolist()) for _ in range(7)]
    observations = Comparisons(None, [i for i, _ in pairs], [j for _, j in pairs])
    possible = []
    for subset in combinations(pairs, 3):
        labels = log_odds_by_loops(subset, np.ones(3), 4)
        possible.append(labels - labels.min())
    objective = UStatistic(observations, base=PLAIN, order=3)
    for iteration in range(40):
        labels = labels_at(objective, 4, [4], iteration)
        assert np.abs(np.array(possible) - labels).max(axis=1).min() < 1e-6


def test_order_as_large_as_the_longest_query_is_complete_aggregation(data):
    X, _, group, comparisons = data
    scores = np.random.default_rng(2).normal(size=len(X))
    most = int(np.diff(comparisons.bind(QueryLayout.from_group(group)).query_bounds).max())
    zeros = np.zeros(len(X))
    for base in ("squared", XENDCG(random_state=3), LambdaMART()):
        complete = UStatistic(comparisons, base=base).grad_hess(zeros, scores, group, iteration=4)
        objective = UStatistic(comparisons, base=base, order=most)
        drawn = objective.grad_hess(zeros, scores, group, iteration=4)
        np.testing.assert_array_equal(complete, drawn)
    fewer = UStatistic(comparisons, order=most - 1).grad_hess(zeros, scores, group)
    complete = UStatistic(comparisons).grad_hess(zeros, scores, group)
    assert not np.array_equal(fewer[0], complete[0])


@pytest.mark.parametrize("base", ["squared", "xendcg", "lambdamart"])
def test_base_sees_the_labels_and_its_own_random_numbers(base, data):
    """Labels drawn by the U-statistic and handed to the base by hand give the same gradients."""
    X, _, group, comparisons = data
    scores, zeros = np.random.default_rng(2).normal(size=len(X)), np.zeros(len(X))
    labels = labels_at(
        UStatistic(comparisons, base=PLAIN, order=10, random_state=7), len(X), group, 6
    )
    counts = np.diff(comparisons.bind(QueryLayout.from_group(group)).query_bounds)
    weights = np.repeat(counts / counts.mean(), group)
    labels = labels / np.where(weights > 0, weights, 1.0)
    expected = get_objective(base).grad_hess(labels, scores, group, weights, iteration=6)
    objective = UStatistic(comparisons, base=base, order=10, random_state=7)
    found = objective.grad_hess(zeros, scores, group, iteration=6)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())


def test_same_gradients_for_any_number_of_threads(data):
    group = data[2]
    many = np.tile(group, 20)
    observations = bradley_terry(
        np.tile(data[1], 20), np.repeat(np.arange(len(many)), many), 50_000
    )
    scores, zeros = np.random.default_rng(0).normal(size=many.sum()), np.zeros(many.sum())
    results = []
    for threads in (1, 2, 5):
        objective = UStatistic(observations, base="xendcg", order=5, n_jobs=threads)
        results.append(objective.grad_hess(zeros, scores, many, iteration=2))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def train(objective, X, group, threads=1, trees=6, **kwargs):
    params = {"objective": objective, "num_leaves": 7, "verbose": -1, "metric": "None"}
    params |= {"num_threads": threads, "force_col_wise": True}
    dataset = lgb.Dataset(X, np.zeros(len(X)), group=group, params=params)
    return lgb.train(params, dataset, trees, **kwargs)


def test_same_seed_same_model(data):
    X, utility, group, comparisons = data
    models = [
        train(UStatistic(comparisons, order=20, random_state=seed, n_jobs=jobs), X, group).predict(
            X
        )
        for seed, jobs in ((0, 1), (0, 2), (0, 4), (1, 1))
    ]
    np.testing.assert_array_equal(models[0], models[1])
    np.testing.assert_array_equal(models[0], models[2])
    assert not np.array_equal(models[0], models[3])
    assert np.corrcoef(models[0], utility)[0, 1] > 0.3


def test_training_goes_on_where_it_stopped(data):
    X, _, group, comparisons = data
    objective = UStatistic(comparisons, order=20)
    whole = train(objective, X, group, trees=6).predict(X)
    half = train(objective, X, group, trees=3)
    rest = train(objective, X, group, trees=3, init_model=half)
    np.testing.assert_allclose(rest.predict(X), whole, atol=1e-12)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_documents_and_queries_never_seen_give_finite_gradients(method):
    group = [3, 4, 2, 1, 5]
    zeros = np.zeros(15)
    for scores in (zeros, 1e3 * np.random.default_rng(0).normal(size=15)):
        lists = Selections(None, [[0, 1], [3, 4, 5], [7, 8]], [1, None, 0])
        objective = UStatistic(lists, method=method, order=1)
        for base in sorted(set(list_objectives(observations=False)) & set(BASES)):
            grad, hess = clone(objective).set_params(base=base).grad_hess(zeros, scores, group)
            assert np.isfinite(grad).all(), base
            assert np.isfinite(hess).all(), base
            assert not grad[9:].any(), base  # queries without observations


BASES = ["squared", "xendcg", "lambdamart", "kl", "qnorm", "gain_pairwise", "listnet", "cosine"]


@pytest.mark.parametrize(
    "observations",
    [
        partial_orders(np.arange(12.0) % 5, np.repeat([0, 1, 2], 4), 600, size=3),
        selections(np.arange(12.0) % 5 / 5, np.repeat([0, 1, 2], 4), 600, length=3),
    ],
    ids=repr,
)
def test_other_observations_are_drawn_too(observations):
    objective = UStatistic(observations, base=PLAIN, order=20)
    labels = [labels_at(objective, 12, [4, 4, 4], iteration) for iteration in range(200)]
    assert len(np.unique(np.round(labels, 5), axis=0)) > 100
    mean = np.mean(labels, axis=0)
    truth = np.arange(12.0) % 5
    for query in range(3):
        rows = slice(4 * query, 4 * query + 4)
        assert np.corrcoef(mean[rows], truth[rows])[0, 1] > 0.7


def test_bound_observations_follow_reordered_rows(data):
    X, _, group, comparisons = data
    rng = np.random.default_rng(8)
    shuffled = rng.permutation(len(X))  # row r of the user is row shuffled[r] of the sorted data
    qid = np.repeat(np.arange(len(group)), group)
    layout = QueryLayout.from_qid(qid[shuffled])
    place = np.empty(len(X), dtype=np.int64)
    place[shuffled] = np.arange(len(X))
    bound = comparisons.bind(QueryLayout.from_group(group))
    starts = np.repeat(bound.layout.bounds[:-1], np.diff(bound.query_bounds))
    of_user = Comparisons(None, place[starts + bound.winner], place[starts + bound.loser])
    # the same comparisons, told in terms of rows that are in query order already
    of_sorted = Comparisons(
        None,
        layout.inverse[place[starts + bound.winner]],
        layout.inverse[place[starts + bound.loser]],
    )
    zeros, scores = np.zeros(len(X)), rng.normal(size=len(X))
    by_binding = UStatistic(of_user.bind(layout)).grad_hess(zeros, scores, layout.sizes)
    directly = UStatistic(of_sorted).grad_hess(zeros, scores, layout.sizes)
    np.testing.assert_array_equal(by_binding, directly)


def test_observations_are_shared_by_copies(data):
    comparisons = data[3]
    objective = UStatistic(comparisons, base=XENDCG(), order=3)
    assert clone(objective).observations is comparisons
    twin = copy.deepcopy(objective)
    assert twin.observations is comparisons
    assert twin.base is not objective.base
    assert len(repr(objective)) < 200
    again = pickle.loads(pickle.dumps(objective))
    zeros, group = np.zeros(len(data[0])), data[2]
    np.testing.assert_array_equal(
        again.grad_hess(zeros, zeros, group), objective.grad_hess(zeros, zeros, group)
    )


def test_loss_is_the_weighted_loss_of_the_base():
    observations = Comparisons(None, [0, 0, 3], [1, 2, 4])
    scores = np.array([0.3, -0.2, 0.5, 1.0, 0.0])
    losses = UStatistic(observations, base=PLAIN).loss(np.zeros(5), scores, [3, 2])
    step = np.log(1.5 / 0.5)  # one win against none, each with a pseudo-count of a half
    labels = [1.5 * step, 0.0, 0.0, 2 * step, 0.0]  # document 0: mean of two, others -1/2 of one
    squares = (scores - labels) ** 2
    np.testing.assert_allclose(losses, [squares[:3].sum() * 4 / 3, squares[3:].sum() * 2 / 3])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"observations": [1, 2]}, TypeError, "observations must be gbrank.preferences"),
        ({"base": "no such"}, ValueError, "objective must be one of"),
        ({"base": "ustatistic"}, ValueError, "learns from labels"),
        ({"base": PreferenceLogistic()}, ValueError, "learns from labels"),
        ({"base": LambdaMART(gain=[0, 1, 3])}, ValueError, "its gain is a table"),
        ({"order": 0}, ValueError, "order must be an integer >= 1"),
        ({"order": 2.5}, ValueError, "order must be an integer >= 1"),
        ({"method": "votes"}, ValueError, "method must be .*'log_odds'"),
        ({"method_params": {"c": 1}}, ValueError, "'c'"),
        ({"method_params": 3}, TypeError, "method_params must be a dict"),
        ({"random_state": -1}, ValueError, "random_state must be"),
    ],
)
def test_wrong_parameters_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        UStatistic(**params)


def test_what_does_not_fit_is_refused_before_any_work():
    rows = (np.zeros(5), np.zeros(5))
    with pytest.raises(ValueError, match="UStatistic needs observations"):
        UStatistic().grad_hess(*rows, [5])
    with pytest.raises(ValueError, match="UStatistic needs observations"):
        UStatistic().check_labels(rows[0], QueryLayout.from_group([5]))
    bound = Comparisons(None, [0], [1]).bind(QueryLayout.from_group([2, 3]))
    with pytest.raises(ValueError, match="were bound to"):
        UStatistic(bound).grad_hess(*rows, [3, 2])
    with pytest.raises(ValueError, match="cascade"):
        UStatistic(Comparisons(None, [0], [1]), method="cascade").grad_hess(*rows, [5])
    with pytest.raises(ValueError, match="7"):
        UStatistic(PartialOrders(None, [[(0, 7)]])).grad_hess(*rows, [5])


def test_the_automatic_order_is_that_of_the_rule():
    """Of 10,000 observations 14 are drawn (section 4 of the paper)."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 20, (10_000, 2))
    winner, loser = pairs[:, 0], (pairs[:, 0] + 1 + pairs[:, 1] % 19) % 20
    observations = Comparisons(None, winner, loser)
    zeros, scores = np.zeros(20), rng.normal(size=20)
    for one, other in zip(
        UStatistic(observations, order="auto").grad_hess(zeros, scores, [20]),
        UStatistic(observations, order=14).grad_hess(zeros, scores, [20]),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    assert UStatistic(observations, order="auto").uses_random_numbers
    with pytest.raises(ValueError, match="order must be 'auto' or an integer >= 1 or None"):
        UStatistic(observations, order="most")
