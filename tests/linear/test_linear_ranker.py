"""The linear ranker: against scikit-learn's ridge, loops, and its own step functions as trees."""

import os
import subprocess
import sys
import threading
import time

import lightgbm as lgb
import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_info

from gbrank.core import RankingData
from gbrank.data import make_ranking
from gbrank.linear import LinearRanker, ridge
from gbrank.linear.columns import write_columns
from gbrank.linear.ridge import N_FOLDS
from gbrank.linear.steps import MAX_EDGES, fit_steps
from gbrank.metrics import ndcg_score
from gbrank.start import Start


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, n_features=8, n_informative=5, random_state=3)


def z_scored(X, qid):
    out = np.zeros(X.shape)
    for query in np.unique(qid):
        rows = qid == query
        spread = X[rows].std(axis=0)
        spread[spread == 0] = np.inf  # a constant becomes 0
        out[rows] = (X[rows] - X[rows].mean(axis=0)) / spread
    return out


def targets(y, qid):
    """Gains over the best DCG, or over four times the usual one; less the mean of their query."""
    gains = 2.0**y - 1
    best = {}
    for query in np.unique(qid):
        first = np.sort(gains[qid == query])[::-1]
        best[query] = first @ (1 / np.log2(np.arange(2, len(first) + 2)))
    usual = 4 * np.median(list(best.values()))
    out = np.zeros(len(y))
    for query in np.unique(qid):
        own = gains[qid == query] / max(best[query], usual)
        out[qid == query] = own - own.mean()
    return out


def ranks_within(X, qid):
    """Mid-ranks over the number of documents, less 1/2; from the definition."""
    out = np.zeros(X.shape)
    for query in np.unique(qid):
        rows = qid == query
        lower = (X[rows][None, :, :] < X[rows][:, None, :]).sum(axis=1)
        equal = (X[rows][None, :, :] == X[rows][:, None, :]).sum(axis=1)
        out[rows] = (lower + 0.5 * equal) / rows.sum() - 0.5
    return out


