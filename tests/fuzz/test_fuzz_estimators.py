"""Estimators on matrices of any kind: finite predictions, or an error of ours."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_input import any_float, columns, fuzzed, labels, odd_columns, ours_or_fine, positive_edges
from scipy.sparse import csr_matrix

from gbrank import Ranker
from gbrank.linear import LinearRanker
from gbrank.preprocessing import QueryScaler

MATRIX_TYPES = ("float64", "float32", "int64", "bool", "object", "complex128", "U4", "float16")


@st.composite
def matrices(draw, n_rows):
    n_columns = draw(st.integers(0, 3))
    size = n_rows * n_columns
    entries = st.one_of(st.floats(-5, 5), any_float) if draw(st.booleans()) else st.floats(-5, 5)
    values = np.array(draw(st.lists(entries, min_size=size, max_size=size)), dtype=np.float64)
    matrix = values.reshape(n_rows, n_columns)
    how = draw(st.integers(0, 9))
    if how < 5:
        return matrix
    if how == 5:
        return csr_matrix(matrix)
    if how == 6:
        with np.errstate(all="ignore"):
            return matrix.astype(draw(st.sampled_from(MATRIX_TYPES)))
    if how == 7:
        return draw(odd_columns(n_rows, st.floats(-5, 5)))
    if how == 8:
        return np.asfortranarray(matrix)
    return matrix.tolist()


@st.composite
def training_input(draw):
    n_rows = draw(st.integers(0, 30))
    X = draw(matrices(n_rows))
    y = draw(columns(n_rows, labels, positive_edges))
    if draw(st.integers(0, 4)) == 0:
        qid = draw(odd_columns(n_rows, st.integers(0, 3).map(float)))
    else:
        qid = np.arange(n_rows) // 5
    weight = draw(st.one_of(st.none(), columns(n_rows, st.floats(0, 3), positive_edges)))
    return X, y, qid, weight


@fuzzed
@given(given_input=training_input(), method=st.sampled_from(["zscore", "rank", "share", "other"]))
def test_query_scaler(given_input, method):
    X, _, qid, _ = given_input
    with ours_or_fine():
        scaled = QueryScaler(method).fit_transform(X, qid=qid)
        assert scaled.dtype == np.float64
        assert not np.isinf(scaled).any()
        missing = np.isnan(X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float))
        np.testing.assert_array_equal(np.isnan(scaled), missing)


@pytest.mark.parametrize("relative", [False, True])
@fuzzed
@given(given_input=training_input())
def test_linear_ranker(relative, given_input):
    X, y, qid, weight = given_input
    with ours_or_fine(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of NDCG where every query is blank
        ranker = LinearRanker(relative).fit(X, y, qid=qid, sample_weight=weight)
        assert np.isfinite(ranker.predict(X, qid=qid)).all()


@pytest.mark.parametrize("name", ["xendcg", "squared"])
@fuzzed
@given(given_input=training_input())
def test_ranker(name, given_input):
    X, y, qid, weight = given_input
    ranker = Ranker(name, n_estimators=2, min_child_samples=1, num_leaves=3, n_jobs=1)
    with ours_or_fine(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ranker.fit(X, y, qid=qid, sample_weight=weight)
        assert np.isfinite(ranker.predict(X)).all()
        ranks = ranker.rank(X, qid=qid)
        assert ranks.min() == 1
        assert np.isnan(score := ranker.score(X, y, qid=qid)) or 0 <= score <= 1
