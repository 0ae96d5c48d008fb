"""One object for every way of calling LightGBM, and the same bits however it is called."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.base import clone

import gbrank
from gbrank import XENDCG, LambdaMART, ListNet, Ranker

PARAMS = {
    "num_threads": 2,
    "force_col_wise": True,
    "num_leaves": 7,
    "learning_rate": 0.1,
    "metric": "None",
    "verbose": -1,
}
TREES = 8
OBJECTIVES = [XENDCG(), XENDCG(generator="lightgbm"), ListNet(), LambdaMART()]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    group = rng.integers(1, 60, 700)  # enough rows for two threads
    X = rng.normal(size=(group.sum(), 5))
    y = np.clip(np.rint(X[:, 0] + rng.normal(size=len(X))), 0, 4)
    return X, y, group


def make_dataset(data, **kwargs):
    X, y, group = data
    return lgb.Dataset(X, y, group=group, params=PARAMS, **kwargs)


def train(objective, data, trees=TREES, dataset=None, **kwargs):
    dataset = make_dataset(data) if dataset is None else dataset
    return lgb.train({**PARAMS, "objective": objective}, dataset, trees, **kwargs)


def trees_of(booster):
    """Return the trees as text, all digits, without the parameters."""
    return booster.model_to_string().split("end of trees")[0]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_three_ways_to_one_model(objective, data):
    X, y, group = data
    by_train = train(objective, data).predict(X)
    sklearn_names = {"num_leaves": 7, "learning_rate": 0.1, "n_estimators": TREES, "n_jobs": 2}
    by_lgbm_ranker = lgb.LGBMRanker(
        objective=objective, force_col_wise=True, verbose=-1, **sklearn_names
    ).fit(X, y, group=group)
    ranker = Ranker.lightgbm_defaults(
        objective, lgb_params={"force_col_wise": True}, **sklearn_names
    )
    by_ranker = ranker.fit(X, y, group=group)
    assert np.ptp(by_train) > 0.05
    np.testing.assert_array_equal(by_lgbm_ranker.predict(X), by_train)
    np.testing.assert_array_equal(by_ranker.predict(X), by_train)


def test_weights_count_once_in_every_way(data):
    X, y, group = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    objective = ListNet()
    by_train = train(objective, data, dataset=make_dataset(data, weight=weight)).predict(X)
    common = {"num_leaves": 7, "n_estimators": TREES, "n_jobs": 2}
    by_lgbm_ranker = lgb.LGBMRanker(
        objective=objective, force_col_wise=True, verbose=-1, **common
    ).fit(X, y, group=group, sample_weight=weight)
    by_ranker = Ranker.lightgbm_defaults(
        objective, lgb_params={"force_col_wise": True}, **common
    ).fit(X, y, group=group, sample_weight=weight)
    assert not np.array_equal(by_train, train(objective, data).predict(X))
    np.testing.assert_array_equal(by_lgbm_ranker.predict(X), by_train)
    np.testing.assert_array_equal(by_ranker.predict(X), by_train)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_the_same_model_again(objective, data):
    """A second fit of one object, one Dataset trained twice, copies of the object."""
    expected = trees_of(train(objective, data))
    dataset = make_dataset(data)
    for again in (
        train(objective, data),
        train(objective, data, dataset=dataset),
        train(objective, data, dataset=dataset),
        train(pickle.loads(pickle.dumps(objective)), data),
        train(copy.deepcopy(objective), data),
        train(clone(objective), data),
    ):
        assert trees_of(again) == expected


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_two_boosters_stepped_in_turn_with_one_object(objective, data):
    expected = trees_of(train(objective, data))
    boosters = [lgb.Booster({**PARAMS, "objective": "none"}, make_dataset(data)) for _ in range(2)]
    for _ in range(TREES):
        for booster in boosters:
            booster.update(fobj=objective)
    assert [trees_of(booster) for booster in boosters] == [expected, expected]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_training_resumes_where_it_stopped(objective, data):
    X, _, _ = data
    whole = train(objective, data, trees=TREES).predict(X)
    half = train(objective, data, trees=TREES // 2)
    resumed = train(objective, data, trees=TREES - TREES // 2, init_model=half)
    np.testing.assert_array_equal(resumed.predict(X), whole)


@pytest.mark.parametrize("objective", ["xendcg", "lambdamart"])
def test_ranker_resumes_where_it_stopped(objective, data):
    X, y, group = data
    settings = {"num_leaves": 7, "n_jobs": 2, "lgb_params": {"force_col_wise": True}}
    whole = Ranker.lightgbm_defaults(objective, n_estimators=8, **settings).fit(X, y, group=group)
    half = Ranker.lightgbm_defaults(objective, n_estimators=4, **settings).fit(X, y, group=group)
    resumed = Ranker.lightgbm_defaults(objective, n_estimators=4, **settings).fit(
        X, y, group=group, init_model=half
    )
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))
    assert resumed.best_iteration_ == 8


def test_iterations_draw_different_numbers(data):
    """If gamma were frozen the constant-score gradients of two iterations would be equal."""
    _, y, group = data
    objective, scores = XENDCG(), np.zeros(len(y))
    first, _ = objective(y, scores, None, group)
    second, _ = objective(y, scores, None, group)
    assert not np.array_equal(first, second)


def test_a_training_ends_with_its_buffer(data):
    _, y, group = data
    objective = XENDCG()
    scores = np.zeros(len(y))
    objective(y, scores, None, group)
    assert len(objective._trainings()) == 1
    del scores
    gc.collect()
    assert len(objective._trainings()) == 0


def test_new_labels_on_the_same_buffer_are_seen(data):
    _, y, group = data
    objective, scores = ListNet(), np.zeros(len(y))
    objective(y, scores, None, group)
    other = y[::-1].copy()
    mine, _ = objective(other, scores, None, group)
    np.testing.assert_array_equal(mine, ListNet().grad_hess(other, scores, group)[0])


def test_gradients_in_a_forked_child(data):
    _, y, group = data
    scores = np.random.default_rng(0).normal(size=len(y))
    objective = LambdaMART(n_jobs=2)
    expected, _ = objective.grad_hess(y, scores, group)  # our threads have run before the fork
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            grad, _ = objective.grad_hess(y, scores, group)
            os.write(write, b"same" if np.array_equal(grad, expected) else b"diff")
        finally:
            os._exit(0)
    os.close(write)
    answer = os.read(read, 4)
    os.waitpid(child, 0)
    assert answer == b"same"


def test_gradients_in_two_python_threads_at_once(data):
    _, y, group = data
    objective = XENDCG(n_jobs=2)  # one object in both
    score_sets = [np.random.default_rng(seed).normal(size=len(y)) for seed in range(2)]
    expected = [
        [objective.grad_hess(y, scores, group, iteration=i)[0] for i in range(20)]
        for scores in score_sets
    ]
    answers = [[], []]

    def steps(which):
        for _ in range(20):
            answers[which].append(objective(y, score_sets[which], None, group)[0])

    threads = [threading.Thread(target=steps, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, wanted in zip(answers, expected, strict=True):
        assert len(got) == 20
        assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))


def test_lgb_cv_interleaves_folds_through_one_object(data):
    X, y, group = data
    bounds = np.concatenate(([0], np.cumsum(group)))
    cut = bounds[len(group) // 2]
    first, second = np.arange(cut), np.arange(cut, len(y))
    half = len(group) // 2
    parts = [(first, group[:half]), (second, group[half:])]
    objective = XENDCG()
    expected = [
        trees_of(train(objective, (X[rows], y[rows], sizes), trees=4)) for rows, sizes in parts
    ]
    boosters = [
        lgb.Booster({**PARAMS, "objective": "none"}, make_dataset((X[rows], y[rows], sizes)))
        for rows, sizes in parts
    ]
    for _ in range(4):
        for booster in boosters:
            booster.update(fobj=objective)
    assert [trees_of(booster) for booster in boosters] == expected


def test_two_dask_workers_accept_the_object(data):
    distributed = pytest.importorskip("distributed")
    array = pytest.importorskip("dask.array")
    X, y, group = data
    rows = int(group[:350].sum())
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        chunks = (rows, len(y) - rows)
        ranker = lgb.DaskLGBMRanker(
            client=client, objective=XENDCG(), n_estimators=TREES, num_leaves=7, verbose=-1
        )
        ranker.fit(
            array.from_array(X, chunks=(chunks, X.shape[1])),
            array.from_array(y, chunks=(chunks,)),
            group=array.from_array(group, chunks=((350, len(group) - 350),)),
        )
        scores = ranker.booster_.predict(X)
    local = train(XENDCG(), data).predict(X)
    assert np.corrcoef(scores, local)[0, 1] > 0.95


def test_importing_does_not_compile_and_has_no_side_effects():
    code = (
        "import sys, gbrank, numba\n"
        "from gbrank.objectives import xendcg, lambdamart\n"
        "assert not xendcg.drawn_block.dispatcher.signatures\n"
        "assert not lambdamart._lambdamart_block.dispatcher.signatures\n"
        "assert not any(m in sys.modules for m in ('matplotlib', 'distributed'))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert gbrank.__version__
