"""What the migration page's table says of LightGBM, XGBoost and CatBoost, tried on each."""

import inspect
import re
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

import gbrank
from gbrank.metrics import ndcg_score
from gbrank.preferences import Comparisons

xgb = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")
catboost_utils = pytest.importorskip("catboost.utils")

PAGE = (Path(__file__).resolve().parent.parent / "docs/migrate.md").read_text(encoding="utf-8")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = RNG.integers(0, 4, 60)
QID = np.repeat(np.arange(6), 10)
GROUP = [10] * 6
SHUFFLED = QID[RNG.permutation(60)]
NAMES = np.array([f"q{q}" for q in QID])
# The same query twice, best rows first, and a model that has nothing to say.
SORTED = np.array([3, 2, 1, 0, 0] * 2)
TWO = np.repeat([0, 1], 5)
BLANK = np.array([3, 2, 1, 0, 0] + [0] * 5)

CATBOOST_LOSSES = [
    "LambdaMart",
    "PairLogit",
    "PairLogitPairwise",
    "QueryRMSE",
    "QuerySoftMax",
    "StochasticFilter",
    "StochasticRank:metric=NDCG",
    "YetiRank",
    "YetiRankPairwise",
]
XGBOOST_LOSSES = ["rank:map", "rank:ndcg", "rank:pairwise"]
LIGHTGBM_LOSSES = ["lambdarank", "rank_xendcg"]


def row(title):
    """Return the cells of one row of the table: gbrank, LightGBM, XGBoost, CatBoost."""
    found = re.search(rf"^\| {re.escape(title)} \|(.*)\|$", PAGE, re.MULTILINE)
    assert found, f"the table has no row {title!r}"
    return [cell.strip() for cell in found[1].split("|")]


def train_lightgbm(labels, objective="lambdarank", **params):
    params = {"objective": objective, "verbose": -1, "num_threads": 1, **params}
    return lgb.train(params, lgb.Dataset(X, labels, group=GROUP), 2)


def train_xgboost(labels, qid=QID, objective="rank:ndcg", **params):
    data = xgb.DMatrix(X, labels, qid=qid)
    return xgb.train({"objective": objective, "nthread": 1, **params}, data, 2)


def train_catboost(labels, qid=QID, objective="YetiRank", pairs=None):
    params = {"loss_function": objective, "iterations": 2, "verbose": 0, "thread_count": 1}
    pool = catboost.Pool(X, labels, group_id=qid, pairs=pairs)
    return catboost.CatBoost({**params, "allow_writing_files": False}).fit(pool)


def train_gbrank(labels, qid=QID, objective="xendcg"):
    ranker = gbrank.Ranker(objective, preset="fast", n_estimators=2, min_child_samples=5, n_jobs=1)
    return ranker.fit(X, labels, qid=qid)


def test_losses_for_ranking():
    own = [
        name
        for name in gbrank.list_objectives()
        if type(gbrank.get_objective(name)).__module__.startswith("gbrank.")
    ]
    relevant = (Y > 1).astype(int)
    for objective in LIGHTGBM_LOSSES:
        assert train_lightgbm(Y, objective).num_trees() == 2
    for objective in XGBOOST_LOSSES:
        assert train_xgboost(relevant, objective=objective).num_boosted_rounds() == 2
    for objective in CATBOOST_LOSSES:
        assert train_catboost(relevant.astype(float), objective=objective).tree_count_ == 2
    counts = [len(own), len(LIGHTGBM_LOSSES), len(XGBOOST_LOSSES), len(CATBOOST_LOSSES)]
    assert [int(re.match(r"\d+", cell)[0]) for cell in row("losses for ranking, on CPU")] == counts


def test_rows_of_a_query_anywhere():
    assert row("rows of a query may lie anywhere") == ["yes", "no ids, sizes of groups", "no", "no"]
    train_gbrank(Y, SHUFFLED)
    with pytest.raises(xgb.core.XGBoostError, match="sorted"):
        train_xgboost(Y, SHUFFLED)
    with pytest.raises(catboost.CatBoostError, match="grouped"):
        train_catboost(Y, SHUFFLED)
    assert "group" in inspect.signature(lgb.Dataset).parameters  # sizes of consecutive queries
    assert "qid" not in inspect.signature(lgb.Dataset).parameters


def test_strings_as_query_ids():
    assert row("query ids may be strings") == ["yes", "no ids", "no", "yes"]
    train_gbrank(Y, NAMES)
    train_catboost(Y, NAMES)
    with pytest.raises(Exception, match="not supported"):
        train_xgboost(Y, NAMES)


def test_fractional_labels():
    assert row("fractional labels") == ["yes", "no", "not with exponential gains", "yes"]
    labels = Y + 0.5 * (Y > 0)
    train_gbrank(labels)
    train_catboost(labels)
    train_xgboost(labels, ndcg_exp_gain=False)
    with pytest.raises(xgb.core.XGBoostError, match=r"integer|relevance degree"):
        train_xgboost(labels)
    for objective in LIGHTGBM_LOSSES:
        with pytest.raises(lgb.basic.LightGBMError, match="int type"):
            train_lightgbm(labels, objective)


