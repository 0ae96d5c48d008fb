"""Splits of whole queries, and cross-validation on them."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

import gbrank
from gbrank import QueryKFold, QueryShuffleSplit, Ranker
from gbrank.data import make_ranking
from gbrank.metrics import ndcg_score

SMALL = {"n_estimators": 5, "num_leaves": 7, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, list_length=(5, 20), random_state=3)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=40),
    st.integers(0, 2**32 - 1),
    st.sampled_from([None, "length", "relevant", "both"]),
    st.booleans(),
)
def test_no_query_is_torn_and_every_row_is_tested_once(sizes, seed, stratify, shuffle):
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    y = rng.integers(0, 3, len(qid))
    n_splits = int(rng.integers(2, len(sizes) + 1))
    splitter = QueryKFold(n_splits, shuffle=shuffle, stratify=stratify, random_state=seed)
    tested = np.zeros(len(qid), dtype=int)
    sizes_of_folds = []
    for train, test in splitter.split(np.zeros((len(qid), 1)), y, qid):
        assert not set(qid[train]) & set(qid[test])
        assert len(train) + len(test) == len(qid)
        tested[test] += 1
        sizes_of_folds.append(len(set(qid[test])))
    assert (tested == 1).all()
    assert max(sizes_of_folds) - min(sizes_of_folds) <= 1
    for train, test in QueryShuffleSplit(3, stratify=stratify).split(qid[:, None], y, qid):
        assert not set(qid[train]) & set(qid[test])
        assert len(set(qid[test])) == min(max(1, round(0.2 * len(sizes))), len(sizes) - 1)


def test_stratified_folds_share_every_kind_of_query():
    """Half of the queries are long; the first half: unstratified folds in order would be uneven."""
    sizes = np.array([4] * 20 + [40] * 20)
    qid = np.repeat(np.arange(40), sizes)
    for stratify, expected in ((None, None), ("length", 2)):
        splitter = QueryShuffleSplit(20, test_size=0.1, stratify=stratify)
        long_ones = [
            len(set(qid[test]) & set(range(20, 40)))
            for _, test in splitter.split(qid[:, None], None, qid)
        ]
        assert (set(long_ones) == {expected}) == (stratify is not None)
    relevant = np.zeros(len(qid))
    relevant[np.isin(qid, np.arange(0, 40, 4))] = 1  # ten queries with relevant documents
    for _, test in QueryKFold(5, stratify="relevant").split(qid[:, None], relevant, qid):
        assert len(set(qid[test][relevant[test] > 0])) == 2


def test_seeds_and_columns(data):
    frame = pd.DataFrame(data.X).assign(query=data.qid)
    by_column = list(QueryKFold(3, shuffle=True, qid="query").split(frame, data.y))
    by_groups = list(QueryKFold(3, shuffle=True).split(data.X, data.y, data.qid))
    other_seed = list(QueryKFold(3, shuffle=True, random_state=1).split(data.X, data.y, data.qid))
    for (_, a), (_, b) in zip(by_column, by_groups, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(by_groups[0][1], other_seed[0][1])


def test_cv_equals_a_loop_written_by_hand(data):
    params = {
        "objective": "xendcg",
        "num_leaves": 7,
        "num_threads": 1,
        "force_col_wise": True,
        "verbose": -1,
    }
    result = gbrank.cv(params, data.X, data.y, qid=data.qid, num_boost_round=4, nfold=3, seed=5)
    splitter = QueryKFold(3, shuffle=True, random_state=5)
    by_hand = []
    for train, test in splitter.split(data.X, data.y, data.qid):
        # bins are made from all rows, as lightgbm.cv does
        full = lgb.Dataset(data.X, data.y, group=data.group, params=params).construct()
        booster = lgb.train(
            {**params, "objective": gbrank.XENDCG(), "metric": "None"},
            full.subset(train),
            4,
        )
        by_hand.append(
            ndcg_score(data.y[test], booster.predict(data.X[test]), qid=data.qid[test], k=10)
        )
    assert result["valid ndcg@10-mean"][-1] == pytest.approx(np.mean(by_hand), abs=1e-12)
    assert result["valid ndcg@10-stdv"][-1] == pytest.approx(np.std(by_hand), abs=1e-12)


def test_cv_stops_early_and_takes_a_dataset(data):
    noise = np.random.default_rng(0).integers(0, 5, len(data.y))
    dataset = lgb.Dataset(data.X, noise, group=data.group, params={"verbose": -1})
    result = gbrank.cv(
        {"objective": gbrank.LambdaMART(), "verbose": -1},
        dataset,
        num_boost_round=100,
        metrics=["ndcg@5", "ndcg@10"],
        early_stopping_rounds=3,
    )
    curve = result["valid ndcg@5-mean"]
    assert len(curve) < 100
    assert np.argmax(curve) == len(curve) - 1
    assert len(result["valid ndcg@10-mean"]) == len(curve)


def test_cv_refuses_folds_that_tear_queries(data):
    with pytest.raises(ValueError, match=r"fold 0 tears query \d+ apart"):
        gbrank.cv({"verbose": -1}, data.X, data.y, qid=data.qid, folds=KFold(3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda X, y, q: next(QueryKFold(1).split(X, y, q)),
            "n_splits must be an integer >= 2",
        ),
        (lambda X, y, q: next(QueryKFold(999).split(X, y, q)), "more than the number of queries"),
        (lambda X, y, q: next(QueryKFold().split(X, y)), "needs the query id of each row"),
        (lambda X, y, q: next(QueryKFold(stratify="a").split(X, y, q)), "stratify must be None"),
        (
            lambda X, y, q: next(QueryShuffleSplit(test_size=2.0).split(X, y, q)),
            "test_size must be",
        ),
        (lambda X, y, q: gbrank.cv({}, X, y), "got neither"),
        (lambda X, y, q: gbrank.cv({}, X, y, qid=q, nfold=1), "nfold must be an integer >= 2"),
        (
            lambda X, y, q: gbrank.cv({"bagging_by_query": "true"}, X, y, qid=q),
            "bagging_by_query=True is not supported",
        ),
        (lambda X, y, q: gbrank.cv({}, lgb.Dataset(X, y)), "the Dataset has no queries"),
    ],
)
def test_bad_input_is_one_clear_error(data, call, message):
    with pytest.raises(ValueError, match=message):
        call(data.X, data.y, data.qid)


def test_grid_search_with_metadata_routing(data):
    with config_context(enable_metadata_routing=True):
        ranker = (
            Ranker.lightgbm_defaults(**SMALL).set_fit_request(qid=True).set_score_request(qid=True)
        )
        search = GridSearchCV(
            ranker, {"objective": ["xendcg", "listnet"], "num_leaves": [4, 7]}, cv=QueryKFold(3)
        ).fit(data.X, data.y, groups=data.qid, qid=data.qid)
        scores = cross_validate(
            ranker, data.X, data.y, cv=QueryKFold(3), params={"groups": data.qid, "qid": data.qid}
        )["test_score"]
    by_hand = {}
    for objective in ("xendcg", "listnet"):
        for leaves in (4, 7):
            values = []
            for train, test in QueryKFold(3).split(data.X, data.y, data.qid):
                model = Ranker.lightgbm_defaults(objective, **(SMALL | {"num_leaves": leaves})).fit(
                    data.X[train], data.y[train], qid=data.qid[train]
                )
                values.append(model.score(data.X[test], data.y[test], qid=data.qid[test]))
            by_hand[objective, leaves] = np.mean(values)
    assert search.best_score_ == pytest.approx(max(by_hand.values()), abs=1e-12)
    assert np.mean(scores) == pytest.approx(by_hand["xendcg", 7], abs=1e-12)


def test_a_column_that_is_not_there_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "query": [1, 2]})
    with pytest.raises(ValueError, match="no column 'quary' of query ids; it has"):
        next(iter(QueryKFold(2, qid="quary").split(frame)))
