"""Features relative to their query, against loops and SciPy."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, zscore
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import _num_samples

from gbrank import Ranker
from gbrank.data import make_ranking
from gbrank.preprocessing import QueryScaler


def by_hand(X, qid, method):
    out = np.empty(X.shape)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        for column in range(X.shape[1]):
            x = X[rows, column]
            known = ~np.isnan(x)
            values = np.full(len(x), np.nan)
            if known.any():
                if method == "zscore":
                    same = np.ptp(x[known]) == 0
                    values[known] = 0.0 if same else zscore(x[known])
                elif method == "rank":
                    values[known] = (rankdata(x[known]) - 0.5) / known.sum()
                else:
                    total = np.abs(x[known]).sum()
                    values[known] = x[known] / total if total else 0.0
            out[rows, column] = values
    return out


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(["zscore", "rank", "share"]))
def test_equals_loops(seed, method):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(40, 3)), 1) * 10.0 ** rng.integers(-3, 4, size=3)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:, 2] = 0.1
    qid = rng.integers(0, 6, 40)
    scaled = QueryScaler(method).fit_transform(X, qid=qid)
    np.testing.assert_allclose(scaled, by_hand(X, qid, method), atol=1e-9)


def test_names_and_frames():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 4.0]})
    scaler = QueryScaler("share").set_output(transform="pandas")
    out = scaler.fit_transform(frame, group=[2])
    assert list(out.columns) == ["a", "b"] == scaler.get_feature_names_out().tolist()
    np.testing.assert_allclose(out["b"], [0.0, 1.0])


def test_in_a_pipeline_with_metadata_routing():
    data = make_ranking(n_queries=40, n_features=8, n_informative=5, random_state=0)
    shifted = data.X + 100.0 * np.random.default_rng(0).normal(size=40)[data.qid][:, None]
    with config_context(enable_metadata_routing=True):
        ranker = Ranker(preset="fast", n_estimators=10, n_jobs=1, min_child_samples=5)
        pipeline = make_pipeline(
            QueryScaler().set_fit_request(qid=True).set_transform_request(qid=True),
            ranker.set_fit_request(qid=True).set_score_request(qid=True),
        )
        pipeline.fit(shifted, data.y, qid=data.qid)
        relative = pipeline.score(shifted, data.y, qid=data.qid)
    plain = Ranker(preset="fast", n_estimators=10, n_jobs=1, min_child_samples=5)
    plain.fit(shifted, data.y, qid=data.qid)
    assert relative > plain.score(shifted, data.y, qid=data.qid) + 0.02


def test_bad_input_is_one_clear_error():
    with pytest.raises(ValueError, match="method must be 'zscore' or 'rank' or 'share', got 'max'"):
        QueryScaler("max").fit([[1.0]])
    with pytest.raises(ValueError, match=r"give either qid .* or group .* got neither"):
        QueryScaler().fit([[1.0]]).transform([[1.0]])


class ScalerOfOneQuery(QueryScaler):
    """All rows are one query, since scikit-learn's checks know no queries."""

    def transform(self, X):
        return super().transform(X, group=[_num_samples(X)])

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)


def test_scikit_learns_own_checks():
    why = "a row is scaled by the rows that come with it"
    expected = {"check_methods_subset_invariance": why}
    check_estimator(ScalerOfOneQuery(), expected_failed_checks=expected, on_fail="raise")
