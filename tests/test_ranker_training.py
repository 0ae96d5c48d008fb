"""Training: early stopping, validation, warm starts, query subsampling, Ctrl-C."""

import os
import signal
import sys

import lightgbm as lgb
import numpy as np
import pytest

from gbrank import XENDCG, LambdaMART, QuerySubsampled, Ranker, get_objective, list_objectives
from gbrank.data import make_ranking
from gbrank.metrics import feval, ndcg_score
from gbrank.testing import check_objective

SMALL = {"num_leaves": 7, "n_jobs": 1, "min_child_samples": 5}


@pytest.fixture(scope="module")
def data():
    return make_ranking(
        n_queries=60, n_features=8, n_informative=5, list_length=(5, 25), random_state=1
    )


@pytest.fixture(scope="module")
def other():
    return make_ranking(
        n_queries=40, n_features=8, n_informative=5, list_length=(5, 25), random_state=2
    )


# --- early stopping ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(XENDCG(generator="lightgbm", random_state=5), "rank_xendcg"), (LambdaMART(), "lambdarank")],
    ids=["xendcg", "lambdamart"],
)
def test_stops_where_lightgbm_stops(real_data, ours, theirs):
    """With LightGBM's conventions for ties and blank queries, on LightGBM's ndcg@5."""
    arrays = real_data("MQ2008")
    X, y, qid, part = (arrays[key] for key in ("X", "y", "qid", "part"))
    X = X.astype(np.float64)
    train, valid = part <= 3, part == 4
    groups = [np.unique(qid[rows], return_counts=True)[1] for rows in (train, valid)]
    trees = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20, "seed": 0}
    training = lgb.Dataset(X[train], y[train], group=groups[0])
    booster = lgb.train(
        {
            **trees,
            "objective": theirs,
            "objective_seed": 5,
            "metric": "ndcg",
            "eval_at": [5],
            "num_threads": 1,
            "verbose": -1,
        },
        training,
        num_boost_round=100,
        valid_sets=[lgb.Dataset(X[valid], y[valid], group=groups[1], reference=training)],
        callbacks=[lgb.early_stopping(10, verbose=False)],
    )
    assert 1 < booster.best_iteration < 90
    ranker = Ranker.lightgbm_defaults(
        ours,
        n_estimators=100,
        num_leaves=15,
        eval_metric=feval("ndcg@5", convention="lightgbm"),
        early_stopping_rounds=10,
        n_jobs=1,
    ).fit(X[train], y[train], qid=qid[train], eval_X=X[valid], eval_y=y[valid], eval_qid=qid[valid])
    assert ranker.best_iteration_ == booster.best_iteration
    np.testing.assert_allclose(
        ranker.evals_result_["valid_0"]["ndcg@5"][booster.best_iteration - 1],
        booster.best_score["valid_0"]["ndcg@5"],
        atol=1e-9,
    )
    best = ranker.booster_.predict(X[valid], num_iteration=booster.best_iteration)
    np.testing.assert_array_equal(ranker.predict(X[valid]), best)


def test_exactly_one_number_decides(data, other):
    """The first metric on the first set, though another set and another metric stall at once."""

    def stalled(preds, dataset):
        return "stalled", 0.5, True

    ranker = Ranker.lightgbm_defaults(
        eval_metric=["ndcg@5", stalled], early_stopping_rounds=4, n_estimators=40, **SMALL
    )
    ranker.fit(
        data.X,
        data.y,
        qid=data.qid,
        eval_X=(data.X, other.X[:0:-1]),
        eval_y=(data.y, other.y[1:]),
        eval_qid=(data.qid, other.qid[1:]),
    )
    watched = np.array(ranker.evals_result_["valid_0"]["ndcg@5"])
    assert len(watched) > 10
    assert ranker.best_iteration_ == np.argmax(watched) + 1
    assert len(ranker.evals_result_["valid_0"]["stalled"]) == len(watched)
    assert set(ranker.evals_result_) == {"valid_0", "valid_1"}


def test_smaller_may_be_better(data):
    values = iter([5.0, 3.0, 4.0, 3.0, 6.0, 2.0])

    def loss(preds, dataset):
        return "loss", next(values), False

    ranker = Ranker.lightgbm_defaults(
        eval_metric=loss, early_stopping_rounds=3, n_estimators=6, **SMALL
    )
    ranker.fit(data.X, data.y, qid=data.qid, eval_X=data.X, eval_y=data.y, eval_qid=data.qid)
    assert ranker.best_iteration_ == 2
    assert ranker.evals_result_["valid_0"]["loss"] == [5.0, 3.0, 4.0, 3.0, 6.0]


