"""Grid search and pipelines of scikit-learn on real queries, with and without metadata routing."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbrank import XENDCG, QueryKFold, Ranker
from gbrank.metrics import ndcg_score

GRID = {"objective": ["xendcg", "lambdamart", "listnet"], "num_leaves": [4, 15]}
FEW = {"preset": "fast", "n_estimators": 8, "learning_rate": 0.2, "start": "zero", "n_jobs": 1}


@pytest.fixture(scope="module")
def queries(real_data):
    arrays = real_data("MQ2008")
    rows = arrays["part"] <= 2
    names = [f"f{number}" for number in range(arrays["X"].shape[1])]
    frame = pd.DataFrame(arrays["X"][rows], columns=names)
    return frame, arrays["y"][rows].astype(float), arrays["qid"][rows]


@pytest.fixture(scope="module")
def by_hand(queries):
    """Mean NDCG@10 over the folds for each point of the grid."""
    frame, y, qid = queries
    found = {}
    for objective in GRID["objective"]:
        for leaves in GRID["num_leaves"]:
            values = []
            for train, test in QueryKFold(3).split(frame, y, qid):
                assert not set(qid[train]) & set(qid[test])
                ranker = Ranker(objective, num_leaves=leaves, **FEW)
                ranker.fit(frame.iloc[train], y[train], qid=qid[train])
                scores = ranker.predict(frame.iloc[test])
                values.append(ndcg_score(y[test], scores, qid=qid[test], k=10))
            found[objective, leaves] = np.mean(values)
    return found


def check(search, by_hand):
    best = max(by_hand, key=by_hand.get)
    assert (search.best_params_["objective"], search.best_params_["num_leaves"]) == best
    assert search.best_score_ == pytest.approx(by_hand[best], abs=1e-12)
    for params, value in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        expected = by_hand[params["objective"], params["num_leaves"]]
        assert value == pytest.approx(expected, abs=1e-12)


def test_grid_search_with_metadata_routing(queries, by_hand):
    frame, y, qid = queries
    with config_context(enable_metadata_routing=True):
        ranker = Ranker(**FEW).set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(ranker, GRID, cv=QueryKFold(3), error_score="raise")
        search.fit(frame, y, qid=qid, groups=qid)
    check(search, by_hand)


def test_grid_search_without_it_takes_queries_from_a_column(queries, by_hand):
    frame, y, qid = queries
    search = GridSearchCV(
        Ranker(qid="query", **FEW), GRID, cv=QueryKFold(3, qid="query"), error_score="raise"
    )
    search.fit(frame.assign(query=qid), y)
    check(search, by_hand)
    assert "query" not in search.best_estimator_.feature_names_in_


def test_nested_parameters_and_cross_validation(queries):
    frame, y, qid = queries
    ranker = Ranker(XENDCG(), qid="query", **FEW)
    search = GridSearchCV(
        ranker, {"objective__neumann_order": [0, 2]}, cv=QueryKFold(3, qid="query")
    )
    search.fit(frame.assign(query=qid), y)
    for order, value in zip((0, 2), search.cv_results_["mean_test_score"], strict=True):
        one = clone(ranker).set_params(objective__neumann_order=order)
        assert one.objective.neumann_order == order
        found = cross_validate(
            one, frame.assign(query=qid), y, cv=QueryKFold(3, qid="query"), error_score="raise"
        )
        assert found["test_score"].mean() == pytest.approx(value, abs=1e-12)
    assert ranker.objective.neumann_order == 2


def test_a_pipeline_hands_frames_on(queries):
    frame, y, qid = queries
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_output(transform="pandas"),
            Ranker(**FEW).set_fit_request(qid=True).set_score_request(qid=True),
        )
        pipeline.fit(frame, y, qid=qid)
        value = pipeline.score(frame, y, qid=qid)
    ranker = pipeline[-1]
    assert ranker.feature_names_in_.tolist() == list(frame.columns)
    assert ranker.n_features_in_ == frame.shape[1]
    scaled = pipeline[0].transform(frame)
    assert value == ndcg_score(y, ranker.predict(scaled), qid=qid, k=10)
