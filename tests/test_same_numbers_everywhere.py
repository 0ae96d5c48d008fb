"""What one part of the library reads of its input, every other part reads too.

Labels in single precision, sparse matrices with several entries for one place, masked arrays,
columns in another order, cut-offs in single precision.
"""

import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from gbrank import GainPairwise, ListMLE, Ranker, Smoothed, cv
from gbrank.core import QueryLayout, single_labels
from gbrank.data import make_ranking
from gbrank.linear import LinearRanker
from gbrank.metrics import ndcg_score, pairwise_disagreement
from gbrank.serving import explain

FAST = {"preset": "fast", "n_estimators": 8, "num_leaves": 7, "n_jobs": 1, "min_child_samples": 5}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=40, n_features=5, n_informative=4, random_state=0)


# --- labels in single precision ------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["listmle", "pairwise_logistic", Smoothed("listmle")])
def test_labels_that_single_precision_merges_keep_their_order(data, objective):
    order = np.argsort(np.argsort(data.X[:, 0]))
    ranks = 1.0 + order
    times = 1.7e9 + 10.0 * order  # float32 has one number for 13 of these
    settings = FAST | {"start": "zero", "objective": objective}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of_times = Ranker(**settings).fit(data.X, times, qid=data.qid).predict(data.X)
        of_ranks = Ranker(**settings).fit(data.X, ranks, qid=data.qid).predict(data.X)
    np.testing.assert_array_equal(of_times, of_ranks)
    assert pairwise_disagreement(times, of_times, qid=data.qid) < 0.3


@pytest.mark.parametrize("preset", ["fast", "balanced"])
def test_labels_that_single_precision_merges_are_said_where_their_values_matter(data, preset):
    labels = 2.0**24 + np.argsort(np.argsort(data.X[:, 0]))
    loss = GainPairwise(gain="linear")
    ranker = Ranker(loss, **FAST | {"preset": preset, "start": "zero"}, eval_metric="spearman")
    with pytest.warns(UserWarning, match=r"are one label, as are \d+ pairs of neighbours"):
        ranker.fit(data.X, labels, qid=data.qid)


def test_labels_that_single_precision_merged_before_are_said(data):
    dataset = lgb.Dataset(data.X, 1.7e9 + data.y, group=data.group)
    with pytest.warns(UserWarning, match="labels go up to 1700000000, but .* are 128 apart"):
        lgb.train({"objective": ListMLE(), "verbose": -1, "num_threads": 1}, dataset, 1)


def test_ranks_of_labels_against_counting():
    rng = np.random.default_rng(0)
    for _ in range(50):
        qid = rng.integers(0, 4, 30)
        labels = rng.choice([0.0, 1e9, 1e9 + 1, 1e9 + 2, 1e300], 30)
        got = single_labels(labels, QueryLayout.from_qid(qid), by_order=True)
        for row in range(30):
            mine = set(labels[qid == qid[row]])
            below = sum(label < labels[row] for label in mine)
            if labels.max() > 2**24:
                assert got[row] == below + (0.0 not in mine)
    same = np.array([0.0, 1.0, 0.1])
    assert single_labels(same, QueryLayout.from_group([3]), by_order=True) is same


# --- sparse matrices -----------------------------------------------------------------------------


def halves(X, kind):
    """Return the same matrix with two entries for every place."""
    plain = kind(X)
    parts = (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), plain.indptr * 2)
    return kind(parts, shape=plain.shape)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("start", ["zero", "linear", "query_linear"])
def test_several_entries_of_a_sparse_matrix_for_one_place_are_their_sum(data, kind, start):
    once, twice = kind(data.X), halves(data.X, kind)
    settings = FAST | {"start": start}
    one = Ranker(**settings).fit(once, data.y, qid=data.qid)
    two = Ranker(**settings).fit(twice, data.y, qid=data.qid)
    expected = one.predict(once, qid=data.qid)
    for model in (one, two):
        for X in (once, twice):
            np.testing.assert_array_equal(model.predict(X, qid=data.qid), expected)
    assert twice.nnz == 2 * once.nnz  # not changed in passing
    if start != "query_linear":
        np.testing.assert_array_equal(one.compile().predict(twice), expected)
        np.testing.assert_array_equal(
            explain(one, twice, qid=data.qid).contributions,
            explain(one, once, qid=data.qid).contributions,
        )
    params = {"objective": ListMLE(), "verbose": -1, "num_threads": 1}
    runs = [cv(params, X, data.y, qid=data.qid, num_boost_round=2, nfold=2) for X in (once, twice)]
    assert repr(runs[0]) == repr(runs[1])


