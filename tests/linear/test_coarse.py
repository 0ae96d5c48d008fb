"""Linear starts that cost little: against all ways to put bins together, and to leave a feature."""

from itertools import combinations

import numpy as np
import pytest

from gbrank import Ranker
from gbrank.core import RankingData
from gbrank.data import make_ranking
from gbrank.linear import MOST_FEATURES, LinearRanker, StepSum, coarsened
from gbrank.linear.coarse import MOST_SPLITS
from gbrank.linear.columns import centre_columns, write_columns
from gbrank.linear.ridge import tamed_gains
from gbrank.linear.steps import FeatureSteps


def step_sum(*features):
    """Return step functions of (counts, values), the last bin being "missing"."""
    steps, values = [], {}
    for at, (counts, own) in enumerate(features):
        edges = np.arange(len(own) - 2.0)
        steps.append(FeatureSteps(edges, np.zeros((len(own), 2)), np.array(counts)))
        values[at] = np.array(own, dtype=np.float64)
    return StepSum(steps, values)


def entropy(counts):
    share = np.array(counts) / np.sum(counts)
    return -share @ np.log2(share)


def all_groupings(counts, values):
    """Yield splits and squared change of every way to cut the bins before the last."""
    n_bins = len(values) - 1
    for n_cuts in range(n_bins):
        for cuts in combinations(range(1, n_bins), n_cuts):
            groups = np.split(np.arange(n_bins), cuts)
            weights = [counts[group] for group in groups]
            change = sum(
                weight @ (values[group] - np.average(values[group], weights=weight)) ** 2
                for group, weight in zip(groups, weights, strict=True)
            )
            sizes = [*(weight.sum() for weight in weights), counts[-1]]
            yield (entropy(sizes) + 0.5 if n_cuts else 0.0), change / counts.sum()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most_splits", [1.5, 2.0, 2.5])
def test_no_other_groups_with_as_few_splits_change_scores_less(seed, most_splits):
    rng = np.random.default_rng(seed)
    counts, values = rng.integers(1, 50, 9), np.append(np.cumsum(rng.normal(size=8)), 0.3)
    few = coarsened(step_sum((counts, values)), most_splits)
    ((_, edges, found, groups),) = few.functions()
    assert len(edges) == len(found) - 2 < 7
    assert found[-1] == 0.3  # what is missing is a group of its own
    assert groups.sum() == counts.sum()
    splits = entropy(groups) + 0.5 if len(edges) else 0.0
    change = counts[:-1] @ (few.values[0] - values)[:-1] ** 2 / counts.sum()
    assert splits <= most_splits
    others = [other for cost, other in all_groupings(counts, values) if cost <= splits + 1e-9]
    assert change == pytest.approx(min(others), abs=1e-12)


def test_splits_go_where_scores_move_and_what_does_not_move_them_leaves():
    rng = np.random.default_rng(0)
    counts, shape = np.full(33, 10), np.append(np.sort(rng.normal(size=32)), 0.0)
    few = coarsened(step_sum(*((counts, height * shape) for height in (1, 0.1, 1e-4))), 6.0)
    leaves = {feature: len(values) for feature, _, values, _ in few.functions()}
    assert list(leaves) == [0, 1]
    assert leaves[0] > 2 * leaves[1] > 4
    for feature in leaves:  # what rises still does
        assert (np.diff(few.values[feature][:-1]) >= 0).all()
    same = step_sum((counts, shape))
    assert coarsened(same, 6.0) is same


def test_sums_add_up():
    parts = [
        step_sum(([5, 5, 5, 1], [0, 0, 1, 0]), ([5, 5, 6], [2, 3, 4])),
        step_sum(([5, 5, 5, 1], [0, 2, 2, 1])),
    ]
    total = parts[0].plus(parts[1].times(2.0))
    X = np.array([[-1.0, 0.0], [0.5, 0.5], [2.0, np.nan]])
    np.testing.assert_array_equal(total.scores(X), [0 + 2, 4 + 3, 5 + 4])
    np.testing.assert_array_equal(total.rises(), [5, 1])
    (_, edges, values, counts), _ = total.functions()
    assert (edges.tolist(), values.tolist(), counts.tolist()) == (
        [0, 1], [0, 4, 5, 2], [5, 5, 5, 1]
    )  # fmt: skip
    (_, edges, values, counts), _ = parts[0].functions()  # neighbours that are alike are one
    assert (edges.tolist(), values.tolist(), counts.tolist()) == ([1], [0, 1, 0], [10, 5, 1])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_feature_leaves_that_the_squared_error_misses_least(weighted):
    """Against fits without each of them; then one that never had it."""
    made = make_ranking(n_queries=60, n_features=8, n_informative=5, random_state=3)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(made.y)) if weighted else None
    data = RankingData.checked(made.X, made.y, made.qid, None, weight)
    whole, few = LinearRanker(), LinearRanker()
    rows, _ = whole.fit_data(data)
    steps = whole.steps_
    few.fit_data(data, steps, most_features=7)
    sizes = np.array([np.sum(made.qid == qid) for qid in dict.fromkeys(made.qid[rows])])
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    columns, places = write_columns(made.X[rows].astype(float), bounds, steps)
    target = tamed_gains(2.0 ** made.y[rows] - 1, bounds)[None, :]
    centre_columns(target, bounds)
    root = np.ones(len(rows)) if weight is None else np.sqrt(weight[rows] / weight[rows].mean())
    columns /= columns.std(axis=0)
    penalty = np.sqrt(whole.penalty_) * np.eye(columns.shape[1])
    missed = []
    for feature in range(8):
        kept = places[:, 0] != feature
        left = np.vstack([root[:, None] * columns[:, kept], penalty[kept][:, kept]])
        right = np.append(root * target[0], np.zeros(kept.sum()))
        missed.append(np.sum((right - left @ np.linalg.lstsq(left, right)[0]) ** 2))
    gone = int(np.argmin(missed))
    assert np.flatnonzero(~few.coef_.any(axis=1)).tolist() == [gone]
    without = LinearRanker()
    without.fit_data(data, [None if at == gone else each for at, each in enumerate(steps)])
    np.testing.assert_allclose(few.coef_, without.coef_, rtol=1e-9, atol=1e-12)


def test_the_trees_of_a_start_are_few():
    data = make_ranking(n_queries=60, n_features=60, n_informative=30, random_state=0)
    ranker = Ranker(preset="fast", n_estimators=5, n_jobs=1).fit(data.X, data.y, qid=data.qid)
    assert 10 < ranker.n_start_trees_ <= MOST_FEATURES
    assert np.count_nonzero(ranker.linear_coef_) == ranker.n_start_trees_

    def leaves(node):
        if "leaf_index" in node:
            return [node["leaf_count"]]
        return leaves(node["left_child"]) + leaves(node["right_child"])

    trees = ranker.booster_.dump_model()["tree_info"][: ranker.n_start_trees_]
    splits = sum(entropy(leaves(tree["tree_structure"])) + 0.5 for tree in trees)
    assert 0.8 * MOST_SPLITS < splits <= MOST_SPLITS
    np.testing.assert_array_equal(ranker.compile().predict(data.X), ranker.predict(data.X))


def test_a_blend_has_the_whole_start():
    """Which is a member of it, beside many more trees."""
    data = make_ranking(n_queries=60, n_features=60, n_informative=30, random_state=0)
    ranker = Ranker(preset="balanced", n_estimators=5, n_jobs=1).fit(data.X, data.y, qid=data.qid)
    assert ranker.n_start_trees_ > 2 * MOST_FEATURES