def test_relative_is_ridge_on_z_scores_and_ranks_within_the_query(data):
    ranker = LinearRanker(relative=True).fit(data.X, data.y, qid=data.qid)
    keep = np.isin(data.qid, [q for q in np.unique(data.qid) if np.ptp(data.y[data.qid == q]) > 0])
    X = data.X.astype(float)
    Z = np.hstack([z_scored(X, data.qid), ranks_within(X, data.qid)])
    spread = Z[keep].std(axis=0)
    spread[spread == 0] = np.inf  # constant within queries
    known = Ridge(alpha=ranker.penalty_, fit_intercept=False)
    known.fit(Z[keep] / spread, targets(data.y[keep], data.qid[keep]))
    found = np.concatenate([ranker.coef_[:, 3], ranker.coef_[:, 4]])
    np.testing.assert_allclose(found, known.coef_ / spread, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ranker.predict(data.X, qid=data.qid), Z @ found, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_penalty_has_the_least_squared_error_on_held_out_queries(data, weighted):
    """All penalties, all folds, by scikit-learn."""
    weight = np.random.default_rng(1).uniform(0.1, 5, len(data.y)) ** 3 if weighted else None
    noisy = np.random.default_rng(2).integers(0, 5, len(data.y)).astype(float)
    labels = np.where(np.random.default_rng(3).random(len(data.y)) < 0.8, noisy, data.y)
    ranker = LinearRanker(relative=True)
    rows, held_out = ranker.fit_data(RankingData(data.X, labels, data.qid, weight))
    queries, X = data.qid[rows], data.X[rows].astype(float)
    order = queries[np.flatnonzero(np.diff(queries, prepend=-1))]
    fold = np.zeros(len(rows), dtype=int)
    cuts = np.arange(N_FOLDS + 1) * len(order) // N_FOLDS
    for number in range(N_FOLDS):
        fold[np.isin(queries, order[cuts[number] : cuts[number + 1]])] = number
    Z = np.hstack([z_scored(X, queries), ranks_within(X, queries)])
    spread = Z.std(axis=0)
    spread[spread == 0] = np.inf
    target, w = targets(labels[rows], queries), np.ones(len(rows))
    if weighted:
        w = weight[rows] / weight[rows].mean()
    errors = []
    for penalty in ridge.PENALTIES:
        missed = np.zeros(len(rows))
        for number in range(N_FOLDS):
            out = fold == number
            known = Ridge(alpha=penalty, fit_intercept=False)
            known.fit((Z / spread)[~out], target[~out], sample_weight=w[~out])
            missed[out] = known.predict((Z / spread)[out]) - target[out]
        errors.append(w @ missed**2)
        if penalty == ranker.penalty_:
            np.testing.assert_allclose(held_out - target, missed, rtol=1e-6, atol=1e-9)
    assert ranker.penalty_ == ridge.PENALTIES[np.argmin(errors)]
    assert 0 < np.argmin(errors) < len(errors) - 1


@pytest.mark.parametrize("relative", [False, True])
def test_the_scale_of_weights_does_not_matter(data, relative):
    weight = np.random.default_rng(1).uniform(0.1, 5, len(data.y))
    fits = [
        LinearRanker(relative).fit(data.X, data.y, qid=data.qid, sample_weight=scale * weight)
        for scale in (1.0, 2.0**-40, 2.0**900)
    ]
    for fit in fits[1:]:
        assert fit.penalty_ == fits[0].penalty_
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("label", [8.0, 15.0, 30.0, 900.0])
def test_one_label_far_above_the_others_changes_little(data, relative, label):
    """With gains as they are, a label of 15 among labels of up to 4 outweighs all others."""
    labels = data.y.copy()
    labels[17] = label
    fits = [LinearRanker(relative).fit(data.X, y, qid=data.qid) for y in (data.y, labels)]
    plain, other = (fit.score(data.X, data.y, qid=data.qid) for fit in fits)
    assert plain > 0.7
    assert other > plain - 0.03


def test_queries_of_many_magnitudes(data):
    """Those far below the usual fall out, and none is divided by nothing."""
    scale = 10.0 ** np.linspace(-300, 290, 60)[np.unique(data.qid, return_inverse=True)[1]]
    ranker = LinearRanker(gain="linear").fit(data.X, scale * data.y, qid=data.qid)
    assert np.isfinite(ranker.coef_).all()
    assert ranker.score(data.X, data.y, qid=data.qid) > 0.5


def test_a_query_that_others_tell_nothing_of_is_not_fitted_for_itself(data):
    """Held-out errors are alike for all penalties: the strongest is taken."""
    weight = np.where(data.qid == data.qid[0], 1e30, 1.0)
    ranker = LinearRanker().fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    assert ranker.penalty_ == ridge.PENALTIES[-1]


def test_noise_is_shrunk_to_nearly_nothing(data):
    """Where the target is noise, held-out queries ask for the strongest shrinkage there is."""
    noise = np.random.default_rng(0).permutation(data.y)
    ranker = LinearRanker().fit(data.X, noise, qid=data.qid)
    true = LinearRanker().fit(data.X, data.y, qid=data.qid)
    assert np.abs(ranker.coef_).sum() < 0.3 * np.abs(true.coef_).sum()
    assert true.held_out_score_ > ranker.held_out_score_ + 0.1


def test_heavy_tails_and_missing_values(data):
    X = np.exp(6 * data.X.astype(float))  # a monotone transform: ranks and tamed logs survive
    X[::11, 2] = np.nan
    X[5, 0] = np.inf
    ranker = LinearRanker().fit(X, data.y, qid=data.qid)
    plain = LinearRanker().fit(data.X, data.y, qid=data.qid)
    other = make_ranking(n_queries=60, n_features=8, n_informative=5, random_state=4)
    transformed = np.exp(6 * other.X.astype(float))
    lost = plain.score(other.X, other.y, qid=other.qid) - ranker.score(
        transformed, other.y, qid=other.qid
    )
    assert lost < 0.05
    assert np.isfinite(ranker.predict(X)).all()
    relative = LinearRanker(relative=True).fit(X, data.y, qid=data.qid)
    assert np.isfinite(relative.predict(X, qid=data.qid)).all()


@pytest.mark.parametrize("relative", [False, True])
def test_rows_in_any_order_and_sparse(data, relative):
    straight = LinearRanker(relative).fit(data.X, data.y, qid=data.qid)
    order = np.argsort(np.concatenate([np.arange(size) for size in data.group]), kind="stable")
    X = scipy.sparse.csr_matrix(data.X[order])
    moved = LinearRanker(relative).fit(X, data.y[order], qid=data.qid[order])
    np.testing.assert_allclose(
        moved.predict(X, qid=data.qid[order]),
        straight.predict(data.X, qid=data.qid)[order],
        atol=1e-9,
    )


def test_fits_on_a_part_of_many_rows(data):
    few = LinearRanker(max_rows=500, random_state=1).fit(data.X, data.y, qid=data.qid)
    all_rows = LinearRanker().fit(data.X, data.y, qid=data.qid)
    assert few.steps_[0].counts.sum() < 700 < all_rows.steps_[0].counts.sum()
    assert few.score(data.X, data.y, qid=data.qid) > 0.5


def test_relative_needs_queries_to_predict(data):
    ranker = LinearRanker(relative=True).fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match=r"predict needs qid= \(the query id of each row\)"):
        ranker.predict(data.X)


