"""The page of the tuning benchmark says what its counts and seconds add up to."""

import numpy as np
from comparison.sets import Queries
from tuning import our_ndcg, sklearn_ndcg
from tuning_page import _counts, _same_points


def test_counts_are_of_fold_trainings_and_of_trees():
    ours = {"ended": 150, "of trials that were dropped": 50, "trials": 60, "trees": 5000}
    loop = {"ended": 100, "of trials that were dropped": 0, "trials": 20, "trees": 1500}
    page = _counts({"gbrank.tune": ours, "Optuna, LightGBM lambdarank": loop})
    assert "| gbrank.tune | 150 | 50 | 60 |  |  | 25.0 |  |" in page
    # (5000 + 200 * 25) / (1500 + 100 * 25)
    assert "| Optuna, LightGBM lambdarank | 100 | 0 | 20 | 2.00 | 1.50 | 15.0 | 2.50 |" in page


def test_same_points_compare_with_each_kind_of_loop():
    point = {"seconds": 1.0, "growing": 0.5, "trees": 100}
    loop = {"loop seconds": 1.5, "loop training": 1.4, "loop with sklearn": 2.0, "loop trees": 90}
    page = _same_points({"folds": 5, "points": [{**point, **loop}] * 2})
    assert "took 200 ms of CPU time, for 20.0 trees" in page
    assert "| LightGBM's `best_score` | 280 | 1.40 | 2.80 |" in page
    assert "query by query | 400 | 2.00 | 4.00 |" in page
    assert "would leave 50 ms" in page
    slow = _same_points({"folds": 5, "points": [{**point, **loop, "growing": 0.8}]})
    assert "cannot be had with the same trees" in slow


def test_the_loops_functions_differ_in_gains_and_blank_queries():
    rows = Queries(np.empty((6, 1)), np.array([1, 0, 2, 0, 0, 0]), np.array([1, 1, 2, 2, 3, 3]))
    scores = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    turned = 1 / np.log2(3)
    assert our_ndcg(rows, scores) == np.mean([turned, 1.0])
    np.testing.assert_allclose(sklearn_ndcg(rows, scores), np.mean([turned, 1.0, 0.0]))