def test_queries_are_held_out_whole(data):
    weight = np.random.default_rng(0).uniform(1, 2, len(data.y))
    order = np.random.default_rng(1).permutation(len(data.y))
    params = {"early_stopping_rounds": 5, "n_estimators": 30, "random_state": 3, **SMALL}
    ranker = Ranker.lightgbm_defaults("listnet", validation_fraction=0.25, **params)
    ranker.fit(data.X[order], data.y[order], qid=data.qid[order], sample_weight=weight[order])
    chosen = np.random.default_rng(3).permutation(60)[:15]
    by_appearance = data.qid[order][np.sort(np.unique(data.qid[order], return_index=True)[1])]
    held_out = np.isin(data.qid, by_appearance[chosen])
    rows = np.lexsort((np.argsort(order), held_out))  # the order within queries is the shuffled one
    place = {query: at for at, query in enumerate(by_appearance)}
    rows = np.array(sorted(order, key=lambda row: place[data.qid[row]]))
    train, valid = rows[~held_out[rows]], rows[held_out[rows]]
    explicit = Ranker.lightgbm_defaults("listnet", **params).fit(
        data.X[train],
        data.y[train],
        qid=data.qid[train],
        sample_weight=weight[train],
        eval_X=data.X[valid],
        eval_y=data.y[valid],
        eval_qid=data.qid[valid],
        eval_sample_weight=weight[valid],
    )
    np.testing.assert_array_equal(ranker.predict(data.X), explicit.predict(data.X))
    assert ranker.evals_result_ == explicit.evals_result_


def test_too_few_queries_to_hold_some_out():
    ranker = Ranker.lightgbm_defaults(early_stopping_rounds=2, validation_fraction=0.9, **SMALL)
    with pytest.raises(ValueError, match=r"validation_fraction=0.9 of 2 queries leaves none"):
        ranker.fit(np.arange(8.0)[:, None], [0, 1] * 4, group=[4, 4])


def test_no_early_stopping_in_dart(data):
    with pytest.raises(ValueError, match="cannot be used with boosting_type='dart'"):
        Ranker.lightgbm_defaults(boosting_type="dart", early_stopping_rounds=2).fit(
            data.X, data.y, qid=data.qid
        )


# --- going on ------------------------------------------------------------------------------------


def test_warm_start_goes_on_to_the_same_model(data):
    whole = Ranker.lightgbm_defaults("xendcg", n_estimators=20, **SMALL)
    whole.fit(data.X, data.y, qid=data.qid)
    ranker = Ranker.lightgbm_defaults("xendcg", n_estimators=8, warm_start=True, **SMALL)
    ranker.fit(data.X, data.y, qid=data.qid)
    ranker.set_params(n_estimators=20).fit(data.X, data.y, qid=data.qid)
    assert ranker.best_iteration_ == 20
    np.testing.assert_allclose(ranker.predict(data.X), whole.predict(data.X), atol=1e-6)
    with pytest.warns(UserWarning, match="adds no trees"):
        ranker.fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="n_estimators=5 must be at least the 20 trees"):
        ranker.set_params(n_estimators=5).fit(data.X, data.y, qid=data.qid)