def test_nothing_to_learn_is_no_error():
    X = np.arange(8.0)[:, None]
    for y in (np.zeros(8), np.ones(8)):
        ranker = LinearRanker().fit(X, y, group=[4, 4])
        np.testing.assert_array_equal(ranker.predict(X), 0.0)


def test_steps_hold_all_rows_and_edges_are_single_precision():
    values = np.random.default_rng(0).lognormal(size=5000)
    steps = fit_steps(values)
    assert len(steps.edges) <= MAX_EDGES
    np.testing.assert_array_equal(steps.edges, steps.edges.astype(np.float32))
    bins = steps.bins(np.append(values, [np.nan, np.inf, -np.inf]))
    np.testing.assert_array_equal(bins[:5000], np.searchsorted(steps.edges, values, side="left"))
    assert bins[5000:].tolist() == [len(steps.edges) + 1, len(steps.edges) + 1, 0]
    assert steps.counts[:-1].sum() == 5000
    ranks = steps.columns[bins[:5000], 0]
    order = np.argsort(values)
    assert (np.diff(ranks[order]) >= 0).all()
    # a bin counts as the mean rank of its rows
    true_ranks = (np.argsort(order) + 0.5) / 5000 - 0.5
    for number in (0, 10, len(steps.edges)):
        rows = bins[:5000] == number
        assert steps.columns[number, 0] == pytest.approx(true_ranks[rows].mean(), abs=1e-12)
    assert fit_steps(np.full(10, 3.0)) is None


def test_trees_predict_what_the_linear_ranker_predicts(data):
    X = data.X.astype(float)
    X[::7, 1] = np.nan
    X[3, 4] = np.inf
    X[4, 4] = -np.inf
    ranker = LinearRanker().fit(X, data.y, qid=data.qid)
    other = lgb.train({"verbose": -1}, lgb.Dataset(X, data.y), 2)
    booster, _ = Start("linear", ranker.step_sum()).merged_into(other, 2)
    X[:, 2] = np.nan  # missing where it never was in training
    X[0, 3] = 1e300
    np.testing.assert_allclose(
        booster.predict(X) - other.predict(X), ranker.predict(X), rtol=0, atol=1e-12
    )
    contributions = booster.predict(X, pred_contrib=True)
    np.testing.assert_allclose(contributions.sum(axis=1), booster.predict(X), atol=1e-9)


def test_score_is_ndcg(data):
    ranker = LinearRanker().fit(data.X, data.y, qid=data.qid)
    expected = ndcg_score(data.y, ranker.predict(data.X), qid=data.qid, k=10)
    assert ranker.score(data.X, data.y, qid=data.qid) == expected


