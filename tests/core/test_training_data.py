"""What is read of LightGBM's Dataset, against Datasets of LightGBM itself."""

import lightgbm as lgb
import numpy as np
import pytest

from gbrank import XENDCG
from gbrank.core import TrainingData

GROUP = [4, 3, 5, 8]
LABELS = np.arange(20) % 3
X = np.random.default_rng(0).normal(size=(20, 2))
PARAMS = {"verbose": -1, "min_data_in_leaf": 1, "min_data_in_bin": 1, "num_threads": 1}


def dataset(**given):
    params = {**PARAMS, **given.pop("params", {})}
    return lgb.Dataset(X, LABELS, group=GROUP, params=params, **given)


def test_rows_and_queries():
    weight = np.linspace(1.0, 2.0, 20)
    data = TrainingData(dataset(weight=weight).construct())
    np.testing.assert_array_equal(data.labels, LABELS)
    np.testing.assert_allclose(data.weight, weight, rtol=1e-7)
    np.testing.assert_array_equal(data.group, GROUP)
    assert data.position is None
    assert TrainingData(dataset(position=np.arange(20) % 4).construct()).position is not None


def test_what_is_a_dataset():
    assert TrainingData.is_dataset(dataset())
    for other in (LABELS, None, object()):
        assert not TrainingData.is_dataset(other)


@pytest.mark.parametrize("name", ["num_threads", "num_thread", "nthread", "nthreads", "n_jobs"])
@pytest.mark.parametrize(("value", "expected"), [(3, 3), ("2", 2), (0, None), (-1, None)])
def test_threads_by_any_name(name, value, expected):
    plain = lgb.Dataset(X, LABELS, group=GROUP, params={name: value})
    assert TrainingData(plain).n_threads == expected


def test_threads_that_nobody_named():
    assert TrainingData(lgb.Dataset(X, LABELS)).n_threads is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), ("true", True), ("+", True), (1, True), (False, False), ("false", False)],
)
def test_bagging_by_query(value, expected):
    assert TrainingData(dataset(params={"bagging_by_query": value})).bags_by_query is expected


def test_trees_that_there_are_already():
    seen = []

    def gradients(scores, data):
        seen.append(TrainingData(data).first_iteration)
        return scores - LABELS, np.ones(20)

    params = {**PARAMS, "objective": gradients}
    before = lgb.train(params, dataset(), 3)
    assert seen == [0, 1, 2]  # also after set_label, which gives LightGBM a new array of scores
    lgb.train(params, dataset(), 2, init_model=before)
    assert seen[3:] == [3, 4]


@pytest.mark.parametrize(
    ("rows", "torn"),
    [
        (range(20), None),
        (range(7, 20), None),
        ([*range(4), *range(7, 12)], None),
        (range(5), 1),
        ([*range(4), *range(13, 20)], 3),
    ],
)
def test_torn_queries(rows, torn):
    assert TrainingData(dataset().construct().subset(list(rows)).construct()).torn_query() == torn


def test_a_validation_set_is_not_torn():
    training = dataset()
    valid = lgb.Dataset(X[:4], LABELS[:4], group=[4], reference=training).construct()
    assert TrainingData(valid).torn_query() is None


# --- what an objective makes of it ---------------------------------------------------------------


def test_lgb_cv_that_tears_queries_apart_is_refused():
    params = {**PARAMS, "objective": XENDCG(), "metric": "None"}
    with pytest.raises(ValueError, match=r"query \d is torn apart.*gbrank\.cv"):
        lgb.cv(params, dataset(), 2, nfold=2, stratified=False)
    whole = [(np.arange(7), np.arange(7, 20)), (np.arange(7, 20), np.arange(7))]
    result = lgb.cv(params, dataset(), 2, folds=whole, return_cvbooster=True)
    assert len(result["cvbooster"].boosters) == 2


def test_positions_are_refused():
    data = dataset(position=np.arange(20) % 4)
    with pytest.raises(ValueError, match="position="):
        lgb.train({**PARAMS, "objective": XENDCG()}, data, 1)