@pytest.mark.parametrize("start", ["zero", "linear"])
def test_random_numbers_of_a_loss_go_on_where_the_trees_stopped(data, start):
    """The trees of the start took none."""
    settings = {"start": start, "subsample": 1.0, "colsample_bytree": 1.0, **SMALL}
    whole = Ranker("xendcg", preset="fast", n_estimators=10, **settings)
    ranker = Ranker("xendcg", preset="fast", n_estimators=5, warm_start=True, **settings)
    ranker.fit(data.X, data.y, qid=data.qid).set_params(n_estimators=10)
    expected = whole.fit(data.X, data.y, qid=data.qid).predict(data.X)
    found = ranker.fit(data.X, data.y, qid=data.qid).predict(data.X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def used_features(ranker):
    """Return the features of the splits of each tree."""
    lines = ranker.booster_.model_to_string().replace("=", " ").split("\n")
    return [set(line.split()) for line in lines if line.startswith("split_feature ")]


@pytest.mark.parametrize("how", ["warm_start", "init_model"])
def test_trees_that_are_added_one_by_one_see_other_features(data, how):
    settings = {"start": "zero", "colsample_bytree": 0.4, **SMALL}
    ranker = Ranker("lambdamart", preset="fast", n_estimators=1, warm_start=True, **settings)
    ranker.fit(data.X, data.y, qid=data.qid)
    for n_trees in range(2, 9):
        if how == "warm_start":
            ranker.set_params(n_estimators=n_trees).fit(data.X, data.y, qid=data.qid)
        else:
            last = ranker
            ranker = Ranker("lambdamart", preset="fast", n_estimators=1, **settings)
            ranker.fit(data.X, data.y, qid=data.qid, init_model=last)
    trees = used_features(ranker)
    assert len(trees) == 8
    assert len(set.union(*trees) - {"split_feature"}) > 4  # one tree draws three of eight


def test_seeds_that_are_given_stay(data):
    settings = {"start": "zero", "colsample_bytree": 0.4, **SMALL, "n_estimators": 1}
    lgb_params = {"feature_fraction_seed": 3}
    first = Ranker("lambdamart", preset="fast", lgb_params=lgb_params, **settings)
    first.fit(data.X, data.y, qid=data.qid)
    second = Ranker("lambdamart", preset="fast", lgb_params=lgb_params, **settings)
    second.fit(data.X, data.y, qid=data.qid, init_model=first)
    assert len(set.union(*used_features(second)) - {"split_feature"}) <= 3


def test_a_damaged_file_is_no_model_to_go_on_from(data, tmp_path):
    path = tmp_path / "model.txt"
    first = Ranker.lightgbm_defaults(n_estimators=5, **SMALL).fit(data.X, data.y, qid=data.qid)
    first.save_model(path)
    second = Ranker.lightgbm_defaults(n_estimators=5, **SMALL)
    second.fit(data.X, data.y, qid=data.qid, init_model=path)
    same = Ranker.lightgbm_defaults(n_estimators=5, **SMALL).fit(
        data.X, data.y, qid=data.qid, init_model=first
    )
    assert second.booster_.current_iteration() == 10
    np.testing.assert_array_equal(second.predict(data.X), same.predict(data.X))
    path.write_bytes(path.read_bytes().replace(b"leaf_value=", b"leaf_value=1", 1))
    with pytest.raises(ValueError, match="damaged or edited"):
        second.fit(data.X, data.y, qid=data.qid, init_model=path)
    path.write_bytes(path.read_bytes().replace(b'"}\n', b'"\n'))  # the end of the line of ours
    with pytest.raises(ValueError, match=r"it has no \[gbrank: ...\] line"):
        second.fit(data.X, data.y, qid=data.qid, init_model=path)
    with pytest.raises(TypeError, match="init_model must be a fitted Ranker, a Booster or the"):
        second.fit(data.X, data.y, qid=data.qid, init_model=3)


# --- query subsampling ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", list_objectives(observations=False))
def test_subsampling_keeps_the_contract(name):
    objective = get_objective(name)
    check_objective(QuerySubsampled(objective, fraction=0.6, random_state=2))


def test_whole_queries_are_dropped_in_the_right_share():
    group = np.full(400, 3)
    labels = np.tile([2.0, 1.0, 0.0], 400)
    scores = np.random.default_rng(0).normal(size=1200)
    inner = get_objective("squared")
    full = [values.reshape(400, 3) for values in inner.grad_hess(labels, scores, group)]
    objective = QuerySubsampled(inner, fraction=0.3, random_state=1)
    counts = np.zeros(400)
    for iteration in range(50):
        grad, hess = objective.grad_hess(labels, scores, group, iteration=iteration)
        kept = hess.reshape(400, 3).any(axis=1)
        np.testing.assert_array_equal(hess.reshape(400, 3), full[1] * kept[:, None])
        np.testing.assert_array_equal(grad.reshape(400, 3), full[0] * kept[:, None])
        counts += kept
    n_drawn = 400 * 50
    assert abs(counts.sum() - 0.3 * n_drawn) < 4 * np.sqrt(0.3 * 0.7 * n_drawn)
    # the counts of queries are binomial: no query is favoured
    assert counts.var() == pytest.approx(50 * 0.3 * 0.7, rel=0.3)
    other = QuerySubsampled(inner, fraction=0.3, random_state=2)
    assert (
        other.grad_hess(labels, scores, group)[1] != objective.grad_hess(labels, scores, group)[1]
    ).any()


def test_a_ranker_on_a_part_of_the_queries_goes_on_to_the_same_model(data):
    objective = QuerySubsampled(get_objective("listnet"), 0.5, 4)
    whole = Ranker.lightgbm_defaults(objective, n_estimators=10, **SMALL)
    whole.fit(data.X, data.y, qid=data.qid)
    ranker = Ranker.lightgbm_defaults(objective, n_estimators=4, warm_start=True, **SMALL)
    ranker.fit(data.X, data.y, qid=data.qid)
    ranker.set_params(n_estimators=10).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_allclose(ranker.predict(data.X), whole.predict(data.X), atol=1e-6)
    plain = Ranker.lightgbm_defaults("listnet", n_estimators=10, **SMALL)
    assert (plain.fit(data.X, data.y, qid=data.qid).predict(data.X) != whole.predict(data.X)).any()


# --- progress and Ctrl-C -------------------------------------------------------------------------


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_shows_trees_metric_and_time(data, capsys, monkeypatch, with_tqdm):
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    ranker = Ranker.lightgbm_defaults(n_estimators=20, verbose=1, **SMALL)
    ranker.fit(data.X, data.y, qid=data.qid, eval_X=data.X, eval_y=data.y, eval_qid=data.qid)
    shown = capsys.readouterr().err
    assert "20/20" in shown
    assert f"ndcg@10 {ranker.evals_result_['valid_0']['ndcg@10'][-1]:.4f}" in shown
    assert ("s left]" in shown) != with_tqdm
    Ranker.lightgbm_defaults(n_estimators=3, **SMALL).fit(data.X, data.y, qid=data.qid)
    assert capsys.readouterr().err == ""


class InterruptAt:
    def __init__(self, iteration):
        self.iteration = iteration

    def __call__(self, env):
        if env.iteration == self.iteration:
            os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_keeps_the_trees_so_far(data, other, tmp_path):
    whole = Ranker.lightgbm_defaults("xendcg", n_estimators=30, **SMALL).fit(
        data.X, data.y, qid=data.qid
    )
    ranker = Ranker.lightgbm_defaults("xendcg", n_estimators=30, **SMALL)
    with pytest.warns(UserWarning, match="interrupted after 8 of 30 trees; these are kept"):
        ranker.fit(data.X, data.y, qid=data.qid, callbacks=[InterruptAt(7)])
    assert ranker.best_iteration_ == ranker.booster_.num_trees() == 8
    np.testing.assert_array_equal(ranker.predict(other.X), whole.predict(other.X, num_iteration=8))
    ranker.save_model(tmp_path / "model.txt")
    loaded = Ranker.load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict(other.X), ranker.predict(other.X))


