"""Several losses on several labels: scale, weights, floors, and every way to train."""

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.base import clone

from gbrank import XENDCG, Combined, LambdaMART, Ranker, Squared
from gbrank.data import make_ranking
from gbrank.metrics import ndcg_score

DATA = make_ranking(n_queries=60, list_length=(3, 12), n_features=12, random_state=0)
#: The second label is nearly the opposite of the first: what one gains the other loses.
SECOND = np.maximum(DATA.y.max() - DATA.y - (np.arange(len(DATA.y)) % 7 == 0), 0.0)
LABELS = np.column_stack([DATA.y, SECOND])
SCORES = np.random.default_rng(0).normal(size=len(DATA.y))


def gradients(objective, labels=LABELS):
    grad, hess = objective.grad_hess(labels, SCORES, DATA.group)
    return grad.astype(float), hess.astype(float)


@pytest.mark.parametrize("first", [XENDCG(), LambdaMART(), Squared()])
def test_weights_one_and_zero_are_the_single_loss_to_the_bit(first):
    both = Combined([(first, 0, 1.0), (LambdaMART(gain="linear"), 1, 0.0)])
    for found, expected in zip(
        both.grad_hess(LABELS, SCORES, DATA.group),
        first.grad_hess(DATA.y, SCORES, DATA.group),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
    models = [
        Ranker(objective, random_state=3, n_estimators=20).fit(DATA.X, y, qid=DATA.qid)
        for objective, y in ((both, LABELS), (first, DATA.y))
    ]
    np.testing.assert_array_equal(*(each.predict(DATA.X) for each in models))


def test_the_sum_is_on_the_scale_of_the_first():
    one, two = XENDCG(gamma=0.5), Squared(norm=None)
    grad, hess = gradients(Combined([(one, 0, 0.7), (two, 1, 0.3)]))
    g1, h1 = gradients(one, DATA.y)
    g2, h2 = gradients(two, SECOND)
    factor = np.abs(g1).sum() / np.abs(g2).sum()
    np.testing.assert_allclose(grad, 0.7 * g1 + 0.3 * factor * g2, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(hess, 0.7 * h1 + 0.3 * factor * h2, rtol=1e-4, atol=1e-7)
    # a loss times a number is the same loss
    again, _ = gradients(Combined([(one, 0, 0.7), (Squared(norm=None, reduction="sum"), 1, 0.3)]))
    np.testing.assert_array_equal(grad, again)


def test_weights_trade_one_label_for_the_other():
    found = []
    for weight in (0.05, 0.5, 5.0):
        both = Combined([(XENDCG(), 0, 1.0), (XENDCG(), 1, weight)])
        ranker = Ranker(both, preset="fast", start="zero").fit(DATA.X, LABELS, qid=DATA.qid)
        scores = ranker.predict(DATA.X)
        found.append([ndcg_score(y, scores, qid=DATA.qid) for y in LABELS.T])
    first, second = np.transpose(found)
    assert first[0] > first[1] > first[2]
    assert second[0] < second[1] < second[2]


def test_a_floor_is_reached():
    def trained(floor):
        at_least = None if floor is None else {1: ("ndcg@5", floor)}
        both = Combined([("xendcg", 0, 1.0), ("xendcg", 1, 0.0)], at_least=at_least)
        ranker = Ranker(both, preset="fast", start="zero", n_estimators=80, learning_rate=0.1)
        scores = ranker.fit(DATA.X, LABELS, qid=DATA.qid).predict(DATA.X)
        return [ndcg_score(y, scores, qid=DATA.qid, k=5) for y in LABELS.T]

    free, held, high = trained(None), trained(0.7), trained(0.8)
    assert free[1] < 0.65
    assert 0.68 < held[1] < 0.77
    assert 0.78 < high[1] < 0.87
    assert free[0] > held[0] > high[0]


def test_lightgbm_trains_on_a_matrix_of_labels():
    both = Combined([(XENDCG(), 0, 0.6), (LambdaMART(gain="linear"), 1, 0.4)])
    params = {"num_leaves": 7, "min_data_in_leaf": 5, "verbose": -1, "num_threads": 1,
              "metric": "None", "force_col_wise": True, "objective_seed": 0}  # fmt: skip
    dataset = lgb.Dataset(DATA.X, DATA.y, group=DATA.group)
    booster = lgb.train({**params, "objective": both.with_labels(LABELS)}, dataset, 10)
    ranker = Ranker(both, preset="lightgbm", n_estimators=10, num_leaves=7, min_child_samples=5,
                    n_jobs=1, lgb_params={"force_col_wise": True})  # fmt: skip
    ranker.fit(DATA.X, LABELS, qid=DATA.qid)
    np.testing.assert_allclose(booster.predict(DATA.X), ranker.predict(DATA.X), rtol=1e-9)


def test_folds_see_the_labels_of_their_own_rows(tmp_path):
    both = Combined([(XENDCG(), 1, 1.0), (LambdaMART(), 0, 0.5)])
    shuffled = np.random.default_rng(1).permutation(len(DATA.y))
    ranker = Ranker(both, n_estimators=15, random_state=0)
    ranker.fit(DATA.X[shuffled], LABELS[shuffled], qid=DATA.qid[shuffled])
    assert ranker.cv_score_ > 0.6  # of the column of the first loss
    score = ranker.score(DATA.X, LABELS, qid=DATA.qid)
    assert score == ndcg_score(SECOND, ranker.predict(DATA.X), qid=DATA.qid, k=10)
    assert ranker.objective_.labels is None
    ranker.save_model(tmp_path / "model.txt")
    loaded = Ranker.load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict(DATA.X), ranker.predict(DATA.X))
    again = clone(loaded).fit(DATA.X[shuffled], LABELS[shuffled], qid=DATA.qid[shuffled])
    np.testing.assert_array_equal(again.predict(DATA.X), ranker.predict(DATA.X))


@pytest.mark.parametrize(
    ("parts", "at_least", "message"),
    [
        ([], None, "parts must be a list of"),
        ([("xendcg", 0)], None, "parts must be a list of"),
        ([("xendcg", -1, 1.0)], None, "the column of parts"),
        ([("xendcg", 0, 0.0)], None, "the weight of parts\\[0\\] must be above 0"),
        ([("xendcg", 0, 1.0), ("listnet", 1, -1.0)], None, "the weight of parts\\[1\\]"),
        ([("xendcg", 0, 1.0), ("preference_logistic", 1, 1.0)], None, "must learn from labels"),
        ([("xendcg", 0, 1.0), (Combined(), 1, 1.0)], None, "must be a single loss"),
        ([("xendcg", 0, 1.0), ("xendcg", 1, 1.0)], {0: ("ndcg", 0.5)}, "at_least must name"),
        ([("xendcg", 0, 1.0), ("xendcg", 1, 1.0)], {1: 0.5}, "must be \\(metric, value\\)"),
    ],
)
def test_bad_parameters(parts, at_least, message):
    with pytest.raises(ValueError, match=message):
        Combined(parts, at_least=at_least)


def test_labels_that_do_not_fit():
    both = Combined([("xendcg", 0, 1.0), ("xendcg", 1, 1.0)])
    with pytest.raises(ValueError, match="has no matrix of labels: use Ranker"):
        both.grad_hess(DATA.y, SCORES, DATA.group)
    with pytest.raises(ValueError, match="are the rows in another order"):
        both.with_labels(LABELS[::-1]).grad_hess(DATA.y, SCORES, DATA.group)
    with pytest.raises(ValueError, match="a row for each of the"):
        both.with_labels(LABELS[:9]).grad_hess(DATA.y, SCORES, DATA.group)
    with pytest.raises(ValueError, match="has no matrix of labels"):
        Ranker(both).fit(DATA.X, DATA.y[:, None], qid=DATA.qid)
    with pytest.raises(ValueError, match=r"for several labels at once use objective=Combined"):
        Ranker().fit(DATA.X, LABELS, qid=DATA.qid)
    with pytest.raises(ValueError, match="must be finite"):
        Ranker(both).fit(DATA.X, np.where(LABELS == 2, np.nan, LABELS), qid=DATA.qid)