@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_a_sparse_matrix_whose_indices_lie_outside(data, part):
    broken = sp.csr_matrix(data.X)
    getattr(broken, part)[-3] = 2**30
    fitted = Ranker(**FAST).fit(data.X, data.y, qid=data.qid)
    for use in (
        lambda: Ranker(**FAST).fit(broken, data.y, qid=data.qid),
        lambda: fitted.predict(broken),
        lambda: fitted.compile().predict(broken),
        lambda: LinearRanker().fit(broken, data.y, qid=data.qid),
    ):
        with pytest.raises(ValueError, match="X is no sound sparse matrix"):
            use()


# --- masked arrays -------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["zero", "linear", "query_linear"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_masked_values_of_features_are_missing(data, start, kind):
    values = (10 * data.X).astype(kind)
    mask = np.random.default_rng(0).random(values.shape) < 0.3
    masked = np.ma.array(values, mask=mask)
    missing = np.where(mask, np.nan, values)
    settings = FAST | {"start": start}
    expected = Ranker(**settings).fit(missing, data.y, qid=data.qid)
    got = Ranker(**settings).fit(masked, data.y, qid=data.qid)
    for X in (masked, missing):
        np.testing.assert_allclose(
            got.predict(X, qid=data.qid), expected.predict(missing, qid=data.qid), rtol=1e-6
        )
    if start == "zero":
        np.testing.assert_array_equal(got.compile().predict(masked), got.predict(masked))
    line = LinearRanker().fit(masked, data.y, qid=data.qid)
    np.testing.assert_allclose(line.predict(masked), line.predict(missing))


# --- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [range(5), [5, 3, 1, 4, 2], [0.5, 1.5, 2.5, 3.5, 4.5]])
def test_columns_named_by_numbers_are_put_in_order(data, names, tmp_path):
    frame = pd.DataFrame(data.X, columns=list(names))
    turned = frame[list(names)[::-1]]
    ranker = Ranker(**FAST).fit(
        frame, data.y, qid=data.qid, eval_X=[turned], eval_y=[data.y], eval_qid=[data.qid]
    )
    plain = Ranker(**FAST).fit(
        data.X, data.y, qid=data.qid, eval_X=[data.X], eval_y=[data.y], eval_qid=[data.qid]
    )
    assert ranker.evals_result_ == plain.evals_result_
    ranker.save_model(tmp_path / "model.txt")
    for model in (ranker, Ranker.load_model(tmp_path / "model.txt"), ranker.compile()):
        np.testing.assert_array_equal(model.predict(turned), plain.predict(data.X))
        with pytest.raises(ValueError, match="X must have the columns of training"):
            model.predict(frame.rename(columns={names[1]: 77}))
    line = LinearRanker().fit(frame, data.y, qid=data.qid)
    np.testing.assert_array_equal(line.predict(turned), line.predict(frame))


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_compiled_scorer_puts_columns_in_order_or_refuses(data, table):
    frame = pd.DataFrame(data.X, columns=["a", "b c", "d", "e", "f"])
    ranker = Ranker(**FAST).fit(frame, data.y, qid=data.qid)
    fast = ranker.compile()
    turned = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(fast.predict(table(turned)), ranker.predict(frame))
    with pytest.raises(ValueError, match="X must have the columns of training"):
        fast.predict(table(frame.rename(columns={"a": "z"})))
    text = frame.astype({"d": str})
    with pytest.raises(ValueError, match="column 'd' must be numbers or categories"):
        fast.predict(table(text))
    with pytest.raises(ValueError, match="X must be numbers"):
        fast.predict(data.X + 1j)


# --- the rest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, float])
def test_a_fraction_of_any_precision_is_the_same_cutoff(kind):
    labels, scores = [3, 2, 1, 0, 1.0], [1, 2, 3, 4, 5.0]
    expected = ndcg_score(labels, scores, group=[5], k=2)
    assert ndcg_score(labels, scores, group=[5], k=kind("0.4")) == expected


def test_draws_go_on_after_labels_are_set_in_mid_training(data):
    """The same labels set again change nothing, whichever numbers a step draws."""

    def train(*, again):
        dataset = lgb.Dataset(data.X, data.y, group=data.group)
        params = {"objective": ListMLE(), "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}

        def set_again(env):
            if again and env.iteration == 3:
                dataset.set_label(data.y.copy())

        return lgb.train(params, dataset, 6, callbacks=[set_again]).predict(data.X)

    np.testing.assert_array_equal(train(again=True), train(again=False))
