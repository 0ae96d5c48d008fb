"""YetiLoss, and LambdaMART for other metrics: values, parameters, one name of a metric."""

import pickle

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.base import clone

from gbrank import LambdaMART, Ranker, YetiLoss, list_objectives
from gbrank.data import make_ranking
from gbrank.metrics import feval, get_metric
from gbrank.testing import check_objective

VARIANTS = [
    YetiLoss("map@4", neighbors=3),
    YetiLoss("mrr", scale=0.0, neighbors=None),
    YetiLoss("err@5", max_grade=4, neighbors=2, scale=0.3),
    YetiLoss("recall@3", permutations=3),
    YetiLoss("precision", top=5, neighbors=2, noise="normal"),
    YetiLoss("dcg", noise="gumbel", gain="linear", permutations=20),
    LambdaMART(metric="ndcg@5"),
    LambdaMART(metric="map", norm=False),
    LambdaMART(metric="mrr@10", sigmoid=2.0),
    LambdaMART(metric="err", max_grade=4, truncation_level=8),
    LambdaMART(metric="recall@3"),
]


@pytest.mark.parametrize("objective", VARIANTS, ids=repr)
def test_variant_keeps_the_contract(objective):
    check_objective(objective)


def test_values_of_two_documents_as_arithmetic():
    """Both orders of two documents cost the same swap, so the noise has no part."""
    scores = [0.0, np.log(3.0)]  # the better one wins with chance 1 / 4
    log3 = np.log2(3.0)
    for objective, weight in {
        YetiLoss("dcg"): 3 * (1 - 1 / log3),
        YetiLoss("ndcg"): 1 - 1 / log3,
        YetiLoss("mrr"): 1 - 1 / 2,
        YetiLoss("map"): 1 - 1 / 2,
        YetiLoss("err", max_grade=2): 3 / 4 * (1 - 1 / 2),
        YetiLoss("precision@1"): 1.0,
        YetiLoss("recall@1"): 1.0,
    }.items():
        grad, hess = objective.grad_hess([2, 0], scores, [2])
        np.testing.assert_allclose(grad, [-weight * 3 / 4, weight * 3 / 4], rtol=1e-6)
        np.testing.assert_allclose(hess, [weight * 3 / 16, weight * 3 / 16], rtol=1e-6)
        loss = objective.loss([2, 0], scores, [2])
        np.testing.assert_allclose(loss, weight * np.log(1 + 3.0), rtol=1e-12)


@pytest.mark.parametrize(("metric", "moved"), [("precision@2", {0, 1, 2, 3}), ("recall@1", {0, 1})])
def test_precision_and_recall_compare_across_the_cutoff(metric, moved):
    """In the order of scores, places 2 and 3, and 1 and 4, are compared; or 1 and 2."""
    grad, _ = YetiLoss(metric, scale=0.0).grad_hess([0, 0, 1, 1, 1], [5, 4, 3, 2, 1], [5])
    if metric == "recall@1":
        assert set(np.flatnonzero(grad)) == set()  # neither of the two is relevant
        grad, _ = YetiLoss(metric, scale=0.0).grad_hess([0, 1, 1, 1, 1], [5, 4, 3, 2, 1], [5])
    assert set(np.flatnonzero(grad)) == moved


def test_threshold_says_what_is_relevant():
    labels, scores = [2, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]
    graded = YetiLoss("map", threshold=1).grad_hess(labels, scores, [4])
    binary = YetiLoss("map").grad_hess([1, 0, 0, 0], scores, [4])
    np.testing.assert_array_equal(graded, binary)
    mart = LambdaMART(metric="map", threshold=1).grad_hess(labels, scores, [4])
    np.testing.assert_array_equal(
        mart, LambdaMART(metric="map").grad_hess([1, 0, 0, 0], scores, [4])
    )


