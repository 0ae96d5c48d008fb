"""What is read of LightGBM's Dataset, against Datasets of LightGBM itself."""

import gc
import weakref

import lightgbm as lgb
import numpy as np
import pytest

from gbrank import XENDCG, LambdaMART
from gbrank.core import TrainingData, calling_training
from gbrank.metrics import feval

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


# --- LGBMRanker, which hands on arrays alone -----------------------------------------------------

SKLEARN = {
    "min_child_samples": 1,
    "min_data_in_bin": 1,
    "n_jobs": 1,
    "verbose": -1,
    "metric": "None",
}


def test_nobody_trains():
    assert calling_training() is None


def test_bagging_by_query_is_refused_in_lgbm_ranker():
    ranker = lgb.LGBMRanker(
        objective=LambdaMART(), bagging_by_query=True, subsample=0.5, subsample_freq=1, **SKLEARN
    )
    with pytest.raises(ValueError, match="bagging_by_query=True is not supported"):
        ranker.fit(X, LABELS, group=GROUP)


def test_lgbm_ranker_continues_with_the_random_numbers_of_one_training():
    def fitted(n_trees, **given):
        ranker = lgb.LGBMRanker(objective=XENDCG(), n_estimators=n_trees, **SKLEARN)
        return ranker.fit(X, LABELS, group=GROUP, **given)

    continued = fitted(3, init_model=fitted(4)).predict(X)
    np.testing.assert_array_equal(continued, fitted(7).predict(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_of_lgbm_ranker(n_jobs):
    seen = []

    class Watched(LambdaMART):
        def bind(self, *args, **kwargs):
            seen.append(kwargs["n_jobs"])
            return super().bind(*args, **kwargs)

    params = {**SKLEARN, "n_jobs": n_jobs, "n_estimators": 2}
    lgb.LGBMRanker(objective=Watched(), **params).fit(X, LABELS, group=GROUP)
    assert seen == [n_jobs]


def test_threads_of_several_metrics(monkeypatch):
    """The first metric that says how many is heard, and LightGBM where none does."""
    import gbrank.metrics._feval as module

    seen, measure = [], module.measure_all

    def watched(bound, scores, n_jobs, **kwargs):
        seen.append((n_jobs, kwargs["in_lightgbm"]))
        return measure(bound, scores, n_jobs, **kwargs)

    monkeypatch.setattr(module, "measure_all", watched)
    one, other = feval("ndcg@3").metric, feval("map", n_jobs=2).metric
    for metrics in ([one], [one, other]):
        ranker = lgb.LGBMRanker(objective=LambdaMART(), n_estimators=1, **SKLEARN)
        ranker.fit(
            X, LABELS, group=GROUP, eval_set=[(X, LABELS)], eval_group=[GROUP],
            eval_metric=feval(metrics),
        )  # fmt: skip
    assert seen == [(1, True), (2, False)]


def test_scores_that_a_wrapper_copies():
    """One's own function around an objective may hand on a new array at every step."""
    plain, wrapped = XENDCG(), XENDCG()

    def gradients(scores, data):
        return wrapped(data.get_label(), scores.copy(), None, data.get_group())

    expected = lgb.train({**PARAMS, "objective": plain}, dataset(), 5).predict(X)
    got = lgb.train({**PARAMS, "objective": gradients}, dataset(), 5).predict(X)
    np.testing.assert_array_equal(got, expected)


def test_a_booster_is_not_kept_alive():
    objective = XENDCG()
    booster = lgb.Booster({**PARAMS, "objective": "none"}, dataset())
    booster.update(fobj=objective)
    assert len(objective._trainings()) == 1
    dead = weakref.ref(booster)
    del booster
    gc.collect()
    assert dead() is None
    assert not objective._trainings()


# --- nobody's training: the arrays of a caller ---------------------------------------------------


def test_lists_are_taken():
    ours = LambdaMART()([0, 1, 2], [0.1, 0.2, 0.3], None, [3])
    wanted = LambdaMART().grad_hess([0, 1, 2], [0.1, 0.2, 0.3], [3])
    np.testing.assert_array_equal(ours, wanted)


@pytest.mark.parametrize("which", ["labels", "weight", "group"])
def test_arrays_that_are_changed_in_place(which):
    given = {"labels": np.array([0.0, 1.0, 2.0]), "weight": np.ones(3), "group": np.array([2, 1])}
    scores, objective = np.array([0.1, 0.2, 0.3]), LambdaMART()
    objective(given["labels"], scores, given["weight"], given["group"])
    given[which][:] = given[which][::-1] * (2.0 if which == "weight" else 1)
    ours = objective(given["labels"], scores, given["weight"], given["group"])
    wanted = LambdaMART().grad_hess(given["labels"], scores, given["group"], given["weight"])
    np.testing.assert_array_equal(ours, wanted)
