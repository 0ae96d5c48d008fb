"""Our objectives and metrics in XGBoost, next to what XGBoost itself computes."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import gbrank
from gbrank import XENDCG, LambdaMART, PairwiseLogistic, get_objective
from gbrank.metrics import feval, ndcg_score

xgb = pytest.importorskip("xgboost")

RNG = np.random.default_rng(17)
GROUP = RNG.integers(2, 25, 40)
QID = np.repeat(np.arange(40), GROUP)
X = RNG.normal(size=(len(QID), 4))
Y = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=len(X))), 0, 3)
QUERY_WEIGHT = RNG.uniform(0.5, 2.0, 40)
#: XGBoost's hessian of a pair is twice ours: half of everything else gives the same trees.
TWICE = {"eta": 0.3, "reg_lambda": 1.0, "min_child_weight": 0.2, "gamma": 0.1}
ONCE = {"eta": 0.15, "reg_lambda": 0.5, "min_child_weight": 0.1, "gamma": 0.2}
FIXED = {"nthread": 1, "max_depth": 3, "base_score": 0.0, "verbosity": 0}
TOPK = {"lambdarank_pair_method": "topk"}


def dmatrix(kind=xgb.DMatrix, **given):
    return kind(X, Y, **{"qid": QID, **given})


def predict(params, n_trees=8, data=None, **given):
    data = dmatrix() if data is None else data
    booster = xgb.train({**FIXED, **params}, data, n_trees, **given)
    return booster.predict(data, output_margin=True)


def xendcg_trees(data=None, objective=None, **params):
    return predict({**ONCE, **params}, data=data, obj=objective or XENDCG())


def lambdarank_params(k, norm, exp=True):
    return {
        **TOPK,
        "lambdarank_num_pair_per_sample": k,
        "lambdarank_normalization": norm,
        "lambdarank_score_normalization": norm,
        "ndcg_exp_gain": exp,
    }


# --- the same loss as XGBoost's own --------------------------------------------------------------


@pytest.mark.parametrize("gain", ["exp", "linear"])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("k", [3, 32])
def test_lambdamart_is_rank_ndcg(k, norm, gain):
    own = lambdarank_params(k, norm, gain == "exp")
    expected = predict({**TWICE, **own, "objective": "rank:ndcg"})
    found = predict(ONCE, obj=LambdaMART(truncation_level=k, norm=norm, gain=gain))
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(found, expected, atol=5e-5)


def test_pairwise_logistic_is_rank_pairwise():
    """As long as no document is ahead of a better one by log 4, where our hessian is bounded."""
    own = lambdarank_params(100, norm=False)
    expected = predict({**TWICE, **own, "objective": "rank:pairwise"}, n_trees=3)
    found = predict(ONCE, n_trees=3, obj=PairwiseLogistic())
    assert 0.5 < np.ptp(expected) < np.log(4)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_weights_of_queries_are_those_of_their_rows():
    weighted = dmatrix(weight=QUERY_WEIGHT)
    own = {**TWICE, **lambdarank_params(32, norm=True), "objective": "rank:ndcg"}
    expected = predict(own, data=weighted)
    # XGBoost's own losses divide weights by their mean, custom ones do not
    of_mean_1 = dmatrix(weight=QUERY_WEIGHT / QUERY_WEIGHT.mean())
    found = predict(ONCE, data=of_mean_1, obj=LambdaMART(truncation_level=32))
    np.testing.assert_allclose(found, expected, atol=5e-5)
    unweighted = predict(ONCE, obj=LambdaMART(truncation_level=32))
    assert np.abs(found - unweighted).max() > 0.01


# --- what it gets ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", gbrank.list_objectives(observations=False))
def test_gradients_are_those_of_grad_hess(name):
    objective, data = get_objective(name), dmatrix(weight=QUERY_WEIGHT)
    seen = []

    def watched(scores, given):
        seen.append((scores.copy(), *objective(scores, given)))
        return seen[-1][1:]

    xgb.train({**FIXED, **ONCE}, data, 3, obj=watched)
    weight = np.repeat(np.float32(QUERY_WEIGHT), GROUP)
    for iteration, (scores, grad, hess) in enumerate(seen):
        expected = get_objective(name).grad_hess(Y, scores, GROUP, weight, iteration=iteration)
        assert grad.shape == hess.shape == (len(Y),)
        np.testing.assert_array_equal(grad, expected[0])
        np.testing.assert_array_equal(hess, expected[1])
    assert len(seen) == 3


@pytest.mark.parametrize("kind", ["QuantileDMatrix", "group"])
def test_other_ways_to_say_the_queries(kind):
    if kind == "group":
        data = xgb.DMatrix(X, Y, group=GROUP)
        np.testing.assert_array_equal(xendcg_trees(data), xendcg_trees())
    else:
        data = dmatrix(xgb.QuantileDMatrix)
        np.testing.assert_array_equal(xendcg_trees(data), xendcg_trees())


def test_the_same_object_again_gives_the_same_model():
    objective, data = XENDCG(), dmatrix()
    first = xendcg_trees(data, objective)
    np.testing.assert_array_equal(xendcg_trees(data, objective), first)
    np.testing.assert_array_equal(xendcg_trees(data, pickle.loads(pickle.dumps(objective))), first)
    assert not objective._trainings()  # nothing of a training outlives it


def test_the_seed_of_xgboost_is_that_of_an_objective_without_its_own():
    plain, seeded = xendcg_trees(), xendcg_trees(seed=5)
    assert (plain != seeded).any()
    np.testing.assert_array_equal(xendcg_trees(objective=XENDCG(random_state=5)), seeded)
    np.testing.assert_array_equal(xendcg_trees(objective=XENDCG(random_state=0), seed=5), plain)


def test_training_goes_on_where_it_stopped():
    data, params = dmatrix(), {**FIXED, **ONCE}
    first = xgb.train(params, data, 4, obj=XENDCG())
    both = xgb.train(params, data, 4, obj=XENDCG(), xgb_model=first)
    np.testing.assert_array_equal(both.predict(data), xendcg_trees(data))


def test_two_boosters_in_turn_with_one_object():
    objective, data = XENDCG(), dmatrix()
    boosters = [xgb.Booster({**FIXED, **ONCE, "seed": seed}, [data]) for seed in (1, 2)]
    for tree in range(8):
        for booster in boosters:
            booster.update(data, tree, objective)
    for seed, booster in zip((1, 2), boosters, strict=True):
        np.testing.assert_array_equal(booster.predict(data), xendcg_trees(data, seed=seed))


def test_new_labels_of_the_same_matrix_are_seen():
    data, objective = dmatrix(), LambdaMART()
    scores = np.zeros(len(Y), dtype=np.float32)
    before, _ = (each.copy() for each in objective(scores, data))
    data.set_label(Y[::-1].copy())
    after, _ = objective(scores, data)
    np.testing.assert_array_equal(after, LambdaMART().grad_hess(Y[::-1], scores, GROUP)[0])
    assert (before != after).any()


# --- metrics -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, QUERY_WEIGHT])
def test_metrics_of_ours_are_values_of_ours(weight):
    data, seen = dmatrix(weight=weight), {}
    params = {**FIXED, **ONCE, "disable_default_eval_metric": True}
    metric = feval(["ndcg@5", "mrr"])
    booster = xgb.train(
        params, data, 4, obj=XENDCG(), custom_metric=metric, evals=[(data, "valid")],
        evals_result=seen, verbose_eval=False,
    )  # fmt: skip
    assert list(seen["valid"]) == ["ndcg@5", "mrr"]
    for tree, value in enumerate(seen["valid"]["ndcg@5"]):
        scores = booster.predict(data, iteration_range=(0, tree + 1), output_margin=True)
        rows = None if weight is None else np.float32(weight)
        expected = ndcg_score(Y, scores, group=GROUP, k=5, sample_weight=rows)
        assert value == pytest.approx(expected, abs=1e-6)  # XGBoost keeps six digits
    (name, value) = pickle.loads(pickle.dumps(feval("ndcg@5")))(scores, data)
    assert (name, round(value, 6)) == ("ndcg@5", seen["valid"]["ndcg@5"][-1])


def stop_early(metric, **given):
    inside, outside = QID < 30, QID >= 30
    params = {**FIXED, **ONCE, "disable_default_eval_metric": True}
    training = xgb.DMatrix(X[inside], Y[inside], qid=QID[inside])
    watched = xgb.DMatrix(X[outside], Y[outside], qid=QID[outside])
    seen = {}
    booster = xgb.train(
        params, training, 60, obj=XENDCG(), custom_metric=metric, evals=[(watched, "valid")],
        evals_result=seen, verbose_eval=False, **given,
    )  # fmt: skip
    return booster, seen["valid"]


def test_early_stopping_with_our_metrics():
    booster, seen = stop_early(feval("ndcg@5"), early_stopping_rounds=5)
    assert booster.best_iteration == int(np.argmax(seen["ndcg@5"]))
    assert len(seen["ndcg@5"]) == booster.best_iteration + 6
    booster, seen = stop_early(feval("err"), early_stopping_rounds=5, maximize=True)
    assert booster.best_iteration == int(np.argmax(seen["err"]))
    lower = feval("pairwise_disagreement")
    booster, seen = stop_early(lower, early_stopping_rounds=5)
    assert booster.best_iteration == int(np.argmin(seen[lower.name]))


@pytest.mark.parametrize(
    ("metric", "given", "message"),
    [
        ("err", {"early_stopping_rounds": 5}, "would minimize 'err': give maximize=True"),
        (["ndcg@5", "mrr"], {"early_stopping_rounds": 5}, "would minimize 'mrr'"),
        ("ndcg@5", {"early_stopping_rounds": 5, "maximize": False}, "would minimize 'ndcg@5'"),
        (
            "pairwise_disagreement",
            {"callbacks": [xgb.callback.EarlyStopping(rounds=5, maximize=True)]},
            "maximize=False",
        ),
    ],
)
def test_early_stopping_that_goes_the_wrong_way_is_an_error(metric, given, message):
    with pytest.raises(ValueError, match=message):
        stop_early(feval(metric), **given)


def test_early_stopping_by_another_metric_is_no_error():
    stop = xgb.callback.EarlyStopping(rounds=5, metric_name="ndcg@5")
    booster, seen = stop_early(feval(["ndcg@5", "mrr"]), callbacks=[stop])
    assert booster.best_iteration == int(np.argmax(seen["ndcg@5"]))


def test_xgb_cv_leaves_queries_whole():
    found = xgb.cv(
        {**FIXED, **ONCE, "disable_default_eval_metric": True}, dmatrix(), 3, nfold=3,
        obj=XENDCG(), custom_metric=feval("ndcg@5"), as_pandas=False, seed=1,
    )  # fmt: skip
    assert len(found["test-ndcg@5-mean"]) == 3


# --- what cannot be ----------------------------------------------------------------------------


def test_no_queries_are_one_clear_error():
    data = xgb.DMatrix(X, Y)
    with pytest.raises(ValueError, match="qid= to XGBoost's DMatrix"):
        xgb.train(FIXED, data, 1, obj=XENDCG())
    with pytest.raises(ValueError, match="qid to XGBoost's DMatrix"):
        feval("ndcg@5")(np.zeros(len(Y)), data)


def test_a_class_where_an_instance_is_meant():
    with pytest.raises(TypeError, match=r"call it, XENDCG\(\)"):
        xgb.train(FIXED, dmatrix(), 1, obj=XENDCG)


def test_parameters_of_a_native_loss_are_not_dropped_in_silence():
    params = {**FIXED, "verbosity": 1, "lambdarank_num_pair_per_sample": 3}
    with pytest.warns(UserWarning, match="are not used"):
        xgb.train(params, dmatrix(), 1, obj=LambdaMART())


def test_xgb_ranker_refuses_callables_and_the_recipe_works(tmp_path):
    with pytest.raises(ValueError, match="not supported by XGBRanker"):
        xgb.XGBRanker(objective=XENDCG()).fit(X, Y, qid=QID)
    data, params = dmatrix(), {**FIXED, **ONCE, "objective": "rank:ndcg"}
    booster = xgb.train(params, data, 4, obj=XENDCG())
    booster.save_model(tmp_path / "model.json")
    ranker = xgb.XGBRanker()
    ranker.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(ranker.predict(X), booster.predict(data))


def test_importing_gbrank_does_not_import_xgboost():
    code = (
        "import sys, gbrank, numpy as np; from gbrank.metrics import feval; "
        "gbrank.XENDCG().grad_hess([1, 0], [0.0, 0.0], [2]); feval('ndcg@5'); "
        "sys.exit('xgboost' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