@pytest.mark.parametrize("make", [YetiLoss, lambda metric, **k: LambdaMART(metric=metric, **k)])
@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("spearman", "metric must be one of dcg, err, map, mrr, ndcg, precision, recall"),
        ("nDCG", "metric must be one of dcg"),
        (3, "metric must be one of dcg"),
        ("map@0.2", "must be an integer, got map@0.2"),
        ("map@x", "cut-off of 'map@x' must be"),
        ("map@0", "must be an integer >= 1"),
        ("recall", "give a cut-off, as in 'recall@10'"),
    ],
)
def test_a_wrong_metric_is_an_error_that_names_the_right_ones(make, metric, message):
    with pytest.raises(ValueError, match=message):
        make(metric)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"metric": "map@5", "top": 3}, "given twice: in metric=.map@5. and as top=3"),
        ({"permutations": 0}, "permutations must be"),
        ({"neighbors": 0}, "neighbors must be"),
        ({"noise": "cauchy"}, "noise must be"),
        ({"scale": -1.0}, "scale must be"),
        ({"gain": "log"}, "gain must be"),
        ({"metric": "err", "gain": "linear"}, "gain must be"),
        ({"metric": "err", "max_grade": 0}, "max_grade must be"),
        ({"metric": "map", "threshold": "x"}, "threshold must be"),
    ],
)
def test_wrong_parameters_are_errors(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        YetiLoss(**params).grad_hess([1, 0], [0.0, 0.0], [2])


def test_labels_that_a_metric_cannot_take():
    with pytest.raises(ValueError, match=r"at most max_grade = 2, but row 1 .*has label 3"):
        YetiLoss("err", max_grade=2).grad_hess([0, 3], [0.0, 0.0], [2])


def test_blank_queries_have_no_part():
    labels, scores, group = [0, 0, 1, 1, 1, 0], [1.0, 2.0, 1.0, 2.0, 1.0, 2.0], [2, 2, 2]
    for metric in ("ndcg", "map", "mrr", "err"):
        for objective in (YetiLoss(metric, max_grade=1), LambdaMART(metric=metric, max_grade=1)):
            grad, _ = objective.grad_hess(labels, scores, group)
            np.testing.assert_array_equal(grad != 0, [False] * 4 + [True] * 2)


def test_more_permutations_than_lanes_average_the_same_weights():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 5, 30), rng.normal(size=30)
    few = [YetiLoss(permutations=10).grad_hess(labels, scores, [30], iteration=i)[0].astype(float)
           for i in range(4)]  # fmt: skip
    many = YetiLoss(permutations=40).grad_hess(labels, scores, [30], iteration=0)[0]
    np.testing.assert_allclose(np.mean(few, axis=0), many, atol=1e-6)


def test_wide_scores_go_the_exact_way_to_the_same_pairs():
    """A document far off changes the way orders are drawn, not the pairs of the others."""
    labels = np.array([0.0, 2.0, 1.0, 0.0])
    near = YetiLoss("dcg", scale=0.0).grad_hess(labels, [0.5, 0.2, 0.1, -3.0], [4])
    for far in (-200.0, -1e40, -1.7e308):
        wide = YetiLoss("dcg", scale=0.0).grad_hess(labels, [0.5, 0.2, 0.1, far], [4])
        np.testing.assert_allclose(near[0][:2], wide[0][:2], rtol=1e-5)
        assert np.isfinite(wide).all()


def test_one_name_of_a_metric_for_loss_stopping_and_score():
    data = make_ranking(n_queries=40, random_state=1)
    train, valid = data.split(0.6)
    ranker = Ranker(
        "yetiloss", preset="fast", eval_metric="map@10", n_estimators=12, early_stopping_rounds=5,
        n_jobs=1,
    )  # fmt: skip
    ranker.fit(train.X, train.y, qid=train.qid, eval_X=valid.X, eval_y=valid.y, eval_qid=valid.qid)
    assert ranker.objective_.metric == "map@10"
    assert list(ranker.evals_result_["valid_0"]) == ["map@10"]
    expected = get_metric("map@10")(valid.y, ranker.predict(valid.X), qid=valid.qid)
    assert ranker.score(valid.X, valid.y, qid=valid.qid) == expected
    said = Ranker(YetiLoss("map@10"), preset="fast", n_estimators=12, n_jobs=1)
    plain = clone(ranker).set_params(early_stopping_rounds=None)
    for each in (said, plain):
        each.fit(train.X, train.y, qid=train.qid)
    np.testing.assert_array_equal(said.predict(valid.X), plain.predict(valid.X))