def test_ctrl_c_keeps_the_best_iteration(data):
    values = iter([1.0, 3.0, 2.0, 2.5, 2.0])
    ranker = Ranker.lightgbm_defaults(
        eval_metric=lambda preds, dataset: ("m", next(values), True),
        early_stopping_rounds=10,
        n_estimators=30,
        **SMALL,
    )
    with pytest.warns(UserWarning, match="interrupted after 5"):
        ranker.fit(
            data.X,
            data.y,
            qid=data.qid,
            eval_X=data.X,
            eval_y=data.y,
            eval_qid=data.qid,
            callbacks=[InterruptAt(4)],
        )
    assert ranker.best_iteration_ == 2


def test_ctrl_c_before_the_first_tree_is_ctrl_c(data):
    def interrupt(env):
        raise KeyboardInterrupt

    interrupt.before_iteration = True
    ranker = Ranker.lightgbm_defaults(n_estimators=5, **SMALL)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data.X, data.y, qid=data.qid, callbacks=[interrupt])
    assert not hasattr(ranker, "booster_")


# --- the order of rows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [n for n in list_objectives(observations=False) if not get_objective(n).uses_random_numbers],
)
def test_shuffled_rows_permute_gradients_and_leave_ndcg(real_data, name):
    arrays = real_data("MQ2008")
    X, y, qid, part = (arrays[key] for key in ("X", "y", "qid", "part"))
    rng = np.random.default_rng(0)
    train, test = np.flatnonzero(part <= 3), part == 5
    scores = rng.normal(size=len(train))
    within = np.lexsort((rng.random(len(train)), qid[train]))
    group = np.unique(qid[train], return_counts=True)[1]
    objective = get_objective(name)
    grad, hess = objective.grad_hess(y[train], scores, group)
    moved = objective.grad_hess(y[train][within], scores[within], group)
    np.testing.assert_allclose(moved[0], grad[within], atol=1e-6, rtol=1e-5)
    np.testing.assert_allclose(moved[1], hess[within], atol=1e-6, rtol=1e-5)
    order = rng.permutation(train)
    found = []
    for rows in (train, order):
        ranker = Ranker.lightgbm_defaults(name, n_estimators=40, num_leaves=15, n_jobs=1)
        ranker.fit(X[rows], y[rows], qid=qid[rows])
        found.append(ndcg_score(y[test], ranker.predict(X[test]), qid=qid[test], k=10))
    # wider for the hinge, which was .018 off; that its gradient jumps may be why, not established
    assert abs(found[0] - found[1]) < (0.03 if name == "pairwise_hinge" else 0.005)