def test_large_labels():
    assert row("labels above 31") == [
        "yes",
        "with a table `label_gain`",
        "not with exponential gains",
        "yes",
    ]
    labels = 20 * Y
    train_gbrank(labels)
    train_catboost(labels)
    train_xgboost(labels, ndcg_exp_gain=False)
    with pytest.raises(xgb.core.XGBoostError, match="31"):
        train_xgboost(labels)
    for objective in LIGHTGBM_LOSSES:
        with pytest.raises(lgb.basic.LightGBMError, match="31"):
            train_lightgbm(labels, objective)
        assert train_lightgbm(labels, objective, label_gain=list(range(61))).num_trees() == 2


def test_learning_from_pairs():
    assert row("learns from preferences, no labels") == [
        "pairs, orders, clicks",
        "no",
        "no",
        "pairs",
    ]
    winner, loser = np.arange(0, 60, 2), np.arange(1, 60, 2)
    ranker = gbrank.Ranker("pairwise_logistic", n_estimators=2, min_child_samples=5, n_jobs=1)
    ranker.fit(X, qid=QID, preferences=Comparisons(None, winner=winner, loser=loser))
    pairs = np.column_stack((winner, loser))
    assert train_catboost(None, objective="PairLogit", pairs=pairs).tree_count_ == 2
    # Without labels LightGBM takes them all as 0, and there is nothing to learn.
    assert np.ptp(train_lightgbm(None, min_data_in_leaf=5).predict(X)) == 0
    assert np.ptp(train_lightgbm(Y, min_data_in_leaf=5).predict(X)) > 0
    with pytest.raises(xgb.core.XGBoostError, match=r"[Ll]abel"):
        train_xgboost(None)


def lightgbm_ndcg(labels):
    """Return NDCG@3 of a model without a split."""
    recorded = {}
    data = lgb.Dataset(np.arange(10.0)[:, None], labels, group=[5, 5])
    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [3], "min_data_in_leaf": 100}
    lgb.train(
        {**params, "verbose": -1, "num_threads": 1},
        data,
        1,
        valid_sets=[data],
        callbacks=[lgb.record_evaluation(recorded)],
    )
    return recorded["training"]["ndcg@3"][0]


def xgboost_ndcg(labels):
    recorded = {}
    data = xgb.DMatrix(np.arange(10.0)[:, None], labels, qid=TWO)
    params = {"objective": "rank:ndcg", "eval_metric": "ndcg@3", "eta": 0.0, "nthread": 1}
    watched = {"evals": [(data, "v")], "evals_result": recorded, "verbose_eval": False}
    xgb.train(params, data, 1, **watched)
    return recorded["v"]["ndcg@3"][0]


def catboost_ndcg(labels, scores):
    return catboost_utils.eval_metric(
        labels.astype(float), scores, "NDCG:top=3;type=Exp", group_id=TWO
    )[0]


def test_constant_model_on_sorted_rows():
    # In a random order each document is at each rank equally often: mean gain of the five
    # (7 + 3 + 1) / 5 at ranks 1 to 3, over the best DCG@3.
    discount = 1 / np.log2(np.arange(2, 5))
    expected = (11 / 5) * discount.sum() / (np.array([7, 3, 1]) @ discount)
    worst = (np.array([0, 0, 1]) @ discount) / (np.array([7, 3, 1]) @ discount)
    assert ndcg_score(SORTED, np.zeros(10), group=[5, 5], k=3) == pytest.approx(expected)
    assert lightgbm_ndcg(SORTED) == pytest.approx(1.0)
    assert xgboost_ndcg(SORTED) == pytest.approx(1.0)
    assert catboost_ndcg(SORTED, np.zeros(10)) == pytest.approx(worst)
    assert row("NDCG of equal scores") == [
        "mean over random orders",
        "order of rows",
        "order of rows",
        "worst order",
    ]


def test_blank_queries():
    backwards = np.arange(10.0)  # the worst order of the query with relevant documents
    own = ndcg_score(BLANK, backwards, group=[5, 5], k=3)
    assert own == pytest.approx(ndcg_score(BLANK[:5], backwards[:5], group=[5], k=3))
    assert catboost_ndcg(BLANK, backwards) == pytest.approx((own + 1) / 2)
    rows = np.array([0, 0, 1, 2, 3] + [0] * 5)  # worst rows first, and no split
    value = ndcg_score(rows[:5], np.zeros(5), group=[5], k=3, ties="stable")
    assert lightgbm_ndcg(rows) == pytest.approx((value + 1) / 2)
    assert xgboost_ndcg(rows) == pytest.approx((value + 1) / 2)
    assert row("NDCG of a query with nothing relevant") == [
        "left out, or as told",
        "1",
        "1",
        "1",
    ]