@pytest.mark.parametrize(
    ("objective", "eval_metric", "expected", "optimised"),
    [
        (YetiLoss(), "ndcg@10", "ndcg@10", "ndcg@10"),
        (YetiLoss(), ["mrr", "ndcg@5"], "mrr", "mrr"),
        (YetiLoss("err"), "map@10", "err", "err"),
        (YetiLoss(top=3), "map@10", "map", "map@3"),
        (YetiLoss(), feval("recall@7"), "recall@7", "recall@7"),
        (YetiLoss(), "spearman", None, "ndcg"),
        (YetiLoss(), "map@0.5", None, "ndcg"),
        (LambdaMART(), "map@10", "ndcg", "ndcg"),
    ],
)
def test_where_the_metric_comes_from(objective, eval_metric, expected, optimised):
    data = make_ranking(n_queries=12, random_state=1)
    ranker = Ranker(objective, preset="fast", eval_metric=eval_metric, n_estimators=2, n_jobs=1)
    ranker.fit(data.X, data.y, qid=data.qid)
    assert ranker.objective_.metric == expected
    assert ranker.objective_.optimised().full_name == optimised


def test_score_of_a_metric_that_is_better_when_lower_is_negative():
    data = make_ranking(n_queries=12, random_state=1)
    ranker = Ranker("xendcg", preset="fast", eval_metric="pairwise_disagreement", n_estimators=2)
    ranker.fit(data.X, data.y, qid=data.qid)
    worse = get_metric("pairwise_disagreement")(data.y, ranker.predict(data.X), qid=data.qid)
    assert ranker.score(data.X, data.y, qid=data.qid) == -worse


def test_saved_model_keeps_the_metric(tmp_path):
    data = make_ranking(n_queries=12, random_state=1)
    ranker = Ranker("yetiloss", preset="fast", eval_metric="mrr@5", n_estimators=2, n_jobs=1)
    ranker.fit(data.X, data.y, qid=data.qid).save_model(tmp_path / "model.txt")
    loaded = Ranker.load_model(tmp_path / "model.txt").objective_
    assert (type(loaded), loaded.metric) == (YetiLoss, "mrr@5")
    assert loaded.get_params() == ranker.objective_.get_params()


def test_lightgbm_trains_with_it_directly():
    data = make_ranking(n_queries=30, random_state=2)
    dataset = lgb.Dataset(data.X, data.y, group=data.group)
    params = {"metric": "None", "verbose": -1, "num_threads": 1, "seed": 3}
    trained = [
        lgb.train({**params, "objective": objective}, dataset, 5).predict(data.X)
        for objective in (YetiLoss("mrr"), pickle.loads(pickle.dumps(YetiLoss("mrr"))))
    ]
    np.testing.assert_array_equal(*trained)
    assert np.ptp(trained[0]) > 0
    assert "yetiloss" in list_objectives()


def test_gains_as_small_as_the_smallest_numbers():
    """NDCG does not know the unit of gains; a reciprocal of 1e-310 is no number."""
    scores, labels = [0.1, 0.2, 0.3], np.array([0.0, 1.0, 2.0])
    objective = YetiLoss("ndcg", gain="linear")
    expected = objective.grad_hess(labels, scores, [3])
    found = objective.grad_hess(labels * 1e-310, scores, [3])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("gain", [1.0, 1e25])
def test_hessians_of_scores_far_apart(gain):
    """Products of two e^s that are no number of single precision: once NaN or infinite."""
    scores = np.array([71.0, 83.0, -26.0, 72.0])  # within 120 of each other
    objective = YetiLoss("dcg", scale=0.0, neighbors=None, gain=lambda y: gain * y)
    grad, hess = objective.grad_hess([0, 1, 2, 3], scores, [4])
    distance = np.abs(np.subtract.outer(scores, scores))
    discounts = 1 / np.log2(2.0 + np.argsort(np.argsort(-scores)))
    change = np.abs(np.subtract.outer(discounts, discounts))
    worth = gain * np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    expected = (worth * change * np.exp(-distance) / (1 + np.exp(-distance)) ** 2).sum(axis=1)
    np.testing.assert_allclose(hess, expected, rtol=1e-4, atol=gain * 1e-37)
    assert np.isfinite(grad).all()