@pytest.mark.parametrize("relative", [False, True])
def test_labels_are_worth_their_gain_everywhere(data, relative):
    """Labels that exp has no gain for, and gains of 0 for labels that differ."""
    plain = LinearRanker(relative, gain="linear").fit(data.X, data.y, qid=data.qid)
    large = LinearRanker(relative, gain="linear").fit(data.X, 4096 * data.y, qid=data.qid)
    np.testing.assert_array_equal(large.coef_, plain.coef_)
    top = LinearRanker(relative, gain=lambda y: np.where(y >= data.y.max(), 1.0, 0.0))
    top.fit(data.X, data.y, qid=data.qid)
    assert np.isfinite(top.coef_).all()
    assert top.coef_.any()


@pytest.mark.parametrize("relative", [False, True])
def test_queries_of_weight_0_are_as_good_as_absent(data, relative):
    kept = np.isin(data.qid, np.unique(data.qid)[::3])
    few = LinearRanker(relative).fit(data.X[kept], data.y[kept], qid=data.qid[kept])
    order = np.argsort(~kept, kind="stable")  # so that the drawn queries come in the same order
    weighed = LinearRanker(relative).fit(
        data.X[order], data.y[order], qid=data.qid[order], sample_weight=kept[order].astype(float)
    )
    np.testing.assert_allclose(weighed.coef_, few.coef_, rtol=1e-9, atol=1e-12)
    assert weighed.penalty_ == few.penalty_


def test_a_single_query_is_scored_by_the_fit_to_it(data):
    """There is no other: from scores of 0, trees would learn again what the start knows."""
    ranker, n_rows = LinearRanker(relative=True), len(data.y)
    ranker._validate(data.X, reset=True)
    rows, scores = ranker.fit_data(RankingData(data.X, data.y, np.zeros(n_rows)))
    assert np.isnan(ranker.held_out_score_)
    expected = ranker.predict(data.X, group=[n_rows])[rows]
    assert expected.any()
    np.testing.assert_allclose(scores, expected, atol=1e-12)


def test_infinities_are_fitted_as_they_are_scored(data):
    """Minus infinity, say the logarithm of 0, falls into the lowest bin in both."""
    X = data.X.astype(float)
    X[data.y > 1, 0] = -np.inf
    X[::5, 1] = np.inf
    ranker = LinearRanker()
    ranker._validate(X, reset=True)
    rows, _ = ranker.fit_data(RankingData(X, data.y, data.qid))
    sizes = np.diff(np.flatnonzero(np.diff(data.qid[rows], prepend=-1)), append=len(rows))
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    columns, places = write_columns(X[rows], bounds, ranker.steps_)
    fitted, scores = columns @ ranker.coef_[tuple(places.T)], ranker.predict(X)[rows]
    means = np.repeat(np.add.reduceat(scores, bounds[:-1]) / sizes, sizes)
    np.testing.assert_allclose(fitted, scores - means, atol=1e-12)
    assert ranker.steps_[0].columns.shape[1] == 2  # nothing is missing
    assert ranker.steps_[0].counts[:-1].sum() == len(rows)
    assert ranker.step_values(0)[0] > 0  # they are the relevant ones


def test_fits_on_two_threads_leave_blas_as_it_was(monkeypatch):
    def blas_threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    seen = []

    def slow_fit(*_):
        time.sleep(0.1)
        seen.append(blas_threads())

    monkeypatch.setattr(ridge, "_fit", slow_fit)
    before = blas_threads()
    fits = [threading.Thread(target=ridge.fit_ridge, args=(None,) * 4) for _ in range(2)]
    for fit in fits:
        fit.start()
        time.sleep(0.03)
    for fit in fits:
        fit.join()
    assert blas_threads() == before
    assert seen == [{1}, {1}]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_forked_while_another_thread_fits_can_fit():
    code = """
import os, signal
from gbrank.data import make_ranking
from gbrank.linear import LinearRanker, ridge
data = make_ranking(n_queries=10, random_state=0)
with ridge._BLAS:  # as a thread in the middle of a fit does
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        LinearRanker().fit(data.X, data.y, qid=data.qid)
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
